// What a server counts for Prometheus: exact numbers for known calls, in a text that
// Prometheus' own parser reads, with nothing in it that is nobody's business.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { listen, modern, request, runs, session } from './http.mjs';
import { build, folder, mcpath, paddock, until } from './lib.mjs';
import { workspace } from './workspace.mjs';

const scrape = (server, headers = {}, more = {}) => request(server, { method: 'GET', path: '/metrics', headers: { Accept: 'text/plain;version=0.0.4', ...headers }, ...more });

/** The samples by name and labels as they are written; the text must be what the format says, line by line. */
function parse(text) {
  const samples = {}, types = {}, helped = new Set();
  let family;
  assert.ok(text.endsWith('\n'));
  for (const line of text.slice(0, -1).split('\n')) {
    const meta = /^# (HELP|TYPE) ([a-z_]+) (.+)$/.exec(line);
    if (meta) {
      const [, what, name, rest] = meta;
      if (what === 'HELP') { assert.ok(!helped.has(name), name); helped.add(name); family = name; continue; }
      assert.equal(name, family);
      assert.match(rest, /^(counter|gauge|histogram)$/);
      types[name] = rest;
      continue;
    }
    const sample = /^([a-z_]+)(\{(?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*"(?:,(?!\}))?)+\})? (\d+(?:\.\d+)?)$/.exec(line);
    assert.ok(sample, line);
    const [, name, labels = '', value] = sample;
    const of = types[family] === 'histogram' ? name.replace(/_(bucket|sum|count)$/, '') : name;
    assert.equal(of, family, line); // all of a family stand together
    assert.ok(types[of] !== 'counter' || of.endsWith('_total'), line);
    assert.ok(!(name + labels in samples), `twice: ${line}`);
    samples[name + labels] = Number(value);
  }
  return samples;
}

const counters = async (server, headers) => {
  const { status, body, headers: said } = await scrape(server, headers);
  assert.equal(status, 200);
  assert.equal(said['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  return { ...parse(body), text: body };
};
const calls = (found, tool) => ['ok', 'error', 'refused', 'cancelled', 'timeout'].map((outcome) => found[`paddock_calls_total{tool="${tool}",outcome="${outcome}"}`]);

/** What its own parser makes of it: [[name, labels, value], ...]; or null, where it cannot be had. */
function parseWithPrometheus(t, text) {
  const folder_ = join(build, 'prometheus-parser');
  if (!existsSync(join(folder_, 'prometheus_client'))) {
    const made = spawnSync('python3', ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', '--target', folder_, 'prometheus-client==0.26.0'], { encoding: 'utf8' });
    if (made.status) { t.diagnostic(`without Prometheus' parser: ${made.error ?? made.stderr.trim().split('\n').at(-1)}`); return null; }
  }
  const script = 'import json, sys\nfrom prometheus_client.parser import text_string_to_metric_families as parse\nprint(json.dumps([[s.name, s.labels, s.value] for f in parse(sys.stdin.read()) for s in f.samples]))';
  return JSON.parse(execFileSync('python3', ['-c', script], { input: text, encoding: 'utf8', env: { ...process.env, PYTHONPATH: folder_ } }));
}

const bearer = { Authorization: 'Bearer 0123456789abcdef' };

/** All tools in a repository, with a token and an audit log. */
async function serveAll(t) {
  const w = await workspace(t, { files: { 'big.txt': 'needle in a line\n'.repeat(30000), 'a.txt': 'one\n' }, repository: true });
  w.log = join(w.top, 'state/audit.jsonl');
  await mkdir(join(w.top, 'state'));
  await mkdir(join(w.root, '.pyddock'), { recursive: true });
  await writeFile(join(w.root, '.pyddock/pyddock.override.toml'), `[audit_log]\npath = "${w.log}"\n`);
  const token = join(w.top, 'token');
  await writeFile(token, '0123456789abcdef\n', { mode: 0o600 });
  await chmod(token, 0o600);
  const server = await listen(t, ['serve', '--no-install', w.root, '--metrics', '--token-file', token], { program: paddock, env: { HOME: w.home } });
  const s = await session(server, { headers: bearer });
  let id = 0;
  const tool = async (name, args) => {
    const { json } = await s.post({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params: { name, arguments: args } });
    return { text: json.result.content[0].text, isError: json.result.isError };
  };
  return { w, server, s, tool };
}

test('known calls are counted exactly', async (t) => {
  const { w, server, s, tool } = await serveAll(t);
  let cut = 0;
  const cutBy = (text, pattern) => { const n = Number(pattern.exec(text)[1].replaceAll(',', '')); assert.ok(n > 1000); cut += n; };

  assert.equal((await tool('run', { command: 'echo needle' })).text, 'needle\n');
  await tool('run', { command: 'false' });
  const long = (await tool('run', { command: 'seq 100000' })).text;
  cutBy(long, /lines \(([\d,]+) characters\) omitted/); // of ASCII, a character is a byte
  const push = await tool('run', { command: 'git push needle-remote' });
  const running = s.post(runs(1000, 'echo > begun; sleep 300'));
  await until(() => existsSync(join(w.root, 'begun')));
  await s.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1000 } });
  assert.equal((await running).status, 202);

  await tool('fs_stat', { path: 'a.txt' });
  await tool('fs_stat', { path: 'a.txt' });
  assert.ok((await tool('fs_readfile', { path: 'needle-missing' })).isError);
  assert.ok((await tool('fs_stat', { path: 5 })).isError); // does not fit the schema
  for (let i = 0; i < 3; i++) assert.match((await tool('fs_append', { path: '../needle.txt', content: 'needle' })).text, /writable_paths/);

  assert.match((await tool('run_shell', { command: 'git', args: ['push', 'needle'] })).text, /^Rule: /m);
  const shown = await tool('run_shell', { command: 'git', args: ['show', 'HEAD:big.txt'] });
  cutBy(shown.text, /lines \((\d+) bytes\) are left out/);
  const printed = await tool('run_python', { code: 'print("needle" * 50000)' });
  cutBy(printed.text, /lines \((\d+) bytes\) are left out/);
  assert.match((await tool('run_python', { code: 'import time\ntime.sleep(30)', timeout: 1 })).text, /TimeoutError/);

  const found = await counters(server, bearer);
  assert.deepEqual(calls(found, 'run'), [3, 0, 1, 1, 0]);
  assert.deepEqual(calls(found, 'fs_stat'), [2, 1, 0, 0, 0]);
  assert.deepEqual(calls(found, 'fs_readfile'), [0, 1, 0, 0, 0]);
  assert.deepEqual(calls(found, 'fs_append'), [0, 0, 3, 0, 0]);
  assert.deepEqual(calls(found, 'run_shell'), [1, 0, 1, 0, 0]);
  assert.deepEqual(calls(found, 'run_python'), [1, 0, 0, 0, 1]);
  assert.equal(found['paddock_output_cut_bytes_total'], cut);
  assert.equal(found['paddock_call_seconds_count{tool="run"}'], 5);
  assert.equal(found['paddock_call_seconds_count{tool="fs_stat"}'], 2); // the third was nobody's work
  assert.equal(found['paddock_call_seconds_bucket{tool="run_python",le="+Inf"}'], 2);
  assert.ok(found['paddock_call_seconds_bucket{tool="run_python",le="0.5"}'] <= 1); // one took a second or more
  const took = found['paddock_call_seconds_sum{tool="run_python"}'];
  assert.ok(took > 1 && took < 120, `${took}`);
  for (const tool_ of ['run', 'fs_stat', 'fs_append', 'run_shell', 'run_python']) {
    const buckets = Object.entries(found).filter(([name]) => name.startsWith(`paddock_call_seconds_bucket{tool="${tool_}"`)).map(([, value]) => value);
    assert.equal(buckets.length, 17);
    assert.deepEqual(buckets, [...buckets].sort((a, b) => a - b));
  }

  // Rules: as the policy writes them, without the places that the replies tell.
  const rules = Object.entries(found).filter(([name]) => name.startsWith('paddock_refusals_total'));
  assert.deepEqual(rules.map(([, n]) => n).sort(), [2, 3]);
  const git = /: (\[shell\.git\].*) \(built-in policy, line \d+\)/.exec(push.text)[1];
  const label = git.replace(/\\/g, '\\\\').replace(/"/g, '\\"');
  assert.ok(rules.some(([name, n]) => n === 2 && label.startsWith(/rule="(.*)"\}$/.exec(name)[1])), JSON.stringify([git, rules]));
  assert.ok(rules.some(([name]) => /rule="\[filesystem\] writable_paths = \[/.test(name)), JSON.stringify(rules));

  assert.equal(found['paddock_sessions{state="open"}'], 1);
  assert.equal(found['paddock_workers{kind="files",state="working"}'], 0);
  assert.ok(found['paddock_workers{kind="files",state="idle"}'] >= 1);
  assert.equal(found['paddock_workers{kind="python",state="working"}'], 0);
  assert.equal(found['paddock_waiting_calls'], 0);
  assert.equal(found['paddock_audit_failures_total'], 0);
  assert.equal(found['paddock_http_requests_total{status="200"}'], 16); // with the one that opened the session
  assert.equal(found['paddock_http_requests_total{status="202"}'], 2);
  assert.ok(Math.abs(found['process_start_time_seconds'] - Date.now() / 1000) < 600);
  assert.ok(found['process_resident_memory_bytes'] > 1 << 20 && found['process_cpu_seconds_total'] > 0 && found['process_open_fds'] > 5);

  const secrets = [w.top, w.root, w.home, 'paddock-policy-', 'needle', s.id, '0123456789abcdef', 'tmp/', '.toml', 'Robin'];
  for (const secret of secrets) assert.ok(!found.text.includes(secret), secret);

  const theirs = parseWithPrometheus(t, found.text);
  if (theirs) {
    const ours = Object.keys(found).filter((name) => name !== 'text');
    assert.equal(theirs.length, ours.length);
    for (const [name, labels, value] of theirs) {
      const written = Object.entries(labels).map(([key, text]) => `${key}="${text.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')}"`);
      assert.equal(found[name + (written.length ? `{${written}}` : '')], value, name);
    }
    assert.ok(theirs.some(([, { rule }]) => rule && git.startsWith(rule)));
  }
});

test('what runs, waits or is open just now, and records that are lost', async (t) => {
  const { server, s, tool } = await serveAll(t);
  const slow = s.post({ jsonrpc: '2.0', id: 500, method: 'tools/call', params: { name: 'run_python', arguments: { code: 'import time\ntime.sleep(300)' } } });
  const other = await session(server, { headers: bearer });
  let found;
  await until(async () => (found = await counters(server, bearer))['paddock_workers{kind="python",state="working"}'] === 1);
  assert.equal(found['paddock_sessions{state="open"}'], 2);
  await request(server, { method: 'DELETE', headers: { ...bearer, 'Mcp-Session-Id': other.id } });
  await s.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 500 } });
  await slow;
  await until(async () => (found = await counters(server, bearer))['paddock_workers{kind="python",state="working"}'] === 0);
  assert.equal(found['paddock_sessions{state="open"}'], 1);
  assert.deepEqual(calls(found, 'run_python'), [0, 0, 0, 1, 0]);

  const before = found['paddock_http_connections'];
  const sockets = await Promise.all(Array.from({ length: 7 }, () => new Promise((done) => { const one = net.connect(server.port, '127.0.0.1', () => done(one)); })));
  await until(async () => (found = await counters(server, bearer))['paddock_http_connections'] >= before + 7);
  assert.equal(found['paddock_http_connections'], before + 7);
  for (const one of sockets) one.destroy();
  await until(async () => (found = await counters(server, bearer))['paddock_http_connections'] <= before);
  assert.equal(found['paddock_http_connections'], before);

  execFileSync('prlimit', ['--pid', server.child.pid, '--fsize=1:1']); // nothing that it writes may grow any more
  await tool('fs_stat', { path: 'a.txt' });
  await tool('fs_stat', { path: 'a.txt' });
  assert.equal((await counters(server, bearer))['paddock_audit_failures_total'], 2);
});

test('shells: who works and who is idle', async (t) => {
  const server = await listen(t, [await folder(t), '--metrics', '--max-workers', '2']);
  const gauges = async () => {
    const found = await counters(server);
    return [...['working', 'idle'].map((state) => found[`paddock_workers{kind="shell",state="${state}"}`]), ...['open', 'asleep'].map((state) => found[`paddock_sessions{state="${state}"}`]), found['paddock_waiting_calls']];
  };
  const becomes = (wanted) => until(async () => JSON.stringify(await gauges()) === JSON.stringify(wanted));
  assert.deepEqual(await gauges(), [0, 0, 0, 0, 0]);
  const one = await session(server), two = await session(server);
  assert.deepEqual(await gauges(), [0, 0, 2, 0, 0]);
  await one.run('true');
  await becomes([0, 1, 2, 0, 0]);
  const slow = two.post(runs(7, 'sleep 300'));
  await becomes([1, 1, 2, 0, 0]);
  await two.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } });
  assert.equal((await slow).status, 202);
  await becomes([0, 2, 2, 0, 0]);
  await request(server, { method: 'DELETE', headers: { 'Mcp-Session-Id': two.id } });
  await becomes([0, 1, 1, 0, 0]);
});

test('a shell that sleeps has no process', async (t) => {
  const server = await listen(t, [await folder(t), '--metrics', '--max-workers', '1']);
  const one = await session(server), two = await session(server);
  await one.run('x=kept');
  for (const [who, command, says] of [[two, 'echo two', 'two\n'], [one, 'echo $x', 'kept\n']]) {
    assert.equal(await who.run(command), says);
    const found = await counters(server);
    assert.deepEqual(['open', 'asleep'].map((state) => found[`paddock_sessions{state="${state}"}`]), [1, 1]);
    assert.equal(found['paddock_workers{kind="shell",state="idle"}'] + found['paddock_workers{kind="shell",state="working"}'], 1);
  }
});

test('a command whose time is up', async (t) => {
  const server = await listen(t, [await folder(t), '--metrics', '--timeout', '1']);
  await modern(server, 'tools/call', { name: 'run', arguments: { command: 'while true; do :; done' } });
  await modern(server, 'tools/call', { name: 'run', arguments: { command: 'sleep 0.1' } });
  const found = await counters(server);
  assert.deepEqual(calls(found, 'run'), [1, 0, 0, 0, 1]);
  assert.equal(found['paddock_call_seconds_bucket{tool="run",le="0.05"}'], 0); // one slept for longer,
  assert.ok(found['paddock_call_seconds_bucket{tool="run",le="0.5"}'] <= 1); // and one ran for a second
  assert.equal(found['paddock_call_seconds_bucket{tool="run",le="60"}'], 2);
});

test('who may read them: nobody unless asked for, and by the rules of all else', async (t) => {
  const root = await folder(t);
  const off = await listen(t, [root]);
  assert.deepEqual([(await scrape(off)).status, (await scrape(off, {}, { method: 'POST' })).status], [404, 404]);
  const open = await listen(t, [root, '--metrics', '--allow-host', 'tools.example.com']);
  for (const [status, headers, more] of [
    [200, {}], [200, { Host: 'tools.example.com' }], [200, { Accept: null }], [200, { Accept: 'text/html' }],
    [200, {}, { path: '/metrics?name[]=x' }], [200, {}, { method: 'HEAD' }],
    [403, { Host: 'evil.example' }], [403, { Host: `127.0.0.1.evil.example:${open.port}` }], [403, { Origin: 'https://evil.example' }], [403, { Origin: 'null' }],
    [404, {}, { path: '/metrics/' }], [404, {}, { path: '/Metrics' }],
    [405, {}, { method: 'POST', body: '{}' }], [405, {}, { method: 'DELETE' }], [405, {}, { method: 'OPTIONS' }],
  ]) {
    const reply = await scrape(open, headers, more);
    assert.equal(reply.status, status, JSON.stringify([headers, more, reply.body]));
    assert.equal(/paddock_/.test(reply.body), status === 200 && more?.method !== 'HEAD');
    assert.equal(reply.headers['access-control-allow-origin'], undefined);
    if (status === 405) assert.equal(reply.headers.allow, 'GET, HEAD');
  }
  assert.equal((await request(open, { method: 'GET', path: '/healthz' })).status, 200);
  const counted = await counters(open);
  assert.deepEqual([403, 404, 405].map((status) => counted[`paddock_http_requests_total{status="${status}"}`]), [4, 2, 3]);

  const token = join(root, 'token');
  await writeFile(token, '0123456789abcdef\n', { mode: 0o600 });
  await chmod(token, 0o600);
  const closed = await listen(t, [root, '--metrics', '--token-file', token]);
  for (const Authorization of [null, 'Bearer 0123456789abcdeg', 'Basic 0123456789abcdef']) {
    const { status, headers, body } = await scrape(closed, { Authorization });
    assert.deepEqual([status, headers['www-authenticate'], /paddock_/.test(body)], [401, 'Bearer', false]);
  }
  assert.equal((await scrape(closed, bearer)).status, 200);
  assert.equal((await scrape(closed, { ...bearer, Host: 'evil.example' })).status, 403);
  assert.equal((await request(closed, { method: 'GET', path: '/healthz' })).status, 200);
  const refused = spawnSync(mcpath, [root, '--metrics=yes'], { encoding: 'utf8' });
  assert.equal(refused.status, 2, refused.stderr);
});
