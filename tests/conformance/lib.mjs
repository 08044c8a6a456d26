// What these tests share: where the programs and the official tools are, and running them.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from '../scenario/lib.mjs';

const packages = join(dirname(fileURLToPath(import.meta.url)), 'node_modules/@modelcontextprotocol');
export const fixtureServer = join(build, 'tests/conformance/conformance-server');

/** A folder that goes with the test. */
export async function scratch(t) {
  const path = await mkdtemp(join(tmpdir(), 'paddock-conformance-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A program of Node's to its end: {code, stdout, stderr}. */
function run(script, args, env = {}) {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0', ...env } });
  let stdout = '', stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text) => { stdout += text; });
  child.stderr.setEncoding('utf8').on('data', (text) => { stderr += text; });
  return new Promise((done, fail) => {
    child.on('error', fail);
    child.on('close', (code) => done({ code, stdout, stderr }));
  });
}

/** The official conformance suite. */
export const suite = (args) => run(join(packages, 'conformance/dist/index.js'), args);

/** The official Inspector without its windows; it writes into `home`. */
export const inspector = (home, args, env) => run(join(packages, 'inspector/clients/launcher/build/index.js'), ['--cli', ...args, '--format', 'json', '-q'],
  { HOME: home, MCP_AUTO_OPEN_ENABLED: 'false', ...env });
