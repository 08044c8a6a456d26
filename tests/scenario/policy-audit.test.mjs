// What is recorded of a session, and that nobody in it can bend the record.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { link, mkdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pyddock } from './lib.mjs';
import { Server } from './server.mjs';
import { exists, isRunning, kinds, mode, noMounts, serve, sha256, text, workspace } from './workspace.mjs';

const withLog = (path, more = '') => `[audit_log]\npath = "${path}"\n${more}`;

/** A workspace whose calls are recorded in `log`, beside it. */
async function logged(t, { more = '', policy = '', ...rest } = {}) {
  const w = await workspace(t, rest);
  w.log = join(w.top, 'state/audit.jsonl');
  await mkdir(join(w.top, 'state'));
  await mkdir(join(w.root, '.pyddock'), { recursive: true });
  await writeFile(join(w.root, '.pyddock/pyddock.override.toml'), withLog(w.log, more) + policy);
  return w;
}

const lines = async (path) => (await readFile(path, 'utf8')).trimEnd().split('\n').map((line) => JSON.parse(line));

for (const kind of kinds) {
  test(`${kind}: every call and decision is a record`, async (t) => {
    const w = await logged(t, { files: { 'a.txt': 'one\n' }, repository: true });
    const { tool, shell } = await serve(t, w, { kind });
    await tool('fs_stat', { path: 'a.txt' });
    await tool('fs_append', { path: 'a.txt', content: 'two\n' });
    await tool('fs_append', { path: '../out.txt', content: 'three\n' });
    await shell('git', ['status', '--short']);
    await shell('git', ['rev-parse', 'no-such-thing']);
    await shell('rm', ['a.txt']);
    const [look, append, denied, status, failed, refused] = await lines(w.log);
    assert.deepEqual([look.tool, look.decision, look.is_error], ['fs_stat', 'allow', false]);
    assert.deepEqual(look.arguments, { path: 'a.txt' });
    assert.match(look.t, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    assert.ok(look.session && look.bytes > 0 && look.duration_us > 0);
    assert.deepEqual(append.arguments.content, { bytes: 4, sha256: sha256('two\n') });
    assert.equal(denied.decision, 'deny');
    assert.match(denied.rule, /writable_paths/);
    assert.deepEqual([status.decision, status.exit, status.is_error], ['allow', 0, false]);
    assert.deepEqual([failed.decision, failed.exit, failed.is_error], ['allow', 128, false]);
    assert.deepEqual([refused.decision, refused.is_error], ['deny', true]);
    assert.equal(await mode(w.log), 0o600);
    assert.equal(await exists(join(w.top, 'out.txt')), false);
  });
}

test('a program that is refused in the shell is recorded with its rule', async (t) => {
  const w = await logged(t, { repository: true });
  const { run } = await serve(t, w, { face: 'paddock' });
  await run('git status --short | cat');
  await run('git push 2>/dev/null | cat');
  await run('git log --format=%s');
  const [status, push, log] = await lines(w.log);
  assert.deepEqual([status, push, log].map(({ tool, decision }) => [tool, decision]), [['run', 'allow'], ['run', 'deny'], ['run', 'allow']]);
  assert.match(push.rule, /^\[shell\.git\] .*\(built-in policy, line \d+\)$/);
});

test('a call that was cancelled is recorded as that', async (t) => {
  const w = await logged(t, { policy: '[shell.sleep]\nmode = "allow"\n' });
  const { tool, shell } = await serve(t, w);
  const abort = new AbortController();
  const seconds = `6${process.pid}`;
  const call = tool('run_shell', { command: 'sleep', args: [seconds] }, { signal: abort.signal });
  while (!(await isRunning('sleep', seconds))) await sleep(20);
  abort.abort('enough');
  await assert.rejects(call);
  await shell('sleep', ['0']);
  const [cancelled, done] = await lines(w.log);
  assert.deepEqual([cancelled.cancelled, cancelled.decision, cancelled.is_error], [true, 'allow', true]);
  assert.equal('cancelled' in done, false);
});

/** What the records say of files: path -> digest, 'gone', or '' where only the change is known. */
function replay(records) {
  const files = new Map();
  for (const { path, op, before, after } of records.flatMap((record) => record.writes ?? [])) {
    if (/dir$/.test(op)) continue;
    if (before && files.get(path)) assert.equal(before, files.get(path), `what ${path} was before`);
    files.set(path, op === 'unlink' ? 'gone' : after ?? '');
  }
  return files;
}

test('replaying the log rebuilds the list of files that were changed', async (t) => {
  const w = await logged(t, { files: { 'a.txt': 'one\n', 'gone.txt': 'x\n', 'kept.txt': 'k\n', 'empty/x': '' } });
  const { tool } = await serve(t, w);
  await tool('fs_append', { path: 'a.txt', content: 'two\n' });
  await tool('fs_str_replace', { path: 'a.txt', oldStr: 'one', newStr: 'three' });
  await tool('fs_str_replace', { path: 'a.txt', oldStr: 'absent', newStr: 'four' });
  await tool('fs_append', { path: 'deep/er/new.txt', content: 'n\n' });
  await tool('fs_delete', { path: 'gone.txt' });
  await tool('fs_delete', { path: 'empty' });
  await tool('fs_append', { path: '.pyddock/evil', content: 'x' });
  await tool('fs_readfile', { path: 'kept.txt' });
  const files = replay(await lines(w.log));
  const changed = [...files.keys()].map((path) => path.replace(`${w.root}/`, '')).sort();
  assert.deepEqual(changed, ['a.txt', 'deep/er/new.txt', 'gone.txt']);
  for (const [path, after] of files)
    if (after) assert.equal(after, (await exists(path)) ? sha256(await readFile(path)) : 'gone', path);
  assert.equal([...files.values()].filter(Boolean).length, 3);
});

test('secrets do not reach the log', async (t) => {
  const w = await logged(t, { policy: '[shell.echo]\nmode = "allow"\n' });
  const { tool, shell } = await serve(t, w);
  const token = `ghp_${'0123456789'.repeat(3)}`;
  await shell('echo', ['--password', 'hunter2', `token=${token}`, 'https://me:hunter2@example.org/']);
  await shell('echo', ['{"api_key": "hunter2"}']);
  await shell('nothing', ['--api-key=hunter2']);
  await tool('fs_append', { path: 'a', content: `password = hunter2\n${token}` });
  await tool('fs_stat', { path: `${token}/x` });
  const log = await readFile(w.log, 'utf8');
  assert.equal(log.trimEnd().split('\n').length, 5);
  assert.doesNotMatch(log, /hunter2/);
  assert.ok(!log.includes(token));
});

test('whole arguments are recorded if that is asked for', async (t) => {
  const w = await logged(t, { more: 'arguments = true\n' });
  const { tool } = await serve(t, w);
  await tool('fs_append', { path: 'a', content: 'plain text\n' });
  const [record] = await lines(w.log);
  assert.equal(record.arguments.content, 'plain text\n');
});

test('the log is rotated and no record is lost', async (t) => {
  const w = await logged(t, { more: 'max_bytes = 10000\nkeep = 20\n' });
  const { tool } = await serve(t, w);
  for (let i = 0; i < 200; i++) await tool('fs_stat', { path: `file-${i}` });
  const seen = [];
  for (let i = 20; i >= 0; i--) {
    const path = i ? `${w.log}.${i}` : w.log;
    if (!(await exists(path))) continue;
    assert.ok((await stat(path)).size <= 10000);
    seen.push(...(await lines(path)).map((record) => record.arguments.path));
  }
  assert.deepEqual(seen, Array.from({ length: 200 }, (_, i) => `file-${i}`));
  assert.ok(await exists(`${w.log}.1`));
});

test('the log goes on after its owner moved it away', async (t) => {
  const w = await logged(t);
  const { tool } = await serve(t, w);
  await tool('fs_stat', { path: 'first' });
  await rename(w.log, `${w.log}.old`);
  await tool('fs_stat', { path: 'second' });
  assert.equal((await lines(`${w.log}.old`)).length, 1);
  assert.equal((await lines(w.log))[0].arguments.path, 'second');
});

/** How a server ends that must not start. */
function refusedStart(w, ...options) {
  const { status, stdout, stderr } = spawnSync(pyddock, ['serve', '--no-install', '--workspace', w.root, ...options], {
    input: '', encoding: 'utf8', env: { ...process.env, HOME: w.home }, timeout: 60000,
  });
  assert.equal(stdout, '');
  assert.notEqual(status, 0, stderr);
  assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
  return stderr;
}

test('a log that agents may write to is refused at start', async (t) => {
  const w = await workspace(t, { files: { 'sub/x': '' } });
  await mkdir(join(w.root, '.pyddock'));
  await symlink(join(w.root, 'sub'), join(w.top, 'into'));
  for (const path of ['project/a.jsonl', 'project/sub/a.jsonl', 'project/.pyddock/tmp/a.jsonl', 'into/a.jsonl']) {
    await writeFile(join(w.root, '.pyddock/pyddock.override.toml'), withLog(join(w.top, path)));
    assert.match(refusedStart(w), /pyddock\.override\.toml|audit log/);
    assert.equal(await exists(join(w.top, path)), false, path);
  }
});

test('a link in the place of the log is refused at start', async (t) => {
  const w = await logged(t);
  await writeFile(join(w.top, 'victim'), 'keep\n');
  for (const plant of [symlink, link]) {
    await plant(join(w.top, 'victim'), w.log);
    assert.match(refusedStart(w), /link/);
    await rm(w.log);
  }
  assert.equal(await readFile(join(w.top, 'victim'), 'utf8'), 'keep\n');
});

test('a log that cannot be written says so once and fails no call', async (t) => {
  const w = await logged(t);
  const limit = 'ulimit -f 1; exec "$0" "$@"';
  const server = new Server(t, 'bash', { args: ['-c', limit, pyddock, 'serve', '--no-install', '--workspace', w.root], env: { HOME: w.home } });
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  server.send({ jsonrpc: '2.0', id: 0, method: 'initialize', params }, { jsonrpc: '2.0', method: 'notifications/initialized' });
  for (let id = 1; id <= 12; id++) {
    server.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'fs_stat', arguments: { path: 'x'.repeat(200) } } });
    assert.equal((await server.reply(id)).result.isError, false);
  }
  assert.equal(server.stderr.match(/audit log/g)?.length, 1, server.stderr);
  assert.ok((await stat(w.log)).size <= 1024);
});

test('--debug records events; without it there is no log', async (t) => {
  const w = await workspace(t, { files: { 'a.txt': 'one\n' }, repository: true });
  const log = join(w.root, '.pyddock/tmp/audit.jsonl');
  const quiet = await serve(t, w);
  await quiet.tool('fs_stat', { path: 'a.txt' });
  assert.equal(await exists(log), false);
  const { tool, shell } = await serve(t, w, { options: ['--debug'] });
  await tool('fs_readfile', { path: 'a.txt' });
  await tool('fs_append', { path: '../out', content: 'x' });
  await shell('git', ['status']);
  await shell('git', ['push', "a', 'b\n"]);
  const events = await lines(log);
  assert.equal(await mode(log), 0o600);
  for (const event of events) {
    assert.deepEqual(Object.keys(event), ['t', 'pid', 'event', 'decision', 'caller', 'detail']);
    assert.ok(Math.abs(event.t - Date.now() / 1000) < 600 && [...event.detail].length <= 300);
  }
  const decisions = (name) => events.filter(({ event }) => event === name).map(({ decision }) => decision);
  assert.deepEqual(decisions('subprocess.Popen'), ['allow', 'deny']);
  const push = events.find(({ event, decision }) => event === 'subprocess.Popen' && decision === 'deny');
  assert.equal(push.detail, String.raw`exe='git' args=['push', 'a\', \'b\x0a']`, 'one argument does not pass for two');
  assert.ok(decisions('open').includes('allow'));
  assert.ok(decisions('open').includes('deny'));
});

test('events that the table does not name, or allows, are silent; observe is observe', async (t) => {
  const policy = '[audit]\n"open" = "allow"\n"subprocess.Popen" = "observe"\n';
  const w = await workspace(t, { policy, files: { 'a.txt': 'one\n' }, repository: true });
  const { tool, shell } = await serve(t, w, { options: ['--debug'] });
  await tool('fs_readfile', { path: 'a.txt' });
  await shell('git', ['status']);
  const events = await lines(join(w.root, '.pyddock/tmp/audit.jsonl'));
  assert.deepEqual(events.map(({ event, decision }) => [event, decision]), [['subprocess.Popen', 'observe']]);
});

const tamper = [
  ['fs_delete', { path: '.pyddock/tmp/audit.jsonl' }],
  ['fs_append', { path: '.pyddock/tmp/audit.jsonl', content: 'x' }],
  ['fs_str_replace', { path: '.pyddock/tmp/audit.jsonl', oldStr: '"deny"', newStr: '"allow"' }],
  ['run', { command: '> .pyddock/tmp/audit.jsonl' }],
  ['run', { command: 'truncate -s 0 .pyddock/tmp/audit.jsonl; cp /dev/null .pyddock/tmp/audit.jsonl' }],
  ['run', { command: 'rm -f .pyddock/tmp/audit.jsonl; mv .pyddock/tmp/audit.jsonl x' }],
  ['run', { command: 'echo x > y; mv y .pyddock/tmp/audit.jsonl; ln -f y .pyddock/tmp/audit.jsonl' }],
  ['run', { command: 'ln .pyddock/tmp/audit.jsonl z && echo x >> z' }],
  ['run', { command: 'mv .pyddock/tmp .pyddock/old; rm -rf .pyddock/tmp; rm -rf .pyddock' }],
  ['run', { command: 'chmod 666 .pyddock/tmp/audit.jsonl; touch -d 2001-01-01 .pyddock/tmp/audit.jsonl' }],
  ...[
    '> .pyddock/tmp/audit.jsonl', 'rm -f .pyddock/tmp/audit.jsonl', 'mv .pyddock/tmp/audit.jsonl x',
    'mv .pyddock/tmp .pyddock/old', 'truncate -s 0 .pyddock/tmp/audit.jsonl', 'rm -rf .pyddock',
    'echo x > y; mv -f y .pyddock/tmp/audit.jsonl', 'ln .pyddock/tmp/audit.jsonl z && > z',
  ].map((script) => ['run_shell', { command: 'sh', args: ['-c', script] }]),
];

test('no tool can truncate, replace or remove the debug log', { skip: noMounts }, async (t) => {
  const policy = '[shell.sh]\nmode = "allow"\narg_paths = "none"\n';
  const w = await workspace(t, { policy });
  const log = join(w.root, '.pyddock/tmp/audit.jsonl');
  const { tool } = await serve(t, w, { face: 'paddock', options: ['--debug'] });
  await tool('fs_append', { path: '../out', content: 'x' });
  const { ino } = await stat(log);
  let before = await readFile(log, 'utf8');
  for (const [name, args] of tamper) {
    await tool(name, args);
    const now = await readFile(log, 'utf8');
    assert.ok(now.startsWith(before), `${name} ${JSON.stringify(args)} changed the log`);
    assert.equal((await stat(log)).ino, ino, `${name} ${JSON.stringify(args)} replaced the log`);
    before = now;
  }
  assert.equal(await mode(log), 0o600);
  await tool('fs_append', { path: '.pyddock/tmp/mine', content: 'x' });
  assert.equal(await text(w, '.pyddock/tmp/mine'), 'x', 'the rest of the folder is free');
});

test('a whole session makes no connection', async (t) => {
  const w = await logged(t, { files: { 'a.txt': 'one\n' }, repository: true });
  const { tool, shell, pid } = await serve(t, w, { options: ['--debug'] });
  const sockets = () => {
    const own = new Set();
    for (const child of execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' }).match(/\d+/g) ?? [])
      own.add(child);
    const links = [String(pid), ...own].flatMap((id) =>
      spawnSync('find', [`/proc/${id}/fd`, '-lname', 'socket:*', '-printf', '%l\n'], { encoding: 'utf8' }).stdout.match(/\d+/g) ?? []);
    const families = ['tcp', 'tcp6', 'udp', 'udp6', 'raw', 'raw6', 'packet'];
    return links.filter((inode) => families.some((name) => {
      const { stdout } = spawnSync('grep', ['-w', inode, `/proc/${pid}/net/${name}`], { encoding: 'utf8' });
      return stdout !== '';
    }));
  };
  await tool('fs_append', { path: 'a.txt', content: 'two\n' });
  assert.deepEqual(sockets(), []);
  await shell('git', ['status']);
  await tool('fs_grep', { grep_regex: 'two' });
  assert.deepEqual(sockets(), []);
});
