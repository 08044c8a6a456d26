// Approved commands: what people reported of other tools, and what must hold here.
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import net from 'node:net';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { paddock, pyddock } from './lib.mjs';
import { exists, git, isRefusal, isRunning, kinds, noMounts, serve, snapshot, text, workspace } from './workspace.mjs';

const allowed = (...names) => names.map((name) => `[shell.${name}]\nmode = "allow"\n`).join('');
const free = (name) => `[shell.${name}]\nmode = "allow"\narg_paths = "none"\n`;
const only = (name, ...patterns) => `[shell.${name}]\nmode = "deny"\nallow = ${JSON.stringify(patterns)}\n`;

/** Each vector is refused, by a rule, and `w` is as it was. */
async function allRefused(w, { shell }, vectors) {
  const before = await snapshot(w.top);
  for (const [command, ...args] of vectors) {
    const answer = await shell(command, args);
    assert.ok(isRefusal(answer), `${JSON.stringify([command, ...args])}: ${answer.text}`);
  }
  assert.deepEqual(await snapshot(w.top), before);
}

for (const kind of kinds) {
  test(`${kind}: a program that ran is no error, a refusal is one`, async (t) => {
    const w = await workspace(t, { files: { 'a.txt': 'one\n' }, repository: true });
    const { client, shell } = await serve(t, w, { kind });
    const { tools } = await client.listTools();
    const listed = tools.find(({ name }) => name === 'run_shell');
    assert.ok(Buffer.byteLength(listed.description) <= 2048);
    const status = await shell('git', ['status', '--short', '--branch']);
    assert.deepEqual([status.isError, status.text], [false, '--- STDOUT ---\n## main\n\n--- EXIT CODE: 0 ---']);
    const failed = await shell('git', ['rev-parse', '--verify', 'nothing']);
    assert.equal(failed.isError, false);
    assert.match(failed.text, /^--- STDERR ---\nfatal: [^\n]*\n\n--- EXIT CODE: 128 ---$/);
    const refused = await shell('git', ['push', 'origin']);
    assert.ok(isRefusal(refused), refused.text);
    assert.match(refused.text, /push/);
  });
}

test('one command is one program and its arguments, whatever they look like', async (t) => {
  const w = await workspace(t, { policy: allowed('cat', 'echo'), files: { f: '', 'g g': 'two words\n' } });
  const s = await serve(t, w);
  await allRefused(w, s, [
    ['cat f; touch PWN'], ['cat f'], ['cat\tf'], ["'rm'", 'f'], ['"rm"', 'f'], ['r"m"', 'f'], ['\\rm', 'f'],
    ['/bin/r?', 'f'], ['/usr/bin/../bin/rm', 'f'], ['RM', 'f'], ['rm', 'f'], ['/bin/rm', 'f'], [' cat', 'f'],
    ['cat\n', 'f'], ['$(touch PWN)'], ['cat;rm', 'f'], ['cat|rm', 'f'], ['CAT', 'f'], ['./cat', 'f'],
  ]);
  for (const word of [';', '&&', '|', '$(touch PWN)', '`touch PWN`', '> PWN', '*', '$HOME', 'a b']) {
    const { text: said, isError } = await s.shell('echo', [word, 'touch', 'PWN']);
    assert.equal(isError, false, said);
    assert.equal(said, `--- STDOUT ---\n${word} touch PWN\n\n--- EXIT CODE: 0 ---`);
  }
  assert.equal((await s.shell('cat\u0000', ['f'])).isError, true);
  assert.match((await s.shell('cat', ['g g'])).text, /two words/);
  assert.equal(await exists(join(w.root, 'PWN')), false);
});

test('arguments of a wrapper are judged before it runs', async (t) => {
  const policy = only('helper', '[a-z]+$').replace('[shell.helper]', '[shell.helper]\ncommand = "^bin/helper$"');
  const w = await workspace(t, { policy, files: { 'bin/helper': ['#!/bin/sh\n$2\necho "$@"\n', 0o755] } });
  const s = await serve(t, w);
  await allRefused(w, s, [
    ['bin/helper', '-P', 'touch PWN', 'ls'], ['bin/helper', '--pager=touch PWN', 'ls'], ['bin/helper'],
    ['helper', 'ls'], ['bin/../bin/helper', 'ls'],
  ]);
  assert.match((await s.shell('bin/helper', ['page'])).text, /^--- STDOUT ---\npage\n/);
});

test('what a deny pattern names is refused in either mode, and denies win', async (t) => {
  const policy = '[shell.echo]\nmode = "allow"\nallow = ["x"]\ndeny = ["--force", "secret$"]\n' +
    '[shell.printf]\nmode = "deny"\nallow = ["%s"]\ndeny = ["%s evil"]\n';
  const w = await workspace(t, { policy });
  const s = await serve(t, w);
  await allRefused(w, s, [['echo', 'a', '--force'], ['echo', 'top', 'secret'], ['printf', '%s', 'evil'], ['printf', 'x']]);
  assert.equal((await s.shell('echo', ['secret', 'x'])).isError, false);
  assert.equal((await s.shell('printf', ['%s', 'good'])).isError, false);
});

const poison = { 'x.sh': ['#!/bin/sh\ntouch PWN\n', 0o755], 'a.txt': 'todo\n' };

test('git does not start what its options name, nor write where they say', async (t) => {
  const policy = only('git', '(grep|diff|log|show|blame)(\\s|$)');
  const w = await workspace(t, { policy, files: poison, repository: true });
  await writeFile(join(w.root, 'a.txt'), 'todo more\n');
  const s = await serve(t, w);
  const before = await snapshot(w.top);
  const vectors = [
    ['grep', '-O./x.sh', 'todo'], ['grep', '-iO./x.sh', 'todo'], ['grep', '--open-files-in-pager=./x.sh', 'todo'],
    ['grep', '--open-files=./x.sh', 'todo'], ['--git-dir=../other', 'log'], ['blame', '--contents', '/etc/passwd', 'a.txt'],
    ['diff', '--output=../OUT'], ['log', '--output', '/tmp/paddock-OUT2'], ['show', '--outpu=../OUT3'],
    ['diff', '--ext-diff'], ['log', '-p', '--textconv'], ['-c', 'core.pager=./x.sh', 'log'], ['--paginate', 'log'],
    ['diff', '--no-index', '/etc/passwd', 'a.txt'], ['--exec-path=.', 'log'], ['-C', '..', 'log'],
  ];
  for (const args of vectors) {
    const { text: said } = await s.shell('git', args);
    assert.doesNotMatch(said, /root:x:0/, args.join(' '));
  }
  for (const args of vectors.slice(4, 6).concat([vectors[6], vectors[7], vectors[8], vectors[11]])) {
    const answer = await s.shell('git', args);
    assert.ok(isRefusal(answer), `${args.join(' ')}: ${answer.text}`);
  }
  assert.deepEqual(await snapshot(w.top), before);
  assert.equal(await exists('/tmp/paddock-OUT2'), false);
});

const settings = [
  ['core.fsmonitor', './x.sh'], ['core.hooksPath', 'hooks'], ['core.pager', './x.sh'], ['pager.log', './x.sh'],
  ['diff.external', './x.sh'], ['diff.evil.textconv', './x.sh'], ['filter.evil.clean', './x.sh'],
  ['filter.evil.smudge', './x.sh'], ['alias.st', '!./x.sh'], ['core.sshCommand', './x.sh'], ['core.editor', './x.sh'],
  ['sequence.editor', './x.sh'], ['gpg.program', './x.sh'], ['credential.helper', '!./x.sh'], ['uploadpack.packObjectsHook', './x.sh'],
];

test('a repository brings its own settings, and git starts nothing of them', async (t) => {
  const hook = ['#!/bin/sh\ntouch PWN\n', 0o755];
  const files = { ...poison, 'hooks/post-checkout': hook, 'hooks/pre-commit': hook, 'hooks/post-commit': hook,
    'hooks/post-index-change': hook, 'hooks/reference-transaction': hook };
  const w = await workspace(t, { files, repository: true });
  await writeFile(join(w.root, '.gitattributes'), '*.txt diff=evil filter=evil\n');
  git(w, 'add', '.gitattributes');
  git(w, 'commit', '-q', '-m', 'attributes');
  for (const [key, value] of settings) git(w, 'config', key, value);
  await writeFile(join(w.root, 'a.txt'), 'todo changed\n');
  const { shell } = await serve(t, w);
  const vectors = [['status'], ['log', '-1', '-p'], ['diff'], ['show'], ['add', 'a.txt'], ['commit', '-m', 'x'],
    ['checkout', '-b', 'other'], ['stash'], ['st'], ['ls-files'], ['blame', 'a.txt'], ['fetch'], ['ls-remote', '.']];
  for (const args of vectors) {
    await shell('git', args);
    assert.equal(await exists(join(w.root, 'PWN')), false, `git ${args.join(' ')}`);
  }
});

test('names from the repository are data', async (t) => {
  const w = await workspace(t, { files: poison, repository: true });
  git(w, 'config', 'user.email', '$(touch PWN)@example.org');
  git(w, 'config', 'user.name', '`touch PWN`; touch PWN');
  await writeFile(join(w.root, '$(touch PWN)'), 'x\n');
  const { shell, tool, client } = await serve(t, w);
  await client.listTools();
  await shell('git', ['status']);
  await shell('git', ['add', '-A']);
  await shell('git', ['commit', '-m', '$(touch PWN)']);
  await tool('fs_find', { file_glob: '*' });
  await tool('fs_grep', { grep_regex: 'x' });
  spawnSync(paddock, ['policy', 'show', '--workspace', w.root], { cwd: w.root });
  assert.equal(await exists(join(w.root, 'PWN')), false);
  assert.match(git(w, 'log', '-1', '--format=%s'), /\$\(touch PWN\)/);
});

test('what lies outside is not staged', async (t) => {
  const w = await workspace(t, { files: { 'a.txt': 'x\n', 'sub/b': 'x\n' }, repository: true });
  await mkdir(join(w.top, 'out'));
  await writeFile(join(w.top, 'out/kube'), 'KUBE\n');
  const s = await serve(t, w);
  await allRefused(w, s, [
    ['git', 'add', '../out/kube'], ['git', 'add', join(w.top, 'out/kube')], ['git', 'add', `--pathspec-from-file=${w.top}/out/kube`],
    ['git', 'add', '--', 'sub/../../out/kube'], ['git', 'add', '-f', '../out'],
  ]);
  assert.match((await s.shell('git', ['add', '../out/kube'])).text, /\.\.\/out\/kube/);
});

test('paths among the arguments are seen in every form', async (t) => {
  const w = await workspace(t, { policy: allowed('cat', 'echo', 'dd', 'curl'), files: { 'a.txt': 'x\n', '.pyddock/x': '' } });
  const s = await serve(t, w);
  await allRefused(w, s, [
    ['cat', '/etc/passwd'], ['cat', '../x'], ['cat', '--file=/etc/passwd'], ['cat', '-f/etc/passwd'], ['dd', 'if=/etc/passwd'],
    ['dd', 'if=a.txt', 'of=/etc/x'], ['curl', '@/etc/passwd'], ['cat', '//etc/passwd'], ['cat', '~/.ssh/id'],
    ['curl', 'file:///etc/passwd'], ['cat', '--a=b=/etc/passwd'], ['cat', './../../etc/passwd'], ['cat', 'a.txt/../../x'],
    ['echo', '.pyddock/pyddock.override.toml'],
  ]);
});

test('arguments that only look like paths are no reason to refuse', async (t) => {
  const w = await workspace(t, { files: { 'a.txt': 'x\n' }, repository: true });
  await writeFile(join(w.root, 'a.txt'), 'y\n');
  const { shell } = await serve(t, w);
  const vectors = [
    ['add', 'a.txt'], ['commit', '-m', 'feat: add and/or operators (see ~/notes, C:/x, /etc/passwd)'],
    ['log', '--format=%h/%an', '--since=2026/01/02'], ['log', '--grep=and/or'], ['log', 'main..HEAD'], ['log', 'HEAD~1..HEAD'],
    ['log', 'origin/main..HEAD'], ['diff', 'HEAD~1...HEAD'], ['show', 'HEAD:a.txt'], ['log', '--author=a/b'], ['branch', 'feature/x'],
    ['tag', '-a', 'v1/2', '-m', 'see ../notes and /tmp'], ['log', '--date=format:%Y/%m/%d'], ['stash', 'list'],
  ];
  for (const args of vectors) {
    const answer = await shell('git', args);
    assert.ok(!isRefusal(answer), `${args.join(' ')}: ${answer.text}`);
  }
  assert.match(git(w, 'log', '-1', '--format=%s'), /and\/or/);
});

test('secrets of the server are not in the environment of a command', async (t) => {
  const policy = '[shell.env]\nmode = "deny"\nallow = ["$"]\n[env]\npass = ["NPM_TOKEN"]\n';
  const w = await workspace(t, { policy });
  const env = { OPENAI_API_KEY: 'oa-1', GITHUB_TOKEN: 'gh-2', DB_PASSWORD: 'pw-3', HARMLESS: `ghp_${'a1'.repeat(15)}`,
    NPM_TOKEN: 'npm-4', COLOUR: 'green', LANG: 'C.UTF-8', TERM: 'dumb', PYTHONPATH: '/x', VIRTUAL_ENV: '/y', PADDOCK_LOG: 'warn' };
  const { shell } = await serve(t, w, { env });
  const { text: said } = await shell('env');
  for (const secret of ['oa-1', 'gh-2', 'pw-3', 'ghp_', 'PYTHONPATH', 'VIRTUAL_ENV', 'PADDOCK_']) assert.ok(!said.includes(secret), said);
  for (const line of [/^NPM_TOKEN=npm-4$/m, /^COLOUR=green$/m, /^LANG=C\.UTF-8$/m, /^PATH=./m, /^HOME=./m, /^TERM=dumb$/m])
    assert.match(said, line);
});

test('the policy is not changed by what it governs', { skip: noMounts }, async (t) => {
  const w = await workspace(t, { policy: free('sh'), files: { 'a.txt': 'x\n' }, repository: true });
  const { tool, shell, run } = await serve(t, w, { face: 'paddock' });
  const policy = await snapshot(join(w.root, '.pyddock'));
  await run("echo '[filesystem]' > .pyddock/pyddock.toml; echo x >> .pyddock/pyddock.override.toml");
  await run('mv .pyddock old; rm -rf .pyddock; ln -s /tmp .pyddock2; mv .pyddock2 .pyddock; chmod 777 .pyddock');
  await tool('edit', { path: '.pyddock/pyddock.override.toml', old_string: 'allow', new_string: 'deny' });
  await tool('fs_append', { path: '.pyddock/pyddock.toml', content: '[x]\n' });
  await tool('fs_str_replace', { path: '.pyddock/pyddock.override.toml', oldStr: 'allow', newStr: 'deny' });
  await tool('fs_delete', { path: '.pyddock/pyddock.override.toml' });
  await shell('git', ['clean', '-fdx']);
  await shell('git', ['rm', '-rf', '.']);
  await shell('git', ['stash', '-u']);
  for (const script of ['rm -rf .pyddock', 'echo x > .pyddock/pyddock.toml', 'mv .pyddock old', 'cd .pyddock && rm *'])
    await shell('sh', ['-c', script]);
  assert.deepEqual(await snapshot(join(w.root, '.pyddock')), policy);
});

test('a mistake in the policy stops the server and names file, line and key', async (t) => {
  const variants = [
    ['[filesystem\nwritable_paths = []\n', /override\.toml:1:/],
    ['[filesytem]\nwritable_paths = []\n', /override\.toml:1:.*filesytem/],
    ['[execution]\ntimeout = "soon"\n', /override\.toml:2:.*timeout/],
    ["[shell.git]\nmode = 'deny'\nallow = ['(unclosed']\n", /override\.toml:3:/],
    ["[shell.git]\nmode = 'maybe'\n", /override\.toml:2:.*maybe/],
    ["[filesystem.guards]\n'/x/' = 'read-onyl'\n", /override\.toml:2:.*read-onyl/],
    ["[audit_log]\npath = 'relative'\n", /override\.toml:2:/],
    ['[audit_log]\npath = "/x/y"\nkeep = -1\n', /override\.toml:3:/],
  ];
  for (const [policy, expected] of variants) {
    const w = await workspace(t, { policy });
    for (const [program, args] of [[pyddock, ['serve', '--no-install', '--workspace', w.root]], [paddock, ['policy', 'check', '--workspace', w.root]]]) {
      const { status, stdout, stderr } = spawnSync(program, args, { input: '', encoding: 'utf8', env: { ...process.env, HOME: w.home }, timeout: 60000 });
      assert.notEqual(status, 0, policy);
      assert.match(stderr + (args[0] === 'policy' ? stdout : ''), expected);
      if (args[0] === 'serve') assert.deepEqual([stdout, stderr.trimEnd().split('\n').length], ['', 1]);
    }
  }
});

test('the end of a long output is there, and what was left out is said', async (t) => {
  const log = Array.from({ length: 20000 }, (_, i) => `test ${i} ok\n`).join('') + 'FAILED test_19999: boom\n';
  const w = await workspace(t, { policy: allowed('cat'), files: { log } });
  const { shell } = await serve(t, w);
  const { text: said } = await shell('cat', ['log']);
  assert.match(said, /^--- STDOUT ---\ntest 0 ok\n/);
  assert.match(said, /FAILED test_19999: boom/);
  assert.match(said, /truncated|left out|omitted/i);
  assert.ok(said.length < 80000);
});

test('of a line that is rewritten the last state is shown, and colours are left out', async (t) => {
  const w = await workspace(t, { policy: free('sh') });
  const { shell, tool } = await serve(t, w);
  const script = "i=0; while [ $i -lt 2000 ]; do printf '\\rLoading %d of 2000' $i; i=$((i+1)); done; printf '\\n\\033[32mdone\\033[0m\\n'";
  const { text: said } = await shell('sh', ['-c', script]);
  assert.equal(said, '--- STDOUT ---\nLoading 1999 of 2000\ndone\n\n--- EXIT CODE: 0 ---');
  const raw = await tool('run_shell', { command: 'sh', args: ['-c', script], raw: true });
  assert.ok(raw.text.length > 20000 && raw.text.includes('\u001b[32mdone'));
});

test('a call returns although a child in the background holds the pipe', async (t) => {
  const policy = '[shell.scripts]\ncommand = "^scripts/"\nmode = "allow"\n';
  const seconds = `30${process.pid % 1000}7`;
  const w = await workspace(t, { policy, files: { 'scripts/bg.sh': [`#!/bin/sh\nsleep ${seconds} &\nsetsid sleep ${seconds} &\necho started\n`, 0o755] } });
  const { shell } = await serve(t, w);
  const started = Date.now();
  const { text: said, isError } = await shell('scripts/bg.sh', [], { timeout: 60 });
  assert.deepEqual([isError, said.startsWith('--- STDOUT ---\nstarted\n')], [false, true], said);
  assert.ok(Date.now() - started < 20000);
  assert.equal(await isRunning('sleep', seconds), false);
});

test('a timeout ends the whole tree and keeps what was printed', async (t) => {
  const seconds = `31${process.pid % 1000}7`;
  const w = await workspace(t, { policy: free('sh') });
  const { shell } = await serve(t, w);
  const script = `echo before; sh -c 'sleep ${seconds}' & setsid sh -c 'trap "" TERM HUP; sleep ${seconds}' & sleep ${seconds}`;
  const answer = await shell('sh', ['-c', script], { timeout: 1 });
  assert.equal(answer.isError, true);
  assert.match(answer.text, /before/);
  assert.match(answer.text, /TimeoutError/);
  assert.equal(await isRunning('sleep', seconds), false);
});

test('a cancelled call ends its command', async (t) => {
  const seconds = `32${process.pid % 1000}7`;
  const w = await workspace(t, { policy: allowed('sleep') });
  const { tool, shell } = await serve(t, w);
  const abort = new AbortController();
  const call = tool('run_shell', { command: 'sleep', args: [seconds], timeout: 60 }, { signal: abort.signal });
  while (!(await isRunning('sleep', seconds))) await sleep(20);
  abort.abort();
  await assert.rejects(call);
  while (await isRunning('sleep', seconds)) await sleep(20);
  assert.equal((await shell('sleep', ['0'])).isError, false);
});

test('nothing is left behind in the workspace or at home, also after SIGKILL', async (t) => {
  const w = await workspace(t, { policy: free('sh') + free('sleep'), files: { 'only.txt': '1\n', 'dir/x': '' } });
  const ownTmp = (lines) => lines.filter((line) => !/ \/project\/\.pyddock\/tmp( |\/)/.test(line));
  const before = await snapshot(w.top);
  const seconds = `33${process.pid % 1000}7`;
  const { shell, tool, pid } = await serve(t, w);
  await shell('sh', ['-c', 'true']);
  await shell('sh', ['-c', 'sleep 5'], { timeout: 1 });
  assert.deepEqual(ownTmp(await snapshot(w.top)), before);
  const call = shell('sleep', [seconds], { timeout: 60 }).catch(() => {});
  while (!(await isRunning('sleep', seconds))) await sleep(20);
  assert.deepEqual(ownTmp(await snapshot(w.top)), before, 'during a call');
  process.kill(pid, 'SIGKILL');
  await call;
  for (let i = 0; i < 250 && (await isRunning('sleep', seconds)); i++) await sleep(20);
  assert.equal(await isRunning('sleep', seconds), false, 'the command ends with the server');
  assert.deepEqual(ownTmp(await snapshot(w.top)), before, 'after SIGKILL');
});

test('a command writes in the workspace and nowhere else', { skip: noMounts }, async (t) => {
  const w = await workspace(t, { policy: free('sh'), files: { 'a.txt': 'x\n' }, repository: true });
  const { shell } = await serve(t, w);
  const out = join(w.top, 'out');
  await shell('sh', ['-c', `echo x > new; echo x > ${out}; echo x > $HOME/h; echo x > .git/evil; echo x > .pyddock/evil`]);
  assert.equal(await text(w, 'new'), 'x\n');
  for (const path of [out, join(w.home, 'h'), join(w.root, '.git/evil'), join(w.root, '.pyddock/evil')])
    assert.equal(await exists(path), false, path);
  await shell('git', ['add', 'new']);
  const { text: said } = await shell('git', ['commit', '-m', 'new']);
  assert.match(said, /EXIT CODE: 0/, 'git itself may write its repository');
});

test('sockets are hidden from commands, but for the key agent of those with network', { skip: noMounts }, async (t) => {
  const connects = `import socket, sys
for path in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(path)
        print("connected")
    except OSError as e:
        print("refused")
`;
  const w = await workspace(t, {
    policy: '[shell.scripts]\ncommand = "tools/.*"\nmode = "allow"\narg_paths = "none"\n' +
      '[shell.local]\ncommand = "local/.*"\nmode = "allow"\narg_paths = "none"\nnetwork = false\n',
    files: { 'tools/connect.py': connects, 'local/connect.py': connects },
  });
  const [agent, other] = [join(w.top, 'agent.sock'), join(w.top, 'other.sock')];
  for (const path of [agent, other]) {
    const server = net.createServer((socket) => socket.destroy());
    await new Promise((resolve) => server.listen(path, resolve));
    t.after(() => server.close());
  }
  const { shell } = await serve(t, w, { env: { SSH_AUTH_SOCK: agent } });
  assert.match((await shell('tools/connect.py', [agent, other])).text, /connected\nrefused\n/);
  const offline = await shell('local/connect.py', [agent, other]);
  assert.doesNotMatch(offline.text, /connected/);
});
