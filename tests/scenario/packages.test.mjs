// Packages of a workspace under `pyddock serve` and `pyddock run`: a real pip without any
// network, and a project that builds itself.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { build, connect, pyddock } from './lib.mjs';
import { kinds, workspace } from './workspace.mjs';

const interpreter = join(build, 'src/python/paddock-python');
const skip = existsSync(interpreter) ? false : 'this build has no interpreter';
const offline = { PIP_NO_INDEX: '1', PIP_FIND_LINKS: '' };

const policy = `
[imports]
polars = false
cryptography = false
git = false
P4 = false
`;

/** A package whose build waits for the file `go` in it. */
const project = (name) => ({
  [`${name}/pyproject.toml`]: '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["build"]\n',
  [`${name}/src/${name}.py`]: 'value = 5\n',
  [`${name}/build/backend.py`]: `
import os, time, zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    while not os.path.exists("go"):
        time.sleep(0.05)
    info = "${name}-1.dist-info/"
    files = {info + "METADATA": "Metadata-Version: 2.1\\nName: ${name}\\nVersion: 1\\n",
             info + "WHEEL": "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"}
    with zipfile.ZipFile(os.path.join(folder, "${name}-1-py3-none-any.whl"), "w") as z:
        for file, text in files.items():
            z.writestr(file, text)
        z.writestr(info + "RECORD", "".join(f"{file},,\\n" for file in files) + info + "RECORD,,\\n")
    return "${name}-1-py3-none-any.whl"
`,
});

async function served(t, w) {
  const s = await connect(t, kinds.at(-1), pyddock, ['serve', '--workspace', w.root], { HOME: w.home, ...offline });
  return { ...s, py: async (code, more = {}) => s.tool('run_python', { code, ...more }) };
}

test('a snippet waits for what is being installed, and the others do not', { skip }, async (t) => {
  const w = await workspace(t, { policy: `${policy}slow = "./slow"\n`, files: project('slow') });
  const { py, tool } = await served(t, w);
  // Told after its time, with nothing of it run.
  const early = await py('open("early.txt", "w").write("x")\nimport slow', { timeout: 1 });
  assert.match(early.text, /^--- STDERR ---\nslow is still being installed \(.+\)\. Nothing of the snippet has been run/);
  assert.equal(early.isError, true);
  assert.equal(existsSync(join(w.root, 'early.txt')), false);
  let onprogress;
  const told = new Promise((resolve) => { onprogress = resolve; });
  const waiting = tool('run_python', { code: 'open("times.txt", "a").write("x")\nimport slow\nslow.value', timeout: 120 }, { onprogress });
  assert.match((await py('2 + 2')).text, /\n4\n/);
  const other = await py('import json\njson.dumps([1])');
  assert.match(other.text, /'\[1\]'/);
  assert.equal((await told).message, 'installing slow (1 of 1)');
  await writeFile(join(w.root, 'slow/go'), '');
  const got = await waiting;
  assert.equal(got.text, '--- RESULT ---\n5\n--- EXIT CODE: 0 ---');
  assert.equal(readFileSync(join(w.root, 'times.txt'), 'utf8'), 'x');
  // It is the source, and nobody may write there.
  await writeFile(join(w.root, 'slow/src/slow.py'), 'value = 6\n');
  assert.match((await py('import slow\nslow.value')).text, /\n6\n/);
  const written = await py('open("slow/src/slow.py", "w")');
  assert.match(written.text, /PermissionError/);
  assert.equal(readFileSync(join(w.root, 'slow/src/slow.py'), 'utf8'), 'value = 6\n');

  // The next server finds everything done.
  const stamp = join(w.root, '.pyddock/installed.json');
  const before = statSync(stamp);
  const second = await served(t, w);
  assert.match((await second.py('import slow\nslow.value')).text, /\n6\n/);
  assert.equal(statSync(stamp).ino, before.ino);
});

test('a call that waits can be cancelled, and the server can end', { skip }, async (t) => {
  const w = await workspace(t, { policy: `${policy}slow = "./slow"\n`, files: project('slow') });
  const { py, tool, client } = await served(t, w);
  const stop = new AbortController();
  const waiting = tool('run_python', { code: 'import slow', timeout: 120 }, { signal: stop.signal });
  assert.match((await py('1 + 1')).text, /\n2\n/);
  stop.abort();
  await assert.rejects(waiting);
  assert.match((await py('1 + 2')).text, /\n3\n/);
  const left = py('import slow', { timeout: 120 }).catch(() => 'ended');
  await client.close();
  assert.equal(await left, 'ended');
});

test('what could not be installed is told to the snippet that wants it', { skip }, async (t) => {
  const w = await workspace(t, { policy: `${policy}no_such_thing = true\nbare = "./bare"\n`, files: { 'bare/bare.py': '' } });
  const { py } = await served(t, w);
  const missing = await py('import no_such_thing', { timeout: 120 });
  assert.match(missing.text, /ModuleNotFoundError: 'no_such_thing' is allowed, but it is not installed/);
  assert.match(missing.text, /\n\[paddock: no_such_thing is allowed but not installed: pip: .*No matching distribution found for no_such_thing \(\.pyddock\/pyddock\.override\.toml:\d+\)\]\n/);
  const bare = await py('import bare', { timeout: 120 });
  assert.match(bare.text, /\[paddock: bare is allowed but not installed: there is no pyproject\.toml in '.*\/bare' \(/);
  const other = await py('import no_such_other');
  assert.doesNotMatch(other.text, /installed/);
});

test('pyddock run installs what the snippet imports, and nothing else', { skip }, async (t) => {
  const files = { ...project('slow'), 'slow/go': '' };
  const w = await workspace(t, { policy: `${policy}slow = "./slow"\nno_such_thing = true\n`, files });
  const run = (...args) => spawnSync(pyddock, ['run', ...args],
    { cwd: w.root, env: { PATH: process.env.PATH, HOME: w.home, ...offline }, encoding: 'utf8' });
  const plain = run('2 + 2');
  assert.deepEqual([plain.stdout, plain.stderr, plain.status], ['4\n', '', 0]);
  assert.equal(existsSync(join(w.root, '.pyddock/venv')), false);
  const never = run('--no-install', 'import slow');
  assert.match(never.stderr, /ModuleNotFoundError/);
  assert.equal(existsSync(join(w.root, '.pyddock/venv')), false);
  const first = run('import slow; slow.value');
  assert.deepEqual([first.stdout, first.status], ['5\n', 0]);
  assert.match(first.stderr, /installing slow \(1 of 1\)\n/);
  const again = run('import slow; slow.value');
  assert.deepEqual([again.stdout, again.stderr, again.status], ['5\n', '', 0]);
});
