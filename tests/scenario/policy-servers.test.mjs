// Other MCP servers: what the policy says beforehand is what happens, and no agent has a say
// in what is started.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { paddock } from './lib.mjs';
import { isRefusal, noMounts, serve, snapshot, workspace } from './workspace.mjs';

const execute = promisify(execFile);
const script = join(dirname(fileURLToPath(import.meta.url)), 'echo-mcp.mjs');

const policy = `
[mcp.box]
description = "Items of a box."
tools = { 'get_.*' = true, 'list_.*' = true, get_secret = false, 'drop_.*' = false, drop_all = true, create = true }
[mcp.box.arguments]
create = { repo = 'us/[a-z]+', labels = '|\\["bug"\\]', n = '[0-9]*' }
'.*' = { mode = '|safe' }
[mcp.ghost.tools]
'.*' = true
[mcp."a.b".tools]
'.*' = true
[deny_messages]
'^box drop' = "Leave dropping to a person."
`;

/** A definition that starts the echo server with this word. */
const definition = (w, word) => ({ command: process.execPath, args: [script, word, join(w.top, 'log')] });

async function define(w, name, servers) {
  const path = name.startsWith('~/') ? join(w.home, name.slice(2)) : join(w.root, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, JSON.stringify({ mcpServers: servers }));
}

const log = (w) => readFile(join(w.top, 'log'), 'utf8').catch(() => '');
const names = async ({ client }) => (await client.listTools()).tools.map(({ name }) => name);
const describe = async ({ client }) => (await client.listTools()).tools.find(({ name }) => name === 'run_mcp')?.description;

const tools = ['get_item', 'list_x', 'get_secret', 'get_secrets', 'drop_all', 'drop_x', 'create', 'get', 'set_item', 'Get_item', 'get_item\n',
  'get_item\nset_item', '*', '.*', '__proto__', 'constructor', 'get_ü', 'get_item/../set'];
const values = [{}, { mode: 'safe' }, { mode: 'fast' }, { mode: null }, { repo: 'us/one' }, { repo: 'us/one', labels: ['bug'], n: 5 }, { repo: 'us/one', n: 5.5 },
  { repo: 'them/one' }, { repo: 'us/one\n' }, { repo: ['us/one'] }, { repo: 'us/one', labels: ['bug', 'x'] }, { repo: 'us/one', n: '7', mode: '' }];
const calls = ['box', 'ghost', 'a.b', 'a', 'Box', '__proto__'].flatMap((server) => tools.flatMap((tool) => values.map((args) => [server, tool, args])))
  .filter(([server], i) => server === 'box' || i % 7 === 0);

test(`policy test --mcp agrees with run_mcp on ${calls.length} calls, and what is refused reaches no server`, async (t) => {
  assert.ok(calls.length >= 250);
  const w = await workspace(t, { policy: policy.replace('[mcp.box]', '[mcp.box]\nkeep_alive = 60').replace('[mcp."a.b".tools]', '[mcp."a.b"]\nkeep_alive = 60\n[mcp."a.b".tools]') });
  await define(w, '.pyddock/mcp.json', { box: definition(w, 'box'), 'a.b': definition(w, 'ab') });
  const { tool } = await serve(t, w);
  let allowed = 0;
  for (const [server, name, args] of calls) {
    const said = execute(paddock, ['policy', 'test', '--workspace', w.root, '--mcp', server, name, JSON.stringify(args)], { env: { PATH: process.env.PATH, HOME: w.home } })
      .then(({ stdout }) => stdout, ({ code, stdout }) => (assert.equal(code, 1), stdout));
    const before = await log(w);
    const [reply, text] = await Promise.all([tool('run_mcp', { server, tool: name, arguments: args }), said]);
    const label = JSON.stringify([server, name, args, text, reply.text]);
    if (/^allowed/.test(text)) {
      allowed++;
      assert.deepEqual([reply.text, reply.isError], [`${server === 'box' ? 'box' : 'ab'}: ${name} ${JSON.stringify(args)}`, false], label);
    } else {
      assert.equal(reply.isError, true, label);
      assert.equal(await log(w), before, label);
      const rule = /^Rule: .*/m.exec(text)[0];
      assert.ok(server === 'ghost' || reply.text.includes(rule), label);
    }
  }
  assert.ok(allowed >= 20 && calls.length - allowed >= 150);
});

test('the description has what the policy says, and nothing of a server; it is the same every time', async (t) => {
  const w = await workspace(t, { policy });
  await define(w, '.pyddock/mcp.json', { box: definition(w, 'box') });
  const first = await serve(t, w);
  assert.match((await first.tool('run_mcp', { server: 'box' })).text, /FOREIGN/);
  const text = await describe(first);
  assert.match(text, /\n {2}box: Items of a box\. \[tools: get_\.\*, list_\.\*, drop_all, create; not: get_secret, drop_\.\*; some arguments are limited\]/);
  assert.doesNotMatch(text, /FOREIGN|ghost|a\.b/);
  assert.ok(Buffer.byteLength(text) <= 2048);
  assert.equal(await describe(await serve(t, w)), text);
});

test('no definition that can be used: no run_mcp', async (t) => {
  const w = await workspace(t, { policy });
  assert.ok(!(await names(await serve(t, w))).includes('run_mcp'));
  await define(w, '.cursor/mcp.json', { box: definition(w, 'box') });
  const s = await serve(t, w);
  assert.ok(!(await names(s)).includes('run_mcp'));
  await assert.rejects(s.tool('run_mcp', { server: 'box', tool: 'get_item' }), /Unknown tool/);
  assert.equal(await log(w), '');
  await writeFile(join(w.root, '.pyddock/pyddock.override.toml'), policy + `[filesystem.guards]\n'/\\.cursor/mcp\\.json$' = "read-only"\n`);
  const { text } = await (await serve(t, w)).tool('run_mcp', { server: 'box', tool: 'get_item' });
  assert.equal(text, 'box: get_item {}');
});

test('a later file wins; a file that changes afterwards is told of, and not obeyed', async (t) => {
  const w = await workspace(t, { policy });
  await define(w, '~/.cursor/mcp.json', { box: definition(w, 'home') });
  await define(w, '.kiro/settings/mcp.json', { box: definition(w, 'kiro') });
  const { tool } = await serve(t, w);
  const call = async () => (await tool('run_mcp', { server: 'box', tool: 'get_item' })).text;
  assert.equal(await call(), 'kiro: get_item {}');
  await define(w, '.cursor/mcp.json', { box: definition(w, 'cursor') }); // which is never read
  assert.equal(await call(), 'kiro: get_item {}');
  await define(w, '.kiro/settings/mcp.json', { box: definition(w, 'other') });
  const text = await call();
  assert.match(text, /kiro: get_item \{\}/);
  assert.match(text, /\.kiro\/settings\/mcp\.json/);
  assert.doesNotMatch(text, /other:/);
  await rm(join(w.root, '.kiro/settings/mcp.json'));
  assert.match(await call(), /kiro: get_item \{\}/);
});

/** Each way to write that an agent has. */
const ways = ({ tool, run }) => ({
  fs_append: (path) => tool('fs_append', { path, content: 'evil' }),
  fs_delete: (path) => tool('fs_delete', { path }),
  'open()': (path) => tool('run_python', { code: `open(${JSON.stringify(path)}, "a").write("evil")` }),
  'os.rename()': (path) => tool('run_python', { code: `import os\nos.rename(${JSON.stringify(path)}, "gone")` }),
  'os.symlink()': (path) => tool('run_python', { code: `import os\nos.symlink("/etc", ${JSON.stringify(path + '.new')})\nos.replace(${JSON.stringify(path + '.new')}, ${JSON.stringify(path)})` }),
  'sh, append': (path) => tool('run_shell', { command: 'sh', args: ['-c', 'echo evil >> "$1"', 'sh', path] }),
  'sh, mv': (path) => tool('run_shell', { command: 'sh', args: ['-c', 'mv "$1" gone', 'sh', path] }),
  'sh, ln': (path) => tool('run_shell', { command: 'sh', args: ['-c', 'ln -sfT /etc "$1"', 'sh', path] }),
  'the virtual shell': (path) => run(`echo evil >> '${path}'; mv '${path}' gone; rm -rf '${path}'`),
});

test('an agent changes neither a definition nor what is started by it', { skip: noMounts }, async (t) => {
  const w = await workspace(t, {
    policy: `${policy}[shell.sh]\nmode = "allow"\narg_paths = "none"\n`,
    files: { 'srv/bin/box': [`#!/bin/sh\nexec ${process.execPath} "$@"\n`, 0o755], 'srv/tool/echo.mjs': await readFile(script, 'utf8') },
  });
  await define(w, '.pyddock/mcp.json', { 'a.b': definition(w, 'ab') });
  await define(w, '.kiro/settings/mcp.json', { box: { command: './srv/bin/box', args: ['srv/tool/echo.mjs', 'mine', join(w.top, 'log')] } });
  const s = await serve(t, w, { face: 'paddock' });
  const call = async (at) => (await at.tool('run_mcp', { server: 'box', tool: 'get_item' })).text;
  assert.equal(await call(s), 'mine: get_item {}');
  const kept = async () => (await snapshot(w.root)).filter((line) => /\/(srv|\.kiro|\.pyddock\/mcp\.json)/.test(line));
  const before = await kept();
  const paths = ['.pyddock/mcp.json', '.pyddock', '.kiro/settings/mcp.json', '.kiro/settings', '.kiro', 'srv/bin/box', 'srv/bin', 'srv/tool/echo.mjs', 'srv'];
  for (const [name, way] of Object.entries(ways(s)))
    for (const path of paths) {
      await way(path);
      assert.deepEqual(await kept(), before, `${name}: ${path}`);
      await rm(join(w.root, 'gone'), { recursive: true, force: true }); // what mv could copy
    }
  const refused = await s.tool('fs_append', { path: 'srv/bin/other', content: 'x' });
  assert.ok(isRefusal(refused));
  assert.match(refused.text, /an MCP server of a section \[mcp\.NAME\] is started from there \(\.kiro\/settings\/mcp\.json:1\)/);
  assert.equal((await s.tool('fs_append', { path: 'srv/notes', content: 'x' })).isError, false);
  assert.equal(await call(s), 'mine: get_item {}');
  assert.equal(await call(await serve(t, w)), 'mine: get_item {}');
});

test('a link that a command of an agent replaces leads no server elsewhere', { skip: noMounts }, async (t) => {
  const w = await workspace(t, {
    policy: `${policy}[shell.sh]\nmode = "allow"\narg_paths = "none"\n[filesystem.guards]\n'/\\.cursor$' = "read-only"\n`,
    files: { 'srv/box': [`#!/bin/sh\nexec ${process.execPath} "$@"\n`, 0o755], 'evil/box': [`#!/bin/sh\necho evil >> "$3"\n`, 0o755] },
  });
  await symlink('srv', join(w.root, 'by'));
  await symlink('../conf', join(w.root, '.cursor'));
  await mkdir(join(w.top, 'conf'));
  await writeFile(join(w.top, 'conf/mcp.json'), JSON.stringify({ mcpServers: { 'a.b': definition(w, 'linked') } }));
  await define(w, '.pyddock/mcp.json', { box: { command: 'by/box', args: definition(w, 'mine').args } });
  const s = await serve(t, w);
  assert.doesNotMatch(await describe(s), /a\.b/); // the guard on the link is not enough
  const { text } = await s.shell('sh', ['-c', 'ln -sfT evil by && by/box 1 2 seen && cat seen']);
  assert.match(text, /evil/); // it may, and it is what would have been started
  assert.equal((await s.tool('run_mcp', { server: 'box', tool: 'get_item' })).text, 'mine: get_item {}');
  assert.doesNotMatch(await log(w), /evil/);
});

test('nothing of a policy, a definition or a call goes through a shell', async (t) => {
  const traps = ['$(touch PWN)', '`touch PWN`', '; touch PWN', '\n touch PWN', '| touch PWN #'];
  const w = await workspace(t, { policy: `[mcp.box]\ndescription = "$(touch PWN) \`touch PWN\`"\ntools = { '.*' = true }\n` });
  const { command, args } = definition(w, 'box');
  await define(w, '.pyddock/mcp.json', { box: { command, args: [...args, ...traps], env: { TRAP: traps[0], 'T;touch PWN': 'x' } } });
  const s = await serve(t, w);
  for (const trap of traps) {
    const { text } = await s.tool('run_mcp', { server: 'box', tool: 'get_item', arguments: { [trap]: trap } });
    assert.equal(text, `box: get_item ${JSON.stringify({ [trap]: trap })}`);
    await s.tool('run_mcp', { server: trap, tool: trap });
    await s.tool('run_mcp', { server: 'box', tool: trap });
  }
  for (const verb of [['show'], ['check'], ['test', '--mcp', 'box', 'x']])
    await execute(paddock, ['policy', ...verb, '--workspace', w.root], { cwd: w.root, env: { PATH: process.env.PATH, HOME: w.home } });
  assert.ok(!(await snapshot(w.top)).some((line) => /PWN/.test(line)));
});
