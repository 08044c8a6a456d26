// Servers that share their sessions: a real Redis, and a real nginx in front.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listen } from './http.mjs';
import { mortal, until } from './lib.mjs';

const redisServer = '/usr/bin/redis-server', nginx = '/usr/sbin/nginx';
export const missing = [redisServer, nginx].filter((one) => !existsSync(one));

export async function scratch(t) {
  const path = await mkdtemp(join(tmpdir(), 'paddock-replicas-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

function freePort() {
  return new Promise((done) => {
    const one = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = one.address();
      one.close(() => done(port));
    });
  });
}

function start(t, program, args) {
  const child = spawn(...mortal(program, args), { stdio: ['ignore', 'ignore', 'pipe'] });
  let text = '';
  child.stderr.on('data', (more) => { text += more; });
  const ended = new Promise((done) => child.on('close', done));
  t.after(() => { child.kill('SIGKILL'); return ended; });
  return { child, ended, text: () => text };
}

const accepts = (where) => new Promise((done) => {
  const socket = net.connect(where, () => { socket.destroy(); done(true); }).on('error', () => done(false));
});

/** It listens there (a socket has its file before that), and has made `file`.  False: it has ended. */
async function listens({ child }, where, file = where.path) {
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  await until(async () => hasEnded() || (existsSync(file) && await accepts(where)));
  return !hasEnded();
}

/** {url, start(), stop(), cli(...words)}: a Redis on a socket, which keeps nothing. */
export async function redis(t, { password } = {}) {
  const folder = await scratch(t), socket = join(folder, 's');
  const args = ['--port', '0', '--unixsocket', socket, '--save', '', '--appendonly', 'no', '--dir', folder, '--logfile', 'log', ...(password ? ['--requirepass', password] : [])];
  const one = {
    url: `redis+unix://${socket}`,
    async start() {
      one.process = start(t, redisServer, args);
      if (!await listens(one.process, { path: socket })) throw new Error(one.process.text());
    },
    async stop() {
      one.process.child.kill('SIGKILL');
      await one.process.ended;
      await rm(socket, { force: true });
    },
    cli: (...words) => new Promise((done) => {
      const child = spawn('/usr/bin/redis-cli', ['-s', socket, ...words], { stdio: ['ignore', 'pipe', 'ignore'] });
      let text = '';
      child.stdout.on('data', (more) => { text += more; });
      child.on('close', () => done(text.trim()));
    }),
  };
  await one.start();
  return one;
}

/** One address for all servers; each request goes to the next one. */
export async function balance(t, servers) {
  const folder = await scratch(t), conf = join(folder, 'nginx.conf');
  await mkdir(join(folder, 'tmp'));
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((one) => `${one}_temp_path tmp/${one};`).join(' ');
  const on = (port) => `daemon off; master_process off; pid nginx.pid; error_log stderr warn;
events { worker_connections 1024; }
http { access_log off; ${temp}
  upstream shells { ${servers.map((one) => `server 127.0.0.1:${one.port};`).join(' ')} }
  server { listen 127.0.0.1:${port};
    location /mcp { proxy_pass http://shells; proxy_http_version 1.1; proxy_set_header Host $host;
      proxy_buffering off; proxy_read_timeout 300s;
      proxy_next_upstream error timeout http_502 non_idempotent; } } }
`;
  for (let tries = 0;; tries++) { // another process may take the port before nginx does
    const port = await freePort();
    await writeFile(conf, on(port));
    const process = start(t, nginx, ['-p', folder, '-c', conf, '-e', 'stderr']);
    // It has its port before it writes this file.
    if (await listens(process, { port, host: '127.0.0.1' }, join(folder, 'nginx.pid'))) return { url: `http://127.0.0.1:${port}/mcp`, port };
    await process.ended;
    if (!/Address already in use/.test(process.text()) || tries === 9) throw new Error(process.text());
  }
}

/** Two servers, what is in front of them, and their store. */
export async function replicas(t, root, args = []) {
  const store = await redis(t);
  const servers = [await listen(t, [root, '--state', store.url, ...args]), await listen(t, [root, '--state', store.url, ...args])];
  return { store, servers, front: await balance(t, servers) };
}
