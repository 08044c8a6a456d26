// HTTP as an attacker, a browser or a broken client would speak it: each refusal has its
// status, and had no effect.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { children, initialize, listen, modern, modernMeta, raw, request, runs, session } from './http.mjs';
import { folder, mcpath, until } from './lib.mjs';

const touch = { name: 'run', arguments: { command: 'touch effect' } };
const modernHeaders = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'run' };
const touching = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...touch, _meta: modernMeta } };

/** A post that would leave a file behind if it were done. */
const attempt = (server, headers, more = {}) => request(server, { body: touching, headers: { ...modernHeaders, ...headers }, ...more });

test('what the head says is refused in its order, without any effect', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root, '--allow-host', 'Tools.example.com', '--allow-origin', 'https://app.example.com']);
  for (const [status, headers, more] of [
    [403, { Host: 'evil.example' }], // DNS rebinding
    [403, { Host: `evil.example:${server.port}`, Origin: `http://evil.example:${server.port}` }],
    [403, { Host: '127.0.0.1.evil.example' }],
    [403, { Host: 'evil.example', Origin: 'null' }, { path: '/nowhere', method: 'PUT' }],
    [403, { Origin: 'https://evil.example' }], // cross-origin
    [403, { Origin: 'null' }],
    [403, { Origin: `http://localhost:${server.port + 1}` }],
    [403, { Origin: 'https://evil.example' }, { path: '/nowhere' }],
    [404, {}, { path: '/' }],
    [404, {}, { path: '/mcp/' }],
    [404, {}, { path: '/.well-known/oauth-protected-resource', method: 'GET', body: undefined }],
    [405, {}, { method: 'GET', body: undefined }],
    [405, { 'Content-Type': null }, { method: 'PUT' }],
    [405, { Origin: null }, { method: 'OPTIONS', body: undefined }],
    [415, { 'Content-Type': 'text/plain', Accept: 'text/html' }],
    [415, { 'Content-Type': 'text/plain;x=application/json' }],
    [415, { 'Content-Type': null }],
    [406, { Accept: 'text/html' }],
  ]) {
    const reply = await attempt(server, headers, more);
    assert.equal(reply.status, status, JSON.stringify([headers, more, reply.body]));
    if (status === 405) assert.match(reply.headers.allow, /^POST/);
    if (status === 404) assert.equal(reply.body, '');
    if (status === 403) assert.match(reply.json.error.message, /--allow-(host|origin)/);
    assert.equal(reply.headers['access-control-allow-origin'], undefined);
  }
  assert.ok(!existsSync(join(root, 'effect')));
  for (const headers of [
    { Host: 'localhost' }, { Host: `LOCALHOST:${server.port}` }, { Host: '[::1]:1' }, { Host: 'tools.example.com' },
    { Origin: 'https://app.example.com' }, { Origin: `http://127.0.0.1:${server.port}` }, { Accept: '*/*' }, { Accept: null },
  ]) {
    assert.equal((await attempt(server, headers)).status, 200, JSON.stringify(headers));
  }
  assert.ok(existsSync(join(root, 'effect')));
});

test('what the body says is refused with its code', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root]);
  const s = await session(server);
  const changed = (change) => ({ ...touching, params: { ...touching.params, ...change } });
  for (const [status, code, body, headers] of [
    [400, -32700, '{"jsonrpc"', {}],
    [400, -32700, Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xff"}', 'latin1'), {}],
    [400, -32600, '['.repeat(200) + ']'.repeat(200), {}],
    [400, -32600, '[]', {}],
    [400, -32600, { jsonrpc: '2.0', id: null, method: 'ping' }, {}],
    [400, -32600, [touching], {}],
    [400, -32602, changed({ _meta: undefined }), modernHeaders],
    [400, -32602, changed({ _meta: { ...modernMeta, 'io.modelcontextprotocol/clientCapabilities': undefined } }), modernHeaders],
    [400, -32020, touching, {}],
    [400, -32020, touching, { ...modernHeaders, 'MCP-Protocol-Version': '2025-11-25' }],
    [400, -32020, touching, { ...modernHeaders, 'Mcp-Method': 'tools/list' }],
    [400, -32020, touching, { ...modernHeaders, 'Mcp-Name': 'edit' }],
    [400, -32020, touching, { ...modernHeaders, 'Mcp-Name': '=?base64?cnV?=' }],
    [400, -32022, changed({ _meta: { ...modernMeta, 'io.modelcontextprotocol/protocolVersion': '2030-01-01' } }), { ...modernHeaders, 'MCP-Protocol-Version': '2030-01-01' }],
    [404, -32601, { ...touching, method: 'ping' }, { ...modernHeaders, 'Mcp-Method': 'ping' }],
    [400, -32020, initialize(), { 'MCP-Protocol-Version': '2026-07-28' }],
    [400, -32602, runs(1, 'touch effect'), { 'MCP-Protocol-Version': '1999-01-01', 'Mcp-Session-Id': s.id }],
    [400, -32600, runs(1, 'touch effect'), {}],
    [404, -32600, runs(1, 'touch effect'), { 'Mcp-Session-Id': 'f'.repeat(32) }],
    [404, -32600, runs(1, 'touch effect'), { 'Mcp-Session-Id': s.id.slice(1) }],
    [400, -32600, { jsonrpc: '2.0', method: 'notifications/initialized' }, {}],
    [400, -32600, [runs(1, 'touch effect')], { 'Mcp-Session-Id': s.id }], // its revision has no batches
  ]) {
    const reply = await request(server, { body, headers });
    assert.equal(reply.status, status, JSON.stringify([body, reply.body]));
    assert.equal(reply.json.error.code, code, reply.body);
    assert.notEqual(reply.json.id, null);
  }
  assert.ok(!existsSync(join(root, 'effect')));
  const unsupported = await modern(server, 'tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2030-01-01' } }, { headers: { 'MCP-Protocol-Version': '2030-01-01' } });
  assert.deepEqual(unsupported.json.error.data.requested, '2030-01-01');
  assert.equal((await s.post({ jsonrpc: '2.0', id: 5, method: 'no/such' })).status, 200); // 404 would mean the session
  assert.equal((await modern(server, 'tools/call', { name: 'nope', arguments: {} })).json.error.code, -32602);
});

test('sessions: unguessable, ended by DELETE, their own batches and notifications', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root]);
  const s = await session(server), other = await session(server);
  assert.match(s.id, /^[0-9a-f]{32}$/);
  assert.notEqual(s.id, other.id);
  const { status, body } = await s.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  assert.deepEqual([status, body], [202, '']);
  assert.equal((await request(server, { body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }, headers: { 'MCP-Protocol-Version': '2026-07-28' } })).status, 202);

  const slow = s.post(runs(1, 'touch begun; sleep 300'));
  await until(() => existsSync(join(root, 'begun')));
  const twice = s.post(runs(1, 'echo no'));
  assert.equal((await Promise.race([slow, twice])).json.error.code, -32600); // the id is in use here...
  const alike = other.post(runs(1, 'echo mine'));
  assert.equal((await alike).json.result.content[0].text, 'mine\n'); // ...and not there
  await other.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
  await s.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
  assert.deepEqual([(await slow).status, (await slow).body], [202, '']);

  assert.equal((await children(server)).length, 2);
  const running = s.post(runs(2, 'touch running; sleep 300'));
  await until(() => existsSync(join(root, 'running')));
  assert.equal((await request(server, { method: 'DELETE', headers: { 'Mcp-Session-Id': s.id } })).status, 200);
  assert.equal((await running).status, 404);
  assert.equal((await request(server, { method: 'DELETE', headers: { 'Mcp-Session-Id': s.id } })).status, 404);
  assert.equal((await request(server, { method: 'DELETE' })).status, 400);
  assert.equal((await request(server, { method: 'DELETE', headers: { 'Mcp-Session-Id': other.id, 'MCP-Protocol-Version': '2026-07-28' } })).status, 405);
  await until(async () => (await children(server)).length === 1); // its shell goes
  assert.equal(await other.run('echo here'), 'here\n');

  const { headers } = await request(server, { body: initialize(0, '2025-03-26') });
  const batch = await request(server, { headers: { 'Mcp-Session-Id': headers['mcp-session-id'] }, body: [runs(1, 'echo a'), { jsonrpc: '2.0', method: 'notifications/x' }, { jsonrpc: '2.0', id: 2, method: 'ping' }] });
  assert.deepEqual(batch.json.map((one) => one.id).sort(), [1, 2]);
  const bad = await request(server, { body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} } });
  assert.deepEqual([bad.status, bad.json.error.code, bad.headers['mcp-session-id']], [200, -32602, undefined]);
});

test('a call whose end another connection has brought about is answered, though nothing else happens', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root, '--request-time', '3600']); // no connection is given up before
  const s = await session(server);
  const agent = new http.Agent({ keepAlive: true }); // no connection closes, which would wake the server
  t.after(() => agent.destroy());
  const send = (more) => request(server, { agent, ...more, headers: { 'Mcp-Session-Id': s.id } });
  const cancelled = send({ body: runs(1, 'touch one; sleep 300') });
  await until(() => existsSync(join(root, 'one')));
  await send({ body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } } });
  assert.equal((await cancelled).status, 202);
  const ended = send({ body: runs(2, 'touch two; sleep 300') });
  await until(() => existsSync(join(root, 'two')));
  assert.equal((await send({ method: 'DELETE' })).status, 200);
  assert.equal((await ended).status, 404);
});

test('an unused session ends by itself', async (t) => {
  const server = await listen(t, [await folder(t), '--session-idle', '4']);
  const s = await session(server);
  assert.equal(await s.run('sleep 8; echo busy'), 'busy\n'); // that is not idle
  await until(async () => (await children(server)).length === 0);
  assert.equal((await s.post(runs(1, 'true'))).status, 404);
});

test('bodies: too long, in chunks, announced and not sent', async (t) => {
  const server = await listen(t, [await folder(t)]);
  const s = await session(server);
  const long = (n) => runs(1, `: ${'x'.repeat(n)}`);
  assert.equal((await s.post(long(3 << 20))).status, 200);
  const { status, json } = await s.post(long(5 << 20));
  assert.deepEqual([status, json.error.message], [413, 'a body can have at most 4194304 bytes']);
  const head = (more) => `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: ${s.id}\r\n${more}\r\n`;
  const text = JSON.stringify(runs(1, 'echo chunked'));
  const chunk = (part) => `${part.length.toString(16)}\r\n${part}\r\n`;
  const close = 'Connection: close\r\n';
  assert.match(await raw(server, head(close + 'Transfer-Encoding: chunked\r\n'), chunk(text.slice(0, 9)), () => sleep(50), chunk(text.slice(9)), '0\r\n\r\n'), / 200 [^]*chunked/);
  const mebi = chunk('x'.repeat(1 << 20));
  assert.match(await raw(server, head(close + 'Transfer-Encoding: chunked\r\n'), mebi, mebi, mebi, mebi, mebi, '0\r\n\r\n'), / 413 /);
  assert.match(await raw(server, head('Expect: 100-continue\r\nContent-Length: 9000000\r\n')), /^HTTP\/1.1 413 /);
  assert.match(await raw(server, head('Content-Length: 900000000\r\n')), /^HTTP\/1.1 413 /);
  const waited = await raw(server, head(`${close}Expect: 100-continue\r\nContent-Length: ${text.length}\r\n`), (said) => until(() => / 100 /.test(said())), text);
  assert.match(waited, /^HTTP\/1.1 100 [^]*HTTP\/1.1 200 /);
  assert.match(await raw(server, `POST /mcp HTTP/1.1\r\nHost: evil.example\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n`), /^HTTP\/1.1 403 /);
});

test('framing of which two readers could think differently', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root]);
  const text = JSON.stringify(touching);
  const usual = 'Host: localhost\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: run\r\n';
  const length = `Content-Length: ${text.length}\r\n`;
  const smuggled = `POST /mcp HTTP/1.1\r\n${usual}${length}Connection: close\r\n\r\n${text}`;
  for (const head of [
    `POST /mcp HTTP/1.1\r\n${usual}${length}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    `POST /mcp HTTP/1.1\r\n${usual}Content-Length: 0\r\n${length}\r\n${text}`,
    `POST /mcp HTTP/1.1\r\n${usual}Transfer-Encoding: gzip, chunked\r\n\r\n${text}`,
    `POST /mcp HTTP/1.1\r\n${usual}Transfer-Encoding: chunked\r\n\r\nzz\r\n${text}`,
    `POST /mcp HTTP/1.1\r\n${usual}Content-Length: -1\r\n\r\n${text}`,
    `POST /mcp HTTP/1.1\r\n${usual}Content-Length : ${text.length}\r\n\r\n${text}`,
    `POST /mcp HTTP/1.1\r\n${usual}Content-Length : 2\r\n\r\n${smuggled}`,
    `POST /mcp HTTP/1.1\r\n${usual}Content-Length:\r\n ${smuggled.length}\r\n\r\n${smuggled}`,
    `POST /mcp HTTP/1.1\r\n${usual}${length}Host : evil.example\r\n\r\n${text}`,
    `POST /mcp HTTP/1.1\r\n${usual}Host: localhost\r\n${length}\r\n${text}`,
    `POST /mcp HTTP/1.1\r\n${usual.replace('Host: localhost\r\n', '')}${length}\r\n${text}`,
    `POST /mcp HTTP/1.1\r\n${usual}X: ${'y'.repeat(100000)}\r\n${length}\r\n${text}`,
    `POST ${'/mcp'.repeat(20000)} HTTP/1.1\r\n${usual}${length}\r\n${text}`,
    `POST http://evil.example/mcp HTTP/1.1\r\n${usual}${length}\r\n${text}`,
    `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n`,
  ]) {
    // What is kept open is closed by its end.
    const reply = await raw(server, Buffer.from(head, 'latin1'), () => sleep(100), 'POST /mcp HTTP/1.0\r\n\r\n');
    assert.doesNotMatch(reply, /HTTP\/1.1 2/, head.slice(0, 300));
    assert.ok(!existsSync(join(root, 'effect')), head.slice(0, 300));
  }
  assert.match(await raw(server, smuggled), / 200 /);
  assert.ok(existsSync(join(root, 'effect')));
});

test('slow clients have their time, and hold nobody up', async (t) => {
  const server = await listen(t, [await folder(t), '--request-time', '10']);
  const started = performance.now();
  let closed = 0;
  const trickle = (bytes) => new Promise((done) => {
    const socket = net.connect(server.port, '127.0.0.1', () => socket.write(bytes));
    const timer = setInterval(() => socket.write('x'), 200);
    socket.on('error', () => {}).resume();
    socket.on('close', () => { clearInterval(timer); closed++; done(performance.now() - started); });
  });
  const slow = Array.from({ length: 60 }, (_, i) => trickle([
    'POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ',
    'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{',
    '',
  ][i % 3]));
  const s = await session(server);
  for (let i = 0; i < 5; i++) assert.equal(await s.run(`echo ${i}`), `${i}\n`);
  assert.equal(closed, 0, 'the others hold it up');
  for (const ms of await Promise.all(slow)) assert.ok(ms > 9500, `closed after ${ms} ms`);
});

test('as many sessions and shells as there may be', async (t) => {
  const server = await listen(t, [await folder(t), '--max-sessions', '33', '--max-workers', '2']);
  const unused = await session(server);
  const shells = [];
  for (let i = 0; i < 33; i++) { // the last one finds room, since one session has never worked
    shells.push(await session(server));
    await shells[i].run(`cd /; x=kept-${i}`);
  }
  assert.equal((await unused.post(runs(1, 'true'))).status, 404);
  const none = await request(server, { body: initialize(3) });
  assert.deepEqual([none.status, none.json.id, none.headers['mcp-session-id']], [503, 3, undefined]);
  assert.match(none.headers['retry-after'], /^[1-9]\d*$/);
  assert.match(none.json.error.message, /--max-sessions/);
  assert.ok((await children(server)).length <= 2);
  for (const [i, one] of shells.entries()) assert.equal(await one.run('echo $x'), `kept-${i}\n`);
  const all = await Promise.all(shells.map((one) => one.run('echo $x')));
  assert.deepEqual(all, shells.map((_, i) => `kept-${i}\n`));
  assert.equal((await modern(server, 'tools/call', { name: 'run', arguments: { command: 'echo room$x' } })).json.result.content[0].text, 'room\n');
  assert.ok((await children(server)).length <= 2);
});

test('a signal ends it: what runs may end, or is told', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root]);
  const one = await session(server), other = await session(server);
  const short = one.post(runs(1, 'touch short; until test -e go; do sleep 0.01; done; echo over')), long = other.post(runs(2, 'touch long; sleep 300'));
  await until(() => ['short', 'long'].every((name) => existsSync(join(root, name))));
  const started = performance.now();
  server.child.kill('SIGTERM');
  await writeFile(join(root, 'go'), '');
  assert.equal((await short).json.result.content[0].text, 'over\n');
  const cut = await long;
  assert.deepEqual([cut.status, cut.json.id], [503, 2]);
  assert.deepEqual(await server.ended, { code: 0, signal: null });
  t.diagnostic(`${(performance.now() - started).toFixed(0)} ms`);
  const idle = await listen(t, [await folder(t)]);
  await (await session(idle)).run('true');
  idle.child.kill('SIGINT');
  assert.deepEqual(await idle.ended, { code: 0, signal: null });
});

test('what others can reach needs a token and a name', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'paddock-token-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const token = join(dir, 'token');
  const start = (...args) => { const { status, stderr } = spawnSync(mcpath, [dir, '--transport', 'http', '--port', '0', ...args], { encoding: 'utf8', timeout: 120000 }); return `${status} ${stderr}`; };
  await writeFile(token, 'short\n', { mode: 0o600 });
  assert.match(start('--host', '0.0.0.0'), /^2 .*'--token-file' is needed/);
  assert.match(start('--host', '0.0.0.0', '--allow-host', 'a'), /^2 .*'--token-file' is needed/);
  assert.match(start('--host', '::', '--token-file', token), /^2 .*'--allow-host' is needed/);
  assert.match(start('--host', 'example.com'), /^2 .*is no address/);
  assert.match(start('--token-file', token), /^1 .*at least 16 characters/);
  assert.match(start('--token-file', join(dir, 'none')), /^1 .*cannot read/);
  assert.match(start('--tls-cert', token), /^2 .*go together/);
  assert.match(start('--tls-cert', token, '--tls-key', token), /^1 .*a pair in PEM/);
  assert.match(start('--allow-host', 'a:1'), /^2 .*without port/);
  assert.match(start('--allow-origin', 'a'), /^2 .*not an origin/);
  await writeFile(token, '0123456789abcdef\n');
  await chmod(token, 0o644);
  assert.match(start('--token-file', token), /^1 .*chmod 600/);
  await chmod(token, 0o600);
  const server = await listen(t, [dir, '--host', '0.0.0.0', '--allow-host', 'tools.example.com', '--token-file', token]);
  await until(() => /unencrypted/.test(server.stderr()));
  const bearer = { Authorization: 'Bearer 0123456789abcdef' };
  for (const Authorization of [null, 'Bearer 0123456789abcdeg', 'Bearer 0123456789abcde', 'Basic 0123456789abcdef', 'Bearer']) {
    const { status, headers } = await attempt(server, { Authorization });
    assert.deepEqual([status, headers['www-authenticate']], [401, 'Bearer']);
  }
  assert.equal((await request(server, { method: 'DELETE' })).status, 401);
  assert.ok(!existsSync(join(dir, 'effect')));
  assert.equal((await attempt(server, { ...bearer, Host: 'evil.example' })).status, 403);
  assert.equal((await attempt(server, { ...bearer, Host: 'tools.example.com' })).status, 200);
  const used = spawnSync(mcpath, [dir, '--transport', 'http', '--port', String(server.port)], { encoding: 'utf8', timeout: 120000 });
  assert.match(`${used.status} ${used.stderr}`, /^1 .*Address already in use/);
});

test('HTTPS', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'paddock-tls-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const cert = join(dir, 'cert.pem'), key = join(dir, 'key.pem');
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1', '-subj', '/CN=localhost', '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const server = await listen(t, [dir, '--tls-cert', cert, '--tls-key', key]);
  assert.match(server.url, /^https:/);
  const post = (body, headers, options = {}) => new Promise((done, fail) => {
    const req = https.request({ host: '127.0.0.1', port: server.port, path: '/mcp', method: 'POST', rejectUnauthorized: false, headers: { 'Content-Type': 'application/json', ...headers }, ...options }, (res) => {
      let text = '';
      res.on('data', (part) => { text += part; }).on('end', () => done({ status: res.statusCode, headers: res.headers, text }));
    });
    req.on('error', fail).end(JSON.stringify(body));
  });
  const { headers } = await post(initialize());
  const session = { 'Mcp-Session-Id': headers['mcp-session-id'] };
  assert.match((await post(runs(1, 'echo "over TLS"'), session)).text, /over TLS/);
  assert.match((await post(runs(2, 'seq 3000'), session)).text, /3000/);
  const stop = new AbortController();
  const cut = post(runs(3, 'touch begun; sleep 30; touch done'), session, { signal: stop.signal });
  await until(() => existsSync(join(dir, 'begun')));
  stop.abort();
  await assert.rejects(cut);
  assert.match((await post(runs(4, 'ls'), session)).text, /"begun\\n"/);
  await assert.rejects(post(initialize(), {}, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }));
  assert.equal(await request(server, { body: initialize() }).then((r) => r.status, () => 'cut'), 'cut'); // no plain text there
});
