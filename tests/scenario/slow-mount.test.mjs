// A workspace in which something slow is mounted: nobody waits for it who has not named it.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { clients, connect, folder, mcpath, mortal } from './lib.mjs';
import { serve, workspace } from './workspace.mjs';

const SECONDS = 600; // for a listing: whoever waits for one is seen to hang
const script = join(dirname(fileURLToPath(import.meta.url)), 'slow-files.py');
const skip = process.getuid() === 0 && existsSync('/dev/fuse') ? false : 'mounting needs root and /dev/fuse';

/** Does it with that mounted at root/slow, and has it unmounted before anybody removes the tree. */
async function besideSlow(t, root, what) {
  const place = join(root, 'slow');
  await mkdir(place);
  const child = spawn(...mortal('python3', [script, place, String(SECONDS)]), { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((done) => child.on('close', done));
  try {
    const mounted = await Promise.race([new Promise((done) => child.stdout.once('data', () => done(true))), ended.then(() => false)]);
    if (!mounted) return t.skip('the kernel mounts no FUSE here');
    await what();
  } finally {
    spawnSync('umount', ['-l', place]);
    child.kill('SIGKILL');
    await ended;
  }
}

const walks = {
  'grep -rx k .': /^\.\/a\.txt:k\ngrep: \.\/slow: skipped: .*\n\.\/zz\/b\.txt:k\n/,
  'find . -name "?.txt"': /^\.\/a\.txt\nfind: '\.\/slow': skipped: .*\n\.\/zz\/b\.txt\n/,
  'ls -R': /^\.:\n[^]*\nslow\n[^]*ls: cannot open directory '\.\/slow': skipped: .*\n[^]*b\.txt\n/,
  'shopt -s globstar; echo **': / slow src [^]*zz zz\/b\.txt\n/,
  'tree': /slow[^]*b\.txt/,
  'du': /skipped[^]*\.\/zz\n/,
  'diff -r . zz': /a\.txt/,
};

async function tryWalks(run) {
  for (const [command, wanted] of Object.entries(walks)) {
    const { text } = await run(command);
    assert.match(text, wanted, command);
    assert.doesNotMatch(text, /time limit|restarted|e0/, command);
  }
  assert.equal((await run('cat slow/e7')).text, 'k\n'); // by its name it is there
}

test('mcpath: what comes by a slow mount leaves it out and says so', { skip }, async (t) => {
  const root = await folder(t, { 'a.txt': 'k\n', 'zz/b.txt': 'k\n' });
  await besideSlow(t, root, async () => {
    const { tool } = await connect(t, Object.keys(clients)[0], mcpath, [root, '--timeout', '20']);
    await tryWalks((command) => tool('run', { command }));
  });
});

test('paddock serve: it starts, searches and runs beside a slow mount', { skip }, async (t) => {
  const w = await workspace(t, { files: { 'a.txt': 'k\n', 'zz/b.txt': 'k\n', 'zz/.npmrc': 'SECRET' }, repository: true });
  await besideSlow(t, w.root, async () => {
    const s = await serve(t, w, { face: 'paddock' });
    const [grep, stat] = await Promise.all([s.tool('fs_grep', { grep_regex: 'k' }), s.tool('fs_stat', { path: 'a.txt' })]);
    assert.match(grep.text, /^a\.txt:1: k\nzz\/b\.txt:1: k\n\n\['slow' skipped: /);
    assert.match(stat.text, /^exists: true/);
    assert.match((await s.tool('fs_find', { file_glob: '*.txt' })).text, /^a\.txt\nzz\/b\.txt\n\n\['slow' skipped: /);
    assert.match((await s.shell('git', ['log', '--oneline'])).text, /first/);
    assert.match((await s.tool('run_python', { code: 'import os; sorted(os.listdir("zz"))' })).text, /b\.txt/);
    assert.match((await s.tool('fs_readfile', { path: 'slow/e3' })).text, /1\| k/);
    assert.doesNotMatch((await s.tool('run', { command: 'cat zz/.npmrc' })).text, /SECRET/); // what is beside it is guarded as ever
  });
});
