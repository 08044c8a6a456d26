// What the scenario tests share: a served copy of the sample, and both official clients.
import { cp, mkdtemp, rm, writeFile, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';

const top = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
export const build = resolve(top, process.env.PADDOCK_BUILD ?? 'build');
export const mcpath = join(build, 'src/mcpath');
export const paddock = join(build, 'src/paddock');
export const pyddock = join(build, 'src/pyddock');

/** Waits until it is so; the limit is only to catch what never ends. */
export async function until(is, limit = 120000) {
  for (const end = Date.now() + limit; !await is(); await sleep(20)) {
    if (Date.now() > end) throw new Error(`never: ${is}`);
  }
}

/** The words that start a program which ends with this process, however that ends. */
export const mortal = (program, args) => ['setpriv', ['--pdeathsig', 'KILL', program, ...args]];

// Sanitizer settings must reach the server; the clients pass on only what they are given.
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => /^(PATH|HOME|ASAN_OPTIONS|UBSAN_OPTIONS)$/.test(name)));

/** The three ways in which an official client may talk to us. */
export const clients = {
  'SDK 1.x': {
    make: () => new ClientV1({ name: 'scenario', version: '1' }, { capabilities: {} }),
    transport: (command, args, env) => new StdioV1({ command, args, env: { ...environment, ...env }, stderr: 'pipe' }),
    call: (client, name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
  },
  'SDK 2.x, handshake': {
    make: () => new ClientV2({ name: 'scenario', version: '1' }, { versionNegotiation: { mode: 'legacy' } }),
    transport: (command, args, env) => new StdioV2({ command, args, env: { ...environment, ...env }, stderr: 'pipe' }),
    call: (client, name, args, options) => client.callTool({ name, arguments: args }, options),
  },
  'SDK 2.x, 2026-07-28': {
    make: () => new ClientV2({ name: 'scenario', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } }),
    transport: (command, args, env) => new StdioV2({ command, args, env: { ...environment, ...env }, stderr: 'pipe' }),
    call: (client, name, args, options) => client.callTool({ name, arguments: args }, options),
  },
};

/** A folder of its own: a copy of the sample, plus `files` ({name: content}). */
export async function folder(t, files = {}) {
  const root = await mkdtemp(join(tmpdir(), 'paddock-scenario-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  await cp(join(top, 'sample'), root, { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), content);
  }
  return root;
}

/** A connected client of a program: tool(name, args) gives {text, isError, result}. */
export async function connect(t, kind, program, args, env = {}) {
  const { make, transport, call } = clients[kind];
  const client = make();
  const pipe = transport(program, args, env);
  await client.connect(pipe);
  t.after(() => client.close());
  const tool = async (name, toolArgs, requestOptions) => {
    const result = await call(client, name, toolArgs, requestOptions);
    return { text: result.content.map((block) => block.text).join(''), isError: result.isError === true, result };
  };
  return { client, tool, pid: pipe.pid };
}

/** A session of mcpath: run(command) gives its text, edit({...}) {text, isError}. */
export async function session(t, kind, root, options = []) {
  const { client, tool } = await connect(t, kind, mcpath, [root, ...options]);
  return {
    client,
    tool,
    run: async (command, requestOptions) => (await tool('run', { command }, requestOptions)).text,
    edit: (args) => tool('edit', args),
  };
}
