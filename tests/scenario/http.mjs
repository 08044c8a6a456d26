// Servers that are reached over HTTP: started on a port of their own, spoken to by the
// official clients or byte by byte.
import { spawn } from 'node:child_process';
import http from 'node:http';
import net from 'node:net';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { clients as both, mcpath, mortal, until } from './lib.mjs';

export { children } from './server.mjs';

const HANG_MS = 60000; // only to catch what never ends

/** The ways of lib.mjs, and the one that asks first which revisions there are. */
export const clients = {
  ...both,
  'SDK 2.x, auto': {
    make: () => new ClientV2({ name: 'scenario', version: '1' }, { versionNegotiation: { mode: 'auto' } }),
    call: both['SDK 2.x, handshake'].call,
  },
};

/** A running server: {url, port, child, stderr(), ended}. */
export async function listen(t, args, { program = mcpath, env } = {}) {
  const child = spawn(...mortal(program, [...args, '--transport', 'http', '--port', '0']), { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  let stderr = '', stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text) => { stdout += text; });
  const ended = new Promise((done) => child.on('close', (code, signal) => done({ code, signal })));
  t.after(() => child.kill('SIGKILL'));
  const url = await new Promise((done, fail) => {
    const timer = setTimeout(() => fail(new Error(`no address; stderr: ${stderr}`)), HANG_MS);
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
      const found = /serving (https?:\S+)/.exec(stderr);
      if (found) { clearTimeout(timer); done(found[1]); }
    });
    ended.then(() => { clearTimeout(timer); fail(new Error(`it ended: ${stderr}`)); });
  });
  return { url, port: Number(new URL(url).port), child, ended, stderr: () => stderr, stdout: () => stdout };
}

/** What `--metrics` says just now: {name: number}. */
export async function metrics(server, headers = {}) {
  const { body } = await request(server, { method: 'GET', path: '/metrics', headers: { 'Content-Type': null, ...headers } });
  return Object.fromEntries([...body.matchAll(/^([^#\s][^\n]*) (\S+)$/gm)].map(([, name, value]) => [name, Number(value)]));
}

/** Until so many shells work, and so many calls wait for a place, in a server that has `--metrics`. */
export const works = (server, working, waiting = 0) => until(async () => {
  const found = await metrics(server);
  return found['paddock_workers{kind="shell",state="working"}'] === working && found['paddock_waiting_calls'] === waiting;
});

/** A connected official client: tool(name, args, options) gives {text, isError}. */
export async function client(t, kind, url, options = {}) {
  const { make, call } = clients[kind];
  const Transport = kind.startsWith('SDK 1') ? HttpV1 : HttpV2;
  const one = make();
  const transport = new Transport(new URL(url), options);
  await one.connect(transport);
  t.after(() => one.close());
  const tool = async (name, args, requestOptions) => {
    const result = await call(one, name, args, requestOptions);
    return { text: result.content.map((block) => block.text).join(''), isError: result.isError === true };
  };
  return { client: one, transport, tool, run: async (command, requestOptions) => (await tool('run', { command }, requestOptions)).text };
}

/** One request: {status, headers, body, json}. `onText` is told all that has come so far. `body` may be anything; headers replace the usual ones, null leaves one out. */
export function request(server, { method = 'POST', path = '/mcp', headers = {}, body, agent, signal, localAddress, onText } = {}) {
  const usual = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
  const all = Object.fromEntries(Object.entries({ ...usual, ...headers }).filter(([, value]) => value !== null));
  const text = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return new Promise((done, fail) => {
    const req = http.request({ host: '127.0.0.1', port: server.port, method, path, headers: all, agent, signal, localAddress }, (res) => {
      const parts = [];
      res.on('data', (part) => { parts.push(part); onText?.(Buffer.concat(parts).toString()); });
      res.on('error', fail);
      res.on('end', () => {
        const content = Buffer.concat(parts).toString();
        const isJson = res.headers['content-type'] === 'application/json';
        done({ status: res.statusCode, headers: res.headers, body: content, json: isJson ? JSON.parse(content) : undefined });
      });
    });
    req.on('error', fail);
    req.end(text);
  });
}

/** Bytes as they are, on a connection of their own; all that comes back until it is closed.  A function is waited for, and can ask what has come so far. */
export function raw(server, ...parts) {
  return new Promise((done, fail) => {
    let text = '';
    const socket = net.connect(server.port, '127.0.0.1', async () => {
      for (const part of parts) {
        if (typeof part === 'function') await part(() => text);
        else socket.write(part);
      }
    });
    socket.setEncoding('latin1').on('data', (more) => { text += more; });
    socket.on('error', (error) => (text || error.code === 'ECONNRESET' || error.code === 'EPIPE' ? done(text) : fail(error)));
    socket.on('close', () => done(text));
  });
}

export const initialize = (id = 0, protocolVersion = '2025-11-25') => ({ jsonrpc: '2.0', id, method: 'initialize', params: { protocolVersion, capabilities: {}, clientInfo: { name: 'raw', version: '1' } } });
export const runs = (id, command, meta) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'run', arguments: { command }, ...(meta ? { _meta: meta } : {}) } });
const key = 'io.modelcontextprotocol/';
export const modernMeta = { [`${key}protocolVersion`]: '2026-07-28', [`${key}clientCapabilities`]: {} };

/** A session of the legacy eras: post(message) in it. */
export async function session(server, options = {}) {
  const { headers, status, body } = await request(server, { body: initialize(), ...options });
  const id = headers['mcp-session-id'];
  if (!id) throw new Error(`no session: ${status} ${body}`);
  const post = (message, more = {}) => request(server, { ...more, body: message, headers: { 'Mcp-Session-Id': id, ...options.headers, ...more.headers } });
  return { id, post, run: async (command, n = 1) => (await post(runs(n, command))).json.result.content[0].text };
}

/** A request of 2026-07-28. */
export function modern(server, method, params = {}, { id = 1, headers = {}, ...more } = {}) {
  const name = params.name === undefined ? {} : { 'Mcp-Name': params.name };
  return request(server, {
    ...more,
    headers: { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': method, ...name, ...headers },
    body: { jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...modernMeta, ...params._meta } } },
  });
}
