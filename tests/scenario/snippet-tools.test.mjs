// Tools of other MCP servers in snippets: pyddock_mcp, with a server that keeps a log.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { build, pyddock } from './lib.mjs';
import { exists, isRunning, kinds, serve, workspace } from './workspace.mjs';

const box = join(dirname(fileURLToPath(import.meta.url)), '../python/mcp-box');
const LONG = 60000; // ms, to catch a hang
const skip = existsSync(join(build, 'src/python/paddock-python')) ? false : 'this build has no interpreter';

/** A workspace with the server `box`, whose log is `w.asked`. */
async function world(t, { policy = '', ...more } = {}) {
  const w = await workspace(t, { policy: '# below' });
  await writeFile(join(w.root, '.pyddock/pyddock.override.toml'),
    `[mcp.box]\ntools = { "get_.*" = true, "get_secret" = false }\n${policy.replace('@TOP@', w.top)}`);
  w.asked = join(w.top, 'asked');
  w.argv = ['/usr/bin/python3', box, w.top];
  const definition = { command: w.argv[0], args: w.argv.slice(1), env: { BOX_LOG: w.asked } };
  await writeFile(join(w.root, '.pyddock/mcp.json'), JSON.stringify({ mcpServers: { box: definition } }));
  const s = await serve(t, w, more);
  return { ...s, w, python: (code, rest = {}, options) => s.tool('run_python', { code, ...rest }, options) };
}

async function until(what) {
  const end = Date.now() + LONG;
  while (!(await what())) {
    assert.ok(Date.now() < end, 'it never comes');
    await sleep(50);
  }
}

for (const kind of kinds) {
  test(`${kind}: of a result of 60 KB three numbers come back`, { skip }, async (t) => {
    const { python } = await world(t, { kind });
    const { text, isError } = await python(`import pyddock_mcp
rows = pyddock_mcp.call("box", "get_rows", {"count": 1000})
len(rows), sum(r["cost"] for r in rows), max(r["id"] for r in rows)`);
    assert.equal(text, '--- RESULT ---\n(1000, 2997, 999)\n--- EXIT CODE: 0 ---');
    assert.equal(isError, false);
  });
}

test('the description says how, and nothing where there is no server', { skip }, async (t) => {
  const { client, w } = await world(t);
  const describe = async (c) => (await c.listTools()).tools.find(({ name }) => name === 'run_python').description;
  assert.match(await describe(client), /pyddock_mcp\.call\(server, tool, arguments\).* Servers: box$/m);
  assert.ok(Buffer.byteLength(await describe(client)) <= 2048);
  const { client: other } = await serve(t, await workspace(t, { policy: '[mcp.box]\ntools = { ".*" = true }\n' }));
  assert.doesNotMatch(await describe(other), /pyddock_mcp/);
  assert.equal(await exists(w.asked), false);
});

test('what is refused names its rule, is an error, is in both logs, and starts nothing', { skip }, async (t) => {
  const { python, w } = await world(t, {
    policy: '[audit_log]\npath = "@TOP@/audit.jsonl"\n', options: ['--debug'],
  });
  const { text, isError } = await python('import pyddock_mcp\npyddock_mcp.call("box", "get_secret", {})');
  assert.equal(isError, true);
  assert.match(text, /PermissionError: .*get_secret/);
  assert.match(text, /Rule: .*get_secret.*pyddock\.override\.toml:\d+/);
  await python('import pyddock_mcp\npyddock_mcp.call("box", "get_nothing", {})');
  assert.equal(await readFile(w.asked, 'utf8'), 'get_nothing {}\n');
  const lines = async (path) => (await readFile(path, 'utf8')).trim().split('\n').map((line) => JSON.parse(line));
  const events = (await lines(join(w.root, '.pyddock/tmp/audit.jsonl'))).filter(({ event }) => event === 'pyddock_mcp.call');
  assert.deepEqual(events.map(({ decision, caller, detail }) => [decision, caller, detail]), [
    ['deny', 'AGENT', 'server="box" tool="get_secret"'],
    ['allow', 'AGENT', 'server="box" tool="get_nothing"'],
  ]);
  const calls = await lines(join(w.top, 'audit.jsonl'));
  assert.deepEqual(calls.map(({ decision }) => decision), ['deny', 'allow']);
  assert.match(calls[0].rule, /get_secret/);
});

test('a snippet that is stopped, or that the client gives up, takes its call with it', { skip }, async (t) => {
  const { python, w } = await world(t);
  const code = 'import pyddock_mcp\npyddock_mcp.call("box", "get_slow", {"seconds": 1000})';
  const { text, isError } = await python(code, { timeout: 1.5 });
  assert.match(text, /TimeoutError: the snippet was stopped after 1\.5s, in line 2/);
  assert.equal(isError, true);
  await until(async () => !(await isRunning(...w.argv)));
  const aborter = new AbortController();
  const call = python(code, {}, { signal: aborter.signal });
  await until(() => isRunning(...w.argv));
  aborter.abort();
  await assert.rejects(call);
  await until(async () => !(await isRunning(...w.argv)));
  assert.match((await python('import pyddock_mcp\npyddock_mcp.call("box", "get_texts", {"texts": ["on"]})')).text, /'on'/);
});

test('without a server the module is not there, and says what would make it be', { skip }, async (t) => {
  const w = await workspace(t, { policy: '[mcp.box]\ntools = { ".*" = true }\n' });
  const { tool } = await serve(t, w);
  const { text, isError } = await tool('run_python', { code: 'import pyddock_mcp' });
  assert.equal(isError, true);
  assert.match(text, /'pyddock_mcp' is not an allowed import/);
  assert.match(text, /\[mcp\.NAME\].*\.pyddock\/mcp\.json/);
});

test('pyddock run, and a script of the workspace', { skip }, async (t) => {
  const { python, w, tool } = await world(t);
  const code = 'import pyddock_mcp\npyddock_mcp.call("box", "get_structured", {"n": [1]})\n';
  const ran = await new Promise((done) => execFile(pyddock, ['run', code],
    { cwd: w.root, env: { PATH: process.env.PATH, HOME: w.home }, timeout: LONG }, (error, stdout, stderr) => done({ error, stdout, stderr })));
  assert.deepEqual(ran, { error: null, stdout: "{'n': [1]}\n", stderr: '' });
  await python(`open("job.py", "w").write(${JSON.stringify(code)})`);
  assert.match((await tool('run_python', { file: 'job.py' })).text, /^\{'n': \[1\]\}$/m);
});
