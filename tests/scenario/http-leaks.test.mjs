// Three thousand calls of every kind leave nothing behind in a server: no memory to speak
// of, no descriptor, no thread, no process. (bench/leaks.py does the same with 200,000.)
import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import http from 'node:http';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { children, listen, modern, request, runs, session } from './http.mjs';
import { paddock } from './lib.mjs';
import { sanitized, workspace } from './workspace.mjs';

const CALLS = 3000;
const MOST_KB = 5 << 10;
const REST_MS = 12000; // a worker that is not needed stays for five to ten seconds
const HANG_MS = 60000;

const call = (id, name, args) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });

/** What a server holds, with all of its processes. */
async function held(server) {
  const sum = { KB: 0, descriptors: 0, threads: 0, processes: 0 };
  for (const pid of [server.child.pid, ...await children(server)]) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    const number = (field) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
    sum.KB += number('VmRSS');
    sum.threads += number('Threads');
    sum.descriptors += (await readdir(`/proc/${pid}/fd`).catch(() => [])).length;
    sum.processes++;
  }
  return sum;
}

/** The same, once it has not changed for a while. */
async function atRest(server) {
  let last = await held(server), since = Date.now();
  for (const end = since + HANG_MS; Date.now() - since < REST_MS; await sleep(200)) {
    assert.ok(Date.now() < end, 'it does not come to rest');
    const now = await held(server);
    if (['descriptors', 'threads', 'processes'].some((what) => now[what] !== last[what])) since = Date.now();
    last = now;
  }
  return last;
}

/** The text of an answer whose call had this end. */
function textOf(reply, isError) {
  assert.equal(reply.status, 200, reply.body);
  assert.equal(reply.json.result.isError ?? false, isError, reply.body);
  return reply.json.result.content.map((block) => block.text).join('');
}

test(`${CALLS} calls over HTTP leave nothing behind`, async (t) => {
  const w = await workspace(t, { files: { 'file.txt': 'a\n' } });
  const server = await listen(t, ['serve', '--no-install', w.root], { program: paddock, env: { HOME: w.home } });
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
  t.after(() => agent.destroy());
  const one = await session(server, { agent });
  let calls = 0, n = 0;
  const post = async (name, args, isError = false) => { calls++; return textOf(await one.post(call(calls, name, args), { agent }), isError); };
  const alone = async (name, args, isError = false) => { calls++; return textOf(await modern(server, 'tools/call', { name, arguments: args }, { id: calls, agent }), isError); };

  /** Some that differ from call to call: sessions of both kinds that end, a client that hangs up. */
  async function rare() {
    const guest = await session(server, { agent });
    assert.equal(textOf(await guest.post(runs(1, 'x=guest; echo $x'), { agent }), false), 'guest\n');
    assert.equal((await request(server, { method: 'DELETE', headers: { 'Mcp-Session-Id': guest.id }, agent })).status, 200);
    assert.equal((await guest.post(runs(2, 'echo late > late'), { agent })).status, 404);
    const ticket = /\[paddock: session ([^;]+);/.exec(await alone('run', { command: 'y=kept', session: 'new' }))[1];
    assert.match(await alone('run', { command: 'echo $y', session: ticket }), /^kept\n/);
    await alone('run', { command: 'exit', session: ticket });
    await alone('run', { command: 'echo late > late', session: ticket }, true);
    assert.equal(await alone('run', { command: 'echo ${y-fresh}' }), 'fresh\n');
    const stop = new AbortController();
    const gone = modern(server, 'tools/call', { name: 'run', arguments: { command: 'sleep 60' } }, { signal: stop.signal });
    setTimeout(() => stop.abort(), 50);
    await assert.rejects(gone, { name: 'AbortError' });
    calls += 4;
  }

  /** Those that are cheap, side by side. */
  async function usual() {
    const [old, now] = n % 2 ? ['b', 'a'] : ['a', 'b'];
    await Promise.all([
      post('run', { command: `n=${n}; echo $n $PWD | tr a b` }).then((text) => assert.ok(text.startsWith(`${n} `), text)),
      post('edit', { path: 'file.txt', old_string: old, new_string: now }),
      post('edit', { path: 'file.txt', old_string: 'not there', new_string: 'x' }, true),
      post('run', { command: 'echo > late', none: 1 }, true),
      ...Array.from({ length: 8 }, () => alone('fs_stat', { path: 'file.txt' })),
      ...Array.from({ length: 4 }, () => post('fs_readfile', { path: 'file.txt' })),
      alone('fs_readfile', { path: 'none' }, true),
      alone('run', { command: 'echo late > late', session: 'none' }, true),
    ]);
  }

  async function make(most) {
    const end = calls + most;
    for (; calls < end; n++) {
      if (n % 12 === 0) await rare();
      await usual();
    }
  }

  await make(CALLS / 6);
  const before = await atRest(server);
  await make(CALLS);
  const after = await atRest(server);
  t.diagnostic(`before ${JSON.stringify(before)}, after ${JSON.stringify(after)}`);
  for (const what of ['descriptors', 'threads', 'processes']) assert.ok(after[what] <= before[what], `${what}: ${before[what]}, then ${after[what]}`);
  // Under a sanitizer, freed memory is kept for a while.
  if (!sanitized) assert.ok(after.KB <= before.KB + MOST_KB, `${before.KB} KB, then ${after.KB} KB`);
  assert.deepEqual((await readdir(w.root)).filter((name) => name === 'late'), []);
});
