// Servers that have a URL: the official ones over Streamable HTTP, of both eras, through
// paddock-bridge, and as run_mcp calls them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { McpServer, createMcpHandler, fromJsonSchema } from '@modelcontextprotocol/server';
import { Bridge, certificates, event, initialized, json, result, serve as serveHttp, stream } from './bridge.mjs';
import { isRefusal, kinds, serve, workspace } from './workspace.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const modern = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };

const freePort = () => new Promise((done) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    server.close(() => done(port));
  });
});

/** server-everything, which speaks the revisions with a handshake, has sessions, and streams its replies. */
async function everything(t) {
  const port = await freePort();
  const child = spawn(process.execPath, [join(here, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'), 'streamableHttp'],
    { env: { ...process.env, PORT: port }, stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const s = { child, log: '', url: `http://127.0.0.1:${port}/mcp` };
  child.stdout.on('data', (text) => { s.log += text; });
  await new Promise((done, fail) => {
    child.on('exit', () => fail(new Error('server-everything has ended')));
    child.stderr.on('data', (text) => { s.log += text; if (/listening/.test(s.log)) done(); });
  });
  return s;
}

/** A server of SDK 2, which checks the header fields of 2026-07-28. */
async function sdk2(t, legacy = 'reject') {
  const handler = createMcpHandler(({ era }) => {
    const server = new McpServer({ name: 'sdk2', version: '1' });
    server.registerTool('era', { description: 'Which era is this?' }, () => ({ content: [{ type: 'text', text: `era ${era}` }] }));
    const inputSchema = { type: 'object', required: ['place'],
      properties: { place: { type: 'string', 'x-mcp-header': 'Place' }, level: { type: 'integer', 'x-mcp-header': 'Level' } } };
    server.registerTool('where', { description: 'Repeats its place.', inputSchema: fromJsonSchema(inputSchema) },
      ({ place }) => ({ content: [{ type: 'text', text: `at ${place}` }] }));
    return server;
  }, { legacy });
  return serveHttp(t, async (request, response, message) => {
    const headers = new Headers(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const body = request.method === 'POST' ? JSON.stringify(message) : undefined;
    const reply = await handler.fetch(new Request(`http://${request.headers.host}${request.url}`, { method: request.method, headers, body }));
    response.writeHead(reply.status, Object.fromEntries(reply.headers));
    response.end(Buffer.from(await reply.arrayBuffer()));
  });
}

test('server-everything through the bridge, from the handshake to the end of the session', async (t) => {
  const s = await everything(t);
  const bridge = new Bridge(t, { url: s.url });
  assert.equal((await bridge.initialize()).result.serverInfo.name, 'mcp-servers/everything');
  assert.ok((await bridge.call(1)).result.tools.length > 5);
  const echo = await bridge.call(2, 'tools/call', { name: 'echo', arguments: { message: 'grüße 🐧' } });
  assert.equal(echo.result.content[0].text, 'Echo: grüße 🐧');
  const long = await bridge.call(3, 'tools/call',
    { name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 4 }, _meta: { progressToken: 'p' } });
  assert.match(long.result.content[0].text, /completed/);
  assert.equal(bridge.messages.filter((m) => m.method === 'notifications/progress' && m.params.progressToken === 'p').length, 4);
  assert.ok((await bridge.call(4, 'no/such')).error);
  assert.deepEqual(await bridge.end(), { code: 0, signal: null });
  assert.match(s.log, /session termination|DELETE/i);
  assert.equal(bridge.stderr, '');
});

/** Events of SDK 1, so that a stream can be taken up again. */
function eventStore() {
  const events = [];
  return {
    storeEvent: async (streamId, message) => `${events.push({ streamId, message })}`,
    replayEventsAfter: async (last, { send }) => {
      const { streamId } = events[last - 1];
      for (let i = Number(last); i < events.length; i++)
        if (events[i].streamId === streamId) await send(`${i + 1}`, events[i].message);
      return streamId;
    },
  };
}

/** A server of SDK 1 with a slow tool, which calls `half` in the middle. */
async function sdk1(t, half) {
  const server = new McpServerV1({ name: 'sdk1', version: '1' });
  server.registerTool('slow', { description: 'Takes its time.' }, async (extra) => {
    for (let progress = 1; progress <= 4; progress++) {
      await extra.sendNotification({ method: 'notifications/progress', params: { progressToken: extra._meta.progressToken, progress } });
      if (progress === 2) await half(extra);
      await sleep(150);
    }
    return { content: [{ type: 'text', text: 'done' }] };
  });
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, eventStore: eventStore(), retryInterval: 200 });
  await server.connect(transport);
  t.after(() => server.close());
  return serveHttp(t, (request, response, message) => transport.handleRequest(request, response, message ?? undefined));
}

test('a call of SDK 1 outlives its connection, be it lost or closed for polling', async (t) => {
  for (const how of ['lost', 'polling']) {
    const s = await sdk1(t, async (extra) => {
      if (how === 'polling') return extra.closeSSEStream();
      await sleep(100); // so that what was sent has left
      return s.seen.at(-1).request.socket.destroy();
    });
    const bridge = new Bridge(t, { url: s.url });
    await bridge.initialize();
    const { result: got } = await bridge.call(1, 'tools/call', { name: 'slow', arguments: {}, _meta: { progressToken: 'p' } });
    assert.equal(got.content[0].text, 'done');
    const steps = bridge.messages.filter((m) => m.method === 'notifications/progress').map((m) => m.params.progress);
    assert.deepEqual(steps, [1, 2, 3, 4], 'none is lost, none comes twice');
    assert.ok(s.seen.some((one) => one.method === 'GET' && one.headers['last-event-id']));
    assert.deepEqual(await bridge.end(), { code: 0, signal: null });
  }
});

test('SDK 2, which looks at every header field, through the bridge', async (t) => {
  const bridge = new Bridge(t, { url: (await sdk2(t)).url });
  const found = await bridge.call(1, 'server/discover', { _meta: modern });
  assert.ok(found.result.supportedVersions.includes('2026-07-28'), JSON.stringify(found));
  assert.equal((await bridge.call(2, 'tools/list', { _meta: modern })).result.tools[0].name, 'era');
  assert.equal((await bridge.call(3, 'tools/call', { name: 'era', arguments: {}, _meta: modern })).result.content[0].text, 'era modern');
  const missing = await bridge.call(4, 'tools/call', { name: 'ärger', arguments: {}, _meta: modern });
  assert.notEqual(missing.error?.code, -32020, 'the name arrives as it is');
  assert.match(JSON.stringify(missing), /ärger/);
});

/** A workspace with servers {name: {url, headers, env, policy}}, and a client of pyddock. */
async function world(t, servers, { env = {}, ...more } = {}) {
  let policy = '';
  const definitions = {};
  for (const [name, { policy: lines = '', tools = '{ ".*" = true }', ...definition }] of Object.entries(servers)) {
    definitions[name] = definition;
    policy += `[mcp.${name}]\ntools = ${tools}\n${lines}\n`;
  }
  const w = await workspace(t, { policy, files: { '.pyddock/mcp.json': JSON.stringify({ mcpServers: definitions }) } });
  const s = await serve(t, w, { env, ...more });
  return { ...s, w, mcp: (server, tool, args = {}, rest = {}) => s.tool('run_mcp', { server, tool, arguments: args, ...rest }) };
}

for (const kind of kinds)
  test(`${kind}: run_mcp calls a tool of a server that has a URL`, async (t) => {
    const s = await everything(t);
    const { mcp } = await world(t, { everything: { url: s.url, tools: '{ "echo" = true, "get-.*" = true }' } }, { kind });
    assert.deepEqual(((r) => [r.text, r.isError])(await mcp('everything', 'echo', { message: 'a' })), ['Echo: a', false]);
    assert.match((await mcp('everything', 'get-sum', { a: 40, b: 2 })).text, /42/);
    assert.ok(isRefusal(await mcp('everything', 'trigger-long-running-operation', {})));
  });

test('a server that refuses the handshake is asked as 2026-07-28 has it', async (t) => {
  const { url, seen } = await sdk2(t);
  const { mcp } = await world(t, { sdk2: { url, policy: 'keep_alive = 60' } });
  for (let i = 0; i < 2; i++) assert.equal((await mcp('sdk2', 'era')).text, 'era modern');
  assert.equal(seen.filter((s) => s.message?.method === 'initialize').length, 1);
});

test('what a tool wants repeated in header fields is learnt, and repeated', async (t) => {
  const { url, seen } = await sdk2(t);
  const { mcp } = await world(t, { sdk2: { url, policy: 'keep_alive = 60' } });
  for (const place of ['here', 'überall', '=?base64?x?=', ' a\nMcp-Name: b'])
    assert.equal((await mcp('sdk2', 'where', { place, level: 3 })).text, `at ${place}`);
  const calls = seen.filter((s) => s.message?.method === 'tools/call').map((s) => s.headers);
  assert.deepEqual(calls.map((h) => h['mcp-param-place']), [undefined, 'here', '=?base64?w7xiZXJhbGw=?=',
    '=?base64?PT9iYXNlNjQ/eD89?=', '=?base64?IGEKTWNwLU5hbWU6IGI=?=']);
  assert.ok(calls.slice(1).every((h) => h['mcp-param-level'] === '3'));
});

test('a tool whose marks break the rules is left out', async (t) => {
  const tool = (name, property) => ({ name, inputSchema: { type: 'object', properties: { a: property } } });
  const { url } = await serveHttp(t, (q, r, m) => json(r, result(m.id, { resultType: 'complete', ttlMs: 0, cacheScope: 'private',
    tools: [tool('good', { type: 'string', 'x-mcp-header': 'A' }), tool('bad', { type: 'string', 'x-mcp-header': 'A: b' })] })));
  const bridge = new Bridge(t, { url });
  assert.deepEqual((await bridge.call(1, 'tools/list', { _meta: modern })).result.tools.map((one) => one.name), ['good']);
  assert.match(bridge.stderr, /1 tools of http.* are left out/);
});

/** What /proc tells of the processes whose program is paddock-bridge and whose parent is `pid`. */
function bridges(pid) {
  const found = [];
  for (const name of readdirSync('/proc').filter((n) => /^\d+$/.test(n))) {
    try {
      const [, command, parent] = /^\d+ \((.*)\) \S (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'utf8'));
      if (command === 'paddock-bridge' && Number(parent) === pid)
        found.push(['cmdline', 'environ', 'status'].map((file) => readFileSync(`/proc/${name}/${file}`, 'utf8')).join('\n'));
    } catch { /* it has ended, or is not ours to read */ }
  }
  return found;
}

/** All files below a folder that have this text in them. */
const mentions = (folder, text) => readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && readFileSync(join(entry.parentPath ?? entry.path, entry.name), 'utf8').includes(text));

test('headers arrive, with what the environment says, and nobody else gets to see them', async (t) => {
  let pid, told = [];
  const s = await serveHttp(t, (q, r, m) => {
    if (m?.id === undefined) return void r.writeHead(202).end();
    if (m.method === 'initialize') return json(r, initialized(m.id));
    told = bridges(pid);
    return json(r, result(m.id, { content: [{ type: 'text', text: q.headers['x-key'] === 'open sesame-7' ? 'in' : 'out' }] }));
  });
  const { mcp, w, pid: server } = await world(t,
    { a: { url: s.url, headers: { 'X-Key': 'open ${THE_KEY}' }, policy: 'variables = ["THE_KEY"]' } }, { env: { THE_KEY: 'sesame-7' } });
  pid = server;
  assert.equal((await mcp('a', 'x')).text, 'in');
  if (!process.geteuid()) assert.equal(told.length, 1);
  for (const text of told) {
    assert.doesNotMatch(text, /sesame/);
    assert.match(text, /NoNewPrivs:\t1/);
    assert.match(text, /Seccomp:\t2/);
  }
  assert.deepEqual(mentions(w.root, 'sesame'), [], 'not in the audit log either');
});

test('the env of a definition says whom to trust, and which proxy', async (t) => {
  const { tls, ca_file } = await certificates(t);
  const answer = (by) => (q, r, m) => {
    if (m?.id === undefined) r.writeHead(202).end();
    else json(r, m.method === 'initialize' ? initialized(m.id) : result(m.id, { content: [{ type: 'text', text: `${by} ${q.url}` }] }));
  };
  const secure = await serveHttp(t, answer('secure'), tls), plain = await serveHttp(t, answer('plain')), proxy = await serveHttp(t, answer('proxy'));
  const { mcp } = await world(t, {
    trusted: { url: secure.url, env: { SSL_CERT_FILE: ca_file, HTTP_PROXY: proxy.origin } },
    unknown: { url: secure.url },
    direct: { url: plain.url, env: { HTTPS_PROXY: proxy.origin } },
    proxied: { url: plain.url, env: { HTTP_PROXY: proxy.origin } },
  }, { env: { SSL_CERT_FILE: ca_file, http_proxy: proxy.origin, HTTP_PROXY: proxy.origin } });
  assert.equal((await mcp('trusted', 'x')).text, 'secure /mcp');
  assert.match((await mcp('unknown', 'x')).text, /cannot connect .*certificate/);
  assert.equal((await mcp('direct', 'x')).text, 'plain /mcp');
  assert.equal((await mcp('proxied', 'x')).text, `proxy ${plain.url}`);
});

test('a session that was lost is begun anew, once', async (t) => {
  let sessions = 0, calls = 0;
  const lost = new Set();
  const s = await serveHttp(t, (q, r, m) => {
    const session = q.headers['mcp-session-id'];
    if (session && lost.has(session)) r.writeHead(404).end();
    else if (m?.id === undefined) r.writeHead(202).end();
    else if (m.method === 'initialize') json(r, initialized(m.id), { 'mcp-session-id': `s${++sessions}` });
    else { calls++; json(r, result(m.id, { content: [{ type: 'text', text: session }] })); }
  });
  const { mcp } = await world(t, { a: { url: s.url, policy: 'keep_alive = 60' } });
  assert.equal((await mcp('a', 'x')).text, 's1');
  lost.add('s1');
  assert.equal((await mcp('a', 'x')).text, 's2');
  assert.equal(calls, 2);
  for (let i = 2; i < 9; i++) lost.add(`s${i}`);
  const { text, isError } = await mcp('a', 'x');
  assert.ok(isError);
  assert.match(text, /MCP server 'a' gave no answer: .* has forgotten the session/);
  assert.equal(calls, 2, 'it was never asked in vain');
});

test('what goes wrong on the way is said, and costs that call', async (t) => {
  const other = await serveHttp(t, (q, r) => r.end());
  const port = await freePort();
  let mode = '';
  const s = await serveHttp(t, (q, r, m) => {
    if (q.method === 'DELETE') r.writeHead(200).end();
    else if (m.id === undefined) r.writeHead(202).end();
    else if (m.method === 'initialize') json(r, initialized(m.id));
    else if (mode === 'redirect') r.writeHead(307, { location: other.url }).end();
    else if (mode === 'unauthorized') r.writeHead(401, { 'content-type': 'text/plain' }).end(`no: ${q.headers.authorization}`);
    else if (mode === 'break') stream(r, event({ jsonrpc: '2.0', method: 'notifications/x' })).end();
    else if (mode === 'hang') stream(r, ': wait\n\n');
    else json(r, result(m.id, { content: [{ type: 'text', text: 'fine' }] }));
  });
  const { mcp } = await world(t, {
    a: { url: s.url, headers: { Authorization: 'Bearer sesame-8' } },
    b: { url: `http://127.0.0.1:${port}/mcp` },
    c: { url: s.url, headers: { Host: 'other' } },
  });
  for (const [name, text] of [
    ['redirect', /gave no answer: http:\/\/127.* redirects \(HTTP 307\) to .* not followed/],
    ['unauthorized', /gave no answer: .* HTTP 401; look at the headers in its definition: no: \*\*\*/],
    ['break', /gave no answer: the stream of .* ended without the reply/],
  ]) {
    mode = name;
    const reply = await mcp('a', 'x');
    assert.ok(reply.isError);
    assert.match(reply.text, text);
    assert.doesNotMatch(reply.text, /sesame/);
    mode = '';
    assert.equal((await mcp('a', 'x')).text, 'fine');
  }
  mode = 'hang';
  const hung = await mcp('a', 'x', {}, { timeout: 1 });
  assert.ok(hung.isError);
  assert.match(hung.text, /time limit/);
  const asked = s.seen.findLast((one) => one.message?.method === 'tools/call');
  while (!s.seen.some((one) => one.message?.method === 'notifications/cancelled' && one.message.params.requestId === asked.message.id)) await sleep(20);
  const nobody = await mcp('b', 'x');
  assert.match(nobody.text, /'b' gave no answer: cannot connect to http:\/\/127/);
  assert.match((await mcp('c', 'x')).text, /the header 'Host' is set by the transport/);
  assert.deepEqual(other.seen, []);
});
