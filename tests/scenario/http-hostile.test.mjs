// Requests that are forged, malformed, endless or slow: each is answered or hung up on, had
// no effect, and the server works on.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import net from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen, modernMeta, request, runs, session } from './http.mjs';
import { folder, until } from './lib.mjs';
import { sanitized } from './workspace.mjs';

const QUIET_MS = 400; // nothing more is said: the server waits for us
const HANG_MS = 120000;

/** What is answered to these bytes, until it hangs up or waits; the first `least` answers may take as long as they like. */
function exchange(server, bytes, least = 1) {
  return new Promise((done) => {
    let text = '', timer;
    const socket = net.connect(server.port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    const statuses = () => [...text.matchAll(/HTTP\/1\.[01] (\d\d\d) /g)].map((found) => Number(found[1]));
    const end = (how) => { clearTimeout(timer); socket.destroy(); done({ text, how, statuses: statuses() }); };
    const wait = () => { clearTimeout(timer); timer = setTimeout(() => end('waits'), statuses().length < least ? HANG_MS : QUIET_MS); };
    socket.setEncoding('latin1').on('data', (more) => { text += more; wait(); });
    socket.on('close', () => end('closed')).on('error', () => {});
    wait();
  });
}

const body = (name) => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'run', arguments: { command: `touch ${name}` }, _meta: modernMeta } });
const line = 'POST /mcp HTTP/1.1\r\n';
const fields = 'Host: localhost\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: run\r\n';
const length = (text) => `Content-Length: ${text.length}\r\n`;
const whole = (text, { first = line, more = '', host = 'localhost' } = {}) => `${first}${fields.replace('localhost', host)}${more}${length(text)}\r\n${text}`;
const chunk = (part) => `${part.length.toString(16)}\r\n${part}\r\n`;
const chunked = (text, coding = 'Transfer-Encoding: chunked') => `${line}${fields}${coding}\r\n\r\n${chunk(text)}0\r\n\r\n`;
const sized = (size, text) => `${line}${fields}Transfer-Encoding: chunked\r\n\r\n${size}\r\n${text}\r\n0\r\n\r\n`;
const hex = (text) => text.length.toString(16);

/** Every one of {name: (text) => bytes} is sent, each with a command that would leave a file of its own. */
async function noneHasEffect(t, cases, allowed, options = []) {
  const root = await folder(t);
  const server = await listen(t, [root, '--metrics', ...options]);
  const before = readdirSync(root).length;
  const all = Object.entries(cases);
  for (let at = 0; at < all.length; at += 16) {
    await Promise.all(all.slice(at, at + 16).map(async ([name, make], i) => {
      const { statuses, how, text } = await exchange(server, make(body(`effect-${at + i}`)), allowed.includes('waits') ? 0 : 1);
      if (statuses.length) assert.ok(statuses.every((status) => allowed.includes(status)), `${name}: ${statuses} ${text.slice(0, 200)}`);
      else assert.ok(how === 'closed' || allowed.includes('waits'), `${name}: nothing is said`);
      assert.doesNotMatch(text, /^access-control-/mi, name);
    }));
  }
  assert.deepEqual(readdirSync(root).filter((name) => name.startsWith('effect')).map((name) => all[name.slice(7)][0]), []);
  assert.equal(readdirSync(root).length, before);
  const { body: counters } = await request(server, { method: 'GET', path: '/metrics' });
  assert.match(counters, /^paddock_sessions\{state="open"\} 0$/m);
  assert.doesNotMatch(counters, /^paddock_calls_total/m); // no tool was called
  assert.match((await exchange(server, whole(body('works')))).text, / 200 /);
  assert.ok(readdirSync(root).includes('works'));
  return server;
}

const named = (list, make) => Object.fromEntries(list.map((one) => [JSON.stringify(one).slice(0, 80), (text) => make(one, text)]));

test('Host: names that lead here and are not ours', async (t) => {
  await noneHasEffect(t, named([
    'evil.example', 'EVIL.EXAMPLE:80', 'localhost.', 'localhost.:80', 'localhost.evil.example', 'evil.localhost', '.localhost', 'xlocalhost', 'localhostx',
    '127.0.0.1.evil.example', '127.0.0.1.', '127.1', '127.0.0.2', '2130706433', '0x7f000001', '0177.0.0.1', '0.0.0.0', '0',
    '[::]', '[::ffff:127.0.0.1]', '[0:0:0:0:0:0:0:1]', '[::1%lo]', '[::1%25lo]', '::1', '[::1', '[::1]x', '[::1]:x', '[]', '[::1]:80:80',
    'user@localhost', 'user:pw@localhost', 'localhost@evil.example', 'localhost:80@evil.example', '@localhost',
    'localhost:999999', 'localhost:-1', 'localhost:', 'localhost:8o', 'localhost:80:80', 'localhost: 80',
    'localhost,evil.example', 'localhost evil.example', 'evil.example localhost', 'localhost/evil', 'localhost\\evil', 'localhost#', 'localhost?', 'http://localhost', '//localhost',
    '\xef\xbd\x8cocalhost', 'xn--localhost-', 'local\thost', 'localhost\x0b', 'localhost\x7f', '%6cocalhost', '', '*', 'tools.example.com.', 'tools.example.com.evil.example', 'x.tools.example.com',
  ], (host, text) => whole(text, { host })), [400, 403], ['--allow-host', 'tools.example.com']);
});

test('Host: none, two, and a target that names another', async (t) => {
  const without = (text, more) => whole(text).replace('Host: localhost\r\n', more);
  await noneHasEffect(t, {
    none: (text) => without(text, ''),
    'two alike': (text) => without(text, 'Host: localhost\r\nHost: localhost\r\n'),
    'two, ours first': (text) => without(text, 'Host: localhost\r\nhost: evil.example\r\n'),
    'two, ours last': (text) => without(text, 'HOST: evil.example\r\nHost: localhost\r\n'),
    'only a proxy says so': (text) => without(text, 'X-Forwarded-Host: localhost\r\nForwarded: host=localhost\r\n'),
    folded: (text) => without(text, 'Host:\r\n localhost\r\n'),
    'folded, of two': (text) => without(text, 'Host: evil.example,\r\n localhost\r\n'),
    'in a field before it': (text) => without(text, 'X: y\rHost: localhost\r\n'),
    'blank before the colon': (text) => without(text, 'Host : localhost\r\n'),
    ...named(['http://evil.example/mcp', 'https://evil.example/mcp', 'http://localhost@evil.example/mcp', 'http://evil.example:80/mcp', '//evil.example/mcp', 'evil.example:80', 'http:/mcp', '*', 'mcp', '@localhost/mcp',
      '/mcp/', '//mcp', '/./mcp', '/x/../mcp', '/%6dcp', '/mcp%00x', '/mcp%2f', '/mcp;x', '/mcp#x', '/MCP', '/mcp\x7f', '/mcp%20'],
    (target, text) => whole(text, { first: `POST ${target} HTTP/1.1\r\n` })),
    'absolute, and a foreign Host': (text) => whole(text, { first: 'POST http://localhost/mcp HTTP/1.1\r\n', host: 'evil.example' }),
    connect: (text) => whole(text, { first: 'CONNECT localhost:80 HTTP/1.1\r\n' }),
  }, [400, 403, 404, 405]);
});

test('Origin: pages of others', async (t) => {
  const server = await noneHasEffect(t, named([
    'https://evil.example', 'http://localhost:1', 'http://localhost.', 'http://localhost.evil.example', 'http://evil.localhost', 'http://user@localhost', 'http://localhost@evil.example', 'http://localhost/', 'http://localhost/x', 'http://localhost#', 'http://localhost?',
    'http://localhost:80', 'http://localhost:', 'http://127.0.0.1', 'http://[::1]', 'http:localhost', 'http:/localhost', '//localhost', 'localhost', 'file://', 'file://localhost', 'ws://localhost', 'chrome-extension://abcdefgh', 'javascript:alert(1)', 'data:text/html,x', 'about:blank', 'blob:http://localhost/x',
    'null', 'NULL', '', '*', 'http://localhost http://evil.example', 'http://evil.example, http://localhost', 'http://localhost, http://localhost', 'https://app.example.com.', 'https://app.example.com:444', 'http://app.example.com', 'https://app.example.com.evil.example', 'https://APP.example.com@evil.example',
  ], (origin, text) => whole(text, { more: `Origin: ${origin}\r\n` })), [403], ['--allow-origin', 'https://app.example.com']);
  for (const more of ['Origin: http://localhost\r\nOrigin: https://evil.example\r\n', 'Origin: https://evil.example\r\nOrigin: http://localhost\r\n', 'Origin: http://localhost\r\nOrigin: http://localhost\r\n'])
    assert.deepEqual((await exchange(server, whole(body('twice'), { more }))).statuses, [403]);
  // A preflight is never answered as one, also for pages that may send requests; nor is what needs none taken.
  for (const [origin, status] of [['https://evil.example', 403], ['https://app.example.com', 405], ['http://localhost', 405]]) {
    const { text, statuses } = await exchange(server, `OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: ${origin}\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type, mcp-method\r\nAccess-Control-Request-Private-Network: true\r\n\r\n`);
    assert.deepEqual(statuses, [status]);
    assert.doesNotMatch(text, /access-control-/i);
  }
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/plain; application/json', 'application/jsonx', 'application/json, text/plain', ''])
    assert.deepEqual((await exchange(server, whole(body('simple')).replace('application/json', type))).statuses, [415], type);
});

test('framing that two readers could read differently', async (t) => {
  await noneHasEffect(t, {
    ...named(['chunked, chunked', 'chunked,chunked', 'xchunked', 'chunkedx', 'chunked;q=1', '"chunked"', 'chunked\x0b', '\x0bchunked', '\x0cchunked', 'identity', 'gzip', 'gzip, chunked', 'chunked, identity', ',chunked', 'chunked,', ''],
      (coding, text) => chunked(text, `Transfer-Encoding: ${coding}`)),
    'a coding twice': (text) => chunked(text, 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked'),
    'a coding twice, one of them none': (text) => chunked(text, 'Transfer-Encoding: chunked\r\ntransfer-encoding: identity'),
    'a coding and a length': (text) => chunked(text, `Transfer-Encoding: chunked\r\nContent-Length: ${text.length}`),
    'a length and a coding': (text) => chunked(text, `Content-Length: ${text.length}\r\nTransfer-Encoding: chunked`),
    'a coding that is folded': (text) => chunked(text, 'Transfer-Encoding:\r\n chunked'),
    'a coding with a blank': (text) => chunked(text, 'Transfer-Encoding : chunked'),
    'a coding after a blank': (text) => chunked(text, 'X: y\r\n Transfer-Encoding: chunked'),
    'a coding after a bare CR': (text) => chunked(text, 'X: y\rTransfer-Encoding: chunked'),
    ...named([(n) => `+${n}`, (n) => `-${n}`, (n) => `${n},${n}`, (n) => `${n}, ${n}`, (n) => `0x${n.toString(16)}`, (n) => `${n} ${n}`, (n) => `${n}.0`, (n) => `${n};x`, (n) => `${n}a`, () => '1e3', () => '', () => '-1', () => '99999999999999999999', () => '18446744073709551617', () => '9'.repeat(500)].map((make) => make(1000)),
      (value, text) => `${line}${fields}Content-Length: ${value.replaceAll('1000', text.length)}\r\n\r\n${text}`),
    'two lengths': (text) => `${line}${fields}Content-Length: 0\r\n${length(text)}\r\n${text}`,
    'two lengths alike': (text) => `${line}${fields}${length(text)}${length(text)}\r\n${text}`,
    'a length that is folded': (text) => `${line}${fields}Content-Length:\r\n ${text.length}\r\n\r\n${text}`,
    'no length': (text) => `${line}${fields}\r\n${text}`,
    ...named(['-1', '+@', '0x@', ' @', '@ ', '\t@', '', 'zz', 'g@', '@;a="\n"', 'ffffffffffffffffff', '10000000000000000', '1'.repeat(400)],
      (size, text) => sized(size.replace('@', hex(text)), text)),
    'a chunk that is shorter than it says': (text) => sized((text.length + 2).toString(16), text),
    'a chunk that is longer than it says': (text) => sized((text.length - 1).toString(16), text),
    'a field without a colon': (text) => whole(text, { more: 'XYZ\r\n' }),
    'a field without a name': (text) => whole(text, { more: ': x\r\n' }),
    'a blank before the first field': (text) => whole(text, { first: `${line} X: y\r\n` }),
    'a bare CR in a value': (text) => whole(text, { more: 'X: a\rb\r\n' }),
    'a control character in a value': (text) => whole(text, { more: 'X: a\x01b\r\n' }),
    'a NUL in a name': (text) => whole(text, { more: 'X\0: a\r\n' }),
    'a name of other bytes': (text) => whole(text, { more: 'X\xe4: a\r\n' }),
  }, [400, 403, 413, 501]);
});

test('what announces more than it brings is waited for, and not done', async (t) => {
  await noneHasEffect(t, {
    ...named(['7fffffffffffffff', 'ffffffffffffffff', '7fffffff'], sized),
    'no last chunk': (text) => `${line}${fields}Transfer-Encoding: chunked\r\n\r\n${chunk(text)}`,
    'no end of the trailer': (text) => `${chunked(text).slice(0, -2)}X: y\r\n`,
    'a byte too few': (text) => whole(text).slice(0, -1),
    'no empty line': (text) => `${line}${fields}${length(text)}`,
    'nothing': () => '',
  }, ['waits']);
});

test('first lines that are no request of HTTP/1.1', async (t) => {
  await noneHasEffect(t, {
    ...named(['POST /mcp\r\n', 'POST /mcp \r\n', 'POST /mcp HTTP/0.9\r\n', 'POST /mcp HTTP/2.0\r\n', 'POST /mcp HTTP/3\r\n', 'POST /mcp HTTP/9.9\r\n', 'POST /mcp HTTP/1.1x\r\n', 'POST /mcp HTTP/01.1\r\n', 'POST /mcp HTTP/1.1 \r\n', 'POST /mcp http/1.1\r\n', 'POST /mcp ICY/1.1\r\n', 'POST /mcp HTTP/\r\n', 'POST /mcp  HTTP/1.1\r\n', 'POST /mcp x HTTP/1.1\r\n', 'POST\t/mcp\tHTTP/1.1\r\n', ' POST /mcp HTTP/1.1\r\n', 'POST\r\n', '/mcp HTTP/1.1\r\n', 'post /mcp HTTP/1.1\r\n', 'POSTX /mcp HTTP/1.1\r\n', 'P\xd6ST /mcp HTTP/1.1\r\n', 'GET /mcp\r\n', 'TRACE /mcp HTTP/1.1\r\n', 'TRACK /mcp HTTP/1.1\r\n', 'PATCH /mcp HTTP/1.1\r\n'],
      (first, text) => whole(text, { first })),
    'HTTP/2, as one who knows that we speak it': (text) => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0${whole(text)}`,
    'a hello of TLS': (text) => `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${'\xa5'.repeat(300)}\r\n\r\n${whole(text)}`,
    'a hello of SSL 2': (text) => `\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10\r\n\r\n${whole(text)}`,
    'a redis client': (text) => `*1\r\n$4\r\nPING\r\n${whole(text)}`,
    'an SSH client': (text) => `SSH-2.0-OpenSSH_9.2\r\n${whole(text)}`,
    'a proxy that says who it is': (text) => `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n${whole(text)}`,
    'a status line': (text) => `HTTP/1.1 200 OK\r\n${whole(text)}`,
    'zeros': (text) => `${'\0'.repeat(100)}${whole(text)}`,
    'a long method': (text) => whole(text, { first: `${'X'.repeat(60000)} /mcp HTTP/1.1\r\n` }),
    'a long path': (text) => whole(text, { first: `POST /${'x'.repeat(60000)} HTTP/1.1\r\n` }),
    'a long query': (text) => whole(text, { first: `POST /mcp?${'x'.repeat(60000)} HTTP/1.1\r\n` }),
    'many questions': (text) => whole(text, { first: `POST /mcp?${'a=b&'.repeat(15000)} HTTP/1.1\r\n` }),
    'a long value': (text) => whole(text, { more: `X: ${'y'.repeat(60000)}\r\n` }),
    'a long name': (text) => whole(text, { more: `${'y'.repeat(60000)}: x\r\n` }),
    'many fields': (text) => whole(text, { more: 'A: b\r\n'.repeat(10000) }),
    'many folded lines': (text) => whole(text, { more: `X: y\r\n${' z\r\n'.repeat(20000)}` }),
  }, [400, 404, 405, 413, 414, 431, 501, 505]);
});

test('requests within requests: a body is never run', async (t) => {
  const within = (head, text) => `${head}Content-Length: ${whole(text).length}\r\n\r\n${whole(text)}`;
  await noneHasEffect(t, {
    'of a GET': (text) => within('GET /healthz HTTP/1.1\r\nHost: localhost\r\n', text),
    'of a GET, chunked': (text) => `GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n${chunk(whole(text))}0\r\n\r\n`,
    'of a HEAD': (text) => within('HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n', text),
    'of a DELETE': (text) => within('DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n', text),
    'of an OPTIONS': (text) => within('OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\n', text),
    'of one with a foreign name': (text) => within(`${line}${fields.replace('localhost', 'evil.example')}`, text),
    'of one for nobody': (text) => within(`POST /x HTTP/1.1\r\n${fields}`, text),
    'of one of another type': (text) => within(`${line}${fields.replace('application/json', 'text/plain')}`, text),
    'of one that was refused at once': (text) => `${line}${fields}Content-Length: 900000000\r\n\r\n${whole(text)}`,
    'after two lengths': (text) => `${line}${fields}Content-Length: 0\r\nContent-Length: ${whole(text).length}\r\n\r\n${whole(text)}`,
    'after a chunk of no size': (text) => `${line}${fields}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${whole(text)}`,
    'after a bad chunk': (text) => `${line}${fields}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n0\r\n\r\n${whole(text)}`,
    'after a bad length': (text) => `${line}${fields}Content-Length: +0\r\n\r\n${whole(text)}`,
    'after a coding that is none': (text) => `${line}${fields}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${whole(text)}`,
    'after a bad field': (text) => `${line}${fields}X y: z\r\nContent-Length: 0\r\n\r\n${whole(text)}`,
    'after a bad version': (text) => `GET /healthz HTTP/9.9\r\nHost: localhost\r\n\r\n${whole(text)}`,
    'after a refusal that is not waited for': (text) => `${line}Host: evil.example\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n${whole(text)}`,
  }, [200, 400, 403, 404, 405, 413, 415, 501, 505]);
});

test('what is allowed, however odd', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root]);
  const cases = {
    chunked, 'in small chunks': (text) => `${line}${fields}Transfer-Encoding: ChunKed\r\n\r\n${[...text].map(chunk).join('')}0\r\n\r\n`,
    'an extension': (text) => sized(`${hex(text)};a=b`, text), 'a trailer': (text) => chunked(text).replace(/\r\n$/, 'Content-Length: 5\r\nHost: evil.example\r\n\r\n'),
    'empty lines first': (text) => `\r\n\r\n${whole(text)}`, 'HTTP/1.0': (text) => whole(text, { first: 'POST /mcp HTTP/1.0\r\n' }),
    'two blanks': (text) => whole(text, { first: 'POST  /mcp HTTP/1.1\r\n' }),
    'a query': (text) => whole(text, { first: 'POST /mcp?x=y HTTP/1.1\r\n' }), 'an upgrade': (text) => whole(text, { more: 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n' }),
    'names in any case': (text) => whole(text).replace('Content-Length', 'CONTENT-LENGTH').replace('Host', 'hOST').replace('localhost', 'LocalHost:1'), '8 bits': (text) => whole(text, { more: 'X: \xff\xfe\tz\r\n' }), 'no blanks': (text) => whole(text).replaceAll(': ', ':'),
  };
  for (const [i, [name, make]] of Object.entries(cases).entries()) {
    assert.deepEqual((await exchange(server, make(body(`effect-${i}`)))).statuses, [200], name);
    assert.ok(readdirSync(root).includes(`effect-${i}`), name);
  }
  const { statuses } = await exchange(server, whole(body('one')) + whole(body('two')) + whole(body('three'), { host: 'evil.example' }) + whole(body('four')), 4);
  assert.deepEqual(statuses, [200, 200, 403, 200]); // one after the other, each by itself
  assert.deepEqual(readdirSync(root).filter((name) => /^(one|two|three|four)$/.test(name)), ['four', 'one', 'two']);
});

/** Write until the other side hangs up; how many bytes went. */
const pour = (server, head, part) => new Promise((done) => {
  let sent = 0, text = '';
  const socket = net.connect(server.port, '127.0.0.1', () => { socket.write(head); more(); });
  const more = () => { while (!socket.destroyed && sent < 200 << 20) { sent += part.length; if (!socket.write(part, 'latin1')) { socket.once('drain', more); return; } } socket.end(); };
  socket.setEncoding('latin1').on('data', (data) => { text += data; }).on('error', () => {});
  socket.on('close', () => done({ sent, text }));
});

// 16 MiB of body are skipped, which cost six bytes each in the smallest chunks; and what
// the buffers of two sockets hold.
const takenAtMost = (6 * 16 + 32) << 20;

test('bodies and heads without an end', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root, '--metrics', '--request-time', '5']);
  const head = `${line}${fields}Transfer-Encoding: chunked\r\n\r\n`;
  const results = await Promise.all([
    pour(server, head, chunk('x'.repeat(65536))),
    pour(server, head, chunk('x').repeat(1000)),
    pour(server, `${head}1;`, 'x'.repeat(65536)),
    pour(server, `${head}0\r\n`, 'X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n'.repeat(1000)),
    pour(server, line, 'X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n'.repeat(1000)),
    pour(server, '', 'x'.repeat(65536)),
    pour(server, `${line}X: `, 'x'.repeat(65536)),
    pour(server, `${line}X: y\r\n`, ' z\r\n'.repeat(10000)),
  ]);
  for (const [i, { sent, text }] of results.entries()) {
    assert.ok(sent < takenAtMost, `${i}: ${sent} bytes were taken`);
    assert.doesNotMatch(text, /^HTTP\/1\.1 2/, `${i}`);
  }
  const { body: counters } = await request(server, { method: 'GET', path: '/metrics' });
  assert.doesNotMatch(counters, /^paddock_calls_total/m);
  assert.ok(Number(/^process_resident_memory_bytes (\d+)$/m.exec(counters)[1]) < 200 << 20);
});

const processorTicks = (server) => {
  const fields = readFileSync(`/proc/${server.child.pid}/stat`, 'latin1').replace(/^.*\) /, '').split(' ');
  return Number(fields[11]) + Number(fields[12]); // of 10 ms
};

test('a chunk whose extension has no end takes no processor, nor longer than a request may', async (t) => {
  const server = await listen(t, [await folder(t), '--request-time', '8']);
  const poured = pour(server, `${line}${fields}Transfer-Encoding: chunked\r\n\r\n1;`, 'x'.repeat(65536));
  await sleep(1000);
  const before = processorTicks(server), began = Date.now();
  for (; Date.now() - began < 4000; await sleep(50)) assert.equal((await request(server, { method: 'GET', path: '/healthz' })).status, 200);
  assert.ok(processorTicks(server) - before < 120, `${processorTicks(server) - before} of 400 ticks`);
  const { sent, text } = await poured;
  assert.ok(sent < takenAtMost);
  assert.equal(text, '');
});

const resident = async (server) => Number(/^process_resident_memory_bytes (\d+)$/m.exec((await request(server, { method: 'GET', path: '/metrics' })).body)[1]);
const connections = async (server) => Number(/^paddock_http_connections (\d+)$/m.exec((await request(server, { method: 'GET', path: '/metrics' })).body)[1]);

test('a big reply that nobody reads is not held for ever, nor one that is read drop by drop', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root, '--metrics', '--request-time', '3', '--max-output', '6000000', '--max-sessions', '50']);
  const s = await session(server);
  assert.ok((await s.run('seq 700000', 1)).length > 4 << 20); // who reads gets it
  const empty = await resident(server);
  const usual = await connections(server);
  const ask = (accept, token) => {
    const text = JSON.stringify({ ...runs(1, 'seq 700000', { ...modernMeta, ...token }) });
    return `${line}${fields}Accept: ${accept}\r\n${length(text)}\r\n${text}`;
  };
  let begun = 0;
  const open = (bytes, drops) => {
    const socket = net.connect({ port: server.port, host: '127.0.0.1', onread: { buffer: Buffer.alloc(512), callback: () => { if (drops) { socket.pause(); setTimeout(() => socket.resume(), 200); } return drops; } } });
    socket.on('error', () => {});
    socket.on('connect', () => { begun++; });
    socket.write(bytes);
    t.after(() => socket.destroy());
  };
  for (let i = 0; i < 6; i++) {
    open(ask('application/json'), false);
    open(ask('text/event-stream'), false);
    open(ask('application/json'), true);
    open(ask('text/event-stream'), true);
  }
  await until(() => begun === 24);
  let most = empty, now;
  await until(async () => { // hung up on, each of them
    most = Math.max(most, await resident(server));
    return await connections(server) <= usual;
  });
  if (!sanitized) await until(async () => (now = await resident(server)) < empty + (20 << 20)); // AddressSanitizer keeps what was freed
  t.diagnostic(`${empty >> 20} MiB, with replies ${most >> 20} MiB, afterwards ${now >> 20} MiB`);
  assert.equal(await s.run('echo fine', 2), 'fine\n');
});

test('a stream that is silent is no slow reader', async (t) => {
  const server = await listen(t, [await folder(t), '--request-time', '1']);
  const s = await session(server);
  const { status, body: events } = await s.post(runs(1, 'sleep 7; echo late'), { headers: { Accept: 'text/event-stream' } });
  assert.equal(status, 200);
  assert.match(events, /late/);
});

test('byte by byte, and yet in time, is as good as at once', async (t) => {
  const root = await folder(t);
  const server = await listen(t, [root]);
  const bytes = whole(body('effect'), { more: 'Connection: close\r\n' });
  const text = await new Promise((done) => {
    let said = '';
    const socket = net.connect(server.port, '127.0.0.1', async () => { socket.setNoDelay(true); for (const byte of bytes) { socket.write(byte); await new Promise(setImmediate); } });
    socket.on('data', (data) => { said += data; }).on('close', () => done(said));
  });
  assert.match(text, /^HTTP\/1\.1 200 /);
  assert.ok(readdirSync(root).includes('effect'));
});
