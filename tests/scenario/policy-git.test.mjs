// git in `pyddock serve`: what the kernel holds while git may write its repository.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { exists, git, isRefusal, noMounts, serve, text, workspace } from './workspace.mjs';

const config = (w) => readFile(join(w.root, '.git/config'), 'utf8');

test('a day of work in a repository', async (t) => {
  const w = await workspace(t, { files: { 'a.txt': 'one\n' }, repository: true });
  const { shell, tool } = await serve(t, w);
  const before = await config(w);
  const steps = [
    ['switch', '-q', '-c', 'topic/x'], ['commit', '-qam', 'two /and/ more'], ['tag', '-a', 'v1', '-m', '/release'],
    ['switch', '-q', 'main'], ['merge', '-q', '--no-ff', '--no-edit', 'topic/x'], ['stash', 'list'],
    ['branch', '-d', 'topic/x'], ['fetch', '.'], ['log', '--oneline', '--graph', '--', 'a.txt'], ['worktree', 'list'],
  ];
  await tool('fs_append', { path: 'a.txt', content: 'two' });
  for (const args of steps) {
    const { text: said } = await shell('git', args);
    if (args[0] === 'worktree') assert.match(said, /not permitted/, 'it is not among the allowed commands');
    else assert.match(said, /EXIT CODE: 0/, `git ${args.join(' ')}: ${said}`);
  }
  assert.equal(await config(w), before);
  assert.equal(git(w, 'status', '--short'), '');
  assert.match(git(w, 'log', '-1', '--format=%s'), /Merge branch/);
});

test('the workspace may be a folder of a repository', async (t) => {
  const w = await workspace(t, { files: { 'a.txt': 'one\n', 'part/b.txt': 'two\n' }, repository: true });
  const { shell, tool } = await serve(t, { ...w, root: join(w.root, 'part') });
  await tool('fs_append', { path: 'b.txt', content: 'three' });
  for (const args of [['add', 'b.txt'], ['commit', '-qm', 'second', '--', 'b.txt']]) {
    const { text: said } = await shell('git', args);
    assert.match(said, /EXIT CODE: 0/, `git ${args.join(' ')}: ${said}`);
  }
  assert.equal(git(w, 'log', '-1', '--format=%s', '--name-only').trim(), 'second\n\npart/b.txt');
});

test('the configuration of a repository stays as it is, and the reply says so', { skip: noMounts }, async (t) => {
  const w = await workspace(t, { files: { 'a.txt': 'one\n' }, repository: true });
  git(w, 'branch', 'other');
  const { shell } = await serve(t, w);
  const before = await config(w);
  const upstream = await shell('git', ['branch', '-u', 'other']);
  assert.match(upstream.text, /no upstream is stored/);
  const described = await shell('git', ['branch', '--edit-description']);
  assert.match(described.text, /\.git\/config/);
  assert.equal(await config(w), before);
  assert.equal(await exists(join(w.root, '.git/config.lock')), false);
});

test('a tree with files in protected folders is not checked out over them', { skip: noMounts }, async (t) => {
  const policy = '[shell.scripts]\ncommand = "tools/jobs/.*"\nmode = "allow"\n';
  const w = await workspace(t, { policy, files: { 'a.txt': 'one\n', 'tools/jobs/run.sh': 'good\n' }, repository: true });
  git(w, 'tag', 'good');
  await writeFile(join(w.root, 'tools/jobs/run.sh'), 'evil\n');
  await writeFile(join(w.root, '.pyddock/pyddock.override.toml'), '[shell.sh]\nmode = "allow"\n');
  git(w, 'commit', '-qam', 'evil');
  git(w, 'tag', 'evil');
  git(w, 'reset', '-q', '--hard', 'good');
  const { shell } = await serve(t, w);
  for (const args of [['checkout', 'evil'], ['reset', '--hard', 'evil'], ['restore', '--source=evil', '.'], ['merge', 'evil'],
    ['rm', '-rf', '.'], ['mv', 'tools', 'other'], ['checkout', 'evil', '--', 'tools']]) {
    const { text: said } = await shell('git', args);
    assert.equal(await text(w, 'tools/jobs/run.sh'), 'good\n', `git ${args.join(' ')}: ${said}`);
    assert.equal(await text(w, '.pyddock/pyddock.override.toml'), policy);
    assert.match(said, /protect/, `git ${args.join(' ')} says why: ${said}`);
    git(w, 'checkout', '-q', '-f', '-B', 'main', 'good');
  }
});

test('a submodule brings its own settings, and git starts nothing of them', async (t) => {
  const w = await workspace(t, { files: { 'a.txt': 'one\n', 'x.sh': ['#!/bin/sh\ntouch ../PWN PWN\n', 0o755] }, repository: true });
  const sub = { ...w, root: join(w.root, 'sub') };
  await mkdir(sub.root);
  git(sub, 'init', '-q');
  await writeFile(join(sub.root, '.gitattributes'), '*.txt filter=evil diff=evil\n');
  await writeFile(join(sub.root, 's.txt'), 'one\n');
  git(sub, 'add', '-A');
  git(sub, 'commit', '-qm', 'sub');
  git(w, 'add', 'sub');
  git(w, 'commit', '-qm', 'with a submodule');
  for (const [key, value] of [['filter.evil.clean', '../x.sh'], ['core.fsmonitor', '../x.sh'], ['diff.evil.textconv', '../x.sh']])
    git(sub, 'config', key, value);
  await writeFile(join(sub.root, 's.txt'), 'two\n');
  const { shell } = await serve(t, w);
  for (const args of [['status'], ['diff'], ['add', '-A'], ['commit', '-am', 'x'], ['describe', '--always', '--dirty'], ['stash']])
    await shell('git', args);
  await shell('git', ['status'], { cwd: 'sub' });
  await shell('git', ['diff'], { cwd: 'sub' });
  for (const folder of [w.root, sub.root, w.top]) assert.equal(await exists(join(folder, 'PWN')), false);
});

test('other repositories: only those that no agent could have made', async (t) => {
  const w = await workspace(t, { files: { 'a.txt': 'one\n' }, repository: true });
  git(w, 'init', '-q', '--bare', 'bare');
  git(w, 'init', '-q', '--bare', '../outside');
  const { shell } = await serve(t, w);
  for (const url of ['bare', '../outside', join(w.top, 'outside'), `file://${w.top}/outside`, 'fd::0', 'x::y'])
    assert.ok(isRefusal(await shell('git', ['fetch', url])), url);
  assert.match((await shell('git', ['status'], { cwd: 'bare' })).text, /looks like a repository by itself/);
});

test('a checkout that would change what is protected is refused before it begins', async (t) => {
  const w = await workspace(t, {
    policy: '[shell.scripts]\ncommand = "tools/.*"\nmode = "allow"\n',
    files: { 'a.txt': 'one\n', 'tools/go.sh': 'echo one\n' },
    repository: true,
  });
  git(w, 'branch', 'plain');
  await writeFile(join(w.root, 'a.txt'), 'two\n');
  git(w, 'commit', '-qam', 'second');
  await writeFile(join(w.root, 'a.txt'), 'three\n');
  await writeFile(join(w.root, 'tools/go.sh'), 'echo three\n');
  git(w, 'checkout', '-qb', 'other');
  git(w, 'commit', '-qam', 'third');
  git(w, 'checkout', '-q', 'main');
  const s = await serve(t, w);
  for (const args of [['reset', '--hard', 'other'], ['checkout', 'other'], ['switch', 'other'],
    ['merge', 'other'], ['cherry-pick', 'other'], ['rebase', 'other'], ['rebase', '--root'], ['rebase', '--onto', 'other', 'plain']]) {
    const refused = await s.shell('git', args);
    assert.ok(isRefusal(refused), `git ${args.join(' ')}: ${refused.text}`);
    assert.match(refused.text, /tools\/go\.sh; nothing was done/);
    assert.equal(git(w, 'status', '--porcelain'), '', args.join(' '));
    assert.equal(git(w, 'rev-parse', 'HEAD'), git(w, 'rev-parse', 'main'));
  }
  for (const args of [['checkout', 'plain'], ['switch', 'main'], ['reset', '--hard', 'plain'],
    ['merge', 'main@{1}'], ['checkout', '-b', 'new'], ['checkout', 'a.txt']])
    assert.match((await s.shell('git', args)).text, /EXIT CODE: 0 ---$/, args.join(' '));
  await s.shell('git', ['restore', '--source=other', '--', 'a.txt']);
  assert.equal(await readFile(join(w.root, 'a.txt'), 'utf8'), 'three\n');
});
