// pyddock serve and paddock serve, through the official clients: what is offered, approved
// commands and how they end, and what a mistake looks like.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { clients, connect, paddock, pyddock } from './lib.mjs';
import { Server, cancel, ping } from './server.mjs';

const HANG_MS = 30000; // only to catch what never ends

const policy = `
[execution]
timeout = 20
max_timeout = 60
[shell.say]
command = "^echo$"
mode = "allow"
[shell.false]
mode = "allow"
[shell.sleep]
mode = "allow"
[shell.missing]
command = "^no-such-program-here$"
mode = "allow"
[shell.lint]
command = "^printf$"
mode = "deny"
allow = ["check .*"]
deny = ["secret"]
[shell.scripts]
command = "tools/.*"
mode = "allow"
arg_paths = "none"
[shell.cut-off]
command = "^cut-off/.*"
mode = "allow"
network = false
[shell.free]
command = "^free/.*"
mode = "allow"
sandbox = "none"
`;

const scripts = {
  'tools/both.sh': 'echo out; echo err >&2; exit 3\n',
  'tools/dies.sh': 'kill -9 $$\n',
  'tools/talk.sh': 'echo before; echo trouble >&2; sleep 300\n',
  'tools/beat.sh': 'while :; do echo . >> "$1"; sleep 0.05; done\n',
  'tools/leave.sh': 'sleep 300 & echo started\n',
  'tools/stdin.sh': 'read line && echo "got $line" || echo closed\n',
  'tools/touch.sh': 'echo x > "$1"\n',
  'tools/bar.sh': 'i=0; while [ $i -lt 500 ]; do printf "\\rLoading %d%%" $((i / 5)); i=$((i + 1)); done; printf "\\n\\033[32mdone\\033[0m\\n"\n',
  'tools/long.sh': 'i=0; while [ $i -lt 20000 ]; do echo "line $i"; i=$((i + 1)); done; echo the end\n',
  'tools/repo.sh': 'mkdir .git .claude && echo x > .git/config && echo x > .claude/settings.json && echo n > .claude/notes\n',
  'tools/link.sh': 'mkdir cfg .kiro .kiro/agents && echo x > cfg/settings.json && ln -s cfg .claude && cat .claude/settings.json\n',
  'tools/bytes.sh': 'printf "a\\377b\\r\\nc"\n',
};

/** A workspace with this policy. */
async function workspace(t, override = policy) {
  const top = await mkdtemp(join(tmpdir(), 'paddock-scenario-'));
  const root = join(top, 'ws');
  t.after(() => rm(top, { recursive: true, force: true }));
  const files = { '.pyddock/pyddock.override.toml': override, 'word.txt': 'plain words\n', ...scripts };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  return root;
}

const serve = (t, root, { kind = 'SDK 1.x', program = pyddock, options = [] } = {}) =>
  connect(t, kind, program, ['serve', '--no-install', '--workspace', root, ...options]);

const shell = (s, command, args = [], more = {}) => s.tool('run_shell', { command, args, ...more });

/** Processes whose command line has this text. */
function processes(text) {
  return readdirSync('/proc').filter((pid) => {
    try { return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text); }
    catch { return false; }
  });
}

async function gone(text) {
  for (let i = 0; i < 100 && processes(text).length; i++) await sleep(50);
  assert.deepEqual(processes(text), []);
}

for (const kind of Object.keys(clients)) {
  test(`${kind}: the tools of both faces, sorted, small and the same at each start`, async (t) => {
    const root = await workspace(t);
    for (const [program, expected] of [
      [pyddock, ['fs_append', 'fs_delete', 'fs_find', 'fs_grep', 'fs_readfile', 'fs_stat', 'fs_str_replace', 'run_python', 'run_shell']],
      [paddock, ['edit', 'fs_append', 'fs_delete', 'fs_find', 'fs_grep', 'fs_readfile', 'fs_stat', 'fs_str_replace', 'run', 'run_python', 'run_shell']],
    ]) {
      const lists = [];
      for (let i = 0; i < 2; i++) {
        const { client } = await serve(t, root, { kind, program });
        lists.push((await client.listTools()).tools);
      }
      assert.deepEqual(lists[0].map((tool) => tool.name), expected);
      assert.equal(JSON.stringify(lists[0]), JSON.stringify(lists[1]));
      assert.ok(Buffer.byteLength(JSON.stringify(lists[0])) < 16384);
      for (const tool of lists[0]) {
        assert.ok(Buffer.byteLength(tool.description) <= 2048, tool.name);
        assert.equal(typeof tool.annotations.readOnlyHint, 'boolean', tool.name);
        assert.doesNotMatch(tool.description, /\{(commands|policy|python|timeouts)\}/);
      }
    }
  });

  test(`${kind}: a command and its sections`, async (t) => {
    const s = await serve(t, await workspace(t), { kind });
    const { text, isError } = await shell(s, 'echo', ['left', 'right']);
    assert.equal(text, '--- STDOUT ---\nleft right\n\n--- EXIT CODE: 0 ---');
    assert.equal(isError, false);
  });
}

test('the default policy: the list is small enough too', async (t) => {
  const root = await workspace(t, '');
  for (const program of [pyddock, paddock]) {
    const { client } = await serve(t, root, { program });
    const { tools } = await client.listTools();
    const size = Buffer.byteLength(JSON.stringify(tools));
    t.diagnostic(`${tools.length} tools, ${size} bytes`);
    assert.ok(size < 16384);
    for (const tool of tools) assert.ok(Buffer.byteLength(tool.description) <= 2048, tool.name);
  }
});

test('the description tells the sections, in order, with what is different', async (t) => {
  const { client } = await serve(t, await workspace(t));
  const { tools } = await client.listTools();
  const { description } = tools.find((tool) => tool.name === 'run_shell');
  assert.match(description, /20\.0s by default, 60\.0s at most/);
  assert.match(description, /no shell/);
  assert.match(description, /say \(pattern: \^echo\$\): allow-by-default, no restrictions\n/);
  assert.match(description, /lint \(pattern: \^printf\$\): deny-by-default, allowed arg patterns: check \.\*\n/);
  assert.match(description, /cut-off \(pattern: [^)]*; no network\)/);
  assert.match(description, /free \(pattern: [^)]*; not sandboxed\)/);
});

test('--tools chooses, and knows what it does not have', async (t) => {
  const root = await workspace(t);
  const { client, tool } = await serve(t, root, { options: ['--tools', 'run_shell,fs_stat'] });
  assert.deepEqual((await client.listTools()).tools.map((x) => x.name), ['fs_stat', 'run_shell']);
  await assert.rejects(tool('fs_delete', { path: 'word.txt' }), /Unknown tool/);
  assert.equal(await readFile(join(root, 'word.txt'), 'utf8'), 'plain words\n');
});

test('how programs end', async (t) => {
  const s = await serve(t, await workspace(t));
  const cases = [
    ['false', [], '--- EXIT CODE: 1 ---', false],
    ['tools/both.sh', [], '--- STDOUT ---\nout\n\n--- STDERR ---\nerr\n\n--- EXIT CODE: 3 ---', false],
    ['tools/dies.sh', [], '--- EXIT CODE: -9 ---', false],
    ['tools/stdin.sh', [], '--- STDOUT ---\nclosed\n\n--- EXIT CODE: 0 ---', false],
    ['tools/bar.sh', [], '--- STDOUT ---\nLoading 99%\ndone\n\n--- EXIT CODE: 0 ---', false],
    ['tools/bytes.sh', [], '--- STDOUT ---\na\ufffdb\nc\n--- EXIT CODE: 0 ---', false],
    ['echo', ['ünï ☃', '$HOME', '*', 'a;b'], '--- STDOUT ---\nünï ☃ $HOME * a;b\n\n--- EXIT CODE: 0 ---', false],
  ];
  for (const [command, args, text, isError] of cases)
    assert.deepEqual(await shell(s, command, args).then(({ result, ...rest }) => rest), { text, isError }, command);
  const missing = await shell(s, 'no-such-program-here');
  assert.equal(missing.isError, true);
  assert.match(missing.text, /^--- STDERR ---\nCommand not found[^]*--- EXIT CODE: 1 ---$/);
  const raw = await shell(s, 'tools/bar.sh', [], { raw: true });
  assert.match(raw.text, /Loading 0%\rLoading 0%\r[^]*\x1b\[32mdone/);
});

test('arguments as other clients send them', async (t) => {
  const s = await serve(t, await workspace(t));
  const spelled = await s.tool('run_shell', { command: 'echo', args: '["a", "b"]', timeout: '5' });
  assert.match(spelled.text, /^--- STDOUT ---\na b\n/);
  const nulls = await s.tool('run_shell', { command: 'echo', args: null, cwd: null, timeout: null });
  assert.match(nulls.text, /EXIT CODE: 0/);
  for (const [args, message] of [
    [{ command: '  ' }, /'command' is required/],
    [{ command: 'echo', timeout: 0 }, /timeout 0\.0s must be positive/],
    [{ command: 'echo', timeout: 99999 }, /timeout 99999\.0s exceeds maximum 60\.0s/],
    [{ command: 'echo', args: ['a\0b'] }, /NUL/],
    [{ command: 'echo', args: 'a b' }, /'args' must be an array/],
    [{ command: 'echo', args: [1] }, /'args\[0\]' must be a string/],
    [{ args: [] }, /'command' is missing/],
    [{ command: 'echo', wd: '.' }, /unknown argument 'wd'; did you mean 'cwd'/],
  ]) {
    const { text, isError } = await s.tool('run_shell', args);
    assert.match(text, message);
    assert.equal(isError, true);
  }
});

test('a refusal names the rule and its place, and nothing has happened', async (t) => {
  const root = await workspace(t);
  const s = await serve(t, root);
  for (const [command, args, more, rule] of [
    ['sh', ['-c', 'echo x > made'], {}, /'?sh'?/],
    ['./echo', ['x'], {}, /\.\/echo/],
    ['echo hi; touch made', [], {}, /echo hi; touch made/],
    ['printf', ['x'], {}, /lint/],
    ['printf', ['check secret'], {}, /secret/],
    ['echo', ['x'], { cwd: '..' }, /\.\./],
    ['echo', ['/etc/passwd'], {}, /\/etc\/passwd/],
  ]) {
    const { text, isError } = await shell(s, command, args, more);
    assert.equal(isError, true, text);
    assert.match(text, /^--- STDERR ---\n[^]*\n--- EXIT CODE: 1 ---$/);
    assert.match(text, rule);
  }
  const denied = await shell(s, 'printf', ['check secret']);
  assert.match(denied.text, /pyddock\.override\.toml:\d+/);
  await assert.rejects(stat(join(root, 'made')));
});

test('a timeout keeps what was said and ends the whole tree', async (t) => {
  const s = await serve(t, await workspace(t));
  const { text, isError } = await shell(s, 'tools/talk.sh', [], { timeout: 1.5 });
  assert.equal(isError, true);
  assert.match(text, /^--- STDOUT ---\nbefore\n\n--- STDERR ---\nTimeoutError: [^\n]*1\.5s[^\n]*60\.0s[^\n]*\ntrouble\n\n--- EXIT CODE: 1 ---$/);
  await gone('tools/talk.sh');
});

test('what is left running is ended and told', async (t) => {
  const s = await serve(t, await workspace(t));
  const started = performance.now();
  const { text, isError } = await shell(s, 'tools/leave.sh');
  assert.ok(performance.now() - started < HANG_MS);
  assert.equal(isError, false);
  assert.match(text, /started/);
  assert.match(text, /\[paddock: 1 process was still running when the command ended, and was stopped\]/);
});

test('cancelling ends the tree, and the server goes on', async (t) => {
  const root = await workspace(t);
  const s = await serve(t, root);
  const stop = new AbortController();
  const call = s.tool('run_shell', { command: 'tools/beat.sh', args: ['beats'] }, { signal: stop.signal });
  while (!await stat(join(root, 'beats')).catch(() => null)) await sleep(20);
  stop.abort('enough');
  await assert.rejects(call);
  await gone('tools/beat.sh');
  const { size } = await stat(join(root, 'beats'));
  await sleep(300);
  assert.equal((await stat(join(root, 'beats'))).size, size);
  assert.match((await shell(s, 'echo', ['on'])).text, /on/);
});

test('a long command keeps nothing else waiting', async (t) => {
  const s = await serve(t, await workspace(t), { program: paddock });
  const stop = new AbortController();
  const long = s.tool('run_shell', { command: 'sleep', args: ['60'] }, { signal: stop.signal }).catch(() => {});
  assert.match((await s.tool('fs_stat', { path: 'word.txt' })).text, /exists: true/);
  assert.match((await s.tool('run', { command: 'cat word.txt' })).text, /plain words/);
  assert.match((await shell(s, 'echo', ['at once'])).text, /at once/);
  stop.abort();
  await long;
});

test('so many commands at once, and the others when one has ended', async (t) => {
  const root = await workspace(t);
  const server = new Server(t, pyddock, { args: ['serve', '--no-install', '--workspace', root] });
  const call = (id, command, args) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'run_shell', arguments: { command, args } } });
  for (let id = 1; id <= 16; id++) server.send(call(id, 'sleep', ['50']));
  server.send(call(17, 'echo', ['x']));
  server.send(call(18, 'echo', ['y']), cancel(18), ping(19));
  await server.reply(19);
  assert.equal(server.messages.some(({ id }) => id === 17), false); // it waits
  server.send(cancel(3));
  assert.match((await server.reply(17)).result.content[0].text, /STDOUT ---\nx/);
  server.send(ping(20));
  await server.reply(20);
  assert.equal(server.messages.some(({ id }) => id === 18), false);
});

test('a server that ends, in whatever way, leaves no command', async (t) => {
  for (const signal of ['SIGKILL', 'SIGTERM', 'end of input']) {
    const root = await workspace(t);
    const server = new Server(t, pyddock, { args: ['serve', '--no-install', '--workspace', root] });
    server.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'run_shell', arguments: { command: 'tools/beat.sh', args: ['beats'] } } });
    while (!await stat(join(root, 'beats')).catch(() => null)) await sleep(20);
    if (signal === 'end of input') server.child.stdin.end();
    else server.child.kill(signal);
    await server.ended;
    await gone('tools/beat.sh');
  }
});

test('--debug writes each decision when it is made', async (t) => {
  const root = await workspace(t);
  const s = await serve(t, root, { options: ['--debug'] });
  const events = async () => (await readFile(join(root, '.pyddock/tmp/audit.jsonl'), 'utf8')).trim().split('\n').map((line) => JSON.parse(line));
  await shell(s, 'sh', ['-c', 'true']);
  const long = shell(s, 'tools/beat.sh', ['beats']).catch(() => {});
  while (!await stat(join(root, 'beats')).catch(() => null)) await sleep(20);
  assert.deepEqual((await events()).map(({ event, decision, detail }) => [event, decision, detail]), [
    ['subprocess.Popen', 'deny', "exe='sh' args=['-c', 'true']"],
    ['subprocess.Popen', 'allow', "exe='tools/beat.sh' args=['beats']"],
  ]);
  await s.client.close();
  await long;
});

test('a long output keeps its end, and says what is missing', async (t) => {
  const s = await serve(t, await workspace(t));
  const { text } = await shell(s, 'tools/long.sh');
  assert.match(text, /^--- STDOUT ---\nline 0\nline 1\n/);
  assert.match(text, /line 19999\nthe end\n\n--- EXIT CODE: 0 ---$/);
  assert.match(text, /\n\n\[truncated: output exceeded 64 KB\. \d+ lines \(\d+ bytes\) are left out here/);
  assert.ok(text.length < 67000);
});

test('a program that met the sandbox: the reply says which rule that was', async (t) => {
  const root = await workspace(t);
  const s = await serve(t, root);
  const outside = `/var/lib/paddock-outside-${process.pid}.txt`; // /tmp would be the command's own
  const { text, isError } = await shell(s, 'tools/touch.sh', [outside]);
  assert.equal(isError, false);
  assert.match(text, /\[paddock: \[shell\.scripts\] [^\]]*pyddock\.override\.toml:\d+[^\]]*sandbox = "none"\]/);
  await assert.rejects(stat(outside));
});

test('what a command makes where nothing may be made is taken away and told', async (t) => {
  const root = await workspace(t);
  const s = await serve(t, root);
  const { text } = await shell(s, 'tools/repo.sh');
  assert.match(text, /\[paddock: '[^']*\/\.git' is protected, and the command made it; it was moved to '[^']*\.pyddock\/quarantine[^']*'\]/);
  assert.match(text, /\.claude\/settings\.json' is protected/);
  await assert.rejects(stat(join(root, '.git')));
  await assert.rejects(stat(join(root, '.claude/settings.json')));
  assert.equal(await readFile(join(root, '.claude/notes'), 'utf8'), 'n\n');
});

test('what would be read by a protected name through a link, or as one of many, is taken away too', async (t) => {
  const root = await workspace(t);
  const s = await serve(t, root);
  const { text } = await shell(s, 'tools/link.sh');
  assert.match(text, /\/\.claude' is protected, and the command made it; it was moved/);
  assert.match(text, /\/\.kiro\/agents' is protected/);
  await assert.rejects(lstat(join(root, '.claude')));
  await assert.rejects(lstat(join(root, '.kiro/agents')));
  assert.equal(await readFile(join(root, 'cfg/settings.json'), 'utf8'), 'x\n');
});

test('a link of the user above a protected name stays, and what the command made behind it does not', async (t) => {
  const root = await workspace(t);
  await mkdir(join(root, 'cfg'));
  await symlink('cfg', join(root, '.claude'));
  const s = await serve(t, root);
  await shell(s, 'tools/touch.sh', ['cfg/settings.json']);
  assert.equal(await readlink(join(root, '.claude')), 'cfg');
  await assert.rejects(lstat(join(root, 'cfg/settings.json')));
});

test('the policy is read once', async (t) => {
  const root = await workspace(t);
  const s = await serve(t, root);
  await writeFile(join(root, '.pyddock/pyddock.override.toml'), `${policy}\n[shell.id]\nmode = "allow"\n`);
  assert.equal((await shell(s, 'id')).isError, true);
});

test('a start creates .pyddock/tmp and nothing else', async (t) => {
  const root = await workspace(t);
  await serve(t, root);
  const names = readdirSync(root, { recursive: true }).sort();
  const expected = ['.pyddock', '.pyddock/pyddock.override.toml', '.pyddock/tmp', 'tools', 'word.txt', ...Object.keys(scripts)].sort();
  assert.deepEqual(names, expected);
});

test('command lines that make no sense, and workspaces that cannot be served', async (t) => {
  const root = await workspace(t);
  const bad = await workspace(t, '[shell.x]\nmode = "perhaps"\n');
  for (const [program, args, status, message] of [
    [pyddock, [], 1, /^$/],
    [pyddock, ['frob'], 2, /unknown command 'frob'/],
    [pyddock, ['serve', '--frob'], 2, /unknown option '--frob'/],
    [pyddock, ['serve', root], 2, /unexpected/],
    [pyddock, ['serve', '--workspace'], 2, /needs a value/],
    [pyddock, ['serve', '--workspace', join(root, 'not/there')], 1, /not\/there/],
    [pyddock, ['serve', '--workspace', join(root, 'word.txt')], 1, /not a folder/],
    [pyddock, ['serve', '--workspace', root, '--transport', 'http', '--host', '0.0.0.0'], 2, /'--token-file' is needed/],
    [pyddock, ['serve', '--workspace', root, '--transport', 'pipe'], 2, /neither stdio nor http/],
    [pyddock, ['serve', '--workspace', root, '--tools', 'run'], 1, /no tool 'run'; the tools are: fs_append, .*, run_shell/],
    [pyddock, ['serve', '--workspace', bad], 1, /pyddock\.override\.toml:2: .*mode/],
    [pyddock, ['run'], 2, /usage/],
    [paddock, ['serve', join(root, 'not/there')], 1, /not\/there/],
    [paddock, ['serve', root, '--tools', 'run_mcp'], 1, /no tool 'run_mcp'; the tools are: edit, /],
  ]) {
    const ended = spawnSync(program, args, { input: '', encoding: 'utf8', timeout: HANG_MS });
    assert.equal(ended.status, status, `${args}: ${ended.stderr}`);
    assert.match(ended.stderr, message);
    if (args[0] !== 'run') assert.ok(ended.stderr.split('\n').length <= 2, ended.stderr);
  }
});
