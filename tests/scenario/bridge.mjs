// paddock-bridge as a process, and an HTTP server that answers as a test says.
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from './lib.mjs';

export const program = join(build, 'src/bridge/paddock-bridge');
const HANG_MS = 60000; // only to catch what never ends

/** The first message on the socket: base/wire.h. */
function setupMessage(setup) {
  const text = Buffer.from(JSON.stringify(setup));
  const head = Buffer.alloc(10);
  head.writeUInt32LE(text.length + 6, 0);
  head[4] = 1; // WIRE_SETUP
  head[5] = 1; // a field
  head.writeUInt32LE(text.length, 6);
  return Buffer.concat([head, text]);
}

/** A running bridge: send(), reply(id), end(); `messages` is all that it has said. */
export class Bridge {
  constructor(t, setup, env = {}) {
    this.child = spawn(program, [], {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
      env: { ...env, ...Object.fromEntries(Object.entries(process.env).filter(([n]) => /SAN_OPTIONS$/.test(n))) },
    });
    [, , , this.socket, this.input, this.output] = this.child.stdio;
    this.messages = [];
    this.bytes = 0;
    this.stderr = '';
    this.waiting = [];
    let parts = [];
    this.output.setEncoding('utf8').on('data', (text) => {
      this.bytes += text.length;
      parts.push(text);
      if (!text.includes('\n')) return;
      const lines = parts.join('').split('\n');
      parts = [lines.pop()];
      for (const line of lines) this.messages.push(JSON.parse(line));
      this.waiting = this.waiting.filter((check) => !check());
    });
    this.child.stderr.setEncoding('utf8').on('data', (text) => { this.stderr += text; });
    for (const stream of [this.socket, this.input, this.output]) stream.on('error', () => {});
    this.ready = new Promise((done) => this.socket.once('data', (bytes) => done(JSON.parse(bytes.subarray(10)))));
    this.ended = new Promise((done) => this.child.on('close', (code, signal) => done({ code, signal })));
    this.socket.write(setupMessage(setup));
    t.after(() => this.child.kill('SIGKILL'));
  }

  send(...messages) {
    this.input.write(messages.map((m) => `${typeof m === 'string' ? m : JSON.stringify(m)}\n`).join(''));
  }

  find(wanted) {
    return new Promise((done, fail) => {
      const timer = setTimeout(
        () => fail(new Error(`no such message in ${JSON.stringify(this.messages)}; stderr: ${this.stderr}`)), HANG_MS);
      timer.unref();
      const check = () => {
        const found = this.messages.find(wanted);
        if (found) { clearTimeout(timer); done(found); }
        return found;
      };
      if (!check()) this.waiting.push(check);
    });
  }

  reply(id) { return this.find((m) => m.id === id && !m.method); }

  async call(id, method = 'tools/list', params = undefined) {
    this.send({ jsonrpc: '2.0', id, method, params });
    return this.reply(id);
  }

  /** The handshake as a client does it. */
  async initialize(version = '2025-11-25') {
    const reply = await this.call('init', 'initialize',
      { protocolVersion: version, capabilities: {}, clientInfo: { name: 'test', version: '1' } });
    this.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return reply;
  }

  end() {
    this.input.end();
    return this.ended;
  }
}

/**
 * An HTTP server on loopback.  `answer(request, response, message)` is called with each
 * request once its body is there; `seen` has them all: {method, url, headers, message}.
 */
export async function serve(t, answer, tls = null) {
  const seen = [];
  const listener = (request, response) => {
    const parts = [];
    request.on('data', (part) => parts.push(part)).on('end', () => {
      const text = Buffer.concat(parts).toString();
      let message = null;
      try { message = JSON.parse(text); } catch { /* a GET, a DELETE */ }
      seen.push({ method: request.method, url: request.url, headers: request.headers, message, request });
      answer(request, response, message);
    }).on('error', () => {});
    response.on('error', () => {});
  };
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  server.on('clientError', (_, socket) => socket.destroy());
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => { server.closeAllConnections(); server.close(); });
  const { port } = server.address();
  return { server, seen, port, origin: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/mcp` };
}

export const result = (id, value = {}) => ({ jsonrpc: '2.0', id, result: value });
export const initialized = (id, version = '2025-11-25') =>
  result(id, { protocolVersion: version, capabilities: { tools: {} }, serverInfo: { name: 'test', version: '1' } });

export function json(response, value, { status = 200, ...headers } = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof value === 'string' ? value : JSON.stringify(value));
}

export function stream(response, ...events) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) response.write(event);
  return response;
}

export const event = (value, id = null) =>
  `${id === null ? '' : `id: ${id}\n`}event: message\ndata: ${JSON.stringify(value)}\n\n`;

/** A key of 127.0.0.1 and a certificate that vouches for itself, made by openssl. */
export async function certificates(t) {
  const dir = await mkdtemp(join(tmpdir(), 'paddock-tls-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
    '-keyout', join(dir, 'key.pem'), '-out', join(dir, 'cert.pem'), '-subj', '/CN=test',
    '-addext', 'subjectAltName=IP:127.0.0.1'], { stdio: 'ignore' });
  return { ca_file: join(dir, 'cert.pem'), tls: { key: readFileSync(join(dir, 'key.pem')), cert: readFileSync(join(dir, 'cert.pem')) } };
}
