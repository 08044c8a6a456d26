// The policy says beforehand what it will do, and it does not stand in the way of
// harmless work, however that is spelled.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';
import { paddock } from './lib.mjs';
import { exists, isRefusal, serve, workspace } from './workspace.mjs';

const execute = promisify(execFile);

const policy = `
[shell.echo]
mode = "allow"
deny = ["--force", "rm .*"]
[shell.printf]
mode = "deny"
allow = ["%s", "x$"]
[shell.cat]
mode = "allow"
[shell.true]
mode = "deny"
[shell.test]
mode = "allow"
arg_paths = "protected"
[shell.false]
mode = "allow"
arg_paths = "none"
[shell.scripts]
command = "scripts/.*"
mode = "allow"
`;

const words = [
  [], ['x'], ['a.txt'], ['/etc/passwd'], ['../out'], ['-f', 'a.txt'], ['--file=/etc/passwd'], ['--force'], ['.pyddock/x'],
  ['rm', '-rf'], ['%s', 'y'], ['sub/../a.txt'], ['@/etc/passwd'], ['if=/etc/hosts'], ['https://example.org/a/b'], ['~/.ssh/id'],
  ['scripts/ok.sh'], ['a/b and c/d'], ['//depot/x'], ['$(x)'],
];
const gitWords = [
  ['status'], ['status', '-s'], ['log', '-1'], ['log', '--oneline', '-3'], ['diff'], ['diff', '--stat'], ['show', 'HEAD'], ['branch'],
  ['branch', '-a'], ['rev-parse', 'HEAD'], ['ls-files'], ['blame', 'a.txt'], ['remote', '-v'], ['remote', 'add', 'x', 'y'], ['push'],
  ['push', 'origin', 'main'], ['clone', 'x'], ['-c', 'a=b', 'status'], ['config', '--list'], ['config', 'a.b', 'c'], ['grep', 'x'],
  ['diff', '--output=../x'], ['log', '--output=x'], ['fetch', 'ext::x'], ['fetch', '--upload-pack=x'], ['tag'], ['stash', 'list'],
  ['rebase', '-x', 'y'], ['rebase', '--exec', 'y'], ['add', '../x'], ['add', '/etc/passwd'], ['status', '--porcelain=v2'],
  ['log', '--format=%h/%an'], ['log', 'a..b'], ['archive', 'HEAD'], ['bisect', 'run', 'x'], ['submodule', 'foreach', 'x'], ['describe'],
  ['--exec-path=x', 'status'], ['-C', '..', 'status'], ['--git-dir=x', 'log'], ['version'],
];
const vectors = [
  ...['echo', 'printf', 'cat', 'true', 'test', 'false', 'nothing', 'scripts/ok.sh'].flatMap((name) => words.map((args) => [name, ...args])),
  ...gitWords.map((args) => ['git', ...args]),
];

test(`policy test agrees with run_shell on ${vectors.length} argument vectors`, async (t) => {
  assert.ok(vectors.length >= 200);
  const files = { 'a.txt': 'x\n', 'scripts/ok.sh': ['exit 0\n', 0o755] };
  const w = await workspace(t, { policy, files, repository: true });
  const { shell } = await serve(t, w);
  let refusals = 0;
  for (const [command, ...args] of vectors) {
    const said = await execute(paddock, ['policy', 'test', '--', command, ...args], { cwd: w.root, env: { ...process.env, HOME: w.home } })
      .then(() => 'allowed', ({ code, stdout, stderr }) => (code === 1 ? 'refused' : `exit ${code}: ${stdout}${stderr}`));
    const answer = await shell(command, args);
    assert.equal(said, isRefusal(answer) ? 'refused' : 'allowed', `${JSON.stringify([command, ...args])}: ${answer.text}`);
    refusals += said === 'refused';
  }
  assert.ok(refusals > 40 && refusals < vectors.length - 40, `${refusals} refused`);
  assert.equal(await exists(join(w.top, 'x')), false);
});

const shell = (...args) => ['run_shell', { command: 'git', args }];
const read = (args) => ['fs_readfile', args];

/** Twelve things that one does every day, in the ways in which one says them. */
const tasks = (root) => ({
  'what has changed': [shell('status'), shell('status', '--short'), shell('status', '-sb'), shell('status', '--porcelain=v2', '--branch'), shell('diff', '--stat')],
  'what was done last': [shell('log', '-1'), shell('log', '--oneline', '-n', '5'), shell('log', '--format=%h %an/%ae: %s', '-3'), shell('log', '--since=2020/01/01', '--', 'src'), shell('show', '--stat', 'HEAD')],
  'what the difference is': [shell('diff'), shell('diff', 'HEAD', '--', 'src/a.py'), shell('diff', '--word-diff', './src/a.py'), shell('diff', '--color=never', '-U1'), shell('diff', 'HEAD~0...HEAD')],
  'which branch this is': [shell('branch', '--show-current'), shell('rev-parse', '--abbrev-ref', 'HEAD'), shell('branch', '-vv'), shell('symbolic-ref', '--short', 'HEAD'), shell('for-each-ref', '--format=%(refname:short)/%(objectname)', 'refs/heads')],
  'who wrote a line': [shell('blame', 'src/a.py'), shell('blame', '-L', '1,2', 'src/a.py'), shell('log', '-L1,2:src/a.py', '-1'), shell('log', '--follow', '--', 'src/a.py'), shell('shortlog', '-sn', 'HEAD')],
  'read a file': [read({ path: 'src/a.py' }), read({ path: './src/a.py' }), read({ path: 'src/../src/a.py', start: 1, end: 2 }), read({ path: join(root, 'src/a.py'), start: -2 }), shell('show', 'HEAD:src/a.py')],
  'does it exist': [['fs_stat', { path: 'src' }], ['fs_stat', { path: 'nowhere/at/all' }], ['fs_stat', { path: '.' }], ['fs_stat', { path: join(root, 'README.md') }], shell('ls-files', '--', 'src/a.py')],
  'find files': [['fs_find', { file_glob: '*.py' }], ['fs_find', { file_glob: '**/*.md', path: '.' }], ['fs_find', { file_regex: '\\.py$', path: 'src' }], ['fs_find', { file_glob: '.gitignore' }], shell('ls-files', '*.py')],
  'search text': [['fs_grep', { grep_regex: 'def \\w+' }], ['fs_grep', { grep_regex: 'TODO|FIXME', file_glob: '*.py' }], ['fs_grep', { grep_regex: '/usr/bin', path: 'src' }], ['fs_grep', { grep_regex: '--flag', path: './src/a.py' }], shell('log', '-S', 'def main', '--oneline')],
  'change a file': [['fs_str_replace', { path: 'src/a.py', oldStr: 'return 1', newStr: 'return 2' }], ['fs_str_replace', { path: './src/a.py', oldStr: 'return 2', newStr: 'return 3' }], ['fs_append', { path: 'notes/new.md', content: 'see /etc/hosts and ../x\n' }], ['fs_append', { path: join(root, 'notes/new.md'), content: 'more\n' }], ['fs_delete', { path: 'notes/new.md' }]],
  'commit it': [shell('add', '-A'), shell('add', './src', 'README.md'), shell('commit', '-m', 'fix(api/v2): and/or, ~/x, C:\\y, 50%, $HOME `x` "q"'), shell('commit', '--allow-empty', '--message=see https://example.org/a/b?c=/d'), shell('tag', '-a', 'v1.0/rc1', '-m', 'notes: /tmp is free')],
  'put it aside': [shell('stash', 'list'), shell('switch', '-c', 'feature/and-or'), shell('checkout', 'main'), shell('branch', 'fix/x', 'HEAD'), shell('merge', '--no-edit', 'feature/and-or')],
});

test('sixty spellings of twelve harmless tasks are not refused', async (t) => {
  const files = { 'src/a.py': 'def main():\n    return 1  # TODO --flag /usr/bin\n', 'README.md': '# x\n', '.gitignore': '*.o\n', 'notes/old.md': 'x\n' };
  const w = await workspace(t, { files, repository: true });
  await writeFile(join(w.root, 'README.md'), '# y\n');
  const { tool } = await serve(t, w);
  let spellings = 0;
  for (const [task, calls] of Object.entries(tasks(w.root))) {
    for (const [name, args] of calls) {
      const answer = await tool(name, args);
      assert.equal(answer.isError, false, `${task}: ${JSON.stringify(args)}: ${answer.text}`);
      if (name === 'run_shell') assert.match(answer.text, /EXIT CODE: 0/, `${task}: ${JSON.stringify(args)}: ${answer.text}`);
      spellings++;
    }
  }
  assert.equal(spellings, 60);
});
