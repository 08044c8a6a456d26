// Commands and clients that mean harm, against the real server and its real worker: each
// call ends with a limit that is named or with a clean error, the worker's memory stays
// bounded, and the shell keeps its state.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { Server, cancel, children, ping, runs } from './server.mjs';

const top = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const program = join(resolve(top, process.env.PADDOCK_BUILD ?? 'build'), 'src/mcpath');
const sanitized = /detect|halt/.test(`${process.env.ASAN_OPTIONS}${process.env.UBSAN_OPTIONS}`);
const many = sanitized ? 20000 : 500000;
const MAX_MB = 2600; // resident: what a worker may have, less the reserve it keeps

async function start(t, ...options) {
  const root = await mkdtemp(join(tmpdir(), 'paddock-hostile-'));
  const server = new Server(t, program, { args: [root, ...options] });
  t.after(() => rm(root, { recursive: true, force: true }));
  return server;
}

/** Never 0, a signal to which goes to ourselves. */
async function worker(server) {
  for (let i = 0; i < 6000; i++, await sleep(10)) {
    const [pid] = await children(server);
    if (pid) return Number(pid);
  }
  throw new Error('there is no worker');
}

async function peakMegabytes(pid) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

const nest = (open, close = '', middle = '') => open.repeat(many) + middle + close.repeat(many);
const deep = /nested too deep|too many|limit|too big|too large|too long|syntax error|unexpected EOF|larger than/;

const nesting = [
  nest('(', ')'), nest('{ ', '; }'), nest('$(', ')'), `echo ${nest('$((', '))', 1)}`,
  `echo ${nest('${x:-', '}')}`, `[[ ${nest('( ', ' )', 'a')} ]]`, `((${nest('(', ')', 1)}))`,
  `echo ${nest('"$(echo ', ')"')}`, nest('case x in x) '), nest('f() { '), nest('if :; then '),
  nest('for i in 1; do '), nest('while :; do '), nest('cat <<E\n$('), nest(': && ', '', ':'),
  `echo ${nest('${a[', ']}')}`, `echo $((${nest('-', '', 1)}))`, `echo $((${nest('1?', ':1', 1)}))`,
  `echo ${nest('{a,', '}')}`, `[[ x == ${nest('@(', ')', 'x')} ]]`, `[[ x =~ ${nest('(', ')', 'x')} ]]`,
  `echo x | grep -E '${nest('(', ')', 'x')}'`, `echo | sed '${nest('{', '}')}'`,
  `awk 'BEGIN { print ${nest('(', ')', 1)} }'`, `awk 'BEGIN { x = 1${nest('^1')} }'`,
  `awk 'BEGIN ${nest('{', '}')}'`, `find . ${'! '.repeat(many / 10)} -true`,
  `[ ${'\\( '.repeat(many / 10)} a ${'\\) '.repeat(many / 10)} ]`,
];

test('nesting of every kind meets a limit', async (t) => {
  const server = await start(t);
  await server.text('state', 'keep=yes');
  for (const command of nesting) {
    const { text, isError } = await server.text(command.slice(0, 20) + nesting.indexOf(command), command);
    assert.ok(!isError, `${command.slice(0, 40)}: ${text.slice(-300)}`);
    assert.match(text, deep, command.slice(0, 40));
  }
  assert.equal((await server.text('end', 'echo $keep')).text, 'yes\n');
});

const endless = [
  'while :; do :; done', 'while :; do :; done | cat', 'until false; do :; done', 'for ((;;)); do :; done',
  'yes > /dev/null', 'yes | sort', 'yes | tr -d "\\n" | { read x; }', 'x=$(yes)', 'yes | mapfile x', 'yes | tac',
  'echo {1..100000000}', 'echo {1..1000000}{1..1000000}', 'x=xxxxxxxx; while :; do x=$x$x; done',
  'x=x; while :; do x=$(cat <<< "$x$x"); done', 'f() { f|f& }; f', ':() { :|:& }; :', 'f() { f; }; f',
  'set -- a; while :; do set -- "$@" "$@"; done', "awk 'BEGIN { while (1); }'", "awk 'BEGIN { x = \"a\"; while (1) x = x x }'",
  "awk 'BEGIN { while (1) a[i++] = i }'", "awk 'function f(n) { return ((f(n + 1) + 1)) } BEGIN { f(1) }'",
  "echo | sed ':a;ba'", "echo a | sed ':a;s/a/aa/g;ba'", "echo a | sed ':a;G;h;ba'", 'yes | column', 'seq inf > /dev/null',
  'sleep infinity', 'sleep 100 & wait', 'trap : DEBUG; while :; do :; done', 'echo ". ./s" > s; . ./s', 'x=\'eval "$x"\'; eval "$x"',
  'f() { echo $(f); }; f', 'mkdir a b c; for i in 1 2 3 4 5 6 7 8; do echo */../*/../*/../*/../*/../*/../*/../*/../*/../*/..; done',
  ':' + ' | cat'.repeat(10000), 'f() { f; }; trap f DEBUG; :',
];

test('what never ends is ended by a limit that is named', async (t) => {
  const server = await start(t, '--timeout', sanitized ? '4' : '1.5');
  await server.text('state', 'keep=yes');
  const pid = await worker(server);
  for (const [i, command] of endless.entries()) {
    const { text, isError } = await server.text(i, command);
    assert.ok(!isError, `${command}: ${text.slice(-300)}`);
    assert.match(text, /limit|out of memory|too large/, command.slice(0, 80));
  }
  assert.equal((await server.text('end', 'echo $keep')).text, 'yes\n');
  assert.equal(await worker(server), pid, 'the worker was replaced');
  if (!sanitized) assert.ok(await peakMegabytes(pid) < MAX_MB, `${await peakMegabytes(pid)} MB`);
});

test('the end of a log of 3 GiB without a line break is shown, and other tails are exact', async (t) => {
  const server = await start(t, '--timeout', '60');
  const ends = (text, last) => assert.ok(text.endsWith(last), text.slice(-300));
  const { text } = await server.text('huge', 'truncate -s 3G huge; echo LAST LINE >> huge; tail -n 1 huge');
  ends(text, 'LAST LINE\n');
  assert.match(text, /^tail: huge: only the last 64 MiB are shown/);
  ends((await server.text('bytes', 'tail -c 100M huge')).text, 'LAST LINE\n');
  assert.equal((await server.text('lines', 'echo more >> huge; tail -n 1 huge; tail -c 5 huge')).text, 'more\nmore\n');
  assert.equal((await server.text('exact', 'tail -c 100M huge | wc -c; tail -c 64M huge > part; wc -c < part')).text, '104857600\n67108864\n');
});

test('patterns that explode elsewhere are quick here', async (t) => {
  const server = await start(t, '--timeout', '10');
  const a = 'x=$(printf "a%.0s" {1..20000}); ';
  for (const [i, command] of [
    'echo $x | grep -E "(a+)+b"', 'echo $x | grep -E "(a*)*(a*)*\\1\\2b"', 'echo $x | grep -P "^(a|a)*$b"',
    'echo $x | sed -E "s/(a*)*(a*)*\\1b/x/" | grep x', '[[ $x =~ ^(a+)+(b|(a*)*)\\2c$ ]]', '[[ $x == a*a*a*a*a*a*a*a*a*b ]]',
    '[[ $x == +(+(a)+(a))b ]]', 'echo $x | awk "/(a+)+b/ { exit 0 } END { exit 1 }"', 'expr $x : "\\(a*\\)*\\1b"',
  ].entries()) {
    const { text, isError } = await server.text(i, a + command);
    assert.ok(!isError, command);
    assert.doesNotMatch(text, /time limit/, command);
  }
});

test('descriptors, jobs and signals are the shell\'s own', async (t) => {
  const server = await start(t, '--timeout', '5');
  await server.text(0, 'keep=yes');
  for (const [i, command] of [
    'exec 0<&- 1>&- 2>&-; ls; cat', 'exec > f 2>&1; exec 3>&1 1>&2 2>&3', 'while exec {x}> f; do :; done; exec 99999999999> g',
    'for ((i = 0; i < 5000; i++)); do exec 3< <(yes); done', 'exec 3< <(cat <&3); cat <&3', '{ wait; } & wait', 'wait $$ 1 2',
    'kill -9 $$; kill -9 -1; kill 0; kill -9 1; kill -SEGV $BASHPID; kill -9 $PPID', 'trap "kill -TERM $$" TERM; kill -TERM $$',
    'set -n', 'declare -n a=b; declare -n b=a; a=1', "alias a='a a'; a", 'exec nothing', 'exit 3', 'ulimit -n 1',
    'printf "%1000000000d" 1 | wc -c', 'printf -v x "%2000000000s" a', 'truncate -s 100T f', 'echo a\0b',
  ].entries()) {
    const { isError } = await server.text(command + i, command);
    assert.ok(!isError, command);
    assert.equal((await server.text(`alive ${i}`, 'echo $keep')).text, 'yes\n', command);
  }
});

test('a worker that is killed again and again costs one call each time', async (t) => {
  const server = await start(t);
  for (let i = 0; i < 8; i++) {
    const { text } = await server.text(`up ${i}`, 'echo up');
    assert.match(text, /up\n$/);
    const pid = await worker(server);
    const call = server.text(`call ${i}`, 'sleep 50');
    call.catch(() => {});
    server.send(ping(`ping ${i}`));
    await server.reply(`ping ${i}`);
    process.kill(pid, i % 2 ? 'SIGKILL' : 'SIGSEGV');
    const lost = await call;
    assert.equal(lost.isError, true);
    assert.match(lost.text, /ended during the call/);
    assert.equal(await runs(pid), false);
  }
  for (let i = 0; i < 8; i++) { // while nothing runs
    await server.text(`idle ${i}`, ':');
    const pid = await worker(server);
    process.kill(pid, 'SIGKILL');
    while (existsSync(`/proc/${pid}`)) await sleep(5); // until it was noticed
  }
  assert.match((await server.text('end', 'echo on')).text, /reset\]\non\n$/);
  server.child.stdin.end();
  assert.deepEqual(await server.ended, { code: 0, signal: null });
});

test('a flood of calls, cancelled in any order, is answered once for each that was not', async (t) => {
  const server = await start(t);
  const call = (id) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'run', arguments: { command: `echo ${id}` } } });
  const messages = [];
  for (let id = 1; id <= 400; id++) messages.push(call(id), ...(id % 3 ? [] : [cancel(id), cancel(id), cancel(`${id}`)]));
  for (let i = 0; i < 2000; i++) messages.push(cancel(i + 1000), cancel(null), cancel({}), cancel([i]));
  server.send(...messages, ping('end'));
  await server.reply('end');
  await server.text('last', 'echo last').catch(() => {});
  for (let id = 1; id <= 400; id++) {
    if (id % 3) await server.reply(id);
    const replies = server.messages.filter((m) => m.id === id);
    assert.ok(replies.length <= 1, `${replies.length} replies to ${id}`);
  }
  assert.equal((await server.text('again', 'echo again')).text, 'again\n');
});

test('ids and frames of every shape', async (t) => {
  const server = await start(t);
  server.send('', ' ', '{', '[]', '[1]', 'null', '"x"', '\0', '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":{},"method":"ping"}',
    '{"jsonrpc":"2.0","id":[1],"method":"ping"}', '{"jsonrpc":"2.0","id":1e400,"method":"ping"}', '{"jsonrpc":"2.0","id":-0.5,"method":"ping"}',
    '{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}', '{"jsonrpc":"2.0","id":"a\\u0000b","method":"ping"}',
    '{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', `{"jsonrpc":"2.0","id":"${'x'.repeat(100000)}","method":"ping"}`,
    '{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}', '{"jsonrpc":"2.0","id":9,"result":{}}', '{"jsonrpc":"2.0","id":9,"error":{}}',
    '['.repeat(100000), `${'{"a":'.repeat(100000)}`, `[${Array(20000).fill(JSON.stringify(ping(1))).join(',')}]`,
    '{"jsonrpc":"2.0","id":10,"method":"tools/call","params":[]}', '{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"run","arguments":[]}}',
    '{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"run","arguments":{"command":{}}}}',
    '{"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"name":"\\u0000","arguments":{}}}',
    '{"jsonrpc":"2.0","id":14,"method":"initialize","params":{"protocolVersion":{}}}');
  for (const id of [10, 11, 12, 13]) assert.ok((await server.reply(id)).error ?? (await server.reply(id)).result.isError);
  const call = { jsonrpc: '2.0', id: 'same', method: 'tools/call', params: { name: 'run', arguments: { command: 'echo x' } } };
  server.send(call, call, call);
  await server.reply('same');
  assert.equal((await server.text('nul', 'printf "a\\0b\\xff\\xfe" | cat')).text.slice(0, 1), 'a');
  assert.equal((await server.text('end', 'echo alive')).text, 'alive\n');
});

test('an end of input in the middle of anything leaves nothing behind', async (t) => {
  const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'run', arguments: { command: 'yes | sort' } } }) + '\n';
  for (const text of ['', '{', call.slice(0, 50), call.slice(0, -1), call, call.repeat(50), call + call.slice(0, 60), '[', '\n'.repeat(1000)]) {
    const server = await start(t);
    server.child.stdin.write(text);
    await sleep(30);
    const [pid] = await children(server);
    server.child.stdin.end();
    const { code, signal } = await server.ended;
    assert.deepEqual({ code, signal }, { code: 0, signal: null }, server.stderr);
    if (pid) assert.equal(await runs(pid), false);
    assert.doesNotMatch(server.stderr, /Sanitizer|runtime error/);
  }
});

test('a worker has no more than it needs', async (t) => {
  const server = await start(t);
  await server.text(1, ':');
  const pid = await worker(server);
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []); // not dumpable: for root only
  if (descriptors.length) assert.deepEqual(descriptors.sort(), ['0', '1', '2', '3', '4']);
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  assert.match(status, /NoNewPrivs:\s+1/);
  assert.match(status, /Seccomp:\s+2/);
  assert.match(status, /Threads:\s+1/);
});

// Without a pause: a name is by turns a link within, a link to outside, a folder, nothing.
const flip = `
  const { mkdirSync, renameSync, rmSync, symlinkSync } = require('node:fs');
  const { x, targets } = require('node:worker_threads').workerData;
  for (;;) {
    for (const target of targets) {
      try { symlinkSync(target, x + '.next'); renameSync(x + '.next', x); } catch { rmSync(x + '.next', { force: true }); }
    }
    try { rmSync(x, { recursive: true, force: true }); mkdirSync(x); rmSync(x, { recursive: true }); } catch { }
  }`;

test('a link that is flipped while commands run lets nothing out or in', async (t) => {
  const server = await start(t, '--timeout', '50');
  const root = server.child.spawnargs[1];
  const outside = await mkdtemp(join(tmpdir(), 'paddock-outside-'));
  t.after(() => rm(outside, { recursive: true, force: true }));
  await writeFile(join(outside, 'f'), 'outside\n');
  await mkdir(join(root, 'real'));
  await writeFile(join(root, 'real/f'), 'inside\n');
  await writeFile(join(root, 'real/.env'), 'denied\n');
  const flipper = new Worker(flip, { eval: true, workerData: { x: join(root, 'x'), targets: ['real', outside, 'real/.env'] } });
  const { text } = await server.text(1, `i=0; end=$((SECONDS + 4)); while ((SECONDS < end)); do ((i++)); cat x/f x; grep -r . x/; head x/f; cp x/f got; cat got; find x/ -type f -exec cat {} +
    echo w > x/w; echo w >> x/f2; tee x/t <<< w; mkdir x/d; touch x/g; mv x/w x/v; cp -r real x/r; ln real/f x/h; sed -i s/inside/inside/ x/f; rm -rf x/r; (cd x && { cat f; echo > c; }); done > log 2> /dev/null; sort -u log; echo $i`);
  await flipper.terminate();
  assert.doesNotMatch(text, /outside|denied/);
  assert.match(text, /inside\n[^]*[1-9]\d*\n$/);
  assert.deepEqual(await readdir(outside), ['f']);
  assert.equal(await readFile(join(outside, 'f'), 'utf8'), 'outside\n');
  assert.equal(await readFile(join(root, 'real/.env'), 'utf8'), 'denied\n');
});
