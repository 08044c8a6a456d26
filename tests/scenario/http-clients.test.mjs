// The official clients over HTTP: what they see of each other (nothing), and of the server.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { children, client, clients, listen, modern, request, runs, session } from './http.mjs';
import { build, folder, paddock, pyddock, until } from './lib.mjs';
import { workspace } from './workspace.mjs';

const appears = (path) => until(() => existsSync(path));
const kinds = Object.keys(clients);
const stateless = kinds.filter((kind) => /2026|auto/.test(kind));
const legacy = kinds.filter((kind) => !stateless.includes(kind));

for (const kind of kinds) {
  test(`${kind}: tools, calls, errors`, async (t) => {
    const root = await folder(t, { 'a.txt': 'one\n' });
    const server = await listen(t, [root]);
    const { client: c, tool, run } = await client(t, kind, server.url);
    if (!kind.startsWith('SDK 1')) assert.equal(c.getNegotiatedProtocolVersion(), legacy.includes(kind) ? '2025-11-25' : '2026-07-28');
    assert.deepEqual((await c.listTools()).tools.map((one) => one.name), ['edit', 'run']);
    assert.equal(await run('cat a.txt'), 'one\n');
    assert.equal((await tool('edit', { path: '/a.txt', old_string: 'one', new_string: 'two' })).isError, false);
    assert.equal(await readFile(join(root, 'a.txt'), 'utf8'), 'two\n');
    assert.equal((await tool('edit', { path: '/a.txt', old_string: 'one', new_string: 'x' })).isError, true);
    for (const name of ['nope', 'shell.save', 'shell.load']) await assert.rejects(tool(name, {}), /Unknown tool/);
    assert.equal(server.stdout(), '');
  });
}

for (const kind of kinds) {
  test(`${kind}: progress, as often as the server tells of it`, async (t) => {
    // mcpath with a tool that works for a while, and tells of it every 20 ms
    const server = await listen(t, [await folder(t)], { program: join(build, 'tests/conformance/conformance-server') });
    const { tool } = await client(t, kind, server.url);
    const notes = [];
    const { isError } = await tool('test_tool_with_progress', {}, { onprogress: (note) => notes.push(note.progress) });
    assert.equal(isError, false);
    assert.ok(notes.length >= 3, `${notes}`);
    assert.ok(notes.every((at, i) => i === 0 || at > notes[i - 1]), `${notes}`);
    assert.equal((await tool('test_error_handling', {})).isError, true);
  });

  test(`${kind}: who waits no longer ends the call`, async (t) => {
    const root = await folder(t);
    const server = await listen(t, [root]);
    const { run } = await client(t, kind, server.url);
    const stop = new AbortController();
    const aborted = run('touch one; sleep 30; touch one-done', { signal: stop.signal });
    await appears(join(root, 'one'));
    stop.abort();
    await assert.rejects(aborted);
    await assert.rejects(run('touch two; sleep 30; touch two-done', { timeout: 500 }));
    assert.equal(await run('echo free'), 'free\n');
    await until(async () => (await children(server)).length <= 1); // nobody sleeps any more
    assert.deepEqual(['one-done', 'two-done'].map((name) => existsSync(join(root, name))), [false, false]);
  });
}

for (const kind of legacy) {
  test(`${kind}: a session keeps its state, and only its own`, async (t) => {
    const server = await listen(t, [await folder(t, { 'a/x': '', 'b/y': '' })]);
    const one = await client(t, kind, server.url), other = await client(t, kind, server.url);
    await Promise.all([one.run('cd a; name=one; f() { echo mine; }'), other.run('cd b')]);
    assert.equal(await other.run('pwd; echo "[$name]"; type f 2>/dev/null || ls'), '/b\n[]\ny\n');
    assert.equal(await one.run('pwd; echo "[$name]"; f'), '/a\n[one]\nmine\n');
    const id = one.transport.sessionId;
    await one.transport.terminateSession();
    assert.equal(await other.run('pwd'), '/b\n');
    const { status, json } = await request(server, { body: runs(9, 'pwd'), headers: { 'Mcp-Session-Id': id } });
    assert.equal(status, 404);
    assert.deepEqual(json, { jsonrpc: '2.0', id: 9, error: { code: -32600, message: 'Session not found' } });
  });

  test(`${kind}: a cancelled call ends, and no other one`, async (t) => {
    const root = await folder(t);
    const server = await listen(t, [root]);
    const one = await client(t, kind, server.url), other = await client(t, kind, server.url);
    await Promise.all([one.run('true'), other.run('true')]); // the ids go on alike
    const stop = new AbortController();
    const cancelled = one.run('touch begun; sleep 30; touch done', { signal: stop.signal });
    const long = other.run('until test -e begun; do sleep 0.05; done; sleep 0.5; echo there');
    await appears(join(root, 'begun'));
    stop.abort();
    await assert.rejects(cancelled);
    assert.equal(await one.run('ls done 2>/dev/null; echo free'), 'free\n');
    assert.equal(await long, 'there\n');
  });
}

test('of the stateless revision each call has a fresh shell', async (t) => {
  const server = await listen(t, [await folder(t, { 'a/x': '' })]);
  const { run } = await client(t, stateless[0], server.url);
  assert.equal(await run('cd a; x=1; pwd'), '/a\n');
  assert.equal(await run('pwd; echo "[$x]"'), '/\n[]\n');
  assert.equal((await modern(server, 'server/discover')).headers['mcp-session-id'], undefined);
});

test('progress makes a stream of the reply, if the client takes one', async (t) => {
  const server = await listen(t, [await folder(t)]);
  const { run } = await client(t, kinds[0], server.url);
  const notes = [];
  const s = await session(server), plain = await session(server), quiet = await session(server);
  const [text, stream, json, only] = await Promise.all([
    run('sleep 13; echo over', { onprogress: (note) => notes.push(note) }),
    s.post(runs(7, 'sleep 13; echo over', { progressToken: 'p"1' })),
    plain.post(runs(7, 'sleep 13; echo over', { progressToken: 'p' }), { headers: { Accept: 'application/json' } }),
    quiet.post(runs(7, 'echo over'), { headers: { Accept: 'text/event-stream' } }),
  ]);
  assert.equal(text, 'over\n');
  assert.equal(notes.length, 1);
  assert.equal(stream.headers['content-type'], 'text/event-stream');
  assert.equal(stream.headers['cache-control'], 'no-cache');
  const events = stream.body.split('\n\n').filter(Boolean).map((event) => {
    assert.match(event, /^event: message\ndata: [^\n]+$/);
    return JSON.parse(event.slice(event.indexOf('{')));
  });
  assert.equal(events.length, 2);
  assert.equal(events[0].params.progressToken, 'p"1');
  assert.equal(events[1].id, 7);
  assert.equal(json.json.result.content[0].text, 'over\n');
  assert.match(only.body, /^event: message\ndata: \{[^\n]+\}\n\n$/);
});

test('who hangs up cancels the call, with or without a session', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root]);
  const s = await session(server);
  for (const start of [
    (signal) => s.post(runs(1, 'touch one; sleep 30; touch one-done'), { signal }),
    (signal) => modern(server, 'tools/call', { name: 'run', arguments: { command: 'touch two; sleep 30; touch two-done' } }, { signal }),
  ]) {
    const name = existsSync(join(root, 'one')) ? 'two' : 'one';
    const stop = new AbortController();
    const call = start(stop.signal);
    await appears(join(root, name));
    stop.abort();
    await assert.rejects(call);
    assert.equal(await s.run('echo free'), 'free\n'); // its shell is not waited for
    assert.ok(!existsSync(join(root, `${name}-done`)));
  }
  await until(async () => (await children(server)).length <= 1); // that of the stateless call goes
});

test('a hundred at once, each with the same ids', async (t) => {
  const server = await listen(t, [await folder(t), '--max-workers', '12']);
  const sessions = await Promise.all(Array.from({ length: 10 }, () => session(server)));
  const calls = Array.from({ length: 100 }, (_, i) => sessions[i % 10].post(runs(Math.floor(i / 10), `echo ${i}`)));
  for (const [i, reply] of (await Promise.all(calls)).entries()) {
    assert.equal(reply.status, 200);
    assert.equal(reply.json.id, Math.floor(i / 10));
    assert.equal(reply.json.result.content[0].text, `${i}\n`);
  }
  const listed = await Promise.all(Array.from({ length: 100 }, () => modern(server, 'tools/list')));
  assert.ok(listed.every((reply) => reply.status === 200 && reply.json.id === 1));
});

test('the tools of pyddock and paddock, for two clients', async (t) => {
  const w = await workspace(t, { files: { 'a.txt': 'one\n', 'd/b.txt': '' }, policy: '[shell.wc]\nmode = "allow"\n' });
  const env = { HOME: w.home };
  const server = await listen(t, ['serve', '--no-install', w.root], { program: paddock, env });
  const one = await client(t, kinds[0], server.url), other = await client(t, kinds.at(-1), server.url);
  for (const { tool } of [one, other]) {
    assert.match((await tool('fs_readfile', { path: 'a.txt' })).text, /one/);
    assert.match((await tool('run_shell', { command: 'wc', args: ['-l', 'a.txt'] })).text, /1 a\.txt/);
    assert.match((await tool('run_python', { code: '6 * 7' })).text, /42/);
    assert.match((await tool('run', { command: 'wc -l < a.txt' })).text, /1/);
  }
  await one.run('cd d');
  assert.equal(await one.run('ls'), 'b.txt\n');
  assert.match(await other.run('ls'), /a\.txt\nd\n/);
  const busy = modern(server, 'tools/call', { name: 'run_python', arguments: { code: 'import time; time.sleep(30)' } });
  const bare = await listen(t, ['serve', '--no-install', '--workspace', w.root], { program: pyddock, env });
  assert.match((await (await client(t, kinds[0], bare.url)).tool('run_python', { code: '"a" * 3' })).text, /aaa/);
  server.child.kill('SIGTERM');
  const reply = await busy;
  assert.equal(reply.status, 503);
  assert.equal((await server.ended).code, 0);
});

test('the official clients with a token', async (t) => {
  const root = await folder(t, { token: '0123456789abcdef\n' });
  await chmod(join(root, 'token'), 0o600);
  const server = await listen(t, [root, '--token-file', join(root, 'token')]);
  const requestInit = { headers: { Authorization: 'Bearer 0123456789abcdef' } };
  for (const kind of kinds) {
    assert.equal(await (await client(t, kind, server.url, { requestInit })).run('echo hi'), 'hi\n');
    await assert.rejects(client(t, kind, server.url));
  }
  assert.equal((await request(server, { method: 'GET', path: '/healthz' })).status, 200);
});
