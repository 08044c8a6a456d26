// Approved programs as commands of the virtual shell: `git log | head` and what goes wrong with it.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { exists, isRunning, kinds, noMounts, serve, snapshot, text, workspace } from './workspace.mjs';

const allowed = (...names) => names.map((name) => `[shell.${name}]\nmode = "allow"\n`).join('');
const free = (name) => `[shell.${name}]\nmode = "allow"\narg_paths = "none"\n`;
const policy = free('sh') + allowed('cat', 'echo', 'head', 'pwd', 'printenv', 'sleep', 'tr', 'wc');

async function open(t, { options = {}, ...more } = {}) {
  const w = await workspace(t, { policy, ...more });
  const s = await serve(t, w, { face: 'paddock', ...options });
  const all = async (cases) => {
    for (const [command, want] of cases)
      if (want instanceof RegExp) assert.match(await s.run(command), want, command);
      else assert.equal(await s.run(command), want, command);
  };
  return { ...s, w, all };
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
  test(`${kind}: git in pipelines, substitutions and loops`, async (t) => {
    const { all } = await open(t, { options: { kind }, files: { 'a.c': '1\n2\n', 'b.c': '3\n', 'fix.txt': 'x\n' }, repository: true });
    await all([
      ['git log --format=%s | head -2', 'first\n'],
      ['touch new1 new2; git status --short | wc -l', '2\n'],
      ["git ls-files '*.c' | xargs wc -l | sort -n | tail -1", '3 total\n'],
      ["for f in $(git ls-files '*.c'); do echo \"<$f>\"; done", '<a.c>\n<b.c>\n'],
      ['x=$(git rev-parse HEAD); echo ${#x}', '40\n'],
      ['echo 4 >> a.c; git diff --stat | tail -1', ' 1 file changed, 1 insertion(+)\n'],
      ['diff <(git ls-files) <(git ls-files) && echo same', 'same\n'],
      ['ls *.c | xargs -n1 git log --format=%s --', 'first\nfirst\n'],
      ['seq 20000 | xargs command -p echo | tr " " "\\n" | cmp - <(seq 20000) && echo same', 'same\n'],
    ['find . -name a.c -exec git log --format=%s -- {} \\;', 'first\n'],
      ['git commit -qam "$(cat <<E\nsecond\nE\n)" && git log --format=%s | command -p tr a-z A-Z', 'SECOND\nFIRST\n'],
    ]);
  });
}

test('data goes both ways, and as much as there is', async (t) => {
  const { all, run, w } = await open(t);
  await all([
    ['echo x | command -p cat', 'x\n'],
    ['command -p tr a-z A-Z <<< hello', 'HELLO\n'],
    ['seq 1500000 | command -p cat | command -p tr 0-9 a-j | tr a-j 0-9 | cmp - <(seq 1500000) && echo same', 'same\n'],
    ['seq 1500000 > big; command -p tr 0 x < big | command -p tr x 0 > copy; cmp big copy && wc -c < copy', '10888896\n'],
    ['command -p sh -c "cat >&2; echo end" < big 2>errors; cmp errors big && echo same', 'end\nsame\n'],
    ['command -p cat; echo "[$?]"', '[0]\n'],
    ['command -p wc -c < /dev/null', '0\n'],
    ["printf '\\377\\000\\n' | command -p cat | od -An -tx1", ' ff 00 0a\n'],
  ]);
  assert.equal((await readFile(join(w.root, 'copy'))).length, 10888896);
  assert.match(await run('command -p sh -c "echo 1; echo 2 >&2; echo 3; echo 4 >&2"'), /^1\n2\n3\n4\n$/);
});

test('what a program has not read is there for the next command', async (t) => {
  const { all } = await open(t, { files: { list: 'a\nb\nc\n' } });
  await all([
    ['while read f; do command -p echo "<$f>"; done < list', '<a>\n<b>\n<c>\n'],
    ['cat list | while read f; do command -p echo "<$f>"; done', '<a>\n<b>\n<c>\n'],
    ['while read f; do command -p sh -c "read g; echo $f-\\$g"; done < <(seq 6)', '1-2\n3-4\n5-6\n'],
    ['{ command -p echo first; cat; } <<< second', 'first\nsecond\n'],
    ['{ read a; command -p sh -c :; read b; cat; } < list; echo $a$b', 'c\nab\n'],
    ['exec 3< list; command -p echo x <&3; read a <&3; echo $a', 'x\na\n'],
  ]);
});

test('statuses: of a program, of a pipeline, of a signal', async (t) => {
  const { all } = await open(t);
  await all([
    ['command -p sh -c "exit 3"', '[exit 3]'],
    ['command -p sh -c "exit 3" | cat; echo "$? ${PIPESTATUS[@]}"', '0 3 0\n'],
    ['set -o pipefail; command -p sh -c "exit 3" | cat; echo $?', '3\n'],
    ['set +o pipefail; command -p sh -c "kill -9 \\$\\$"; echo $?', '137\n'],
    ['yes | command -p head -1; echo "${PIPESTATUS[@]}"', 'y\n141 0\n'],
    ['command -p sh -c "while echo y; do :; done" | head -1; echo "${PIPESTATUS[@]}"', 'y\n141 0\n'],
    ['yes | command -p sh -c "exec <&-; echo closed"; echo $?', 'closed\n0\n'],
    ['command -p sh -c "exit 1" && echo no; command -p sh -c : && echo yes', 'yes\n'],
    ['timeout 0.3 command -p sleep 100; echo $?', '124\n'],
    ['yes | timeout 0.3 command -p cat > /dev/null; echo "${PIPESTATUS[@]}"', '141 124\n'],
    ['( set -e; command -p sh -c "exit 4"; echo no ); echo $?', '4\n'],
  ]);
});

test('a program that is refused: status 126 and the rule, before anything of its pipeline runs', async (t) => {
  const { all, run, shell, w } = await open(t, { files: { 'a.txt': 'one\n' }, repository: true });
  const before = await snapshot(w.root);
  const rule = (await shell('git', ['push'])).text.match(/^Rule: .*$/m)[0];
  const refused = async (script) => {
    const reply = await run(script);
    assert.ok(reply.includes(rule), `${script}: ${reply}`);
    assert.equal(reply.split('Rule: ').length, 2, `said once: ${script}: ${reply}`);
    assert.match(reply, /\[exit 126\]$/, script);
    assert.deepEqual(await snapshot(w.root), before, script);
  };
  for (const script of [
    'git push | cat',
    'git push 2>&1 | tail -1',
    'echo x | tee made | git push',
    'git status --short | tee made | git push origin main | tee -a made',
    'command -p sh -c "echo x > made" | git push',
    'git push > made', 'git push >> a.txt', 'git push &> made', 'exec git push > made',
    '(git push) | tee made', '{ git push && echo done; } | tee made',
    'for i in 1 2; do git push; done | tee made',
    'timeout 5 git push | tee made', 'env A=1 command git push | tee made', '/usr/bin/git push | tee made',
    'branch=main; git push origin "$branch" | tee made',
    'args=(push --force); git "${args[@]}" | tee made',
    'GIT_DIR=x; git push | tee made',
    'command -p echo x > made | git push', 'x=$(git push | tee made)',
    'git push | tee made && echo pushed',
  ]) await refused(script);
  assert.match(await run('GIT_SSH_COMMAND=x git log | tee made'), /GIT_SSH_COMMAND.*not permitted[^]*\[exit 126\]$/);
  assert.match(await run('command -p cat /etc/passwd | tee made'), /^Rule: [^]*\[exit 126\]$/m);
  assert.deepEqual(await snapshot(w.root), before);
});

test('a refusal is a status like any other to the script around it', async (t) => {
  const { all, run, w } = await open(t, { files: { 'a.txt': 'one\n' }, repository: true });
  const before = await snapshot(w.root);
  await all([
    ['git push 2>/dev/null || echo no', 'no\n'],
    ['git push | cat || echo no', /\nno\n$/],
    ['if git push 2>/dev/null; then echo yes; else echo "no $?"; fi', 'no 126\n'],
    ['{ git push 2>/dev/null || echo no; } | cat', 'no\n'],
    ['(git push; echo "exit: $?") 2>&1 | tail -1', 'exit: 126\n'],
    ['for i in 1 2; do git push 2>/dev/null || echo $i; done', '1\n2\n'],
    ['git push | cat; echo "${PIPESTATUS[@]} $?"', /\n126 126 126\n$/],
    ['git() { echo own; }; git push | cat; unset -f git', 'own\n'],
    ['shopt -s expand_aliases; alias git=echo', ''],
    ['git push | cat; unalias git', 'push\n'],
    ['false && git push | cat; echo $?', '1\n'],
  ]);
  // What is only known when it is about to run.
  await all([
    ['git $(echo push) 2>&1 | cat; echo "${PIPESTATUS[@]}"', /\n126 0\n$/],
    ['set -o pipefail; git $(echo push) 2>/dev/null | echo on; echo $?; set +o pipefail', 'on\n126\n'],
    ['echo push | xargs git 2>&1 | grep -c ^Rule:', '1\n'],
    ['find a.txt -exec git push {} \\; 2>&1 | grep -c ^Rule:', '1\n'],
    ['cat <<< "git push" | bash 2>&1 | grep -c ^Rule:', '1\n'],
    ['command -p cat $(echo .pyddock/pyddock.override.toml) 2>&1 | grep -c ^Rule:', '1\n'],
    ['export X=1 LD_PRELOAD=/x; git status 2>&1 | grep -c x; unset LD_PRELOAD; git status --short', /LD_PRELOAD.*not permitted/],
    ['cd /; git status | cat; echo $?; cd - > /dev/null', /^Rule: [^]*\n126\n$/m],
    ['nosuch', /^paddock: nosuch: command not found[^\n]*\n\[exit 127\]$/],
    ['nosuch | cat; echo "${PIPESTATUS[@]}"', /^paddock: nosuch: command not found[^\n]*\n127 0\n$/],
    ['id -un > /dev/null; command -p id; echo $?', /\n0\n$/],
    ['/usr/bin/rsync; echo $?', /^paddock: \/usr\/bin\/rsync: [^\n]*\n12[67]\n$/],
  ]);
  assert.doesNotMatch(await run('nosuch; ./nosuch'), /run_shell/);
  assert.deepEqual(await snapshot(w.root), before);
});

test('a builtin wins, a path or command -p is the program, a function wins over both', async (t) => {
  const { all } = await open(t, { policy: `${policy}[shell.tools]\ncommand = "^tools/[a-z]+$"\nmode = "allow"\n`, files: { 'tools/say': ['#!/bin/sh\necho "real $1 $SHELL_OF"\n', 0o755] } });
  const builtin = /^Usage: sleep /;
  await all([
    ['sleep --help', builtin],
    ['command -p sleep --help | head -1', /^Usage: (\/usr\/bin\/)?sleep NUMBER/],
    ['/bin/sleep --help | head -1', /^Usage: (\/usr\/bin\/)?sleep NUMBER/],
    ['/bin/ls | head -1', 'tools\n'],
    ['./tools/say hi', 'real hi \n'],
    ['SHELL_OF=me tools/say hi', 'real hi me\n'],
    ['cd tools; ./say sub | cat; cd ..', /cwd.*not permitted/],
    [`mkdir sub; cd sub; ${'${PWD%/sub}'}/tools/say whole; cd ..`, 'real whole \n'],
    ['mkdir -p other/tools; cp tools/say other/tools/say; cd other; tools/say x; cd ..', 'real x \n'],
    ['cd sub; ../tools/say up; cd ..; ./sub/../tools/say over', 'real up \nreal over \n'],
    ['ln -s ../tools sub/link; sub/link/say l; cd sub; link/say l; cd ..', 'real l \nreal l \n'],
    ['ln -s sub sub2; cd sub2; ../tools/say m; cd ..', 'real m \n'],
    ["printf '#!tools/say\\n' > by; chmod +x by; ./by", 'real ./by \n'],
    ["printf '#!%s/tools/say with this\\n' \"$PWD\" > by; ./by | cat", 'real with this \n'],
    ["printf '#!/usr/bin/env -S bash -e -u\\nfalse; echo no\\n' > by; ./by; echo $?", '1\n'],
    ['git() { echo function; }; git; command git --version', /^function\ngit version /],
    ['command -p sh -c "echo $BASHPID" | grep -c .', '1\n'],
  ]);
});

test('what a name is: a builtin, a program, nothing', async (t) => {
  const { all } = await open(t, { policy: `${policy}${allowed('not-installed')}` });
  const file = ['/usr/bin/git', '/bin/git'].find((path) => existsSync(path));
  await all([
    ['command -v git cat; type git; type -t git cat; which git', `${file}\ncat\ngit is ${file}\nfile\nbuiltin\n${file}\n`],
    ['type -P git; command -v not-installed; echo $?; type -P cat; echo $?', new RegExp(`^${file}\n1\n`)],
    ['if command -v git > /dev/null; then $(which git) --version; fi', /^git version /],
    ["printf 'echo hi\\n' > mine; chmod +x mine; which ./mine; which ./nosuch; echo $?; PATH=$PWD which mine", new RegExp('^\\./mine\\n1\\n/.*/mine\\n$')],
    ['not-installed; echo $?', /not-installed[^\n]*not installed[^\n]*\n127\n$/],
    ['command -v nosuch; echo $?; which nosuch; hash nosuch; echo $?; hash git && echo yes', /^1\n[^\n]*hash: nosuch: not found\n1\nyes\n$/],
  ]);
});

test('the folder and the exported variables go with it', async (t) => {
  const { all, w } = await open(t, { files: { 'sub/x': '' }, repository: true });
  await all([
    ['cd sub; command -p pwd; git rev-parse --show-prefix; cd ..', `${w.root}/sub\nsub/\n`],
    ['MODE=on command -p printenv MODE; command -p printenv MODE; echo $?', 'on\n1\n'],
    ['export COLOUR=blue; local_one=1; command -p printenv COLOUR local_one', 'blue\n[exit 1]'],
    ['env COLOUR=red command -p printenv COLOUR; env -u COLOUR sh -c "command -p printenv COLOUR"; echo $?', 'red\n1\n'],
    ['(cd sub; export COLOUR=green; command -p printenv COLOUR PWD); command -p printenv COLOUR', `green\n${w.root}/sub\nblue\n`],
    ['command -p printenv OLDPWD _ | wc -l', '0\n'],
  ]);
});

test('redirections lead through the policy of files', async (t) => {
  const { all, w } = await open(t, { files: { 'a.txt': 'one\n' } });
  await all([
    ['command -p echo x > out; command -p echo y >> out; cat out', 'x\ny\n'],
    ['command -p sh -c "echo e >&2; echo o" > both 2>&1; cat both', 'e\no\n'],
    ['command -p sh -c "echo e >&2; echo o" 2> errors | cat; cat errors', 'o\ne\n'],
    ['command -p echo x > .pyddock/pyddock.override.toml; echo $?', /Permission denied\n1\n/],
    ['command -p echo x > ../outside; echo $?', /\n1\n/],
    ['command -p cat < .pyddock/pyddock.override.toml; echo $?', /./],
    ['command -p cat < missing; echo $?', /No such file or directory\n1\n/],
    ['command -p echo x >&-; echo $?', '0\n'],
    ['{ command -p echo 1; echo 2; command -p echo 3; } > order; cat order', '1\n2\n3\n'],
  ]);
  assert.equal(await exists(join(w.top, 'outside')), false);
  assert.match(await text(w, '.pyddock/pyddock.override.toml'), /shell\.sh/);
});

test('jobs run side by side, more than may run at once wait, and nothing outlives the call', async (t) => {
  const { all, run } = await open(t);
  await all([
    ['for i in $(seq 20); do command -p sh -c "sleep 0.1; echo $i" & done | wc -l; wait', '20\n'],
    ['command -p sh -c "sleep 4817 & echo left"', /^left\n\[paddock: 1 process was still running when the command ended, and was stopped\]\n$/],
    ['command -p sleep 4818 & sleep 0.2; kill %1; wait %1; echo $?', '143\n'],
  ]);
  assert.match(await run('command -p sh -c "setsid sleep 4819 &"; exit 5'), /\[exit 5\]$/);
  for (const seconds of ['4817', '4818', '4819'])
    await until(`sleep ${seconds} ends`, async () => !(await isRunning('sleep', seconds)));
});

test('the time of a call ends its programs, and the shell lives on', async (t) => {
  const { run } = await open(t, { policy: `${policy}[execution]\ntimeout = 1\n` });
  await run('kept=1');
  const reply = await run('command -p sh -c "trap : TERM; setsid sleep 4827 & sleep 4828; sleep 4829" | command -p cat | cat');
  assert.match(reply, /time limit of 1\.000 s exceeded\n\[exit 124\]$/);
  for (const seconds of ['4827', '4828', '4829'])
    await until(`sleep ${seconds} ends`, async () => !(await isRunning('sleep', seconds)));
  assert.equal(await run('echo $kept; command -p echo again'), '1\nagain\n');
  // What it said last is there; one that is stopped, or waits for its turn, ends as well.
  assert.match(await run('command -p sh -c "printf \'password: \'; sleep 4831"'), /^password: [^\n]*time limit of 1\.000 s exceeded\n\[exit 124\]$/);
  assert.match(await run('command -p sh -c "kill -STOP \\$\\$; sleep 4832"'), /time limit of 1\.000 s exceeded\n\[exit 124\]$/);
  assert.match(await run('for i in $(seq 40); do command -p sleep 4833 & done; wait'), /time limit of 1\.000 s exceeded\n\[exit 124\]$/);
  assert.match(await run('while :; do command -p sleep 4834 | command -p cat; done'), /time limit of 1\.000 s exceeded\n\[exit 124\]$/);
  assert.match(await run('for i in $(seq 40); do command -p sleep 4833 | git push & done; wait; git push | cat; sleep 9'), /time limit of 1\.000 s exceeded\n\[exit 124\]$/);
  for (const seconds of ['4831', '4832', '4833', '4834'])
    await until(`sleep ${seconds} ends`, async () => !(await isRunning('sleep', seconds)));
  assert.equal(await run('echo $kept; command -p echo again'), '1\nagain\n');
});

test('what a program shows is for reading; in pipes and files it is data', async (t) => {
  const { all } = await open(t, { repository: true });
  const red = "command -p sh -c \"printf '\\033[31mred\\033[0m\\n'\"";
  await all([
    [red, 'red\n'],
    [`${red} >&2`, 'red\n'],
    [`${red} | cat -v`, '^[[31mred^[[0m\n'],
    [`${red} > f; cat -v f`, '^[[31mred^[[0m\n'],
    [`x=$(${red}); echo \${#x}`, '12\n'],
    [`for i in 1 2; do ${red}; done; { ${red}; echo end; }`, 'red\nred\nred\nend\n'],
    ["command -p sh -c \"for i in 1 2 3; do printf '%s %%\\r' \\$i; done; echo\"", '3 %\n'],
    ["command -p sh -c \"printf 'a\\r\\nb\\r\\n'\"", 'a\nb\n'],
    ["printf 'a\\r\\n' | od -An -c", '   a  \\r  \\n\n'],
    ['git log --color=always --format="%C(red)%s"', 'first\n'],
    ['git log --color=always --format="%C(red)%s" | cat -v', '^[[31mfirst\n'],
  ]);
});

test('a call that is cancelled takes its programs with it', async (t) => {
  const { tool, run } = await open(t);
  await run('kept=1');
  const stop = new AbortController();
  const call = tool('run', { command: 'command -p sleep 4837 | command -p sh -c "trap \'\' TERM; sleep 4838; :"' }, { signal: stop.signal }).catch(() => {});
  await until('both run', async () => await isRunning('sleep', '4837') && await isRunning('sleep', '4838'));
  stop.abort();
  await call;
  for (const seconds of ['4837', '4838'])
    await until(`sleep ${seconds} ends`, async () => !(await isRunning('sleep', seconds)));
  assert.equal(await run('echo $kept; command -p echo again'), '1\nagain\n');
});

test('pyddock serve has the shell when the policy says so', async (t) => {
  const names = async ({ client }) => (await client.listTools()).tools.map(({ name }) => name);
  const without = await open(t, { options: { face: 'pyddock' } });
  assert.ok(!(await names(without)).includes('run'));
  const s = await open(t, { policy: `${policy}[tools]\nrun = true\n`, options: { face: 'pyddock' }, repository: true });
  assert.deepEqual((await names(s)).filter((name) => /^(run|edit)/.test(name)), ['run', 'run_python', 'run_shell']);
  await s.all([['git log --format=%s | command -p tr a-z A-Z', 'FIRST\n']]);
});

test('without a section there is no program', async (t) => {
  const s = await open(t, {
    policy: '', files: { '.pyddock/pyddock.toml': '[execution]\ntimeout = 30\n[imports]\n[filesystem]\nwritable_paths = ["."]\n[ast]\n[audit]\n' },
  });
  await s.all([
    ['git --version; command -p echo builtin', /^paddock: git: command not found[^\n]*\nbuiltin\n$/],
  ]);
});

test('a program writes where it may, as the kernel holds it', { skip: noMounts }, async (t) => {
  const { run, w } = await open(t, { files: { 'a.txt': 'a\n' }, repository: true });
  await run(`command -p sh -c 'echo x > made.txt; echo x > ${w.top}/outside; echo x > .git/config; echo x > .pyddock/made'`);
  assert.equal(await text(w, 'made.txt'), 'x\n');
  assert.equal(await exists(join(w.top, 'outside')), false);
  assert.match(await text(w, '.git/config'), /\[core\]/);
  assert.equal(await exists(join(w.root, '.pyddock/made')), false);
});

test('each decision about a program is in the debug log', async (t) => {
  const { run, w } = await open(t, { options: { options: ['--debug'] } });
  await run('command -p echo "it\'s" | cat; git push; git push | cat; git push > made; git log -1 | git $(echo push)');
  const rows = (await text(w, '.pyddock/tmp/audit.jsonl')).trim().split('\n').map((line) => JSON.parse(line))
    .filter((row) => row.event === 'subprocess.Popen');
  assert.deepEqual(rows.map(({ decision, caller, detail }) => [decision, caller, detail]), [
    ['allow', 'AGENT', "exe='echo' args=['it\\'s']"],
    ['deny', 'AGENT', "exe='git' args=['push']"],
    ['deny', 'AGENT', "exe='git' args=['push']"],
    ['deny', 'AGENT', "exe='git' args=['push']"],
    ['deny', 'AGENT', "exe='git' args=['push']"],
    ['allow', 'AGENT', "exe='git' args=['log', '-1']"],
  ]);
});
