// Servers that have a URL, as paddock-bridge meets them: both kinds of reply, sessions, and
// all the ways in which an HTTP server can be slow, wrong or hostile.  What goes wrong costs
// the request that it belongs to, says why, and the next one works.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { createServer as createTcpServer } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Bridge, certificates, event, initialized, json, result, serve, stream } from './bridge.mjs';

const sanitized = /detect|halt/.test(`${process.env.ASAN_OPTIONS}${process.env.UBSAN_OPTIONS}`);
const TOKEN = 'Bearer sesame-open-up';
const modern = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };

/** A server that shakes hands, and answers other requests as `answer` says. */
async function peer(t, answer, { session = 'session-1', ...more } = {}) {
  const s = await serve(t, (request, response, message) => {
    if (request.method === 'DELETE') response.writeHead(200).end();
    else if (request.method === 'POST' && !('id' in message)) response.writeHead(202).end();
    else if (message?.method === 'initialize') json(response, initialized(message.id), session ? { 'mcp-session-id': session } : {});
    else if (message?.method === 'ping') json(response, result(message.id));
    else answer(request, response, message);
  }, more.tls);
  const bridge = new Bridge(t, { url: s.url, headers: [`Authorization: ${TOKEN}`], ...more.setup });
  await bridge.initialize();
  return { ...s, bridge };
}

/** The error of a request that `answer` spoils, which names `kind`; then one that works. */
async function spoiled(t, answer, kind, text, options = {}) {
  const { bridge, seen } = await peer(t, answer, options);
  const { error } = await bridge.call(1, 'tools/call', { name: 'x', ...options.params });
  assert.equal(error.code, -32603);
  assert.equal(error.data.bridge, kind, error.message);
  assert.match(error.message, text);
  assert.doesNotMatch(JSON.stringify(bridge.messages) + bridge.stderr, /sesame/);
  assert.deepEqual((await bridge.call(2, 'ping')).result, {});
  return { bridge, seen, error };
}

test('a reply as JSON, line breaks and all, is one line', async (t) => {
  const { bridge } = await peer(t, (q, r, m) => json(r, JSON.stringify(result(m.id, { a: 'x\ny' }), null, 2).replace(/\n/g, '\r\n')));
  assert.deepEqual((await bridge.call(1)).result, { a: 'x\ny' });
  assert.deepEqual(await bridge.end(), { code: 0, signal: null });
  assert.equal(bridge.stderr, '');
});

test('a reply in a stream comes after what belongs to it', async (t) => {
  const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } };
  const { bridge } = await peer(t, (q, r, m) =>
    stream(r, ': hello\n\n', 'event: other\ndata: {"not": "for us"}\n\n', event(progress), event(result(m.id, { b: 2 }))).end());
  assert.deepEqual((await bridge.call('x')).result, { b: 2 });
  assert.deepEqual(bridge.messages.slice(1), [progress, result('x', { b: 2 })]);
});

test('a stream that stays open after its answer is closed', async (t) => {
  let closed;
  const gone = new Promise((done) => { closed = done; });
  const { bridge } = await peer(t, (q, r, m) => { q.socket.on('close', closed); stream(r, event(result(m.id))); });
  assert.deepEqual((await bridge.call(1)).result, {});
  await gone;
});

test('session and version go with each request, and the session is ended', async (t) => {
  const { bridge, seen } = await peer(t, (q, r, m) => json(r, result(m.id)));
  await bridge.call(1);
  assert.deepEqual(await bridge.end(), { code: 0, signal: null });
  assert.deepEqual(seen.map((s) => s.message?.method ?? s.method), ['initialize', 'notifications/initialized', 'tools/list', 'DELETE']);
  const [first, ...later] = seen.map((s) => s.headers);
  assert.equal(first['mcp-session-id'], undefined);
  assert.equal(first['mcp-protocol-version'], undefined);
  for (const headers of later) {
    assert.equal(headers['mcp-session-id'], 'session-1');
    assert.equal(headers['mcp-protocol-version'], '2025-11-25');
  }
  for (const headers of [first, ...later]) {
    assert.equal(headers.authorization, TOKEN);
    assert.equal(headers.cookie, undefined);
    assert.match(headers['user-agent'], /^paddock\//);
  }
  assert.equal(first.accept, 'application/json, text/event-stream');
  assert.equal(first['content-type'], 'application/json');
});

test('a server without sessions gets no DELETE, and no cookie comes back', async (t) => {
  const { bridge, seen } = await peer(t, (q, r, m) => json(r, result(m.id), { 'set-cookie': 'a=b' }), { session: null });
  await bridge.call(1);
  await bridge.call(2);
  await bridge.end();
  assert.ok(seen.every((s) => s.method === 'POST' && !s.headers['mcp-session-id'] && !s.headers.cookie));
});

test('nothing overtakes the handshake', async (t) => {
  const order = [];
  const s = await serve(t, async (q, r, m) => {
    order.push(m.method);
    if (m.method === 'tools/list') return json(r, result(m.id));
    await sleep(150);
    order.push(`end of ${m.method}`);
    return m.id === undefined ? r.writeHead(202).end() : json(r, initialized(m.id));
  });
  const bridge = new Bridge(t, { url: s.url });
  bridge.send({ jsonrpc: '2.0', id: 0, method: 'initialize', params: {} },
    { jsonrpc: '2.0', method: 'notifications/initialized' }, { jsonrpc: '2.0', id: 1, method: 'tools/list' });
  await bridge.reply(1);
  assert.deepEqual(order, ['initialize', 'end of initialize', 'notifications/initialized',
    'end of notifications/initialized', 'tools/list']);
});

test('requests run at once, up to a number', async (t) => {
  const held = [];
  const { bridge } = await peer(t, (q, r, m) => held.push([r, m.id]));
  for (let id = 0; id < 18; id++) bridge.send({ jsonrpc: '2.0', id, method: 'tools/list' });
  const refused = await Promise.all([bridge.reply(16), bridge.reply(17)]);
  for (const { error } of refused) assert.equal(error.data.bridge, 'limit');
  while (held.length < 16) await sleep(10);
  for (const [response, id] of held.reverse()) json(response, result(id, { id }));
  for (let id = 0; id < 16; id++) assert.equal((await bridge.reply(id)).result.id, id);
});

test('messages of 2026-07-28 have their header fields, and no session', async (t) => {
  const { bridge, seen } = await peer(t, (q, r, m) => json(r, result(m.id)));
  await bridge.call(1, 'tools/call', { name: 'read', _meta: modern });
  await bridge.call(2, 'tools/call', { name: 'Grüße\r\nX-Evil: 1', _meta: modern });
  await bridge.call(3, 'tools/list', { _meta: modern });
  await bridge.call(4, 'tools/call', { name: 'read' });
  const [a, b, c, d] = seen.slice(2).map((s) => s.headers);
  for (const headers of [a, b, c]) {
    assert.equal(headers['mcp-protocol-version'], '2026-07-28');
    assert.equal(headers['mcp-session-id'], undefined);
    assert.equal(headers['x-evil'], undefined);
  }
  assert.equal(a['mcp-method'], 'tools/call');
  assert.equal(a['mcp-name'], 'read');
  assert.equal(b['mcp-name'], `=?base64?${Buffer.from('Grüße\r\nX-Evil: 1').toString('base64')}?=`);
  assert.equal(c['mcp-name'], undefined);
  assert.equal(d['mcp-method'], undefined);
  assert.equal(d['mcp-session-id'], 'session-1');
});

test('a cancelled request is closed, and the server told as its revision wants it', async (t) => {
  for (const params of [{}, { _meta: modern }]) {
    let closed;
    const gone = new Promise((done) => { closed = done; });
    const { bridge, seen } = await peer(t, (q, r) => { q.socket.on('close', closed); stream(r, ': open\n\n'); });
    bridge.send({ jsonrpc: '2.0', id: 9, method: 'tools/list', params });
    while (seen.length < 3) await sleep(10);
    bridge.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } });
    await gone;
    assert.deepEqual((await bridge.call(10, 'ping')).result, {});
    await bridge.end();
    assert.equal(seen.filter((s) => s.message?.method === 'notifications/cancelled').length, params._meta ? 0 : 1);
    assert.equal(bridge.messages.find((m) => m.id === 9), undefined);
  }
});

test("a server's own request goes through, and so does the answer", async (t) => {
  let response, id;
  const { bridge, seen } = await peer(t, (q, r, m) => {
    if (m.method) { [response, id] = [r, m.id]; stream(r, event({ jsonrpc: '2.0', id: 's1', method: 'ping' })); }
  });
  bridge.send({ jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'x' } });
  await bridge.find((m) => m.id === 's1' && m.method === 'ping');
  bridge.send(result('s1'));
  while (!seen.some((s) => s.message?.id === 's1')) await sleep(10);
  response.end(event(result(id)));
  assert.deepEqual((await bridge.reply(5)).result, {});
});

test('an answer to nobody, or to another, is not passed on', async (t) => {
  const { bridge } = await peer(t, (q, r, m) => stream(r, event(result(77)), event(result(`${m.id}`)), event(result(m.id, { mine: 1 }))).end());
  bridge.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  assert.deepEqual((await bridge.reply(1)).result, { mine: 1 });
  assert.equal(bridge.messages.length, 2);
});

test('a batch, as 2025-03-26 allows it, is taken apart', async (t) => {
  const { bridge } = await peer(t, (q, r, m) => json(r, [{ jsonrpc: '2.0', method: 'notifications/x' }, result(m.id, { a: 1 })]));
  assert.deepEqual((await bridge.call(1)).result, { a: 1 });
  assert.equal(bridge.messages[1].method, 'notifications/x');
});

test('a stream that breaks off is taken up where it was', async (t) => {
  let gets = 0;
  const { bridge, seen } = await peer(t, (q, r, m) => {
    if (q.method === 'GET' && ++gets === 1) return stream(r, 'retry: 60\n', event({ jsonrpc: '2.0', method: 'notifications/y' }, 'e2')).end();
    if (q.method === 'GET') return stream(r, event(result(1, { late: true }), 'e3')).end();
    return stream(r, 'id: e1\nretry: 80\ndata:\n\n').end();
  });
  assert.deepEqual((await bridge.call(1)).result, { late: true });
  const resumed = seen.filter((s) => s.method === 'GET').map((s) => s.headers);
  assert.deepEqual(resumed.map((h) => h['last-event-id']), ['e1', 'e2']);
  for (const h of resumed) {
    assert.equal(h.accept, 'text/event-stream');
    assert.equal(h['mcp-session-id'], 'session-1');
    assert.equal(h.authorization, TOKEN);
  }
});

test('a stream that brings nothing is not taken up for ever', async (t) => {
  const { seen } = await spoiled(t, (q, r) => stream(r, ...(q.method === 'GET' ? [] : ['id: 1\nretry: 50\ndata:\n\n'])).end(), 'ended', /ended without the reply/);
  assert.equal(seen.filter((s) => s.method === 'GET').length, 4);
});

test('a stream that cannot be taken up again is an error that says so', async (t) => {
  await spoiled(t, (q, r) => (q.method === 'GET' ? r.writeHead(405).end() : stream(r, 'id: 1\nretry: 50\ndata:\n\n').end()),
    'ended', /cannot be taken up again: HTTP 405/);
  const { seen } = await spoiled(t, (q, r) => stream(r, 'id: 1\ndata:\n\n').end(), 'ended', /ended without the reply/, { params: { _meta: modern } });
  assert.ok(seen.every((s) => s.method === 'POST'), 'since 2026-07-28 there is no such thing');
});

test('an id that is no header value is not sent', async (t) => {
  const { seen } = await spoiled(t, (q, r) => stream(r, 'id: a\x01b\ndata:\n\n').end(), 'ended', /ended without the reply/);
  assert.ok(seen.every((s) => s.method === 'POST'));
});

test('a lost session says that it is', async (t) => {
  const gone = (q, r) => json(r, { jsonrpc: '2.0', error: { code: -32001, message: 'Session not found' }, id: null }, { status: 404 });
  const { bridge, seen, error } = await spoiled(t, gone, 'session-lost', /forgotten the session .*Session not found/);
  assert.equal(error.data.status, 404);
  await bridge.end();
  assert.ok(seen.every((s) => s.method !== 'DELETE'), 'there is nothing to end');
});

test('a new handshake begins a new session', async (t) => {
  const { bridge, seen } = await peer(t, (q, r, m) => json(r, result(m.id)));
  await bridge.call('again', 'initialize', {});
  assert.equal(seen.at(-1).headers['mcp-session-id'], undefined);
});

test('what the server words as JSON-RPC is passed on, whatever the status', async (t) => {
  const { bridge } = await peer(t, (q, r, m) => json(r, { jsonrpc: '2.0', ...(m.id === 1 ? { id: 1 } : {}),
    error: { code: -32022, message: 'no', data: { supported: ['x'] } } }, { status: 400 }));
  for (const id of [1, 2]) assert.deepEqual((await bridge.call(id)).error, { code: -32022, message: 'no', data: { supported: ['x'] } });
});

test('a token that such words repeat is not passed on', async (t) => {
  const { bridge } = await peer(t, (q, r, m) => json(r, { jsonrpc: '2.0', id: m.id, error: { code: -32001, message: `no: ${q.headers.authorization}` } }, { status: 401 }));
  assert.deepEqual((await bridge.call(1)).error, { code: -32001, message: 'no: ***' });
});

test('a status that is no success is told with the start of what was said', async (t) => {
  const echo = (status, type) => (q, r) => r.writeHead(status, { 'content-type': type })
    .end(`<html>\n\n<h1>Oh\x07 no</h1> ${q.headers.authorization} ${'x'.repeat(100000)}`);
  for (const [status, text] of [[401, /HTTP 401; look at the headers/], [403, /headers/], [500, /HTTP 500: <html> <h1>Oh no<\/h1> \*\*\* x+\.\.\.$/],
    [503, /503/], [418, /418/], [405, /look at the URL/]]) {
    const { error } = await spoiled(t, echo(status, 'text/html'), 'http', text);
    assert.equal(error.data.status, status);
    assert.ok(error.message.length < 600);
  }
});

test('what is no reply is told as such', async (t) => {
  const send = (type, text, status = 200) => (q, r) => r.writeHead(status, type ? { 'content-type': type } : {}).end(text);
  await spoiled(t, send('text/html', '<p>login'), 'content', /'text\/html', neither JSON nor a stream of events: <p>login/);
  await spoiled(t, send('application/json', '{"jsonrpc": "2.0", '), 'content', /no JSON-RPC: invalid JSON/);
  await spoiled(t, send('application/json', ''), 'content', /no JSON-RPC/);
  await spoiled(t, send('application/json', '{"a": 1}'), 'content', /no JSON-RPC/);
  await spoiled(t, send('application/json', '[7]'), 'content', /no JSON-RPC/);
  await spoiled(t, send('application/json', '[]'), 'ended', /something else/);
  await spoiled(t, send('application/json', JSON.stringify(result(99))), 'ended', /something else/);
  await spoiled(t, send('application/json', Buffer.from('7b226a736f6e727063223a2232fffe', 'hex')), 'content', /no JSON-RPC/);
  await spoiled(t, send('application/json', '['.repeat(100000)), 'content', /no JSON-RPC/);
  await spoiled(t, send('text/event-stream', 'data: garbage\n\n'), 'content', /invalid JSON/);
  await spoiled(t, send('text/event-stream', ''), 'ended', /ended without the reply/);
  await spoiled(t, send(null, '', 202), 'ended', /HTTP 202 without a reply/);
  await spoiled(t, send(null, '', 204), 'ended', /HTTP 204 without a reply/);
  await spoiled(t, (q, r) => r.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end('x'), 'content', /no JSON-RPC/);
});

test('connections that break off are told as such', async (t) => {
  await spoiled(t, (q) => q.socket.destroy(), 'ended', /no reply/);
  await spoiled(t, (q, r) => { stream(r, event({ jsonrpc: '2.0', method: 'n' })); setTimeout(() => q.socket.destroy(), 30); }, 'ended', /ended without the reply: /);
  await spoiled(t, (q, r) => { r.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('{"json'); setTimeout(() => q.socket.destroy(), 30); },
    'ended', /broke off/);
});

test('redirects are followed within the origin only', async (t) => {
  const other = await serve(t, (q, r, m) => json(r, result(m.id, { stolen: true })));
  const to = (status, location) => (q, r, m) => (q.url === '/mcp' ? r.writeHead(status, { location }).end('moved')
    : json(r, result(m.id, { at: q.url, got: m.method })));
  for (const status of [307, 308]) {
    const { bridge, seen } = await peer(t, to(status, '/there?a=b'));
    assert.deepEqual((await bridge.call(1)).result, { at: '/there?a=b', got: 'tools/list' });
    assert.equal(seen.at(-1).headers.authorization, TOKEN);
  }
  for (const status of [307, 308]) {
    await spoiled(t, to(status, other.url), 'redirect', new RegExp(`redirects \\(HTTP ${status}\\) to ${other.origin}, which is not followed`));
    await spoiled(t, to(status, other.url.replace('http', 'https')), 'redirect', /not followed/);
    await spoiled(t, to(status, `http://localhost:1/`), 'redirect', /not followed/);
    await spoiled(t, to(status, 'file:///etc/passwd'), 'redirect', /no usable URL/);
    await spoiled(t, to(status, `http://x@127.0.0.1/`), 'redirect', /no usable URL/);
    await spoiled(t, (q, r) => r.writeHead(status).end(), 'redirect', /no usable URL/);
    await spoiled(t, (q, r) => r.writeHead(status, { location: q.url }).end(), 'redirect', /one of too many/);
  }
  for (const status of [301, 302, 303]) await spoiled(t, to(status, '/there'), 'redirect', /only 307 and 308 keep the message/);
  assert.deepEqual(other.seen, [], 'nothing went to another place');
});

test('a reply of nearly 10 MiB arrives, a larger one is an error', async (t) => {
  const text = 'x'.repeat(10 * 2 ** 20 - 100);
  const { bridge } = await peer(t, (q, r, m) => (m.params?.name === 'stream' ? stream(r, event(result(m.id, { text }))).end() : json(r, result(m.id, { text }))));
  assert.equal((await bridge.call(1)).result.text.length, text.length);
  assert.equal((await bridge.call(2, 'tools/call', { name: 'stream' })).result.text.length, text.length);
  await spoiled(t, (q, r, m) => json(r, result(m.id, { text: text + text })), 'limit', /larger than 10 MiB/);
  await spoiled(t, (q, r, m) => stream(r, event(result(m.id, { text: text + text }))).end(), 'limit', /an event is larger/);
});

/** Write `piece` until nobody reads any more. */
async function pour(response, piece) {
  response.setMaxListeners(0);
  while (!response.destroyed) {
    if (!response.write(piece)) await new Promise((go) => { response.once('drain', go).once('close', go); });
    await new Promise(setImmediate);
  }
}

function peakMegabytes(bridge) {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${bridge.child.pid}/status`, 'utf8'))[1]) / 1024;
}

test('floods end, and take a bounded amount of memory', async (t) => {
  const block = 'y'.repeat(1 << 20);
  const head = (status, type) => (q, r) => r.writeHead(status, { 'content-type': type });
  for (const [begin, piece, kind, text] of [
    [head(200, 'application/json'), block, 'limit', /larger than 10 MiB/],
    [head(200, 'text/html'), block, 'content', /neither JSON/],
    [head(500, 'text/html'), block, 'http', /HTTP 500/],
    [head(200, 'text/event-stream'), block, 'limit', /an event is larger/],
    [head(200, 'text/event-stream'), `data: ${block}\n`, 'limit', /an event is larger/],
    [head(200, 'text/event-stream'), `: ${block}\n`, 'limit', /64 MiB/],
    [head(200, 'text/event-stream'), event({ jsonrpc: '2.0', method: 'n', params: { block } }), 'limit', /64 MiB/],
    [head(200, 'text/event-stream'), '\r'.repeat(1 << 20), 'limit', /64 MiB/],
  ]) {
    const { bridge } = await spoiled(t, (q, r) => { begin(q, r); pour(r, piece); }, kind, text);
    const peak = sanitized ? 0 : peakMegabytes(bridge);
    assert.ok(peak < 250, `${peak} MiB`);
    bridge.child.kill('SIGKILL');
  }
});

test('a flood that nobody reads is not fetched', async (t) => {
  let poured = 0;
  const { bridge } = await peer(t, async (q, r) => {
    r.writeHead(200, { 'content-type': 'text/event-stream' });
    r.setMaxListeners(0);
    const piece = event({ jsonrpc: '2.0', method: 'n', params: { text: 'z'.repeat(60000) } });
    while (!r.destroyed) {
      if (!r.write(piece)) await new Promise((go) => { r.once('drain', go).once('close', go); });
      poured += piece.length;
    }
  });
  bridge.output.pause();
  bridge.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  let before = -1;
  while (before !== poured) { before = poured; await sleep(400); }
  assert.ok(poured < 40 * 2 ** 20, `${poured} bytes`);
  assert.ok(sanitized || peakMegabytes(bridge) < 150);
  bridge.output.resume();
  assert.equal((await bridge.reply(1)).error.data.bridge, 'limit');
});

/** A TCP server that says something of its own instead of HTTP. */
async function raw(t, talk) {
  const server = createTcpServer((socket) => { socket.on('error', () => {}); socket.once('data', () => talk(socket)); });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const bridge = new Bridge(t, { url: `http://127.0.0.1:${server.address().port}/mcp` });
  t.after(() => { bridge.child.kill('SIGKILL'); server.close(); });
  return bridge;
}

test('what is no HTTP, or has endless headers, is an error', async (t) => {
  for (const [talk, kind] of [
    [(s) => s.end('garbage\r\n\r\n'), 'ended'],
    [(s) => s.end('HTTP/1.1 200 OK\r\n'), 'ended'],
    [(s) => s.end(), 'ended'],
    [(s) => s.end('\x16\x03\x01'), 'ended'],
    [(s) => s.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${'X-Many: y\r\n'.repeat(20000)}\r\n{}`), 'limit'],
    [(s) => s.end(`HTTP/1.1 200 OK\r\nX-Long: ${'y'.repeat(1 << 20)}\r\n\r\n{}`), 'ended'],
    [(s) => s.end('HTTP/1.1 100 Continue\r\n\r\n'.repeat(10000)), 'limit'],
    [(s) => s.end('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'), 'ended'],
    [(s) => s.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nxx'), 'ended'],
  ]) {
    const bridge = await raw(t, talk);
    const { error } = await bridge.call(1);
    assert.equal(error.data.bridge, kind, `${talk}: ${error.message}`);
  }
});

test('who hangs is hung up on when the request is cancelled, or the input ends', async (t) => {
  const slow = (s) => { const timer = setInterval(() => s.write('X'), 20); s.on('close', () => clearInterval(timer)); };
  for (const talk of [() => {}, slow, (s) => s.write('HTTP/1.1 200 OK\r\nX: '),
    (s) => s.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n')]) {
    const asked = [];
    let hungUp;
    const gone = new Promise((done) => { hungUp = done; });
    const bridge = await raw(t, (s) => { asked.push(s); s.on('close', hungUp); talk(s); });
    bridge.send({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: modern } });
    while (asked.length < 1) await sleep(10);
    bridge.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await gone;
    bridge.send({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
    while (asked.length < 2) await sleep(10);
    assert.deepEqual(await bridge.end(), { code: 0, signal: null });
  }
});

test('an error whose text never ends is told after a while', async (t) => {
  await spoiled(t, (q, r) => { r.writeHead(500, { 'content-type': 'text/plain' }).write('half a sentence'); }, 'http', /HTTP 500: half a sentence/);
});

test('where nobody listens, or no such name is, it says so', async (t) => {
  const { port } = await new Promise((done) => {
    const server = createTcpServer().listen(0, '127.0.0.1', () => { const address = server.address(); server.close(() => done(address)); });
  });
  for (const [url, text] of [[`http://127.0.0.1:${port}/mcp`, /cannot connect to http:\/\/127/], ['http://no-such-host.invalid/', /cannot connect to http:\/\/no-such-host/]]) {
    const bridge = new Bridge(t, { url });
    const { error } = await bridge.call(1);
    assert.equal(error.data.bridge, 'connect');
    assert.match(error.message, text);
  }
});

test('a setup that cannot be used ends it before anything is sent', async (t) => {
  const { url, seen } = await serve(t, (q, r) => r.end());
  for (const [setup, text] of [
    [{}, /the setup has no URL/],
    [{ url: 'file:///etc/passwd' }, /neither http nor https/],
    [{ url, headers: ['Host: other'] }, /the header 'Host' is set by the transport; Remove it/],
    [{ url, headers: ['X: sesame\r\nY: z'] }, /the value of the header 'X' is not visible ASCII/],
    [{ url: url.replace('//', '//user:sesame@') }, /has a user name in it; Put it into a header/],
    [{ url: 'https://127.0.0.1/', ca_file: '/no/such/file' }, /cannot read the certificates in '\/no\/such\/file'/],
  ]) {
    const bridge = new Bridge(t, setup);
    bridge.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    assert.equal((await bridge.ended).code, 1);
    assert.match(bridge.stderr, text);
    assert.doesNotMatch(bridge.stderr, /sesame/);
    assert.deepEqual(bridge.messages, []);
  }
  assert.deepEqual(seen, []);
});

test('the environment names no proxy; the setup does', async (t) => {
  const through = [];
  const proxy = await serve(t, (q, r, m) => { through.push(q.url); json(r, result(m.id, { by: 'proxy' })); });
  const { url } = await serve(t, (q, r, m) => json(r, result(m.id, { by: 'server' })));
  const env = { http_proxy: proxy.origin, HTTP_PROXY: proxy.origin, all_proxy: proxy.origin, ALL_PROXY: proxy.origin };
  assert.equal((await new Bridge(t, { url }, env).call(1)).result.by, 'server');
  assert.equal((await new Bridge(t, { url, proxy: proxy.origin }).call(1)).result.by, 'proxy');
  assert.deepEqual(through, [url]);
});

test('the socket that closes, or an output that nobody has, ends it', async (t) => {
  const { bridge } = await peer(t, () => {});
  bridge.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  bridge.socket.destroy();
  assert.equal((await bridge.ended).code, 0);
  const other = (await peer(t, (q, r, m) => json(r, result(m.id)))).bridge;
  other.output.destroy();
  other.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  assert.equal((await other.ended).code, 0);
});

test('lines that are no messages are not sent, and the next one is', async (t) => {
  const { bridge, seen } = await peer(t, (q, r, m) => json(r, result(m.id)));
  bridge.send('', '  \r', 'nonsense', '[]', '{"jsonrpc":"2.0","id":null,"method":"x"}',
    `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"${'x'.repeat(11 << 20)}"}}`);
  assert.deepEqual((await bridge.call(2)).result, {});
  assert.deepEqual(seen.map((s) => s.message.method), ['initialize', 'notifications/initialized', 'tools/list']);
  assert.match(bridge.stderr, /more than 10 MiB/);
});

test('a big request arrives', async (t) => {
  const { bridge } = await peer(t, (q, r, m) => json(r, result(m.id, { length: m.params.arguments.text.length })));
  assert.equal((await bridge.call(1, 'tools/call', { name: 'x', arguments: { text: 'x'.repeat(9 << 20) } })).result.length, 9 << 20);
});

test('a certificate that nobody vouches for is refused; one that the setup trusts is not', async (t) => {
  const { tls, ca_file } = await certificates(t);
  const s = await serve(t, (q, r, m) => json(r, result(m.id, { secret: q.headers.authorization })), tls);
  const headers = [`Authorization: ${TOKEN}`];
  const { error } = await new Bridge(t, { url: s.url, headers }).call(1);
  assert.equal(error.data.bridge, 'connect');
  assert.match(error.message, /certificate.*SSL_CERT_FILE/);
  for (const name of ['SSL_CERT_FILE', 'CURL_CA_BUNDLE', 'SSL_CERT_DIR'])
    assert.ok((await new Bridge(t, { url: s.url }, { [name]: ca_file }).call(1)).error, 'its own environment does not decide');
  assert.deepEqual(s.seen, []);
  assert.equal((await new Bridge(t, { url: s.url, headers, ca_file }).call(1)).result.secret, TOKEN);
  const wrong = new Bridge(t, { url: s.url.replace('127.0.0.1', 'localhost'), headers, ca_file });
  assert.match((await wrong.call(1)).error.message, /certificate|subject/);
  assert.equal(s.seen.length, 1);
});

test('headers that go over plain HTTP to another machine are warned about', async (t) => {
  const bridge = new Bridge(t, { url: 'http://no-such-host.invalid/', headers: ['X: sesame-1'] });
  await bridge.call(1);
  assert.match(bridge.stderr, /headers go to http:\/\/no-such-host.invalid in the clear/);
});

test('HTTP/2 is spoken where a server has it, many requests on one connection', async (t) => {
  const { tls, ca_file } = await certificates(t);
  let connections = 0;
  const waiting = [];
  const server = createSecureServer(tls);
  server.on('session', () => { connections++; }).on('stream', (s, headers) => {
    const parts = [];
    s.on('data', (part) => parts.push(part)).on('error', () => {}).on('end', () => {
      const m = headers[':method'] === 'POST' ? JSON.parse(Buffer.concat(parts)) : {};
      const answer = () => {
        s.respond({ ':status': m.id === undefined ? 202 : 200, 'content-type': 'application/json', 'mcp-session-id': 's' });
        s.end(m.id === undefined ? '' : JSON.stringify(m.method === 'initialize' ? initialized(m.id) : result(m.id, { http: 2 })));
      };
      if (m.method !== 'tools/list') return answer();
      waiting.push(answer);
      if (waiting.length === 5) for (const one of waiting) one();
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => server.close());
  const bridge = new Bridge(t, { url: `https://127.0.0.1:${server.address().port}/mcp`, ca_file });
  await bridge.initialize();
  for (let id = 0; id < 5; id++) bridge.send({ jsonrpc: '2.0', id, method: 'tools/list' });
  for (let id = 0; id < 5; id++) assert.deepEqual((await bridge.reply(id)).result, { http: 2 });
  assert.equal(connections, 1);
  assert.deepEqual(await bridge.end(), { code: 0, signal: null });
});

test('a call on a kept connection that ends without an answer is not sent twice', async (t) => {
  for (const tls of [null, await certificates(t)]) {
    for (const length of [10, 300000]) { // in one piece with its header, and not
      const sockets = [];
      const { bridge, seen } = await peer(t, (q, r, m) => {
        sockets.push(q.socket);
        if (m.params?.name === 'fine') json(r, result(m.id, { fine: true }));
        else q.socket.destroy();
      }, tls ? { tls: tls.tls, setup: { ca_file: tls.ca_file } } : {});
      const calls = () => seen.filter(({ message }) => message?.params?.name === 'x').length;
      assert.ok((await bridge.call(1, 'tools/call', { name: 'fine' })).result.fine);
      const { error } = await bridge.call(2, 'tools/call', { name: 'x', arguments: { text: 'x'.repeat(length) } });
      assert.equal(sockets[0], sockets[1], 'it was a kept connection');
      assert.equal(error.data.bridge, 'ended');
      assert.match(error.message, /sent no reply: .*may have been carried out, and is not sent again/);
      assert.ok((await bridge.call(3, 'tools/call', { name: 'fine' })).result.fine);
      assert.notEqual(sockets[2], sockets[1]);
      assert.equal(calls(), 1);
      assert.equal(sockets.length, 3);
    }
  }
});

test('nor is it on a connection of HTTP/2', async (t) => {
  const { tls, ca_file } = await certificates(t);
  const seen = [];
  let socket;
  const server = createSecureServer(tls).on('secureConnection', (one) => { socket = one; }).on('stream', (s, headers) => {
    const parts = [];
    s.on('data', (part) => parts.push(part)).on('error', () => {}).on('end', () => {
      const m = headers[':method'] === 'POST' ? JSON.parse(Buffer.concat(parts)) : {};
      if (m.method === 'tools/call') seen.push(m.params.name);
      if (m.params?.name === 'x') return socket.destroy();
      s.respond({ ':status': m.id === undefined ? 202 : 200, 'content-type': 'application/json' });
      s.end(m.id === undefined ? '' : JSON.stringify(m.method === 'initialize' ? initialized(m.id) : result(m.id, { http: 2 })));
    });
  }).on('sessionError', () => {});
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => server.close());
  const bridge = new Bridge(t, { url: `https://127.0.0.1:${server.address().port}/mcp`, ca_file });
  await bridge.initialize();
  assert.ok((await bridge.call(1, 'tools/call', { name: 'x' })).error);
  assert.deepEqual((await bridge.call(2, 'tools/call', { name: 'y' })).result, { http: 2 });
  assert.deepEqual(seen, ['x', 'y']);
  await bridge.end();
});

test('what only asks is asked again; a connection that ended while it was idle costs nothing', async (t) => {
  let times = 0;
  const sockets = new Set();
  const { bridge, seen } = await peer(t, (q, r, m) => {
    sockets.add(q.socket);
    if (m.method === 'tools/list' && !times++) q.socket.destroy();
    else json(r, result(m.id, { times }));
  });
  assert.equal((await bridge.call(1, 'tools/list')).result.times, 2);
  assert.ok((await bridge.call(2, 'tools/call', { name: 'x' })).result);
  const last = [...sockets].at(-1);
  await new Promise((done) => { last.on('close', done).destroy(); });
  assert.ok((await bridge.call(3, 'tools/call', { name: 'x' })).result);
  assert.equal(seen.filter(({ message }) => message?.method === 'tools/call').length, 2);
});
