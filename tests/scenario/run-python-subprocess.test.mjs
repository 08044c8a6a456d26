// Commands that snippets start, through a server: the policy and the kernel decide as for run_shell, and nothing outlives the snippet.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { build } from './lib.mjs';
import { exists, git, isRunning, kinds, noMounts, serve, snapshot, text, workspace } from './workspace.mjs';

const interpreter = join(build, 'src/python/paddock-python');
const skip = existsSync(interpreter) ? false : 'this build has no interpreter';

const shells = (...names) => names.map((name) => `[shell.${name}]\nmode = "allow"\n`).join('');
const free = (name) => `[shell.${name}]\nmode = "allow"\narg_paths = "none"\n`;
const policy = free('sh') + shells('cat', 'echo', 'sleep', 'pwd', 'wc', 'printenv');

async function open(t, { options = {}, ...more } = {}) {
  const w = await workspace(t, { policy, ...more });
  const s = await serve(t, w, options);
  const py = (code, rest = {}) => s.tool('run_python', { code: `import subprocess\nfrom subprocess import PIPE\n${code}`, ...rest });
  const result = async (code) => {
    const reply = await py(code);
    return reply.text.match(/^--- RESULT ---\n(.*)\n--- /s)?.[1] ?? reply.text;
  };
  return { ...s, w, py, result };
}

/** Until it is so; a test that waits for long hangs, and says for what. */
async function until(what, condition) {
  for (let i = 0; i < 400; i++) {
    if (await condition()) return;
    await sleep(25);
  }
  assert.fail(`not in time: ${what}`);
}

for (const kind of kinds) {
  test(`${kind}: run, Popen, pipes, text, timeouts and signals`, { skip }, async (t) => {
    const { result } = await open(t, { options: { kind } });
    for (const [code, want] of [
      ['subprocess.run(["echo", "x"], capture_output=True, text=True).stdout', "'x\\n'"],
      ['subprocess.run(["sh", "-c", "exit 3"]).returncode', '3'],
      ['subprocess.run(["wc", "-c"], input=b"x" * 300000, stdout=PIPE).stdout.strip()', "b'300000'"],
      ['a = subprocess.Popen(["echo", "1\\n2"], stdout=PIPE)\nb = subprocess.Popen(["wc", "-l"], stdin=a.stdout, stdout=PIPE)\na.stdout.close()\nb.communicate()[0].strip(), a.wait()',
        "(b'2', 0)"],
      ['with subprocess.Popen(["cat"], stdin=PIPE, stdout=PIPE, text=True) as p:\n    out = p.communicate("in")\nout, p.returncode', "(('in', None), 0)"],
      ['p = subprocess.Popen(["sleep", "100"])\np.kill()\np.wait(), p.poll()', '(-9, -9)'],
      ['p = subprocess.Popen(["sleep", "100"])\np.terminate()\np.wait()', '-15'],
      ['try:\n    subprocess.run(["sleep", "100"], timeout=0.2)\nexcept subprocess.TimeoutExpired as e:\n    r = type(e).__name__\nr', "'TimeoutExpired'"],
      ['sum(int(subprocess.check_output(["echo", str(i)])) for i in range(20))', '190'],
      ['subprocess.check_output(["printenv", "MODE"], env={"MODE": "on"}, text=True)', "'on\\n'"],
    ]) assert.equal(await result(code), want, code);
  });
}

test('what a command prints is part of the output, in its order', { skip }, async (t) => {
  const { py } = await open(t);
  const { text: answer } = await py('print("a", flush=True)\nsubprocess.run(["echo", "b"])\nsubprocess.run(["sh", "-c", "echo e >&2"])\nprint("c")');
  assert.equal(answer, '--- STDOUT ---\na\nb\nc\n\n--- STDERR ---\ne\n\n--- EXIT CODE: 0 ---');
});

test('refusals are those of run_shell, and nothing is started', { skip }, async (t) => {
  const { py, shell, w } = await open(t, { files: { 'planted/echo': ['#!/bin/sh\ntouch planted-ran\n', 0o755] } });
  const before = await snapshot(w.root);
  for (const [command, args, more = {}] of [
    ['id', []], ['/bin/echo', ['x']], ['planted/echo', []], ['cat', ['/etc/passwd']], ['cat', ['.pyddock/pyddock.override.toml']],
    ['cat', ['--flag=../x']], ['pwd', [], { cwd: '.pyddock' }], ['pwd', [], { cwd: '/' }],
  ]) {
    const direct = await shell(command, args, more);
    const rule = direct.text.match(/^Rule: .*$/m)[0];
    const cwd = more.cwd ? `, cwd=${JSON.stringify(more.cwd)}` : '';
    const inside = await py(`subprocess.run(${JSON.stringify([command, ...args])}${cwd})`);
    assert.match(inside.text, /^PermissionError: /m, inside.text);
    assert.ok(inside.text.includes(rule), `${inside.text}\n${rule}`);
    assert.match(inside.text, /EXIT CODE: 1 ---$/);
    assert.equal(inside.isError, direct.isError, 'a refusal is one wherever it is met');
  }
  assert.deepEqual(await snapshot(w.root), before);
});

test('no shell, no string, no other program', { skip }, async (t) => {
  const { py } = await open(t);
  for (const [call, want] of [
    ['subprocess.run("echo x", shell=True)', /PermissionError: shell=True/],
    ['subprocess.run("echo")', /PermissionError: .*list/],
    ['subprocess.Popen([])', /PermissionError: .*empty/],
    ['subprocess.run(["echo"], executable="/bin/sh")', /PermissionError: .*does not match/],
    ['subprocess.run(["echo"], preexec_fn=print)', /PermissionError: preexec_fn/],
    ['subprocess.getoutput("echo")', /PermissionError: shell=True/],
    ['subprocess.run(["echo"], colour=1)', /TypeError/],
  ]) assert.match((await py(call)).text, want, call);
});

test('without a policy for commands there are none', { skip }, async (t) => {
  const { py } = await open(t, {
    policy: '', files: { '.pyddock/pyddock.toml': '[execution]\ntimeout = 30\n[imports]\nsubprocess = true\n[filesystem]\nwritable_paths = ["."]\n[ast]\n[audit]\n' },
  });
  assert.match((await py('subprocess.run(["echo"])')).text, /PermissionError: No shell policies/);
});

test('the time of a snippet ends what it has started, detached or not', { skip }, async (t) => {
  const { py } = await open(t);
  const reply = await py('p = subprocess.Popen(["sh", "-c", "setsid sleep 4717 & setsid setsid sleep 4718 & sleep 4719"])\np.wait()', { timeout: 1 });
  assert.match(reply.text, /^TimeoutError: /m);
  for (const seconds of ['4717', '4718', '4719']) await until(`sleep ${seconds} ends`, async () => !(await isRunning('sleep', seconds)));
});

test('what a snippet leaves running ends with it', { skip }, async (t) => {
  const { py } = await open(t);
  const reply = await py('import os, time\nsubprocess.Popen(["sh", "-c", "setsid sleep 4727 & touch started; sleep 4728"], stdout=subprocess.DEVNULL)\nwhile not os.path.exists("started"): time.sleep(0.01)');
  assert.match(reply.text, /EXIT CODE: 0 ---$/);
  for (const seconds of ['4727', '4728']) await until(`sleep ${seconds} ends`, async () => !(await isRunning('sleep', seconds)));
});

test('a snippet that is killed takes its commands with it', { skip }, async (t) => {
  const { py } = await open(t);
  const reply = await py('import os, time\nsubprocess.Popen(["sh", "-c", "touch started; sleep 4737"])\nwhile not os.path.exists("started"): time.sleep(0.01)\nwhile True:\n    try:\n        time.sleep(100)\n    except BaseException:\n        pass', { timeout: 1 });
  assert.match(reply.text, /TimeoutError/);
  await until('sleep 4737 ends', async () => !(await isRunning('sleep', '4737')));
});

test('a command writes where it may, as the kernel holds it', { skip: skip || noMounts }, async (t) => {
  const { py, w } = await open(t, { files: { 'a.txt': 'a\n' }, repository: true });
  const reply = await py(`subprocess.run(["sh", "-c", "echo x > made.txt; echo x > ${w.top}/outside; echo x > .git/config; echo x > .pyddock/made"])`);
  assert.match(reply.text, /returncode=2/);
  assert.equal(await text(w, 'made.txt'), 'x\n');
  assert.equal(await exists(join(w.top, 'outside')), false);
  assert.match(await text(w, '.git/config'), /\[core\]/);
  assert.equal(await exists(join(w.root, '.pyddock/made')), false);
});

test('git commits for a snippet, and what it would be made to start is refused', { skip }, async (t) => {
  const { py, w } = await open(t, { files: { 'a.txt': 'one\n' }, repository: true });
  const reply = await py('open("a.txt", "w").write("two\\n")\nsubprocess.run(["git", "commit", "-qam", "second"], check=True)\nsubprocess.check_output(["git", "log", "--format=%s"], text=True)');
  assert.match(reply.text, /'second\\nfirst\\n'/);
  assert.equal(git(w, 'log', '-1', '--format=%s'), 'second\n');
  assert.match((await py('subprocess.run(["git", "push"])')).text, /PermissionError: .*push/);
  assert.match((await py('subprocess.run(["git", "-c", "a.b=c", "status"])')).text, /PermissionError: /);
  assert.match((await py('subprocess.run(["git", "status"], env={"GIT_SSH_COMMAND": "x"})')).text, /PermissionError: .*GIT_SSH_COMMAND/);
});

test('a checkout that would change what is protected is refused before it begins', { skip }, async (t) => {
  const { py, w } = await open(t, {
    policy: '[shell.scripts]\ncommand = "tools/.*"\nmode = "allow"\n', files: { 'a.txt': 'one\n', 'tools/go.sh': 'echo one\n' }, repository: true,
  });
  git(w, 'checkout', '-qb', 'other');
  await writeFile(join(w.root, 'tools/go.sh'), 'echo two\n');
  git(w, 'commit', '-qam', 'second');
  git(w, 'checkout', '-q', 'main');
  const refused = await py('subprocess.run(["git", "checkout", "-q", "other"], capture_output=True)');
  assert.match(refused.text, /PermissionError: .*tools\/go\.sh; nothing was done\nRule: /);
  assert.equal(git(w, 'status', '--porcelain'), '');
  git(w, 'branch', 'plain');
  assert.match((await py('subprocess.run(["git", "checkout", "plain"], capture_output=True, text=True).stderr')).text, /Switched to branch 'plain'/);
});

test('what protected things a command made are taken away, and that is told', { skip }, async (t) => {
  const { py, w } = await open(t);
  const reply = await py('r = subprocess.run(["sh", "-c", "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit"], capture_output=True)\nr.stderr');
  assert.match(reply.text, /\[paddock: '[^']*\.git' is protected, and the command made it; it was moved to /);
  assert.equal(await exists(join(w.root, '.git')), false);
});

test('each decision about a command is in the debug log', { skip }, async (t) => {
  const { py, w } = await open(t, { options: { options: ['--debug'] } });
  await py('subprocess.run(["echo", "it\'s"])\nsubprocess.run(["id", "-u"])');
  const rows = (await text(w, '.pyddock/tmp/audit.jsonl')).trim().split('\n').map((line) => JSON.parse(line))
    .filter((row) => row.event === 'subprocess.Popen');
  assert.deepEqual(rows.map(({ decision, caller, detail }) => [decision, caller, detail]), [
    ['allow', 'AGENT', "exe='echo' args=['it\\'s']"],
    ['deny', 'AGENT', "exe='id' args=['-u']"],
  ]);
});
