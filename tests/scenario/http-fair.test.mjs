// Clients of one server share what does the work, and none keeps another waiting. What
// comes first is told by the order of answers, and not by a clock.
import assert from 'node:assert/strict';
import { setMaxListeners } from 'node:events';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { children, initialize, listen, modern, request, session } from './http.mjs';
import { build, paddock, until } from './lib.mjs';
import { workspace } from './workspace.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const call = (id, name, args, meta) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, ...(meta ? { _meta: meta } : {}) } });
const free = (name) => `[shell.${name}]\nmode = "allow"\narg_paths = "none"\n`;
const policy = `[execution]\ntimeout = 600\n` + free('sleep') + free('echo') +
  '[mcp.slow]\ndescription = "Slow."\ntools = { ".*" = true }\n[mcp.quick]\ndescription = "Quick."\ntools = { ".*" = true }\n';

/** {w, server}: `paddock serve` over HTTP with all tools. */
async function start(t, { program = paddock, wrap = [], files = {}, options = [] } = {}) {
  const w = await workspace(t, { policy, files });
  const definitions = {
    slow: { command: join(build, 'tests/unit/fake-mcp'), args: ['--log', join(w.top, 'slow.log'), 'tools/call=hang'] },
    quick: { command: process.execPath, args: [join(here, 'echo-mcp.mjs'), 'ECHO', join(w.top, 'quick.log')] },
  };
  await writeFile(join(w.root, '.pyddock/mcp.json'), JSON.stringify({ mcpServers: definitions }));
  const args = ['serve', '--no-install', w.root, ...options];
  const env = { HOME: w.home };
  const server = wrap.length ? await listen(t, [...wrap, program, ...args], { program: '/bin/sh', env }) : await listen(t, args, { program, env });
  return { w, server };
}

/** So many processes of this command line run. */
async function count(...words) {
  let found = 0;
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    found += line.replace(/\0$/, '') === words.join('\0');
  }
  return found;
}
/** Seconds that no other run of these tests has a process of. */
const own = (seconds) => `${seconds}.${process.pid}`;
const textOf = ({ json, body }) => json?.result?.content[0].text ?? assert.fail(body);

/** A client that makes many calls at once: {answers, hangUp()}. */
function flood(post, messages) {
  const stop = new AbortController();
  const all = { answers: 0 };
  setMaxListeners(0, stop.signal);
  const ended = messages.map((message) => post(message, { signal: stop.signal }).then(() => { all.answers++; }, () => {}));
  all.hangUp = () => { stop.abort(); return Promise.all(ended); };
  return all;
}

const many = (n, make) => Array.from({ length: n }, (_, i) => make(i));

test("a hundred slow commands of one session, and another's answers come before them", async (t) => {
  const { server } = await start(t);
  const a = await session(server), b = await session(server);
  const slow = flood(a.post, many(100, (i) => call(i, 'run_shell', { command: 'sleep', args: [own(271)] })));
  await until(async () => await count('sleep', own(271)) === 12); // of 16 places
  for (let i = 0; i < 5; i++) {
    assert.match(textOf(await b.post(call(i, 'run_shell', { command: 'echo', args: [`b${i}`] }))), new RegExp(`b${i}`));
  }
  const together = await Promise.all(many(20, (i) => b.post(call(i, 'run_shell', { command: 'echo', args: [`c${i}`] }))));
  together.forEach((reply, i) => assert.match(textOf(reply), new RegExp(`c${i}\n`)));
  assert.equal(slow.answers, 0);
  assert.equal(await count('sleep', own(271)), 12);
  await slow.hangUp();
  await until(async () => await count('sleep', own(271)) === 0); // and none of those that waited begins
  assert.match(textOf(await a.post(call(1, 'run_shell', { command: 'echo', args: ['again'] }))), /again/);
});

test('a call that waits says so, and can be cancelled', async (t) => {
  const { server } = await start(t);
  const a = await session(server);
  const slow = flood(a.post, many(12, (i) => call(i, 'run_shell', { command: 'sleep', args: [own(272)] })));
  await until(async () => await count('sleep', own(272)) === 12);
  const waiting = a.post(call(77, 'run_shell', { command: 'sleep', args: [own(273)] }));
  let notes = '';
  const told = a.post(call('p', 'run_shell', { command: 'echo', args: ['late'] }, { progressToken: 't' }), { onText: (text) => { notes = text; } });
  await until(() => /"message":"waiting for its turn"/.test(notes)); // between two notes there are ten seconds
  await a.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 77 } });
  assert.equal((await waiting).status, 202);
  await slow.hangUp();
  const { body } = await told;
  assert.match(body, /"message":"waiting for its turn"/);
  assert.match(body, /late/);
  assert.equal(await count('sleep', own(273)), 0);
});

test('files: a tree is searched a hundred times, and another client stats', async (t) => {
  const line = 'nothing to be found in this line of text\n'.repeat(12000);
  const files = Object.fromEntries(many(120, (i) => [`tree/${i % 10}/f${i}.txt`, line]));
  const { server, w } = await start(t, { files });
  const first = initialize(0, '2025-03-26');
  const { headers } = await request(server, { body: first });
  const a = (body, more) => request(server, { ...more, body, headers: { 'Mcp-Session-Id': headers['mcp-session-id'] } });
  const b = await session(server);
  await b.post(call(0, 'fs_stat', { path: w.root }));
  const before = (await children(server)).length;
  const slow = flood(a, [many(100, (i) => call(i, 'fs_grep', { grep_regex: `(no|never)(thing)+[^t]x${i}`, path: w.root }))]);
  await until(async () => (await children(server)).length >= before + 2); // three workers, for a
  for (let i = 0; i < 20; i++) {
    const reply = await b.post(call(i, 'fs_stat', { path: join(w.root, 'tree') }));
    assert.equal(reply.json.result.isError, false, textOf(reply));
  }
  assert.equal(slow.answers, 0);
  await slow.hangUp();
  assert.equal((await b.post(call(1, 'fs_stat', { path: w.root }))).json.result.isError, false);
});

test('snippets: as many as run, and another one', async (t) => {
  const { server } = await start(t);
  const a = await session(server), b = await session(server);
  const slow = flood(a.post, many(40, (i) => call(i, 'run_python', { code: `import time\nopen("begun-${i}", "w").close()\ntime.sleep(200)` })));
  await until(async () => /\b12\b/.test(textOf(await b.post(call(1, 'run_python', { code: 'import os\nlen([n for n in os.listdir(".") if n.startswith("begun-")])' })))));
  assert.equal(slow.answers, 0);
  await slow.hangUp();
  assert.match(textOf(await a.post(call(1, 'run_python', { code: '6 * 7' }))), /42/);
});

test('other MCP servers: one hangs for one client, and another client calls', async (t) => {
  const { server, w } = await start(t);
  const a = await session(server), b = await session(server);
  const slow = flood(a.post, many(40, (i) => call(i, 'run_mcp', { server: 'slow', tool: 'get_item', arguments: {} })));
  await until(async () => ((await readFile(join(w.top, 'slow.log'), 'utf8').catch(() => '')).match(/"tools\/call"/g) ?? []).length === 12);
  for (let i = 0; i < 3; i++) assert.match(textOf(await b.post(call(i, 'run_mcp', { server: 'quick', tool: 'get_item', arguments: { i } }))), /ECHO: get_item/);
  assert.equal(slow.answers, 0);
  await slow.hangUp();
  assert.match(textOf(await a.post(call(1, 'run_mcp', { server: 'quick', tool: 'get_item', arguments: {} }))), /ECHO/);
});

test('without sessions, clients are told apart by their address', async (t) => {
  const { server } = await start(t);
  const from = (localAddress) => (message, more) => modern(server, 'tools/call', message.params, { id: message.id, localAddress, ...more });
  const slow = flood(from('127.0.0.1'), many(100, (i) => call(i, 'run_shell', { command: 'sleep', args: [own(274)] })));
  await until(async () => await count('sleep', own(274)) === 12);
  for (let i = 0; i < 5; i++) {
    assert.match(textOf(await from('127.0.0.2')(call(i, 'run_shell', { command: 'echo', args: ['other'] }))), /other/);
  }
  const same = flood(from('127.0.0.1'), [call(1, 'run_shell', { command: 'echo', args: ['same'] })]);
  assert.match(textOf(await from('127.0.0.2')(call(9, 'run_shell', { command: 'echo', args: ['other'] }))), /other/);
  assert.equal(slow.answers + same.answers, 0);
  await slow.hangUp();
  await until(() => same.answers === 1);
});

test('five thousand calls at once are done or refused, and a refused one has had no effect', async (t) => {
  const { server, w } = await start(t);
  const { headers } = await request(server, { body: initialize(0, '2025-03-26') });
  const a = (body, more) => request(server, { ...more, body, headers: { 'Mcp-Session-Id': headers['mcp-session-id'] } });
  const b = await session(server);
  const log = join(w.root, 'log.txt');
  await writeFile(log, '');
  const batches = many(50, (n) => many(100, (i) => call(n * 100 + i, 'fs_append', { path: log, content: `<${n * 100 + i}>\n` })));
  const answers = await Promise.all(batches.map((batch) => a(batch)));
  const busy = answers.filter(({ status }) => status === 503); // all of the batch, before any of it
  for (const { json, headers: said } of busy) {
    assert.match(json.error.message, /^too many calls of this client are waiting for their turn/);
    assert.equal(said['retry-after'], '5');
  }
  const replies = answers.filter(({ status }) => status === 200).flatMap(({ json }) => json);
  assert.equal(replies.length + 100 * busy.length, 5000);
  assert.equal(new Set(replies.map(({ id }) => id)).size, replies.length);
  const refused = replies.filter(({ result }) => result.isError);
  for (const { result } of refused) assert.match(result.content[0].text, /^too many calls of this client are waiting for their turn \(\d+\); wait for replies first$/);
  assert.ok(refused.length > 0, `${refused.length} were refused`);
  const done = replies.filter(({ result }) => !result.isError).map(({ id }) => `<${id}>`);
  assert.ok(done.length >= 1024, `${done.length} were done`);
  const lines = (await readFile(log, 'utf8')).trim().split('\n');
  assert.deepEqual(lines.sort(), done.sort());
  assert.equal((await b.post(call(1, 'fs_stat', { path: log }))).json.result.isError, false);
  assert.equal((await a(call(1, 'fs_stat', { path: log }))).json.result.isError, false);
});

test('a full line is answered with 503 and Retry-After, and nobody else is', async (t) => {
  const { server } = await start(t);
  const { headers } = await request(server, { body: initialize(0, '2025-03-26') });
  const a = (body, more) => request(server, { ...more, body, headers: { 'Mcp-Session-Id': headers['mcp-session-id'] } });
  const b = await session(server);
  const slow = flood(a, many(12, (n) => many(100, (i) => call(n * 100 + i, 'run_shell', { command: 'sleep', args: [own(275)] }))));
  await until(() => slow.answers === 1); // there was room for eleven
  await until(async () => await count('sleep', own(275)) === 12);
  const { status, json, headers: said } = await a(call('more', 'run_shell', { command: 'sleep', args: [own(276)] }));
  assert.equal(status, 503);
  assert.equal(said['retry-after'], '5');
  assert.equal(json.id, 'more');
  assert.match(json.error.message, /too many calls of this client are waiting/);
  assert.match(textOf(await b.post(call(1, 'run_shell', { command: 'echo', args: ['fine'] }))), /fine/);
  assert.match(textOf(await a(call('stat', 'fs_stat', { path: '/' }))), /directory|folder|type/i); // another kind of work
  assert.equal(await count('sleep', own(276)), 0);
  await slow.hangUp();
  await until(async () => await count('sleep', own(275)) === 0);
  assert.match(textOf(await a(call('free', 'run_shell', { command: 'echo', args: ['free'] }))), /free/);
});

test('nobody has all connections', async (t) => {
  // 400 descriptors: 144 connections, of them 108 from one address.
  const { server } = await start(t, { wrap: ['-c', 'ulimit -n 400; exec "$0" "$@"'] });
  const sockets = many(144, () => net.connect(server.port, '127.0.0.1'));
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  let closed = 0;
  sockets.forEach((socket) => socket.on('error', () => {}).on('close', () => { closed++; }).resume());
  await until(() => closed >= 36);
  const health = { method: 'GET', path: '/healthz', headers: { 'Content-Type': null } };
  assert.equal((await request(server, { ...health, localAddress: '127.0.0.2' })).status, 200);
  assert.equal(closed, 36);
  await assert.rejects(request(server, health));
  sockets.forEach((socket) => socket.destroy());
  await until(() => request(server, health).then(({ status }) => status === 200, () => false));
});

test('many calls that have a new shell each wait in line, and a session does not wait for them', async (t) => {
  const { w, server } = await start(t, { options: ['--max-workers', '1'] });
  const one = await session(server);
  const run = (command) => modern(server, 'tools/call', { name: 'run', arguments: { command } });
  const begun = join(w.root, 'begun');
  const first = run('touch begun; sleep 1');
  await until(() => readFile(begun).then(() => true, () => false));
  let answers = 0;
  const rest = many(40, () => run('sleep 0.1').then((reply) => { answers++; return reply; }));
  await sleep(300); // they are in line by then, as far as they matter
  assert.equal(await one.run('echo mine'), 'mine\n');
  assert.ok(answers < 20, `after ${answers} others`);
  for (const reply of await Promise.all([first, ...rest])) assert.equal(reply.json.result.isError, false);
});
