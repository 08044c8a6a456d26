// What the tests of `pyddock serve` share: a workspace of its own with a policy, a home
// that nobody lives in, and a connected client.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, readlink, rm, stat, lstat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { clients, connect, paddock, pyddock } from './lib.mjs';

export const kinds = Object.keys(clients);
export const sanitized = /detect|halt/.test(`${process.env.ASAN_OPTIONS}${process.env.UBSAN_OPTIONS}`);

/** Why tests of what only mounts can hold are left out: in a chroot or a strict container; or false. */
const unshare = ['-m', ...(process.geteuid() ? ['-U', '-r'] : []), 'true'];
export const noMounts = spawnSync('unshare', unshare).status ? 'nobody may have mounts of its own here' : false;

const identity = ['-c', 'user.name=Robin', '-c', 'user.email=robin@example.org'];

/** Real git in a workspace, as its owner would call it. */
export function git(w, ...args) {
  const env = { PATH: process.env.PATH, HOME: w.home, GIT_CONFIG_NOSYSTEM: '1' };
  return execFileSync('git', [...identity, ...args], { cwd: w.root, env, encoding: 'utf8' });
}

/**
 * {top, root, home}: folders of its own.  `policy` is the overlay, `files` {name: content}
 * or {name: [content, mode]}; `repository`: all of it is committed, with nothing left over.
 */
export async function workspace(t, { policy = '', files = {}, repository = false } = {}) {
  const top = await mkdtemp(join(tmpdir(), 'paddock-policy-'));
  t.after(() => rm(top, { recursive: true, force: true }));
  const w = { top, root: join(top, 'project'), home: join(top, 'home') };
  await mkdir(w.root);
  await mkdir(w.home);
  const all = policy ? { ...files, '.pyddock/pyddock.override.toml': policy } : files;
  for (const [name, value] of Object.entries(all)) {
    const [content, mode] = Array.isArray(value) ? value : [value, 0o644];
    await mkdir(dirname(join(w.root, name)), { recursive: true });
    await writeFile(join(w.root, name), content, { mode });
  }
  if (repository) {
    git(w, 'init', '-q', '-b', 'main');
    git(w, 'config', 'user.name', 'Robin');
    git(w, 'config', 'user.email', 'robin@example.org');
    git(w, 'add', '-A');
    git(w, 'commit', '-q', '--allow-empty', '-m', 'first');
  }
  return w;
}

/** A client of `pyddock serve` (or, with `face: 'paddock'`, of all tools). */
export async function serve(t, w, { kind = kinds.at(-1), face = 'pyddock', options = [], env = {} } = {}) {
  const [program, args] = face === 'pyddock' ? [pyddock, ['serve', '--no-install', '--workspace', w.root]] : [paddock, ['serve', '--no-install', w.root]];
  const s = await connect(t, kind, program, [...args, ...options], { HOME: w.home, ...env });
  const isLogged = w.log || options.includes('--debug');
  const tool = isLogged ? recorded(s) : s.tool;
  return {
    ...s,
    tool,
    shell: (command, args_ = [], more = {}) => tool('run_shell', { command, args: args_, ...more }),
    run: async (command) => (await tool('run', { command })).text,
  };
}

/** A call is recorded once it is answered, and before the next message is read. */
export const afterRecord = (client) => client.listTools(undefined, { cacheMode: 'bypass' });

const recorded = ({ client, tool }) => async (...args) => {
  const reply = await tool(...args);
  await afterRecord(client);
  return reply;
};

/** Is this answer a refusal of the policy (and not a failure of what was done)? */
export const isRefusal = ({ text, isError }) => isError && /^Rule: /m.test(text);

export const exists = (path) => lstat(path).then(() => true, () => false);
export const text = (w, name) => readFile(join(w.root, name), 'utf8');
export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** What a folder holds, as one line an entry: type, mode, name, digest. */
export async function snapshot(folder) {
  const lines = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    const { mode } = await lstat(path);
    const content = entry.isFile() ? sha256(await readFile(path)) : entry.isSymbolicLink() ? await readlink(path) : '';
    lines.push(`${mode.toString(8)} ${path.slice(folder.length)} ${content}`);
  }
  return lines.sort();
}

/** Whether a process with these words in its command line is there. */
export async function isRunning(...words) {
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') Z ');
    if (words.join('\0') === line.replace(/\0$/, '') && !/\) [ZX] /.test(state)) return true;
  }
  return false;
}

export const mode = async (path) => (await stat(path)).mode & 0o7777;
