// Forty calls as an agent makes them on a real repository (this one), each compared with what
// real bash prints for the same line in a copy of the same tree.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { session } from './lib.mjs';

const top = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

// A string is a command for both; an object is an edit, made in both trees.
const calls = [
  'pwd',
  'ls',
  'ls src | head -20',
  'cat README.md | head -5',
  'wc -l README.md ARCHITECTURE.md CONTRIBUTING.md',
  'find src -name "*.c" | wc -l',
  'find . -maxdepth 2 -name "*.build" | sort',
  'grep -rn "MUST_CHECK bool" src/base | sort | head',
  'grep -rln "openat2" src | sort',
  "grep -c '' src/base/*.c",
  'cd src/base',
  'pwd',
  'ls *.h | xargs -n1 | wc -l',
  'head -20 arena.h',
  'tail -n 5 arena.h',
  'grep -n "^struct" *.h | head',
  "grep -n -A3 'struct arena_mark {' arena.h",
  'cat -n str.h | head -30 | tail -5',
  'for f in arena str utf8; do echo "$f: $(wc -l < $f.c)"; done',
  'x=$(grep -c static str.c); [ "$x" -gt 0 ] && echo some || echo none',
  'echo "$x"',
  { path: 'src/base/arena.h', old_string: 'memory that is freed all at once', new_string: 'memory that is freed in one go' },
  'head -3 arena.h',
  'cd /',
  "sort src/base/meson.build | uniq -c | sort -rn | head -3",
  'mkdir -p notes/today && echo first > notes/today/a.txt && cat notes/today/a.txt',
  "cat > notes/plan.md <<'EOF'\n# Plan\n- read $HOME\n- `edit`\nEOF\ncat notes/plan.md",
  { path: 'notes/plan.md', old_string: '- read $HOME', new_string: '- read everything\n- think' },
  'cat notes/plan.md',
  'cp notes/plan.md notes/today/ && ls -1 notes notes/today',
  'mv notes/today/a.txt notes/b.txt; ls notes/today notes',
  'echo more >> notes/b.txt; wc notes/b.txt',
  'rm -r notes/today; ls notes; cat notes/today/plan.md 2>/dev/null || echo gone',
  'find notes -type f | sort | xargs wc -l',
  "grep -rhoE '[a-z]+_destroy' src/base | sort -u",
  'if [ -f Makefile ] && grep -q "^check:" Makefile; then echo has check; fi',
  'printf "%s=%d\\n" a 1 b 2',
  'echo {1..5} | tr " " "\\n" 2>/dev/null | wc -l | head -1; true',
  "while read -r a b; do echo \"$b $a\"; done < notes/b.txt",
  'case $(ls notes | wc -l) in 2) echo two;; *) echo other;; esac',
  'cat missing.txt; echo "status $?"',
  'touch notes/c; ls notes; rm notes/*; rmdir notes 2>/dev/null || rm -r notes; ls -d notes 2>&1 | wc -l',
];

/** The same session in real bash: one shell per call, state carried in a file. */
function bash(root, command, state) {
  // "/" is the root of the tree there.
  const script = `cd "\${CWD:-$ROOT}"; x=$X; cd() { command cd "\${1/#\\//$ROOT/}"; }; pwd() { p=$(command pwd); p=\${p#"$ROOT"}; echo "\${p:-/}"; }\n${command}\necho "$(command pwd)|$x" >&9`;
  const p = spawnSync('bash', ['-c', script], {
    cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe', 'ignore', 'ignore', 'ignore', 'ignore', 'ignore', 'ignore', 'pipe'],
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8', ROOT: root, CWD: state.cwd, X: state.x, HOME: '/' },
  });
  [state.cwd, state.x] = p.output[9].trim().split('|');
  return p;
}

test('forty calls on this repository give what bash gives', async (t) => {
  const roots = [];
  for (const name of ['ours', 'theirs']) {
    const root = await mkdtemp(join(tmpdir(), `paddock-agent-${name}-`));
    t.after(() => rm(root, { recursive: true, force: true }));
    for (const part of ['src', 'README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'Makefile', 'meson.build']) {
      await cp(join(top, part), join(root, part), { recursive: true });
    }
    roots.push(root);
  }
  const { run, edit } = await session(t, 'SDK 1.x', roots[0]);
  const state = { cwd: roots[1], x: '' };
  assert.ok(calls.length >= 40);
  for (const call of calls) {
    if (typeof call === 'string') {
      const theirs = bash(roots[1], call, state);
      const ours = await run(call);
      assert.equal(ours.replace(/^cat: .*\n/gm, ''), theirs.stdout, call);
      continue;
    }
    const reply = await edit({ ...call, path: `/${call.path}` });
    assert.equal(reply.isError, false, reply.text);
    const [ours, theirs] = await Promise.all(roots.map((root) => readFile(join(root, call.path), 'utf8')));
    assert.equal(ours, theirs.replace(call.old_string, () => call.new_string));
    spawnSync('cp', [join(roots[0], call.path), join(roots[1], call.path)]);
  }
});
