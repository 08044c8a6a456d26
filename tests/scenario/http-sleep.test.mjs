// Shells that go to sleep, because others need their place or by themselves, and wake up as
// they were.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { children, client, initialize, listen, modern, request, runs, session, works } from './http.mjs';
import { folder, paddock, pyddock, until } from './lib.mjs';
import { kinds, workspace } from './workspace.mjs';

const end = (server, s) => request(server, { method: 'DELETE', headers: { 'Mcp-Session-Id': s.id } });
const note = /^\[paddock: the shell [^]*were reset\]\n/;

/** Until the server has no process any more. */
const quiet = (server) => until(async () => (await children(server)).length === 0);

test('what a shell has been told is there when it wakes up', async (t) => {
  const root = await folder(t, { 'd/e/file': 'text\n' });
  const server = await listen(t, [root, '--max-workers', '1', '--mount', 'scratch=memory://scratch']);
  const one = await session(server), other = await session(server);
  const script = [
    'cd d/e; cd ../e; x="a  b\'\\""; export E=exported; readonly R=fixed; declare -i n=4; unset HOME',
    'a=(one "t w o" [7]=seven); declare -A m=([k e y]=value [k2]="v 2")',
    'f() { local y=$1; echo "f: $y $x"; for i in 1 2; do echo $i; done; }; alias hi="echo hi"',
    'set -u -o pipefail; shopt -s nullglob; set -- p1 "p 2"; umask 027',
    'mkdir /mnt/scratch/in; echo kept > /mnt/scratch/in/file; printf "\\000\\377" > /mnt/scratch/bytes',
    'false',
  ];
  const shown = 'echo "$? $x|$E|$R|${HOME-none}|$OLDPWD|$PWD|$#|$2|$-"; n=n+3; echo $n; declare -p a m E n; f arg; set -o | grep -E "nounset|pipefail"; '
    + 'shopt nullglob; umask; cat /mnt/scratch/in/file; od -An -tx1 /mnt/scratch/bytes; echo *.none; R=2 2>&1; cat file; false | true; echo $?';
  const awake = await listen(t, [root, '--mount', 'scratch=memory://scratch']);
  const never = await session(awake);
  for (const line of script) {
    await one.run(line);
    await never.run(line);
    assert.equal(await other.run('echo "${x-nothing}$PWD"; set -u'), 'nothing/\n'); // it has its own
  }
  const before = await never.run(shown);
  assert.equal(await one.run(shown), before);
  assert.match(before, /^1 a {2}b'"\|exported\|fixed\|none\|\/d\/e\|\/d\/e\|2\|p 2\|/);
  assert.equal((await children(server)).length, 1);
});

test('twenty shells and one place: in turn, at once, and beside a client with many calls', async (t) => {
  const server = await listen(t, [await folder(t), '--max-workers', '1']);
  const shells = [];
  for (let i = 0; i < 20; i++) {
    shells.push(await session(server));
    assert.equal(await shells[i].run(`x=${i}; echo $x`), `${i}\n`);
  }
  for (const [i, one] of shells.entries()) assert.equal(await one.run('echo $x'), `${i}\n`);
  const answers = await Promise.all(shells.map((one) => one.run('x=$((x * 2)); echo $x')));
  assert.deepEqual(answers, shells.map((_, i) => `${2 * i}\n`));
  let done = 0;
  const many = Array.from({ length: 60 }, (_, i) => shells[0].post(runs(i, 'sleep 0.1')).then(() => done++));
  await until(() => done);
  assert.equal(await shells[1].run('echo $x'), '2\n');
  assert.ok(done < 30, `after ${done} calls of another client`);
  const alone = await modern(server, 'tools/call', { name: 'run', arguments: { command: 'echo ${x-none}' } });
  assert.equal(alone.json.result.content[0].text, 'none\n');
  await Promise.all(many);
  assert.equal(await shells[0].run('echo $x'), '0\n');
});

test('a quiet server has no processes, whatever its clients are', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root, '--shell-idle', '1']);
  const all = [];
  for (const kind of kinds) all.push(await client(t, kind, server.url));
  const shells = await Promise.all([session(server), session(server)]);
  for (const one of [...all, ...shells]) await one.run('x=kept; cd /; echo');
  const both = shells.map((one, i) => one.run(`echo > begun-${i}; until test -e go; do sleep 0.05; done`));
  await until(() => [0, 1].every((i) => existsSync(join(root, `begun-${i}`))));
  assert.ok((await children(server)).length >= 2);
  await writeFile(join(root, 'go'), '');
  await Promise.all(both);
  for (let round = 0; round < 2; round++) {
    await quiet(server);
    for (const one of [...shells, ...all.slice(0, 1)]) assert.equal(await one.run('echo $x'), 'kept\n');
  }
  await quiet(server);
  assert.equal((await end(server, shells[0])).status, 200); // asleep
  assert.equal((await shells[0].post(runs(1, 'true'))).status, 404);
  assert.equal(await shells[1].run('sleep 1.5; echo $x'), 'kept\n'); // who works does not sleep
  await quiet(server);
  server.child.kill('SIGTERM');
  assert.deepEqual(await server.ended, { code: 0, signal: null });
});

const refused = (reply, id) => {
  assert.deepEqual([reply.status, reply.json.id, reply.json.error.message.includes('--max-workers')], [503, id, true]);
  assert.match(reply.headers['retry-after'], /^[1-9]\d*$/);
};

test('what cannot be kept keeps its place; who needs that is told, until it is given up', async (t) => {
  const root = await folder(t, { file: 'one\ntwo\nthree\n' });
  const server = await listen(t, [root, '--max-workers', '1', '--shell-idle', '1', '--mount', 'm=memory://m'], { env: { PADDOCK_LOG: 'info' } });
  for (const [hold, shown, loose] of [
    ['exec 3<file; read -u 3 x', 'read -u 3 x; echo $x', 'exec 3<&-'], // a descriptor is open
    ['seq 1 900000 > big; long=$(cat big)', 'echo ${#long}', 'unset long'], // that is too much
    ['head -c 5000000 /dev/zero > /mnt/m/big', 'stat -c %s /mnt/m/big', 'rm /mnt/m/big'],
  ]) {
    const one = await session(server), other = await session(server);
    const told = () => server.stderr().split('cannot be put to sleep').length;
    const before = told();
    await one.run(`y=kept; ${hold}`);
    await until(() => told() > before);
    assert.equal((await children(server)).length, 1);
    refused(await other.post(runs(7, 'touch effect')), 7);
    refused(await modern(server, 'tools/call', { name: 'run', arguments: { command: 'touch effect' } }, { id: 8 }), 8);
    assert.ok(!existsSync(join(root, 'effect')));
    assert.match(await one.run(shown), /^(two|6188894|5000000)\n$/);
    await sleep(1500);
    assert.equal(told(), before + 1); // once for each shell
    assert.equal(await one.run(`${loose}; echo $y`), 'kept\n');
    assert.equal(await other.run('echo room'), 'room\n');
    assert.equal(await one.run('echo $y${long-}'), 'kept\n');
    await end(server, one);
    await end(server, other);
  }
});

test('shells that stay in the stateless revision sleep as well', async (t) => {
  const server = await listen(t, [await folder(t), '--max-workers', '1', '--shell-idle', '1']);
  const run = async (command, name) => (await modern(server, 'tools/call', { name: 'run', arguments: { command, session: name } })).json.result;
  const shells = [];
  for (let i = 0; i < 5; i++) shells.push((await run(`x=${i}; cd /`, 'new'))._meta['paddock/session']);
  for (const [i, name] of shells.entries()) assert.equal((await run('echo $x', name)).content[0].text, `${i}\n`);
  await quiet(server);
  for (const [i, name] of shells.entries()) assert.equal((await run('echo $x', name)).content[0].text, `${i}\n`);
});

test('who waits for a place may give up', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root, '--max-workers', '1', '--metrics']);
  const one = await session(server), other = await session(server), third = await session(server);
  await other.run('x=kept');
  const busy = one.post(runs(1, 'touch begun; sleep 30'));
  await until(() => existsSync(join(root, 'begun')));
  const stop = new AbortController();
  const cut = other.post(runs(1, 'touch effect'), { signal: stop.signal });
  const told = other.post(runs(2, 'touch effect'));
  const ended = third.post(runs(1, 'touch effect'));
  const alone = modern(server, 'tools/call', { name: 'run', arguments: { command: 'touch effect' } }, { signal: stop.signal });
  const last = other.post(runs(3, 'echo $x'));
  await works(server, 1, 3); // three shells wait
  stop.abort();
  await assert.rejects(cut);
  await assert.rejects(alone);
  let isTold = false;
  told.then(() => { isTold = true; });
  await until(async () => { // it may come after its cancellation
    await other.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } });
    return isTold;
  });
  assert.equal((await told).status, 202);
  assert.equal((await end(server, third)).status, 200);
  assert.equal((await ended).status, 404);
  await one.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
  assert.equal((await busy).status, 202);
  assert.equal((await last).json.result.content[0].text, 'kept\n');
  assert.ok(!existsSync(join(root, 'effect')));
});

test('sessions that end while they go to sleep or wake up', async (t) => {
  const server = await listen(t, [await folder(t), '--max-workers', '1']);
  const keeper = await session(server);
  await keeper.run('x=kept');
  for (let i = 0; i < 10; i++) {
    const s = await session(server);
    await s.run('y=1');
    const calls = [keeper.run('echo $x'), sleep(2 * i).then(() => end(server, s)), keeper.run('echo $x', 2)];
    const [text, { status }, again] = await Promise.all(calls);
    assert.deepEqual([text, status, again], ['kept\n', 200, 'kept\n']);
    const late = await session(server);
    await late.run('y=1'); // the keeper sleeps
    const [wakes] = await Promise.all([keeper.post(runs(1, 'echo $x')), sleep(2 * i).then(() => end(server, late))]);
    assert.equal(wakes.json.result.content[0].text, 'kept\n');
  }
  assert.ok((await children(server)).length <= 1);
});

test('a worker that is killed or stands still while its shell goes to sleep', async (t) => {
  const server = await listen(t, [await folder(t), '--max-workers', '1']);
  const one = await session(server), other = await session(server);
  for (const how of ['kill', 'wait', 'kill']) {
    await one.run('x=kept');
    const [pid] = await children(server);
    process.kill(Number(pid), 'SIGSTOP');
    const call = other.run('echo works');
    await sleep(200);
    if (how === 'kill') process.kill(Number(pid), 'SIGKILL');
    assert.equal(await call, 'works\n');
    const text = await one.run('echo ${x-lost}');
    assert.match(text, note);
    assert.match(text, /\nlost\n$/);
    assert.equal(await one.run('echo ${x-lost}'), 'lost\n'); // it is said once
  }
  assert.equal(await other.run('y=2; echo $y'), '2\n');
});

test('a signal while shells sleep, work, and wait', async (t) => {
  const server = await listen(t, [await folder(t), '--max-workers', '1', '--metrics']);
  const shells = await Promise.all([1, 2, 3].map(() => session(server)));
  await shells[0].run('x=1');
  await shells[1].run('x=2'); // the first one sleeps
  const busy = shells[1].post(runs(1, 'sleep 30')), waits = shells[2].post(runs(1, 'sleep 30'));
  await works(server, 1, 1);
  server.child.kill('SIGTERM');
  assert.deepEqual([(await busy).status, (await waits).status], [503, 503]);
  assert.deepEqual(await server.ended, { code: 0, signal: null });
});

for (const [program, args] of [[paddock, (w) => ['serve', '--no-install', w.root]], [pyddock, (w) => ['serve', '--no-install', '--workspace', w.root]]]) {
  test(`the shell of ${program.split('/').pop()}, which may start programs`, async (t) => {
    const w = await workspace(t, { files: { 'd/a.txt': 'one\n' }, policy: '[tools]\nrun = true\n[shell.wc]\nmode = "allow"\n' });
    const server = await listen(t, [...args(w), '--max-workers', '1', '--shell-idle', '1'], { program, env: { HOME: w.home } });
    const one = await client(t, kinds[0], server.url), other = await client(t, kinds[1], server.url);
    await one.run('cd d; x=a.txt; count() { wc -l < "$x"; }');
    assert.match(await one.run('count'), /1/);
    assert.equal(await other.run('echo "${x-none}"; cd /'), 'none\n');
    assert.match(await one.run('count; wc -c "$x"'), /1\n4 a\.txt/);
    await one.run('echo three > "$x"');
    await sleep(1200);
    assert.match(await one.run('pwd; wc -c "$x"'), /\/d\n6 a\.txt/);
    assert.equal(await other.run('pwd'), '/\n');
  });
}

test('an option that is no number of seconds', async (t) => {
  await assert.rejects(listen(t, [await folder(t), '--shell-idle', '0']), /'--shell-idle'.*not a whole number from 1/);
  await assert.rejects(listen(t, [await folder(t), '--shell-idle', 'x']), /'--shell-idle'.*not a whole number/);
  const server = await listen(t, [await folder(t), '--shell-idle', '604800']);
  assert.equal((await request(server, { body: initialize() })).status, 200);
});
