// Shells that stay in the stateless revision: the argument `session` of run and edit.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { children, client, initialize, listen, modern, request, runs, session } from './http.mjs';
import { connect, folder, mcpath, paddock, pyddock, until } from './lib.mjs';
import { workspace } from './workspace.mjs';

const pinned = 'SDK 2.x, 2026-07-28';
const appears = (path) => until(() => existsSync(path));

/** A call as a raw request: {status, headers, text, ticket, isError, result, json}. */
async function call(server, name, args, more) {
  const reply = await modern(server, 'tools/call', { name, arguments: args }, more);
  const result = reply.json?.result;
  return { ...reply, result, text: result?.content[0].text, ticket: result?._meta['paddock/session'], isError: result?.isError };
}
const run = (server, command, ticket, more) => call(server, 'run', { command, ...(ticket === undefined ? {} : { session: ticket }) }, more);
const open = async (server, command = 'true') => (await run(server, command, 'new')).ticket;

/** What a model would do: read the name in the text, and give it from then on. */
async function shell(one) {
  const { content } = await one.client.callTool({ name: 'run', arguments: { command: 'true', session: 'new' } });
  const named = /^\[paddock: session (shell_[0-9a-f]{64}); give it as 'session' to go on in this shell\]$/.exec(content[1].text);
  assert.ok(named, JSON.stringify(content));
  return (command, options) => one.tool('run', { command, session: named[1] }, options);
}

for (const [name, program, start] of [
  ['mcpath', mcpath, async (t) => [await folder(t, { 'a/x': 'one\n', 'b/y': '' })]],
  ['paddock serve', paddock, async (t) => ['serve', '--no-install', (await workspace(t, { files: { 'a/x': 'one\n', 'b/y': '' } })).root]],
]) {
  test(`${name}: an official client keeps its shells apart`, async (t) => {
    const server = await listen(t, await start(t), { program });
    const agent = await client(t, pinned, server.url), other = await client(t, pinned, server.url);
    const one = await shell(agent), two = await shell(agent), three = await shell(other);
    const begin = (await agent.tool('run', { command: 'pwd' })).text;
    await Promise.all([one('cd a; name=one; f() { echo mine; }; set -u'), two('cd b; name=two'), three('name=three')]);
    assert.equal((await one('pwd | sed "s:.*/::"; echo $name; f; ls')).text, 'a\none\nmine\nx\n');
    assert.equal((await two('pwd | sed "s:.*/::"; echo $name; type f >/dev/null 2>&1 || ls')).text, 'b\ntwo\ny\n');
    assert.equal((await three('pwd; echo $name')).text, `${begin}three\n`);
    assert.equal((await agent.tool('run', { command: 'pwd; echo "[$name]"' })).text, `${begin}[]\n`);
    // edit starts from where the shell is
    const { content: [{ text: where }, { text: named }] } = await agent.client.callTool({ name: 'run', arguments: { command: 'cd a; pwd', session: 'new' } });
    const session = /shell_\w+/.exec(named)[0];
    const edited = await agent.tool('edit', { path: 'x', old_string: 'one', new_string: 'two', session });
    assert.deepEqual([edited.isError, edited.text.includes(where.trim())], [false, true]);
    assert.equal((await one('cat x')).text, 'two\n');
    assert.equal((await agent.tool('edit', { path: 'x', old_string: 'two', new_string: 'no' })).isError, true);
    const made = await agent.client.callTool({ name: 'edit', arguments: { path: 'a/z', old_string: '', new_string: 'z\n', session: 'new' } });
    const again = /shell_\w+/.exec(made.content[1].text)[0];
    assert.equal((await agent.tool('run', { command: 'cat a/z', session: again })).text, 'z\n');
  });
}

test('who is shown the argument, and who may give it', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root]);
  const shown = (tools) => Object.fromEntries(tools.map((one) => [one.name, [!!one.inputSchema.properties.session, one.description]]));
  const stateless = shown((await modern(server, 'tools/list')).json.result.tools);
  assert.deepEqual([stateless.run[0], stateless.edit[0]], [true, true]);
  assert.match(stateless.run[1], /Each call has a fresh shell, unless it names a session/);
  const s = await session(server);
  const legacy = shown((await s.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).json.result.tools);
  const stdio = await connect(t, pinned, mcpath, [root]);
  const alone = shown((await stdio.client.listTools()).tools);
  assert.deepEqual(legacy, alone);
  assert.deepEqual([legacy.run[0], legacy.edit[0]], [false, false]);
  assert.match(legacy.run[1], /\n\nThe working directory, variables, functions and options persist between calls/);
  assert.doesNotMatch(legacy.run[1], /fresh shell/);

  const ticket = await open(server);
  for (const value of ['new', ticket]) {
    const args = { command: 'touch effect', session: value };
    const refused = (await s.post({ ...runs(1), params: { name: 'run', arguments: args } })).json.result;
    assert.equal(refused.isError, true);
    assert.match(refused.content[0].text, /unknown argument 'session'/);
    assert.match((await stdio.tool('run', args)).text, /unknown argument 'session'/);
  }
  const w = await workspace(t);
  const bare = await listen(t, ['serve', '--no-install', '--workspace', w.root], { program: pyddock });
  const tools = shown((await modern(bare, 'tools/list')).json.result.tools);
  assert.ok(Object.values(tools).every(([has]) => !has));
  const snippet = await call(bare, 'run_python', { code: 'open("effect", "w")', session: 'new' });
  assert.match(snippet.text, /unknown argument 'session'/);
  assert.deepEqual([snippet.isError, snippet.ticket], [true, undefined]);
  assert.equal((await run(bare, 'touch effect', 'new')).json.error.code, -32602);
  assert.ok(!existsSync(join(root, 'effect')) && !existsSync(join(w.root, 'effect')));
});

test('a name that was not given is refused, and nothing is done', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root]), twin = await listen(t, [root]);
  const ticket = await open(server, 'x=mine'), foreign = await open(twin, 'x=twin');
  const s = await session(server);
  const digits = ticket.slice('shell_'.length);
  const flipped = (at) => ticket.slice(0, at) + (ticket[at] === '0' ? '1' : '0') + ticket.slice(at + 1);
  for (const forged of [foreign, s.id, digits, `shell_${s.id}`, `shell_${s.id.repeat(2)}`, flipped(6), flipped(37), flipped(38), flipped(69),
    ticket.toUpperCase(), ticket.slice(0, -1), `${ticket}0`, ` ${ticket}`, `${ticket}\u0000`, 'NEW', '../new', 'x'.repeat(100000)]) {
    for (const [name, args] of [['run', { command: 'touch effect' }], ['edit', { path: 'effect', old_string: '', new_string: 'x' }]]) {
      const reply = await call(server, name, { ...args, session: forged });
      assert.deepEqual([reply.status, reply.isError, reply.result.content.length, reply.ticket], [200, true, 1, undefined]);
      assert.equal(reply.text, `${name}: argument 'session' is neither "new" nor a name from this server\nCall with session "new" for a fresh shell that stays.`);
    }
  }
  for (const bad of [7, true, ['new'], { new: 1 }, '']) {
    const reply = await run(server, 'touch effect', bad);
    assert.match(reply.text, /argument 'session' must be/);
    assert.equal(reply.ticket, undefined);
  }
  // One kind of name does not do for the other.
  for (const id of [ticket, digits, digits.slice(0, 32), foreign]) {
    assert.equal((await request(server, { body: runs(1, 'touch effect'), headers: { 'Mcp-Session-Id': id } })).status, 404);
    assert.equal((await request(server, { method: 'DELETE', headers: { 'Mcp-Session-Id': id } })).status, 404);
  }
  assert.ok(!existsSync(join(root, 'effect')));
  assert.equal((await run(server, 'echo $x', ticket)).text, 'mine\n');
  assert.equal((await run(twin, 'echo $x', foreign)).text, 'twin\n');
  assert.equal((await children(server)).length, 1); // of all these calls only one has a shell
});

test('calls of one shell wait for each other, others do not', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root]);
  const ticket = await open(server), other = await open(server);
  const agents = await Promise.all([0, 1].map(() => client(t, pinned, server.url))); // whose ids are alike
  const calls = [];
  for (let i = 0; i < 20; i++) {
    calls.push(agents[i % 2].tool('run', { command: `n=$((n + 1)); echo ${i} >> order; sleep 0.01; echo $n`, session: ticket }));
    await sleep(5); // on connections of their own they come in no order else
  }
  const began = performance.now();
  assert.equal((await run(server, 'echo free', other)).text, 'free\n');
  const texts = (await Promise.all(calls)).map((one) => one.text);
  t.diagnostic(`the other one: ${(performance.now() - began).toFixed(0)} ms`);
  const order = (await readFile(join(root, 'order'), 'utf8')).split('\n').slice(0, -1).map(Number);
  assert.deepEqual([...order].sort((a, b) => a - b), Array.from({ length: 20 }, (_, i) => i)); // each once
  order.forEach((i, at) => assert.equal(texts[i], `${at + 1}\n`)); // and none between another's commands
});

test('who hangs up cancels that call, and no other', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root]);
  const ticket = await open(server, 'x=kept');
  const stop = new AbortController();
  const cut = run(server, 'touch begun; sleep 30; touch done', ticket, { signal: stop.signal });
  await appears(join(root, 'begun'));
  const waiting = new AbortController();
  const dropped = run(server, 'touch never', ticket, { signal: waiting.signal });
  const behind = run(server, 'echo $x', ticket);
  await sleep(100);
  waiting.abort();
  await assert.rejects(dropped);
  stop.abort();
  await assert.rejects(cut);
  assert.equal((await behind).text, 'kept\n');
  assert.ok(!existsSync(join(root, 'done')) && !existsSync(join(root, 'never')));
  // A shell whose name nobody was told goes with its call.
  const untold = new AbortController();
  const lost = run(server, 'touch begun-too; sleep 30', 'new', { signal: untold.signal });
  await appears(join(root, 'begun-too'));
  assert.equal((await children(server)).length, 2);
  untold.abort();
  await assert.rejects(lost);
  await until(async () => (await children(server)).length <= 1);
  assert.equal((await run(server, 'echo $x', ticket)).text, 'kept\n');
});

test('progress of a call that opens its shell', async (t) => {
  const server = await listen(t, [await folder(t)]);
  const { client: agent } = await client(t, pinned, server.url);
  const notes = [];
  const result = await agent.callTool({ name: 'run', arguments: { command: 'x=1; sleep 13; echo over', session: 'new' } }, { onprogress: (note) => notes.push(note) });
  assert.equal(notes.length, 1);
  assert.equal(result.content[0].text, 'over\n');
  assert.equal((await run(server, 'echo $x', result._meta['paddock/session'])).text, '1\n');
});

test('an unused one ends, one that works does not', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root, '--session-idle', '4']);
  const ticket = await open(server);
  assert.equal((await run(server, 'sleep 8; echo busy', ticket)).text, 'busy\n');
  await until(async () => (await children(server)).length === 0);
  const late = await run(server, 'touch effect', ticket);
  assert.deepEqual([late.status, late.isError], [200, true]);
  assert.match(late.text, /there no more[^]*\nCall with session "new"/);
  assert.ok(!existsSync(join(root, 'effect')));
});

test('exit ends it, with all that came before', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root]);
  const ticket = await open(server);
  assert.match((await run(server, 'x=1; (exit 3); exit 2', ticket)).text, /\[exit 2\]/); // of a script
  assert.equal((await run(server, 'echo $x', ticket)).text, '1\n');
  const before = run(server, 'touch begun; sleep 0.3; echo before', ticket);
  await appears(join(root, 'begun'));
  const { result } = await run(server, ' exit\n', ticket);
  assert.deepEqual(result.content.map((one) => one.text), ['', '[paddock: this session has ended]']);
  assert.equal((await before).text, 'before\n');
  assert.match((await run(server, 'true', ticket)).text, /there no more/);
  await until(async () => (await children(server)).length === 0);
});

test('as many as there may be, together with sessions', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root, '--max-sessions', '2', '--max-workers', '3']);
  const unused = await session(server), ticket = await open(server, 'x=kept');
  const refused = await call(server, 'run', { command: 'touch effect', session: 'new', more: 1 });
  assert.match(refused.text, /unknown argument 'more'/);
  assert.equal((await unused.post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status, 200); // it made no room for that
  const two = await open(server);
  assert.equal((await unused.post(runs(1, 'true'))).status, 404); // but for that
  const full = await run(server, 'touch effect', 'new');
  assert.equal(full.status, 503);
  assert.match(full.headers['retry-after'], /^[1-9]\d*$/);
  assert.match(full.json.error.message, /--max-sessions/);
  assert.equal((await request(server, { body: initialize() })).status, 503);
  assert.ok(!existsSync(join(root, 'effect')));
  assert.equal((await run(server, 'echo $x', ticket)).text, 'kept\n');
  assert.equal((await run(server, 'echo alone')).text, 'alone\n');
  await run(server, 'exit', two);
  assert.equal((await run(server, 'echo room', 'new')).text, 'room\n');
});

test('a read-only server', async (t) => {
  const root = await folder(t, { 'a/x': '' });
  const server = await listen(t, [root, '--read-only']);
  const tools = (await modern(server, 'tools/list')).json.result.tools;
  assert.deepEqual(tools.map((one) => one.name), ['run']);
  assert.match(tools[0].description, /READ-ONLY[^]*Each call has a fresh shell/);
  const ticket = await open(server, 'cd a');
  assert.equal((await run(server, 'ls; touch effect 2>/dev/null || echo no', ticket)).text, 'x\nno\n');
  const edit = await call(server, 'edit', { path: 'x', old_string: '', new_string: 'x', session: 'new' });
  assert.equal(edit.json.error.code, -32602);
  assert.ok(!existsSync(join(root, 'a/effect')));
});

test('the audit log has no name that could be used', async (t) => {
  const w = await workspace(t);
  const log = join(w.top, 'audit.jsonl');
  await mkdir(join(w.root, '.pyddock'));
  await writeFile(join(w.root, '.pyddock/pyddock.override.toml'), `[audit_log]\npath = "${log}"\n`);
  const server = await listen(t, ['serve', '--no-install', w.root], { program: paddock, env: { HOME: w.home } });
  const ticket = await open(server, 'cd .'), other = await open(server);
  const s = await session(server);
  await run(server, `echo ${ticket}`, ticket);
  await call(server, 'run', { command: 'true', session: ticket, more: 1 }); // refused by the schema...
  await run(server, 'true', [ticket]);
  await run(server, 'exit', other);
  await run(server, 'true', other); // ...for being over...
  await s.post({ ...runs(1), params: { name: 'run', arguments: { command: 'true', session: ticket } } }); // ...for its era
  assert.equal((await run(server, 'echo last', ticket)).text, 'last\n');
  await modern(server, 'tools/list'); // by then it is recorded
  const text = await readFile(log, 'utf8');
  const records = text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  assert.deepEqual(records.map((one) => one.arguments.command), ['cd .', 'true', 'echo ***', 'true', 'true', 'exit', 'true', 'true', 'echo last']);
  assert.deepEqual(records.map((one) => one.arguments.session), [undefined, undefined, undefined, '***', ['***'], undefined, '***', '***', undefined]);
  assert.equal(new Set([0, 2, 8].map((at) => records[at].session)).size, 1); // which shell it was is known all the same
  assert.notEqual(records[1].session, records[0].session);
  for (const one of [ticket, other]) assert.ok(!text.includes(one.slice(-32)));
});

test('a signal ends it: what runs may end, or is told', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root]);
  const one = await open(server), other = await open(server);
  const short = run(server, 'touch short; until test -e go; do sleep 0.01; done; echo over', one);
  const long = run(server, 'touch long; sleep 300', other), opens = run(server, 'touch opens; sleep 300', 'new');
  for (const name of ['short', 'long', 'opens']) await appears(join(root, name));
  assert.deepEqual((await request(server, { method: 'GET', path: '/healthz', headers: { 'Content-Type': null } })).json, { status: 'ok' });
  server.child.kill('SIGTERM');
  await writeFile(join(root, 'go'), '');
  assert.equal((await short).text, 'over\n');
  for (const cut of [await long, await opens]) {
    assert.equal(cut.status, 503);
    assert.doesNotMatch(cut.body, /shell_/);
  }
  assert.deepEqual(await server.ended, { code: 0, signal: null });
});

test('a name is no token', async (t) => {
  const root = await folder(t, { token: '0123456789abcdef\n' });
  await chmod(join(root, 'token'), 0o600);
  const server = await listen(t, [root, '--token-file', join(root, 'token')]);
  const headers = { Authorization: 'Bearer 0123456789abcdef' };
  const { ticket } = await run(server, 'x=1', 'new', { headers });
  assert.equal((await run(server, 'touch effect', ticket)).status, 401);
  assert.equal((await run(server, 'touch effect', ticket, { headers: { Authorization: `Bearer ${ticket}` } })).status, 401);
  assert.ok(!existsSync(join(root, 'effect')));
  assert.equal((await run(server, 'echo $x', ticket, { headers })).text, '1\n');
});
