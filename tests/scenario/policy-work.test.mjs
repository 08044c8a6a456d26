// A coding agent at work under the built-in policy: each reply is read as a model reads it,
// and what a refusal or a note advises is then done, to see that it works.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { connect, mcpath, paddock, pyddock } from './lib.mjs';
import { exists, isRefusal, kinds, sanitized, serve, snapshot, text, workspace } from './workspace.mjs';

const project = {
  'README.md': '# ledger\n\nAdds up the amounts of a file; see lib/sum.awk.\n',
  'lib/sum.awk': 'BEGIN { total = 0 }\n\t{ total += $1 }   # FIXME: comments count as 0\nEND { print total }\n',
  'lib/format.awk': '\t{ printf "%8.2f\\n", $1 }\n',
  'data/small.txt': '1\n2.5\n# paid\n4\n',
  'checks/all.sh': ['#!/bin/sh\nfor i in $(seq 1 4000); do echo "check $i: ok"; done\n' +
    'got=$(awk -f lib/sum.awk data/small.txt)\n' +
    '[ "$got" = 7.5 ] || { echo "FAILED: got $got" >&2; exit 1; }\ngrep -q FIXME lib/sum.awk && exit 3\necho all well\n', 0o755],
  '.gitignore': 'build/\n',
};
const policy = '[shell.checks]\ncommand = "checks/.*[.]sh$"\nmode = "allow"\n';

test('an agent finds a defect, mends it and commits', async (t) => {
  const w = await workspace(t, { policy, files: project, repository: true });
  const { tool, shell, run } = await serve(t, w, { face: 'paddock' });

  // Looking around.
  assert.equal((await tool('fs_find', { file_glob: '*.awk' })).text,
    'lib/format.awk\nlib/sum.awk\n\n[3 hidden file(s)/dir(s) skipped.]\n');
  assert.equal((await tool('fs_grep', { grep_regex: 'fixme', context_lines: 0 })).text,
    'checks/all.sh:5: grep -q FIXME lib/sum.awk && exit 3\n' +
    'lib/sum.awk:2: \t{ total += $1 }   # FIXME: comments count as 0\n\n[3 hidden file(s)/dir(s) skipped.]\n');
  assert.equal((await tool('fs_readfile', { path: 'lib/sum.awk', start: 2, end: 2 })).text,
    '2| \t{ total += $1 }   # FIXME: comments count as 0\n\n[Showing lines 2-2 of 3.]\n');
  const missing = await tool('fs_readfile', { path: 'lib/sums.awk' });
  assert.equal(missing.text, "Error: File not found: 'lib/sums.awk'\nDid you mean 'lib/sum.awk'?");
  assert.equal((await tool('fs_readfile', { path: 'lib' })).text, "Error: 'lib' is a directory; fs_find lists what is in it");
  assert.equal(await run('wc -l lib/*.awk | tail -1'), '  4 total\n');

  // The end of a long output is there, and so is what went wrong.
  const failed = await shell('checks/all.sh');
  assert.equal(failed.isError, false, 'a program that ran is no error');
  assert.match(failed.text, /^--- STDOUT ---\ncheck 1: ok\n/);
  assert.match(failed.text, /\ncheck 4000: ok\n[^]*--- EXIT CODE: 3 ---$/);
  assert.ok(failed.text.length < 67000);

  // Spaces where the file has a tab: told in one sentence, and mended with it.
  const spaces = await tool('fs_str_replace', { path: 'lib/sum.awk', oldStr: '    { total += $1 }   # FIXME: comments count as 0', newStr: 'x' });
  assert.equal(spaces.isError, true);
  assert.match(spaces.text, /^Indentation of line 2: the file has 1 tab, oldStr has 4 spaces\.$/m);
  const mended = await tool('fs_str_replace', { path: 'lib/sum.awk', oldStr: '\t{ total += $1 }   # FIXME: comments count as 0', newStr: '!/^#/\t{ total += $1 }' });
  assert.equal(mended.text, '--- lib/sum.awk\n+++ lib/sum.awk\n@@ -1,3 +1,3 @@\n BEGIN { total = 0 }\n' +
    '-\t{ total += $1 }   # FIXME: comments count as 0\n+!/^#/\t{ total += $1 }\n END { print total }\n');
  const twice = await tool('fs_str_replace', { path: 'lib/sum.awk', oldStr: 'total', newStr: 'sum' });
  assert.match(twice.text, /^Multiple matches found\. Showing 3 of 3 exact matches:/);
  assert.match((await tool('fs_str_replace', { path: 'lib/sum.awk', oldStr: 'total', newStr: 'sum', start_line: 3, end_line: 3 })).text, /^\+END \{ print sum \}$/m);
  assert.match((await tool('fs_str_replace', { path: 'lib/sum.awk', oldStr: 'print sum', newStr: 'print total' })).text, /^\+END/m);
  assert.match((await shell('checks/all.sh')).text, /\nall well\n\n--- EXIT CODE: 0 ---$/);

  // git, in the words that agents use.
  assert.equal((await shell('git', ['-C', 'lib', 'status', '--short'])).text, '--- STDOUT ---\n M sum.awk\n\n--- EXIT CODE: 0 ---');
  assert.match((await shell('git', ['--no-pager', 'diff'])).text, /^\+!\/\^#\/\t\{ total \+= \$1 \}$/m);
  assert.match((await shell('git', ['--version'])).text, /^--- STDOUT ---\ngit version /);
  assert.equal((await shell('git', ['add', 'lib/sum.awk'])).text, '--- EXIT CODE: 0 ---');
  const message = 'sum: leave comments out (see https://example.org/issues/7, ~/notes and/or a/b)';
  assert.match((await shell('git', ['commit', '-m', message])).text, /^--- STDOUT ---\n\[main [0-9a-f]+\] sum: leave/);
  assert.match((await shell('git', ['log', '-1', '--format=%s|%an'])).text, /a\/b\)\|Robin\n/);
  // What a command line would have meant, and what an editor would have asked.
  assert.match((await shell('git', ['log', '--oneline', '|', 'head'])).text, /^\[paddock: no shell reads the arguments: '\|' was given to the program as it is\]$/m);
  assert.match((await shell('git', ['log --oneline'])).text, /^Give each word as an argument of its own: /m);
  assert.match((await shell('git', ['commit', '--allow-empty'])).text, /^\[paddock: no editor is started for a command: give the text with an option, as git does with -m\]$/m);
  assert.match((await shell('git', ['show', 'HEAD:nothing'])).text, /\nfatal: [^]*--- EXIT CODE: 128 ---$/);
  assert.equal((await shell('git', ['status', '--porcelain'])).text, '--- EXIT CODE: 0 ---');
});

/** What a refusal says, without its frame. */
const said = (answer) => answer.text.replace(/^--- STDERR ---\n|\n--- EXIT CODE: 1 ---$/g, '').split('\n');

test('what is refused says why in three lines, and what it advises works', async (t) => {
  const w = await workspace(t, { policy, files: project, repository: true });
  const { tool, shell, run } = await serve(t, w, { face: 'paddock' });
  const before = await snapshot(w.root);

  const shelled = await shell('bash', ['-c', 'ls']);
  assert.deepEqual(said(shelled).slice(0, 2), ["Command 'bash' is not allowed", 'Rule: only what a [shell.*] section is for is started (always)']);
  assert.match(said(shelled)[2], /^\[No shell [^\]]*\] Configured commands: git, p4, docker, checks \('checks\/\.\*\[\.\]sh\$'\)\.$/);
  assert.match(said(await shell('git status'))[2], /^The command is one program name, its arguments go into args; /);
  assert.match(said(await shell('grep', ['-r', 'x']))[2], /^The tool fs_grep searches in files\. /);

  // The policy's own advice, and nothing that only sounds alike.
  const push = await shell('git', ['push', 'origin', 'main']);
  assert.equal(said(push).length, 3);
  assert.equal(said(push)[2], '[Pushing is left to a person: commit here and say that it is ready.]');
  assert.ok(push.text.length < 800, `${push.text.length}`);
  const setting = await shell('git', ['config', 'user.name']);
  assert.match(said(setting)[2], /Nearest: 'config --get', /);
  assert.equal((await shell('git', ['config', '--get', 'user.name'])).text, '--- STDOUT ---\nRobin\n\n--- EXIT CODE: 0 ---');

  // A path: what is wrong with it comes before what is said of git in general.
  const outside = await shell('git', ['add', '../other']);
  assert.equal(said(outside)[0], `argument '../other' is not permitted: '${join(w.top, 'other')}' is outside the workspace`);
  assert.match(said(outside)[2], /^Name a path in the workspace '[^']*', relative to it\. \[git is for local work here/);
  assert.match(said(await shell('git', ['-C', '/etc', 'status']))[0], /^cwd '\/etc' is not permitted: it is outside the workspace$/);

  // Files: the folder that it names takes the file.
  const etc = await tool('fs_append', { path: '/etc/motd', content: 'x\n' });
  assert.ok(isRefusal(etc), etc.text);
  const [, folder] = /Use a path below '([^']*)'/.exec(etc.text);
  const inside = join(folder, 'motd');
  assert.equal((await tool('fs_append', { path: inside, content: 'x\n' })).isError, false);
  assert.equal((await tool('fs_delete', { path: inside })).isError, false);
  const own = await tool('edit', { path: '.pyddock/pyddock.override.toml', old_string: 'allow', new_string: 'deny' });
  const [, scratch] = /may be written below '([^']*)\/'/.exec(own.text);
  assert.equal((await tool('fs_append', { path: join(scratch, 'note'), content: 'x\n' })).isError, false);
  await tool('fs_delete', { path: join(scratch, 'note') });
  assert.ok(isRefusal(await tool('fs_append', { path: 'checks/more.sh', content: 'x\n' })));
  assert.match(await run('echo x > checks/all.sh; cp README.md /tmp/paddock-copy'), /^\[paddock: refused: writing '\/tmp\/paddock-copy' is not permitted: .*writable_paths/m);

  // A program in the shell is one that is approved.
  assert.match(await run('/bin/ls --version; /usr/bin/env true; git --version'), /^git version /m);
  assert.deepEqual(await snapshot(w.root), before);
});

test('notes on what was cut lead to all of it', async (t) => {
  const lines = Array.from({ length: 2500 }, (_, i) => `${i} ${'word '.repeat(i % 50)}${i % 7 ? '' : '漢字'.repeat(i % 40)}`);
  const w = await workspace(t, { files: { 'long.txt': `${lines.join('\n')}\n`, 'han.txt': `${'漢'.repeat(40)}\n`.repeat(3000) } });
  const { tool, run } = await serve(t, w, { face: 'paddock' });
  const found = [];
  for (let start = 1, replies = 0; start; replies++) {
    const { text: reply } = await tool('fs_readfile', { path: 'long.txt', start });
    assert.ok(replies < 20 && Buffer.byteLength(reply) < 60000);
    found.push(...reply.split('\n').map((line) => /^ *\d+\| (.*)$/.exec(line)?.[1]).filter((line) => line !== undefined));
    start = Number(/Use start=(\d+) to continue\.\]/.exec(reply)?.[1] ?? 0);
  }
  assert.deepEqual(found, lines);
  // Characters of three bytes count for three: a reply costs a model about the same in any script.
  for (const reply of [await run('cat han.txt'), (await tool('fs_readfile', { path: 'han.txt' })).text, (await tool('fs_grep', { grep_regex: '漢', max_results: 2000 })).text]) {
    assert.ok(Buffer.byteLength(reply) < 60000, `${Buffer.byteLength(reply)}`);
    assert.doesNotMatch(reply, /\ufffd/);
  }
});

test('a line of a bundle is shown around what was found, and goes whole into files and pipes', async (t) => {
  const bundle = `${'var a=1;'.repeat(20000)}needle();${'var b=2;'.repeat(20000)}`;
  const w = await workspace(t, { files: { 'bundle.min.js': bundle } });
  const { run } = await serve(t, w, { face: 'paddock' });
  const shown = await run('grep -rn needle .');
  assert.ok(shown.length < 2000, `${shown.length}`);
  assert.match(shown, /^\.\/bundle\.min\.js:1:\[\.\.\.\] .*needle\(\);.* \[truncated: line too long\]\n$/);
  assert.equal(await run('grep needle bundle.min.js | wc -c; x=$(grep needle bundle.min.js); echo ${#x}; grep needle bundle.min.js > copy; wc -c < copy'),
    `${bundle.length + 1}\n${bundle.length}\n${bundle.length + 1}\n`);
});

test('names that cannot be told apart are told', async (t) => {
  const w = await workspace(t, { files: { 'plan\u00a02.txt': 'x\n' } });
  const { tool } = await serve(t, w, { face: 'paddock' });
  for (const [name, args] of [['fs_readfile', {}], ['fs_stat', {}], ['edit', { old_string: 'x', new_string: 'y' }]]) {
    const { text: reply } = await tool(name, { path: 'plan 2.txt', ...args });
    assert.match(reply, /plan\u00a02\.txt' has U\+00A0 \(no-break space\) where you wrote U\+0020/, name);
  }
});

test('a name that is no UTF-8 is told where it is given as it was shown', async (t) => {
  const w = await workspace(t, { files: { 'other.txt': 'y\n' } });
  await writeFile(Buffer.concat([Buffer.from(`${w.root}/caf`), Buffer.from([0xe9, 0xe8]), Buffer.from('.txt')]), 'x\n');
  const { tool, run } = await serve(t, w, { face: 'paddock' });
  const before = await run('ls -la | md5sum');
  const shown = /caf.*\.txt/.exec(await run('ls'))[0];
  assert.match(shown, /\ufffd/);
  for (const [name, args] of [['fs_readfile', {}], ['fs_append', { content: 'z\n' }], ['fs_delete', {}], ['edit', { old_string: 'x', new_string: 'y' }], ['fs_str_replace', { oldStr: 'x', newStr: 'y' }]]) {
    for (const path of [shown, 'caf\ufffd.txt']) {
      const reply = await tool(name, { path, ...args });
      assert.equal(reply.isError, true, name);
      assert.match(reply.text, /\.txt' has byte 0xE9 where you wrote U\+FFFD \(in a shell: \$'caf\\xe9\\xe8\.txt'\)$/m, name);
    }
  }
  assert.equal(await run('ls -la | md5sum'), before);
  assert.equal(await run("cat $'caf\\xe9\\xe8.txt'"), 'x\n');
  assert.equal((await tool('fs_append', { path: 'new\ufffd.txt', content: 'z\n' })).isError, false); // nothing looks like it
});

test('a folder whose name is in a variable without a value is not emptied', async (t) => {
  const w = await workspace(t, { files: { 'a/b.txt': '1\n', 'c.txt': '2\n' } });
  const before = await snapshot(w.root);
  const { tool } = await connect(t, kinds.at(-1), mcpath, [w.root], { HOME: w.home });
  for (const command of ['rm -rf $BUILD_DIR/*', 'rm -r -- "$BUILD_DIR"/a', 'cd a; rm -rf ${BUILD_DIR}/*']) {
    assert.match((await tool('run', { command })).text, /BUILD_DIR is not set, .*nothing was removed\n\[exit 1\]$/, command);
  }
  assert.deepEqual(await snapshot(w.root), before);
});

test('mcpath leaves the policy alone that pyddock obeys in the same folder', async (t) => {
  const w = await workspace(t, { policy, files: { 'a.txt': 'x\n' } });
  const before = await snapshot(w.root);
  const { tool } = await connect(t, kinds.at(-1), mcpath, [w.root], { HOME: w.home });
  for (const command of ['echo x > .pyddock/pyddock.toml', 'mv .pyddock old', 'rm -rf .pyddock', 'ln a.txt .pyddock/pyddock.toml', 'cp a.txt .PYDDOCK/x']) {
    await tool('run', { command });
    assert.deepEqual(await snapshot(w.root), before, command);
  }
});

test('a client without an environment starts a server that finds git', { skip: sanitized }, async (t) => {
  const w = await workspace(t, { files: { 'a.txt': 'x\n' }, repository: true });
  await writeFile(join(w.top, 'bare'), '#!/bin/sh\nexec /usr/bin/env -i "$@"\n', { mode: 0o755 });
  const { tool } = await connect(t, kinds.at(-1), join(w.top, 'bare'), [pyddock, 'serve', '--no-install', '--workspace', w.root]);
  assert.equal((await tool('fs_readfile', { path: 'a.txt' })).text, '1| x\n');
  assert.match((await tool('run_shell', { command: 'git', args: ['status', '--short'] })).text, /--- EXIT CODE: 0 ---$/);
});

test('what cannot be started says so in one line that names it', async (t) => {
  const w = await workspace(t, { files: { file: 'x\n', 'unknown/.pyddock/pyddock.toml': 'colour = 1\n', 'bytes/.pyddock/pyddock.toml': '# \0\n' } });
  for (const name of ['linked', 'plain', 'folder']) await mkdir(join(w.root, name));
  await symlink(join(w.top, 'unmounted'), join(w.root, 'linked/.pyddock'));
  await writeFile(join(w.root, 'plain/.pyddock'), '');
  await mkdir(join(w.root, 'folder/.pyddock/pyddock.toml'), { recursive: true });
  const set_ups = [
    ['missing', /missing/], ['file', /file/], ['unknown', /pyddock\.toml:1: colour/], ['bytes', /pyddock\.toml/],
    ['linked', /\.pyddock: /], ['plain', /\.pyddock: is not a folder/], ['folder', /pyddock\.toml/],
  ];
  for (const [name, expected] of set_ups) {
    for (const [program, ...args] of [[pyddock, 'serve', '--workspace'], [paddock, 'serve']]) {
      let failure;
      try { execFileSync(program, [...args, join(w.root, name)], { env: { ...process.env, HOME: w.home }, input: '', stdio: 'pipe' }); } catch (e) { failure = e; }
      assert.ok(failure, `${name} was served`);
      assert.equal(failure.stdout.toString(), '', name);
      assert.match(failure.stderr.toString(), /^[^\n]+\n$/, name);
      assert.match(failure.stderr.toString(), expected, name);
    }
  }
  assert.equal(await exists(join(w.root, 'missing')), false);
  assert.equal(await text(w, 'file'), 'x\n');
  assert.equal((await readFile(join(w.root, 'plain/.pyddock'))).length, 0);
});
