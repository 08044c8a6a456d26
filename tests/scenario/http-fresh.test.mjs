// Shells of one call, and the worker that waits for the next of them.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { children, listen, modern, session } from './http.mjs';
import { folder } from './lib.mjs';

const run = async (server, command) => {
  const { status, json } = await modern(server, 'tools/call', { name: 'run', arguments: { command } });
  assert.deepEqual([status, json.result?.isError ?? false], [200, false], JSON.stringify(json));
  return json.result.content[0].text;
};
const runs = (pid) => readFile(`/proc/${pid}/stat`, 'utf8').then((text) => !text.includes(') Z '), () => false);

const ownPid = async (server) => (await run(server, 'echo $$')).trim();

/** The one that waits: what else has run, and ends by itself, is named. */
async function spare(server, ...others) {
  for (;;) {
    const all = (await children(server)).filter((pid) => !others.includes(pid));
    if (all.length === 1) return all[0];
    await sleep(5);
  }
}

/** Until it has said that it is ready: confined, it waits for a message. */
async function ready(pid) {
  for (;;) {
    const text = await readFile(`/proc/${pid}/status`, 'utf8');
    if (/^Seccomp:\t2$/m.test(text) && /^State:\tS/m.test(text)) return;
    await sleep(2);
  }
}

const leave = [
  'echo "$$ ${x-no x} ${f-no f} $PWD ${OLDPWD-none} $# $- $? $(umask) $SECONDS ${!-no job} $(type -t hi)" $({ cat <&3; } 2>&1; jobs; alias; trap)',
  'x=left; f=left; hi() { :; }; alias a=b; trap "echo trapped" EXIT; set -u; umask 027; export x; readonly R=1; shopt -s nullglob',
  'exec 3< file; cd d; set -- 1 2; exec 4> ../four; sleep 0.002 & false',
].join('\n');

test('200 calls without a session: none sees what another one has left', async (t) => {
  const root = await folder(t, { file: 'text\n', 'd/e': '' });
  const server = await listen(t, [root]);
  const seen = new Set(), first = new Set();
  for (let i = 0; i < 200; i++) {
    if (i % 3 === 0) await sleep(8); // so that some find a worker that is ready, and some one that starts
    const [pid, ...rest] = (await run(server, leave)).replaceAll('trapped\n', '').trim().split(' ');
    seen.add(pid);
    first.add(rest.join(' '));
  }
  assert.equal(seen.size, 200, 'a process each');
  assert.equal(first.size, 1, [...first].join('\n'));
  assert.match([...first][0], /^no x no f \/ none 0 \S* 0 0022 0 no job .*3: Bad file descriptor\n\[exit 1\]$/);
});

test('the worker that waits is handed over once, and is as new then', async (t) => {
  const server = await listen(t, [await folder(t), '--mount', 'm=memory://m']);
  assert.deepEqual(await children(server), []);
  const one = await session(server);
  await one.run('echo');
  await sleep(200);
  assert.equal((await children(server)).length, 1, 'nothing is started for shells that stay');
  const mine = (await one.run('echo $$')).trim();
  const pid = await spare(server, mine, await ownPid(server));
  await ready(pid);
  await sleep(1500);
  assert.equal(await run(server, 'echo $$ $SECONDS; ls /mnt/m; echo 1 > /mnt/m/x'), `${pid} 0\n`);
  const next = await spare(server, mine, pid);
  const two = await session(server);
  assert.equal(await two.run('echo $$; ls /mnt/m'), `${next}\n`);
});

test('a worker that is killed while it waits costs nobody anything', async (t) => {
  const server = await listen(t, [await folder(t)]);
  let last = await ownPid(server);
  for (let i = 0; i < 20; i++) {
    const pid = await spare(server, last);
    if (i % 2) await ready(pid);
    process.kill(Number(pid), 'SIGKILL');
    while (await runs(pid)) await sleep(1);
    last = await ownPid(server);
    assert.notEqual(last, pid);
  }
});

test('one place: the worker that waits gives it up, with itself', async (t) => {
  const server = await listen(t, [await folder(t), '--max-workers', '1']);
  const keeper = await session(server);
  for (let i = 0; i < 5; i++) {
    const pid = await spare(server, await ownPid(server));
    assert.equal(await ownPid(server), pid);
    assert.equal(await keeper.run('echo $((++n))'), `${i + 1}\n`);
    assert.ok((await children(server)).length <= 1);
  }
  const many = await Promise.all(Array.from({ length: 40 }, (_, i) => run(server, `echo $((n + ${i}))`)));
  assert.deepEqual(many, Array.from({ length: 40 }, (_, i) => `${i}\n`));
});

test('it ends when it is not used, and with the server', async (t) => {
  const server = await listen(t, [await folder(t)]);
  const pid = await spare(server, await ownPid(server));
  const begun = Date.now();
  while ((await children(server)).length) await sleep(50);
  assert.ok(Date.now() - begun > 5000);
  assert.equal(await runs(pid), false);
  for (const how of ['SIGTERM', 'SIGKILL']) {
    const other = await listen(t, [await folder(t)]);
    const last = await spare(other, await ownPid(other));
    other.child.kill(how);
    await other.ended;
    while (await runs(last)) await sleep(5);
    if (how === 'SIGTERM') assert.deepEqual(await other.ended, { code: 0, signal: null });
  }
});
