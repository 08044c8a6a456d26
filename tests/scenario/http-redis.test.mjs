// Sessions in Redis: two servers behind a real nginx are one to their clients.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { client, children, initialize, listen, modern, request, runs, session } from './http.mjs';
import { folder, mcpath, until } from './lib.mjs';
import { missing, redis, replicas, scratch } from './replicas.mjs';

const skip = missing.length ? `not installed: ${missing.join(', ')} (scripts/setup check)` : false;
const pinned = 'SDK 2.x, 2026-07-28';
const world = async (t, ...args) => replicas(t, await folder(t, { 'a/x': 'one\n' }), ...args);

/** Run in the session `id` (an Mcp-Session-Id) at one server. */
const runAt = (server, id, command, n = 1) => request(server, { body: runs(n, command), headers: { 'Mcp-Session-Id': id } });
const textOf = (reply) => reply.json?.result?.content.map((block) => block.text).join('') ?? reply.body;

for (const kind of ['SDK 1.x', 'SDK 2.x, handshake']) {
  test(`${kind}: a session goes on though its requests alternate`, { skip }, async (t) => {
    const { servers, front } = await world(t);
    const one = await client(t, kind, front.url), two = await client(t, kind, front.url);
    await one.run('cd a; name=one; f() { echo mine $1; }; set -u; alias hi="echo hi"');
    await two.run('name=two');
    for (let i = 0; i < 5; i++) assert.equal(await one.run(`pwd; echo $name; f ${i}; cat x`), `/a\none\nmine ${i}\none\n`);
    for (let i = 0; i < 5; i++) assert.equal(await two.run('pwd; echo $name'), '/\ntwo\n');
    assert.deepEqual((await one.tool('edit', { path: 'x', old_string: 'one', new_string: 'two' })).isError, false);
    assert.equal(await one.run('cat x'), 'two\n');
    for (const server of servers) assert.ok((await children(server)).length >= 2, 'both have worked');
  });
}

test('tickets of the stateless revision are good at each server', { skip }, async (t) => {
  const { front } = await world(t);
  const agent = await client(t, pinned, front.url);
  const { content } = await agent.client.callTool({ name: 'run', arguments: { command: 'cd a; n=1', session: 'new' } });
  const ticket = /shell_\w+/.exec(content[1].text)[0];
  const run = async (command) => (await agent.tool('run', { command, session: ticket })).text;
  for (let i = 1; i < 7; i++) assert.equal(await run('pwd; echo $n; n=$((n+1))'), `/a\n${i}\n`);
  assert.equal((await agent.tool('run', { command: 'echo "[$n]"' })).text, '[]\n');
  const changed = ticket.slice(0, -1) + (ticket.endsWith('0') ? '1' : '0');
  assert.match((await agent.tool('run', { command: 'true', session: changed })).text, /neither "new" nor a name/);
  await run('exit');
  for (let i = 0; i < 4; i++) {
    const gone = await agent.tool('run', { command: 'true', session: ticket });
    assert.deepEqual([gone.isError, /there no more/.test(gone.text)], [true, true], gone.text);
  }
});

test('calls of one session through both servers come one after the other', { skip }, async (t) => {
  const { servers } = await world(t);
  const { id, run } = await session(servers[0]);
  await run('n=0');
  const replies = await Promise.all(Array.from({ length: 40 }, (_, i) => runAt(servers[i % 2], id, 'n=$((n+1))', i + 10)));
  for (const reply of replies) assert.deepEqual([reply.status, reply.json.result?.isError], [200, false], reply.body);
  for (const server of servers) assert.equal(textOf(await runAt(server, id, 'echo $n')), '40\n');
});

test('a server is killed: the session goes on in the other one', { skip }, async (t) => {
  const { servers, front } = await world(t);
  const one = await client(t, 'SDK 1.x', front.url);
  await one.run('cd a; name=kept');
  await one.run('true');
  servers[0].child.kill('SIGKILL');
  await servers[0].ended;
  for (let i = 0; i < 4; i++) assert.equal(await one.run('pwd; echo $name'), '/a\nkept\n');
});

test('Redis dies and is back', { skip }, async (t) => {
  const root = await folder(t);
  const { servers, store } = await replicas(t, root);
  const { id, run } = await session(servers[0]);
  assert.equal(await run('x=1; echo $x'), '1\n');
  await store.stop();
  const failed = await runAt(servers[0], id, 'touch made');
  assert.deepEqual([failed.status, failed.headers['retry-after']], [503, '5']);
  assert.match(failed.json.error.message, /the store of sessions cannot be reached: cannot connect/);
  const opened = await request(servers[1], { body: initialize() });
  assert.deepEqual([opened.status, opened.headers['mcp-session-id']], [503, undefined]);
  const alone = await modern(servers[1], 'tools/call', { name: 'run', arguments: { command: 'ls made' } });
  assert.match(textOf(alone), /No such file/); // who needs no session needs no store
  await store.start();
  assert.equal((await runAt(servers[0], id, 'echo $x')).status, 404); // it has forgotten all
  const again = await session(servers[1]);
  await again.run('y=2');
  assert.equal(textOf(await runAt(servers[0], again.id, 'echo $y')), '2\n');
});

test('Redis dies while a call runs: the answer says that nothing was kept', { skip }, async (t) => {
  const root = await folder(t);
  const { servers, store } = await replicas(t, root);
  const { id, run } = await session(servers[0]);
  await run('x=1');
  const running = runAt(servers[0], id, 'x=2; echo begun > begun; until test -e go; do sleep 0.05; done; echo done');
  await until(() => existsSync(join(root, 'begun')));
  await store.stop();
  await writeFile(join(root, 'go'), '');
  const text = textOf(await running);
  assert.match(text, /^done\n\[paddock: this shell's state was not kept: the store of sessions cannot be reached: /);
});

test('what cannot be saved is said, and is not kept', { skip }, async (t) => {
  const { servers } = await world(t);
  const { id, run } = await session(servers[0]);
  await run('x=1');
  const text = await run('x=2; big=$(head -c 5000000 /dev/zero | tr "\\0" a); echo ${#big}', 2);
  assert.match(text, /^5000000\n\[paddock: this shell's state was not kept: /);
  for (const server of servers) assert.equal(textOf(await runAt(server, id, 'echo $x ${#big}')), '1 0\n');
});

test('DELETE at one server ends the session at the other', { skip }, async (t) => {
  const { servers, store } = await world(t);
  const { id, run } = await session(servers[0]);
  await run('x=1');
  assert.equal(textOf(await runAt(servers[1], id, 'echo $x')), '1\n');
  assert.equal((await request(servers[1], { method: 'DELETE', headers: { 'Mcp-Session-Id': id } })).status, 200);
  for (const server of servers) {
    assert.equal((await runAt(server, id, 'echo $x')).status, 404);
    assert.equal((await request(server, { method: 'DELETE', headers: { 'Mcp-Session-Id': id } })).status, 404);
  }
  assert.equal(await store.cli('KEYS', '*'), 'paddock:key');
  for (const odd of ['key', '{x}', 'a'.repeat(32), 'Z'.repeat(32)]) assert.equal((await runAt(servers[0], odd, 'true')).status, 404);
});

test('there are only so many sessions in the store, of all servers together', { skip }, async (t) => {
  const { servers, store } = await world(t, ['--max-stored', '2']);
  const open = (server) => request(server, { body: initialize() });
  const shell = () => modern(servers[0], 'tools/call', { name: 'run', arguments: { command: 'x=1; touch effect', session: 'new' } });
  const one = await session(servers[0]), unused = await session(servers[1]);
  await one.run('x=1');
  const two = await session(servers[1]); // in the place of the one that was not used
  assert.equal((await runAt(servers[0], unused.id, 'true')).status, 404);
  await two.run('x=2');
  for (const server of servers) {
    const full = await open(server);
    assert.deepEqual([full.status, full.headers['mcp-session-id'], Number(full.headers['retry-after']) > 0], [503, undefined, true]);
    assert.match(full.json.error.message, /as many sessions are open as --max-stored allows/);
  }
  assert.equal((await shell()).status, 503);
  assert.equal(await store.cli('ZCARD', 'paddock:sessions'), '2');
  for (const server of servers) assert.equal(textOf(await runAt(server, one.id, 'echo $x; ls effect 2>&1 | head -c 3')), '1\nls:');
  await request(servers[0], { method: 'DELETE', headers: { 'Mcp-Session-Id': one.id } });
  assert.match(textOf(await shell()), /session/);
  assert.equal(textOf(await runAt(servers[0], two.id, 'echo $x')), '2\n');
});

test('a record that nobody uses expires; one of a ticket is no session', { skip }, async (t) => {
  const { servers, store } = await world(t, ['--session-idle', '1000']);
  const { id } = await session(servers[0]);
  const left = Number(await store.cli('TTL', `paddock:{${id}}`));
  assert.ok(left > 900 && left <= 1000, String(left));
  await store.cli('DEL', `paddock:{${id}}`);
  assert.equal((await runAt(servers[0], id, 'true')).status, 404);
  const made = await modern(servers[0], 'tools/call', { name: 'run', arguments: { command: 'true', session: 'new' } });
  const shell = made.json.result._meta['paddock/session'].slice('shell_'.length, 'shell_'.length + 32);
  for (const server of servers) assert.equal((await runAt(server, shell, 'true')).status, 404);
});

test('what is wrong with the store ends the start', { skip }, async (t) => {
  const root = await folder(t), files = await scratch(t);
  const store = await redis(t, { password: 'right-password' });
  const wrong = join(files, 'wrong'), right = join(files, 'right');
  await writeFile(wrong, 'wrong-password\n', { mode: 0o600 });
  await writeFile(right, 'right-password\n', { mode: 0o600 });
  const start = (...args) => {
    const { status, stderr } = spawnSync(mcpath, [root, ...args], { encoding: 'utf8', timeout: 60000 });
    assert.ok(status > 0, `${args}: ${status}`);
    assert.ok(!/right-password|wrong-password|serving/.test(stderr), stderr);
    return stderr;
  };
  const http = ['--transport', 'http', '--port', '0'];
  assert.match(start(...http, '--state', store.url, '--state-password-file', wrong), /WRONGPASS/);
  assert.match(start(...http, '--state', store.url), /NOAUTH/);
  assert.match(start(...http, '--state', 'redis://:right-password@127.0.0.1'), /a password cannot be in the URL[^]*--state-password-file/);
  assert.match(start(...http, '--state', 'http://127.0.0.1'), /neither 'redis/);
  assert.match(start(...http, '--state', 'redis+unix:///no/such/socket'), /cannot connect/);
  assert.match(start(...http, '--state-password-file', right), /goes with '--state'/);
  assert.match(start('--state', store.url), /needs '--transport http'/);
  await chmod(right, 0o644);
  assert.match(start(...http, '--state', store.url, '--state-password-file', right), /others than its owner/);
});

test('who gives up a call while its shell is saved, and then loses its worker to another session, goes on', { skip }, async (t) => {
  const store = await redis(t);
  const server = await listen(t, [await folder(t), '--state', store.url, '--max-sessions', '1']);
  const one = await session(server);
  await one.run('x=$(seq 1 300000)'); // so that it takes a while
  for (let i = 0; i < 10; i++) {
    const stop = new AbortController();
    const cut = one.post(runs(1, 'true'), { signal: stop.signal }).catch(() => {});
    await sleep(5 + 6 * i);
    stop.abort();
    await cut;
    await until(async () => (await request(server, { body: initialize() })).status === 200); // there is room for one, once it is saved
    assert.equal(await one.run('echo ${#x}'), '1988894\n', `round ${i}`);
  }
});
