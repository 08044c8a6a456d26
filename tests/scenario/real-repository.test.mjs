// What agents type in a repository: git in pipelines, loops and substitutions of the virtual
// shell, under the policy as it is shipped.  Every answer is compared with real bash's, run
// on a copy of the same repository.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { tmpdir } from 'node:os';
import { kinds, serve, snapshot, workspace } from './workspace.mjs';

const words = ['fix', 'add', 'move', 'drop', 'Fix the', 'tidy'];
const dates = (n) => `2024-0${1 + (n % 9)}-1${n % 10}T0${n % 10}:00:00+00:00`;

/** Forty commits, two branches, a tag, a rename, a file with blanks in its name, changes left over. */
async function makeRepository(root) {
  const env = (n) => ({
    PATH: process.env.PATH, HOME: root, GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: n % 3 ? 'Robin' : 'Kim Park', GIT_AUTHOR_EMAIL: 'r@example.org', GIT_AUTHOR_DATE: dates(n),
    GIT_COMMITTER_NAME: 'Robin', GIT_COMMITTER_EMAIL: 'r@example.org', GIT_COMMITTER_DATE: dates(n),
  });
  const git = (n, ...args) => execFileSync('git', args, { cwd: root, env: env(n) });
  const write = async (name, text) => {
    await mkdir(join(root, name, '..'), { recursive: true });
    await writeFile(join(root, name), text);
  };
  git(0, 'init', '-q', '-b', 'main');
  git(0, 'config', 'user.name', 'Robin');
  git(0, 'config', 'user.email', 'r@example.org');
  const lines = [];
  for (let n = 0; n < 40; n++) {
    lines.push(`int f${n}(void) { return ${n}; }`);
    await write(`src/part${n % 5}/file${n % 7}.c`, `${lines.slice(-((n % 6) + 3)).join('\n')}\n`);
    await write('README.md', `# Project\n\n${lines.length} functions\n`);
    if (n % 4 === 0) await write(`doc/note ${n}.txt`, `note ${n}\n`);
    git(n, 'add', '-A');
    git(n, 'commit', '-q', '-m', `${words[n % words.length]} f${n}`, ...(n % 10 ? [] : ['-m', 'A longer\ntext.']));
    if (n === 20) git(n, 'tag', 'v1');
    if (n === 30) git(n, 'branch', 'side');
  }
  git(41, 'mv', 'src/part0/file0.c', 'src/part0/renamed.c');
  git(41, 'commit', '-q', '-m', 'rename');
  await write('src/part1/file1.c', 'changed\n');
  await write('new one.txt', 'new\n');
  await write('staged.txt', 'staged\n');
  git(42, 'add', 'staged.txt');
}

let top, origin;
before(async () => {
  top = await mkdtemp(join(tmpdir(), 'paddock-repository-'));
  origin = join(top, 'origin');
  await mkdir(origin);
  await makeRepository(origin);
});
after(() => rm(top, { recursive: true, force: true }));

/** The same repository for paddock and for bash; `same` runs scripts in both and compares. */
async function open(t, { options = {}, ...more } = {}) {
  const w = await workspace(t, more);
  await cp(origin, w.root, { recursive: true });
  const real = join(w.top, 'real');
  await cp(origin, real, { recursive: true });
  const s = await serve(t, w, { face: 'paddock', ...options });
  const bash = (script) => {
    const { stdout, status } = spawnSync('bash', ['-c', script], {
      cwd: real, encoding: 'utf8', input: '', env: { PATH: process.env.PATH, HOME: w.home, LC_ALL: 'C.UTF-8', GIT_PAGER: 'cat', GIT_CONFIG_NOSYSTEM: '1' },
    });
    return stdout + (status ? `${stdout && !stdout.endsWith('\n') ? '\n' : ''}[exit ${status}]` : '');
  };
  const same = async (...scripts) => {
    const got = [], want = [];
    for (const script of scripts) {
      got.push([script, await s.run(script)]);
      want.push([script, bash(script)]);
    }
    assert.deepEqual(got.filter(([, text], i) => text !== want[i][1]), want.filter(([, text], i) => text !== got[i][1]));
  };
  return { ...s, w, real, bash, same };
}

for (const kind of kinds) {
  test(`${kind}: looking at a history`, async (t) => {
    const { same } = await open(t, { options: { kind } });
    await same(
      'git log --oneline | grep -i fix | head -3',
      'git diff --stat | tail -1',
      'git ls-files | xargs -d "\\n" wc -l | sort -n | tail',
      "for f in $(git ls-files '*.c'); do wc -l \"$f\"; done",
      'git status --short | wc -l',
      'git show HEAD:README.md | head',
    );
  });
}

test('looking at a history, in more ways', async (t) => {
  const { same } = await open(t);
  await same(
    'git log --format="%an" | sort | uniq -c | sort -rn',
    'git log --format="%h %s" -- src/part1 | awk \'{ $1 = ""; print length($0), $0 }\' | sort -n | head -5',
    'git blame --date=short src/part0/renamed.c | awk \'{ print $NF }\' | sort | uniq -c',
    'git blame -e src/part2/file2.c | grep -c r@example.org',
    'while read -r hash subject; do echo "${#hash} <$subject>"; done < <(git log --format="%h %s" -5)',
    'x=$(git rev-parse HEAD); [[ $x =~ ^[0-9a-f]{40}$ ]] && echo "${x:0:12}"',
    'git log --format=%H -3 | while read -r h; do git show --stat --format=%s "$h" | tail -1; done',
    'git log --format=%s | sed -n "s/^Fix the \\(f[0-9]*\\)/\\1/p" | tr "\\n" " "',
    'git show v1:README.md | sed 1d; git tag --list | cat; git describe --tags | cut -d- -f1',
    'git diff v1..side --name-only | sed "s|/.*||" | sort -u',
    'git diff HEAD~3 --numstat | awk \'{ a += $1; d += $2 } END { print a, d }\'',
    'git ls-files -z | xargs -0 -n1 basename | sort | uniq -d',
    'git ls-files -z | while IFS= read -r -d "" f; do [[ $f == *" "* ]] && echo "$f"; done',
    'git ls-tree -r HEAD --name-only | grep -v "\\.c$" | wc -l',
    'git rev-list --count HEAD; git rev-list HEAD | wc -l',
    'mapfile -t all < <(git log --format=%h); echo ${#all[@]} ${all[-1]}',
    'diff <(git show HEAD:src/part1/file1.c) src/part1/file1.c | head -2; echo "${PIPESTATUS[0]}"',
    'comm -12 <(git ls-files | sort) <(git ls-tree -r v1 --name-only | sort) | wc -l',
    'git cat-file -p HEAD | head -1; git cat-file --batch-check <<< HEAD | cut -d" " -f2',
    'git log --format=%h | git cat-file --batch-check | cut -d" " -f2 | sort | uniq -c',
    'git log -S"f12(" --format=%s | head -1',
    'declare -A n; while read -r a; do (( n[$a]++ )); done < <(git log --format=%an | cut -d" " -f1); for k in Kim Robin; do echo $k ${n[$k]}; done',
    'git log --format="%ad" --date=format:%m | sort -u | paste -sd,',
    'git shortlog -sn HEAD | cat; git shortlog -sn < /dev/null | wc -l',
    'printf "%s\\n" HEAD HEAD~1 nosuch | while read r; do git rev-parse --short --verify -q $r || echo none; done',
    'git status --porcelain=v1 -z | tr "\\0" "\\n"; git status -sb | head -1',
    'git branch --format="%(refname:short)" | tac; git branch | grep "^\\*"',
    'case $(git symbolic-ref --short HEAD) in main) echo on main ;; *) echo other ;; esac',
    'if git diff --quiet; then echo clean; else echo dirty; fi; git diff --quiet HEAD -- doc && echo same',
    'git config --get user.name; git config --get no.such || echo "none $?"',
    'cd src && git ls-files | wc -l; git rev-parse --show-prefix; cd part1 && git status --short . ; cd ../..',
    '(cd doc; git ls-files | head -2); git -C src ls-files | head -2',
    'f() { git log --format=%s -1 "$@"; }; f; f HEAD~2 | cat; f -- doc',
    'git log --format=%s -3 | tee /dev/stderr 2>/dev/null | wc -l',
    'git log nosuch 2>&1 | head -1; git log nosuch 2>/dev/null; echo $?',
    'git log nosuch |& grep -c fatal; { git log nosuch; echo on; } 2>/dev/null',
    'set -o pipefail; git log nosuch 2>/dev/null | cat; echo $?; set +o pipefail',
    'git --no-pager log --oneline -2 | cut -c9-',
  );
});

test('xargs, find -exec, timeout, env and command reach git by the same door', async (t) => {
  const { same, run, w } = await open(t);
  await same(
    'git ls-files "*.c" | xargs -n 2 git log --format=%h -1 -- | wc -l',
    'git ls-files "*.c" | head -3 | xargs -I{} git log --format="{} %s" -1 -- {}',
    'find doc -name "*.txt" -exec git log --format=%s -1 -- {} \\; | sort',
    'find src -name "file2.c" -exec git ls-files {} +',
    'find src -name "*.c" -print0 | sort -z | xargs -0 git ls-files -s | cut -d" " -f1 | uniq -c',
    'timeout 20 git log --oneline | wc -l; timeout 20 git rev-parse --short=4 HEAD~1 | cut -c1-4',
    'env LANG=C git log --format=%s -1; env -u LANG LC_ALL=C git log --format=%s -1 | cat',
    'command git log --format=%s -1; command -p git log --format=%s -1 | cat',
    '{ time git rev-parse HEAD; } 2>/dev/null; ! git diff --quiet && echo changed',
    'exec 3< <(git log --format=%s -2); read -u 3 a; read -u 3 b; echo "$b, $a"; exec 3<&-',
    'seq 3 | xargs -P 3 -I{} git log --format=%s -1 HEAD~{} | sort',
    'bash -c "git log --format=%s -1 | cat"; sh -c \'git log --format=%s -1 "$1"\' sh HEAD~1',
    'eval "git log --format=%s -1 | tr a-z A-Z"; g=git; $g log --format=%s -1',
    'printf "git log --format=%%s -1\\n" > s.sh; bash s.sh; . ./s.sh; chmod +x s.sh; ./s.sh; rm s.sh',
  );
  const before_ = await snapshot(w.root);
  for (const script of [
    'git ls-files | xargs git push', 'find . -maxdepth 0 -exec git push \\;', 'timeout 5 git push', 'env A=1 git push',
    'command -p git push', 'exec git push', 'sh -c "git push"', 'eval git push', 'echo "git push" | bash', 'git push | cat', 'git push > out; cat out',
    'seq 1 | xargs -I{} git push origin {}', '/usr/bin/git push', 'x=$(git push)', 'cat <(git push)', 'git push &\nwait $!',
  ])
    assert.match(await run(script), /^Rule: \[shell\.git\] mode = "deny"/m, script);
  assert.deepEqual(await snapshot(w.root), before_);
});

test('committing, and what git writes', async (t) => {
  const { same, bash, run } = await open(t);
  await same(
    'git add -A && git commit -q -m "$(cat <<\'EOF\'\nsecond thoughts\n\n- it\'s "quoted" $HOME `x`\nEOF\n)" && git log -1 --format=%B',
    'git status --short | wc -l; git stash list | wc -l',
    'git checkout -q -b topic && echo x >> README.md && git commit -qam topic && git log --format=%s -2 | tail -1',
    'git checkout -q main; git merge -q --no-edit topic 2>&1 | head -1; git log --format=%s -1',
    'git commit -q --allow-empty -F - <<< "from stdin"; git log --format=%s -1',
    'printf "from a pipe\\n\\nbody\\n" | git commit -q --allow-empty -F -; git log --format=%b -1',
    'echo y > "new two.txt"; git add "new two.txt"; git diff --cached --name-only | cat; git reset -q; git status --short',
    'git rm -q --cached "new two.txt" 2>/dev/null; rm "new two.txt"; git stash list | wc -l',
    'git tag -a v2 -m "$(printf "two\\nlines")" && git tag -n2 | grep -A1 v2 | wc -l',
    'git show HEAD:README.md > copy.md; cmp copy.md README.md && wc -l < copy.md; rm copy.md',
    'git diff HEAD~1 > change.patch 2> errors; wc -l < change.patch; wc -c < errors; rm change.patch errors',
    'git log --format=%s > all 2>&1; tail -1 all; git log --format=%h >> all; wc -l < all; rm all',
    '{ git log --format=%s -1; git log --format=%s -1 HEAD~1; } > two; cat two; rm two',
    'for i in 1 2 3; do echo $i > $i.txt; git add $i.txt; git commit -qm "number $i"; done; git log --format=%s -3 | paste -sd" "',
    'git mv 1.txt one.txt && git commit -qm moved && git show --stat --format= HEAD | head -1',
    'git log --follow --format=%s -- one.txt | cat',
  );
  assert.equal(await run('git log --format=%T -1'), bash('git log --format=%T -1'));
});

test('much data', async (t) => {
  const { same, w, real } = await open(t);
  const line = (n) => `${n} ${'x'.repeat(90)}\n`;
  const input = Array.from({ length: 520000 }, (_, n) => line(n)).join('');
  let big;
  for (const cwd of [w.root, real])
    big = execFileSync('git', ['-c', 'core.compression=0', 'hash-object', '-w', '--stdin'], { cwd, input, encoding: 'utf8' }).trim();
  await same(
    `git cat-file blob ${big} | head -1; echo "\${PIPESTATUS[@]}"`,
    `git cat-file blob ${big} | wc -c`,
    `git cat-file blob ${big} | grep -c 7; git cat-file blob ${big} | tail -1 | cut -c1-20`,
    `git cat-file blob ${big} > big; wc -l < big; cmp big <(git cat-file blob ${big}) && echo same; rm big`,
    `git cat-file blob ${big} 2>&1 | sed -n '3p;3q' | cut -c1-9`,
    'yes HEAD | head -20000 | git cat-file --batch-check --buffer | sort | uniq -c',
    'yes HEAD | head -20000 > names; git cat-file --batch-check --buffer < names | uniq -c; rm names',
    'yes | git log --format=%s -1; echo "${PIPESTATUS[@]}"',
    'yes HEAD:README.md | git cat-file --batch | head -1 | cut -c41-; echo "${PIPESTATUS[@]}"',
  );
});

test('programs side by side: each pipeline has its turn, and none waits for ever', async (t) => {
  const { same, run } = await open(t);
  const id = 'git cat-file --batch-check="%(objectname)"';
  await same(
    'for i in 1 2 3 4 5; do git log --format=%s -1 HEAD~$i > out$i & done; wait; cat out?; rm out?',
    'git log --format=%H > all & git ls-files > files & wait; wc -l < all; sort files | tail -1; rm all files',
    '(git log --format=%s | sort | uniq -d | wc -l) & wait $!; echo $?',
    'git log nosuch 2>/dev/null & wait $!; echo $?',
    'git log --format=%H | while read h; do echo $h | git cat-file --batch | head -2 | tail -1; done | sort -u | wc -l',
    `for i in $(seq 40); do git log --format=%H -1 HEAD~$((i % 30)) | ${id} & done | sort | uniq -c`,
    `for i in $(seq 40); do { git log --format=%H -1; git rev-parse HEAD~1; } | ${id} & done | sort | uniq -c`,
    `for i in $(seq 20); do cat <(git rev-parse HEAD) <(git rev-parse HEAD~1) | ${id} & done | sort | uniq -c`,
    `echo HEAD${` | ${id}`.repeat(20)}`,
  );
  const much = await run(`echo HEAD${` | ${id}`.repeat(70)}; echo "\${PIPESTATUS[@]}"`);
  assert.match(much, /64 commands of this call run already/);
  assert.match(much, /126/);
});

test('pyddock serve, with run on: the same shell', async (t) => {
  const { same, run } = await open(t, { policy: '[tools]\nrun = true\n', options: { face: 'pyddock' } });
  await same(
    'git log --oneline | grep -i fix | head -3',
    'git ls-files "*.c" | xargs wc -l | sort -n | tail -1',
    'for f in $(git ls-files "*.c" | head -3); do git log --format=%s -1 -- "$f"; done',
  );
  assert.match(await run('git push | cat'), /^Rule: \[shell\.git\][^]*\[exit 126\]$/m);
});
