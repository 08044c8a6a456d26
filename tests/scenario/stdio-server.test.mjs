// The server as a process: what it does with its descriptors, signals, and a worker that
// misbehaves.  The worker is tests/unit/test-worker.c, put beside a copy of the program.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFile, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Server as Process, cancel, ping, runs } from './server.mjs';

const top = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const build = resolve(top, process.env.PADDOCK_BUILD ?? 'build');
const HANG_MS = 20000; // only to catch what never ends
let dir, mcpath;

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'paddock-stdio-'));
  mcpath = join(dir, 'mcpath');
  await copyFile(join(build, 'src/paddock'), mcpath);
  await copyFile(join(build, 'tests/unit/test-worker'), join(dir, 'paddock-worker'));
});
after(() => rm(dir, { recursive: true, force: true }));

class Server extends Process {
  constructor(t, options = {}) { super(t, mcpath, { args: [dir], ...options }); }
}

test('the end of stdin ends the server and its worker, idle or in a call', async (t) => {
  for (const busy of [false, true]) {
    const server = new Server(t);
    const { text: pid } = await server.text(1, 'pid');
    if (busy) { server.call(2, 'hang').catch(() => {}); server.send(ping(3)); await server.reply(3); }
    const started = performance.now();
    server.child.stdin.end();
    assert.deepEqual(await server.ended, { code: 0, signal: null });
    t.diagnostic(`${busy ? 'busy' : 'idle'}: ${(performance.now() - started).toFixed(1)} ms`);
    assert.equal(await runs(pid), false);
  }
});

test('signals that ask to stop end it in order', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
    const server = new Server(t);
    const { text: pid } = await server.text(1, 'pid');
    server.child.kill(signal);
    assert.deepEqual(await server.ended, { code: 0, signal: null }, signal);
    assert.equal(await runs(pid), false);
  }
});

test('a killed server leaves no worker', async (t) => {
  const server = new Server(t);
  const { text: pid } = await server.text(1, 'pid');
  server.child.kill('SIGKILL');
  await server.ended;
  for (let i = 0; i < 100 && await runs(pid); i++) await sleep(20);
  assert.equal(await runs(pid), false);
});

test('a worker that dies costs its call, and the next one says that state is gone', async (t) => {
  const server = new Server(t);
  const crash = await server.text(1, 'kill 11');
  assert.equal(crash.isError, true);
  assert.match(crash.text, /killed by signal SEGV/);
  assert.match((await server.text(2, 'echo on')).text, /were reset\]\non$/);
  assert.equal((await server.text(3, 'echo on')).text, 'on');
});

test('a worker that breaks the wire is ended', async (t) => {
  const server = new Server(t);
  for (const command of ['garbage', 'twice', 'big']) {
    assert.equal((await server.text(command, command)).isError, true);
    assert.match((await server.text(`${command} next`, 'echo on')).text, /reset\]\non$/);
  }
});

test('a call that never ends is stopped, and pings are answered meanwhile', async (t) => {
  const server = new Server(t, { args: [dir, '--timeout', '0.1'] });
  const stuck = server.text(1, 'hang');
  server.send(ping(2));
  assert.deepEqual((await server.reply(2)).result, {});
  const { text, isError } = await stuck;
  assert.equal(isError, true);
  assert.match(text, /did not end by itself after 0.100 s/);
});

test('a cancelled call is not answered; what waits behind it runs', async (t) => {
  const server = new Server(t);
  server.call(1, 'sleep 15000').catch(() => {});
  server.call(2, 'die 1').catch(() => {});
  const kept = server.text(3, 'echo kept');
  server.send(ping('p'));
  await server.reply('p');
  server.send(cancel(2), cancel(1), cancel('unknown'));
  assert.equal((await kept).text, 'kept');
  const stuck = server.call(4, 'hang');
  stuck.catch(() => {});
  server.send(cancel(4));
  assert.match((await server.text(5, 'echo on')).text, /on$/);
  assert.deepEqual(server.messages.filter((m) => [1, 2, 4].includes(m.id)), []);
  server.child.stdin.end();
  await server.ended;
});

test('a batch is one line, when all of it is answered', async (t) => {
  const server = new Server(t);
  server.send({ jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: '2025-03-26' } });
  await server.reply(0);
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'run', arguments: { command: 'sleep 50' } } };
  server.send([call, ping(2), { jsonrpc: '2.0', method: 'notifications/x' }]);
  const batch = await server.find(Array.isArray);
  assert.deepEqual(batch.map((m) => m.id), [2, 1]);
});

test('a line may have 16 MiB; a longer one is refused and skipped', async (t) => {
  const server = new Server(t);
  const call = (bytes) => {
    const frame = (filler) => JSON.stringify({ jsonrpc: '2.0', id: bytes, method: 'tools/call', params: { name: 'run', arguments: { command: filler } } });
    return frame('echo ' + 'x'.repeat(bytes - frame('echo ').length));
  };
  const max = 16 << 20;
  server.send(call(max));
  const { result } = await server.reply(max);
  assert.ok(result.isError || result.content[0].text.length > max - 200);
  server.send(call(max + 1), ping('after'));
  await server.reply('after');
  const refusal = server.messages.find((m) => m.error);
  assert.equal(refusal.error.code, -32600);
  assert.equal('id' in refusal, false);
});

test('a client that does not read is not read from, and its end is seen', async (t) => {
  const server = new Server(t);
  server.child.stdout.pause();
  let sent = 0;
  const line = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }) + '\n';
  while (server.child.stdin.write(line.repeat(1000)) && sent < 200) { sent++; await sleep(5); }
  await sleep(200);
  const rss = Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${server.child.pid}/status`, 'utf8'))[1]);
  assert.ok(rss < 64 * 1024, `${rss} kB`);
  assert.ok(server.child.stdin.writableLength > 0, 'it goes on reading');
  server.child.stdin.destroy();
  server.child.stdout.destroy();
  assert.equal((await server.ended).code, 0);
});

test('a client that has closed stdout is noticed when it is written to', async (t) => {
  const server = new Server(t);
  server.send(ping(1));
  await server.reply(1);
  server.child.stdout.destroy();
  await sleep(20);
  server.send(ping(2), ping(3));
  assert.equal((await server.ended).code, 0);
});

test('stdin and stdout may be files: everything is answered before the end', async (t) => {
  const input = join(dir, 'input'), output = join(dir, 'output');
  const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'run', arguments: { command: 'echo hi' } } };
  await writeFile(input, [ping(1), call, ping(3)].map((m) => JSON.stringify(m)).join('\n')); // no last newline
  const stdin = await open(input), stdout = await open(output, 'w');
  const server = new Server(t, { stdin: stdin.fd, stdout: stdout.fd });
  assert.equal((await server.ended).code, 0);
  const replies = (await readFile(output, 'utf8')).trim().split('\n').map((l) => JSON.parse(l));
  assert.deepEqual(replies.map((m) => m.id).sort(), [1, 2, 3]);
  await stdin.close();
  await stdout.close();
});

test('a terminal may be the client', { skip: !existsSync('/usr/bin/script') }, async () => {
  const input = join(dir, 'typed');
  await writeFile(input, `${JSON.stringify(ping(1))}\n`);
  const out = execFileSync('script', ['-qec', `stty -echo; ${mcpath} ${dir}`, '/dev/null'],
    { input: JSON.stringify(ping(1)) + '\n\x04', timeout: HANG_MS, encoding: 'utf8' });
  assert.match(out, /"id":1,"result":\{\}/);
});

test('nothing is inherited by the worker, and nothing else can write the protocol', async (t) => {
  const extra = await open(join(dir, 'leak'), 'w');
  const server = new Server(t, { env: { SECRET_TOKEN: 'hunter2' } });
  const { text: env } = await server.text(1, 'env');
  assert.doesNotMatch(env, /SECRET_TOKEN|HOME|PATH=/);
  const { text: fds } = await server.text(2, 'fds');
  const lines = fds.trim().split('\n');
  assert.deepEqual(lines.map((l) => l.split(' ')[0]), ['0', '1', '2', '3', '4']);
  assert.equal(lines[0], '0 /dev/null');
  assert.equal(lines[1].slice(2), lines[2].slice(2));
  assert.equal(lines[4], `4 ${dir}`);
  await extra.close();
});

test('start faults are one line and a status', async (t) => {
  for (const [args, code, text] of [
    [['--reed-only'], 2, /did you mean '--read-only'/],
    [['/nonexistent'], 1, /^mcpath: cannot serve '\/nonexistent': No such file or directory\n$/],
    [[join(dir, 'mcpath')], 1, /Not a directory/],
    [['s3://bucket'], 2, /not in this build yet/],
    [['--transport', 'http', '--host', '0.0.0.0'], 2, /no loopback address.*'--token-file' is needed/],
    [['a\nb', 'c'], 2, /^[^\n]*\n$/],
  ]) {
    const server = new Server(t, { args });
    assert.equal((await server.ended).code, code, args.join(' '));
    assert.match(server.stderr, text);
    assert.equal(server.stderr.split('\n').length, 2);
  }
});
