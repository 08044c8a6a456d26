// The file tools: what people reported of other tools, and what must hold here.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { lstat, mkdir, open, readFile, readdir, readlink, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { connect, pyddock } from './lib.mjs';
import { exists, kinds, mode, sanitized, serve, snapshot, text, workspace } from './workspace.mjs';

const inside = '[filesystem]\nreadable_paths = ["."]\n';

for (const kind of kinds) {
  test(`${kind}: read, find, search, change, delete`, async (t) => {
    const w = await workspace(t, { files: { 'src/a.txt': 'one\ntwo\n', 'src/b.py': 'x = 1\n' } });
    const { client, tool } = await serve(t, w, { kind });
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name).filter((name) => name.startsWith('fs_')).sort();
    assert.deepEqual(names, ['fs_append', 'fs_delete', 'fs_find', 'fs_grep', 'fs_readfile', 'fs_stat', 'fs_str_replace']);
    assert.ok(JSON.stringify(tools).length < 16384);
    for (const { annotations, name } of tools) assert.equal(typeof annotations?.readOnlyHint, 'boolean', name);
    assert.equal((await tool('fs_readfile', { path: 'src/a.txt' })).text, '1| one\n2| two\n');
    assert.match((await tool('fs_stat', { path: 'src/a.txt' })).text, /^exists: true\ntype: file\nsize: 8 bytes\nlines: 2\nmodified: /);
    assert.equal((await tool('fs_find', { file_glob: '*.py' })).text.split('\n')[0], 'src/b.py');
    assert.match((await tool('fs_grep', { grep_regex: 'TWO', context_lines: 0 })).text, /^src\/a\.txt:2: two$/m);
    assert.match((await tool('fs_append', { path: 'src/a.txt', content: 'three\n' })).text, /^\+three$/m);
    assert.match((await tool('fs_str_replace', { path: 'src/a.txt', oldStr: 'two', newStr: '2' })).text, /^-two\n\+2$/m);
    assert.equal(await text(w, 'src/a.txt'), 'one\n2\nthree\n');
    assert.match((await tool('fs_delete', { path: 'src/b.py' })).text, /^\+\+\+ \/dev\/null$/m);
    assert.equal((await tool('fs_stat', { path: 'src/b.py' })).text, 'exists: false\n');
  });
}

/** fs_str_replace on one file: what it says, and the bytes afterwards. */
async function replaced(t, name, content, oldStr, newStr, fileMode = 0o644) {
  const w = await workspace(t, { files: { [name]: [content, fileMode] } });
  const { tool } = await serve(t, w);
  const answer = await tool('fs_str_replace', { path: name, oldStr, newStr });
  return { ...answer, after: await readFile(join(w.root, name)), w, tool };
}

test('line endings of a file stay what they are', async (t) => {
  const crlf = await replaced(t, 'a.cpp', 'int a;\r\nint b;\r\nint c;\r\n', 'int a;\nint b;', 'int a;\nint x;\nint y;');
  assert.equal(crlf.after.toString(), 'int a;\r\nint x;\r\nint y;\r\nint c;\r\n', crlf.text);
  const mac = await replaced(t, 'old.txt', 'alpha\rbeta\rgamma\r', 'alpha\nbeta', 'ALPHA\nbeta');
  assert.ok(['ALPHA\rbeta\rgamma\r', 'alpha\rbeta\rgamma\r'].includes(mac.after.toString()), mac.text);
  assert.equal(mac.after.toString().startsWith('A'), !mac.isError);
  const last = await replaced(t, 'e.txt', 'a\nb\nc\n', 'c\n', 'C\n');
  assert.equal(last.after.toString(), 'a\nb\nC\n');
  const none = await replaced(t, 'e.txt', 'a\nb', 'b', 'B');
  assert.equal(none.after.toString(), 'a\nB');
});

test('the new text is no template', async (t) => {
  const { after } = await replaced(t, 'p.txt', 'price: PLACE\n', 'PLACE', '$$100 $& $1 \\1 & %s {0} ${x}');
  assert.equal(after.toString(), 'price: $$100 $& $1 \\1 & %s {0} ${x}\n');
});

test('bytes that were not meant stay as they are', async (t) => {
  const bom = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('Sub s = "árvíz"\nDim x = 1\n')]);
  const withMark = await replaced(t, 'f.vb', bom, 'Dim x = 1', 'Dim x = 2');
  assert.deepEqual(withMark.after, Buffer.from(bom.toString().replace('x = 1', 'x = 2')));
  const { text: read } = await withMark.tool('fs_readfile', { path: 'f.vb' });
  assert.ok(!read.includes('\ufeff'), 'the mark is not text');
  const legacy = Buffer.concat([Buffer.from('/* '), Buffer.from([0xb0, 0xc8, 0xc3, 0x20]), Buffer.from('*/\nint x = 1;\n')]);
  const { after, isError } = await replaced(t, 'k.c', legacy, 'int x = 1;', 'int x = 2;');
  assert.deepEqual(after, isError ? legacy : Buffer.from(legacy.toString('latin1').replace('x = 1', 'x = 2'), 'latin1'));
});

test('mode and links stay what they are', async (t) => {
  const script = await replaced(t, 'run.sh', '#!/bin/sh\necho X\n', 'X', 'Y', 0o755);
  await script.tool('fs_append', { path: 'run.sh', content: 'echo Z\n' });
  assert.equal(await mode(join(script.w.root, 'run.sh')), 0o755);
  const w = await workspace(t, { files: { 'real.md': 'hello world\n' } });
  await symlink('real.md', join(w.root, 'link.md'));
  const { tool } = await serve(t, w);
  await tool('fs_str_replace', { path: 'link.md', oldStr: 'world', newStr: 'there' });
  assert.equal(await readlink(join(w.root, 'link.md')), 'real.md');
  assert.equal(await text(w, 'real.md'), 'hello there\n');
});

test('a text that is not found is explained, and nothing is changed', async (t) => {
  const body = 'def f():\n    return 1\n'.repeat(150);
  const cases = [
    ['s.py', body, 'def f():\n  return 1\n\ndef g():', /line/i],
    ['n.md', 'the task list in\u00a0current sprint\n', 'list in current sprint', /U\+00A0/],
    ['m.go', 'func f() {\n\tif x {\n\t\treturn\n\t}\n}\n', '    if x {\n        return\n    }', /\\t|tab|→/i],
    ['l.py', 'def a():\n    return 1\n', '2|     return 1', /number|prefix|line/i],
  ];
  for (const [name, content, oldStr, expected] of cases) {
    const started = Date.now();
    const { text: said, isError, after } = await replaced(t, name, content, oldStr, 'x');
    assert.ok(Date.now() - started < (sanitized ? 30000 : 5000), name);
    assert.equal(isError, true, said);
    assert.match(said, expected, name);
    assert.equal(after.toString(), content);
  }
});

test('changes to one file at the same time are not lost', async (t) => {
  const w = await workspace(t, { files: { 'c.txt': '' } });
  const { tool } = await serve(t, w);
  for (let round = 0; round < (sanitized ? 5 : 30); round++) {
    await writeFile(join(w.root, 'c.txt'), 'alpha\nbeta\ngamma\n');
    const pairs = [['alpha', 'ALPHA'], ['beta', 'BETA'], ['gamma', 'GAMMA']];
    const answers = await Promise.all(pairs.map(([oldStr, newStr]) => tool('fs_str_replace', { path: 'c.txt', oldStr, newStr })));
    const after = await text(w, 'c.txt');
    for (const [i, { isError }] of answers.entries()) assert.equal(after.includes(pairs[i][1]), !isError, `${after} round ${round}`);
  }
});

test('a change that does not fit leaves the file and its folder as they were', async (t) => {
  const w = await workspace(t, { files: { 'big.txt': '0123456789\n'.repeat(2000), 'run': ['', 0o755] } });
  await writeFile(join(w.root, 'run'), `#!/bin/sh\nulimit -f 32\nexec "$@"\n`);
  const { tool } = await connect(t, kinds.at(-1), join(w.root, 'run'), [pyddock, 'serve', '--no-install', '--workspace', w.root], { HOME: w.home });
  const before = await snapshot(w.top);
  const { isError, text: said } = await tool('fs_str_replace', { path: 'big.txt', oldStr: '0123456789\n'.repeat(2000), newStr: '0123456789X\n'.repeat(2000) });
  assert.equal(isError, true, said);
  assert.deepEqual(await snapshot(w.top), before);
  assert.equal((await tool('fs_stat', { path: 'big.txt' })).isError, false, 'the server lives');
});

test('what is outside is not shown through links, siblings or dots', async (t) => {
  const w = await workspace(t, { policy: inside, files: { 'a.txt': 'in\n' } });
  const secret = { out: 'TOPSECRET\n', 'project-evil': 'TOPSECRET sibling\n' };
  for (const [name, content] of Object.entries(secret)) {
    await mkdir(join(w.top, name));
    await writeFile(join(w.top, name, 's.txt'), content);
  }
  await symlink(join(w.top, 'out/s.txt'), join(w.root, 'leak'));
  await symlink(join(w.top, 'out'), join(w.root, 'dir'));
  await symlink('../out/s.txt', join(w.root, 'relative'));
  const { tool } = await serve(t, w);
  const direct = ['leak', 'dir/s.txt', 'relative', '../project-evil/s.txt', join(w.top, 'project-evil/s.txt'), '/etc/passwd', 'dir/../../out/s.txt'];
  for (const path of direct) {
    for (const [name, args] of [['fs_readfile', { path }], ['fs_grep', { grep_regex: 'TOP|root', path }], ['fs_stat', { path }]]) {
      const { text: said } = await tool(name, args);
      assert.doesNotMatch(said, /TOPSECRET|size: 1\d bytes|root:/, `${name} ${path}`);
    }
    assert.equal((await tool('fs_readfile', { path })).isError, true, path);
  }
  assert.doesNotMatch((await tool('fs_grep', { grep_regex: 'TOPSECRET.' })).text, /\.txt:\d/);
  assert.doesNotMatch((await tool('fs_find', { file_glob: '*.txt' })).text, /s\.txt/);
  assert.equal((await tool('fs_find', { file_glob: '*', path: 'dir' })).isError, true);
});

test('nothing is written outside, through links or otherwise', async (t) => {
  const w = await workspace(t, { files: { 'a.txt': 'in\n' } });
  await mkdir(join(w.top, 'out'));
  await writeFile(join(w.top, 'out/s.txt'), 'keep\n');
  await symlink(join(w.top, 'out'), join(w.root, 'dir'));
  await symlink(join(w.top, 'out/s.txt'), join(w.root, 'leak'));
  await symlink(join(w.top, 'out/new'), join(w.root, 'dangling'));
  const { tool } = await serve(t, w);
  const before = await snapshot(w.top);
  for (const path of ['dir/new', 'leak', 'dangling', '../out/s.txt', join(w.top, 'out/new'), '/etc/paddock-test', '~/x']) {
    const answers = [await tool('fs_append', { path, content: 'x' }), await tool('fs_str_replace', { path, oldStr: 'keep', newStr: 'x' })];
    for (const { isError, text: said } of answers) assert.equal(isError, true, `${path}: ${said}`);
    if (path !== 'leak' && path !== 'dangling') assert.equal((await tool('fs_delete', { path })).isError, true);
  }
  assert.deepEqual(await snapshot(w.top), before);
});

test('a folder that is swapped for a link between look and use leads nowhere', async (t) => {
  const w = await workspace(t, { policy: inside, files: { 'sub/f.txt': 'ok\n' } });
  await mkdir(join(w.top, 'out'));
  await writeFile(join(w.top, 'out/f.txt'), 'RACE\n');
  await symlink(join(w.top, 'out'), join(w.root, 'alt'));
  const { tool } = await serve(t, w);
  let racing = true;
  // fs_append may make its folder anew while it is away, so any step may fail.
  const move = (from, to) => rename(join(w.root, from), join(w.root, to)).then(() => true, () => false);
  const isLink = () => lstat(join(w.root, 'sub')).then((st) => st.isSymbolicLink(), () => false);
  let swaps = 0;
  const race = (async () => {
    while (racing) {
      await move('sub', 'sub_');
      await move('alt', 'sub');
      if (await isLink()) swaps += await move('sub', 'alt');
      while (!(await move('sub_', 'sub'))) await rm(join(w.root, 'sub'), { recursive: true, force: true }).catch(() => {});
    }
  })();
  const until = Date.now() + 3000;
  while (Date.now() < until) {
    const [read] = await Promise.all([
      tool('fs_readfile', { path: 'sub/f.txt' }), tool('fs_append', { path: 'sub/g.txt', content: 'w' }),
      tool('fs_delete', { path: 'sub/h.txt' }), tool('fs_grep', { grep_regex: 'RACE', path: 'sub' }),
    ]);
    assert.doesNotMatch(read.text, /RACE/);
  }
  racing = false;
  await race;
  assert.ok(swaps > 10);
  assert.deepEqual(await readdir(join(w.top, 'out')), ['f.txt']);
});

test('guards hold in any spelling, for every tool', async (t) => {
  const w = await workspace(t, { files: { '.npmrc': 'TOPSECRET\n', 'sub/.NPMRC': 'TOPSECRET\n', '.env': 'K=mine\n' }, repository: true });
  await mkdir(join(w.home, '.ssh'));
  await writeFile(join(w.home, '.ssh/id'), 'TOPSECRET\n');
  await symlink(join(w.home, '.ssh'), join(w.root, 'keys'));
  await symlink('.npmrc', join(w.root, 'plain'));
  const { tool, run } = await serve(t, w, { face: 'paddock' });
  for (const path of ['.npmrc', 'sub/.NPMRC', './sub/../.npmrc', 'plain', '~/.ssh/id', join(w.home, '.ssh/id'), 'keys/id']) {
    const read = await tool('fs_readfile', { path });
    assert.equal(read.isError, true, path);
    assert.match(read.text, /npmrc|ssh/);
    assert.match(read.text, /^Rule: .*guards/m, read.text);
    for (const answer of [read, await tool('fs_grep', { grep_regex: 'TOP', path })]) assert.doesNotMatch(answer.text, /SECRET/);
    assert.doesNotMatch(await run(`cat ${path}; head ${path}; sort < ${path}; cp ${path} copy; cat copy; wc -c ${path}`), /SECRET|^10 /m);
  }
  assert.doesNotMatch((await tool('fs_grep', { grep_regex: 'TOPS' })).text, /TOPSECRET/);
  assert.doesNotMatch(await run('grep -r TOPS . ; cat .npmr* sub/.N*'), /TOPSECRET/);
  assert.equal(await exists(join(w.root, 'copy')), false);
  assert.match((await tool('fs_readfile', { path: '.env' })).text, /K=mine/, 'a guard may allow it in the workspace');
});

test('what is read-only is read and not written', async (t) => {
  const files = { 'a.txt': 'x\n', '.kiro/settings/m.json': '{}\n', '.claude/settings.json': '{}\n' };
  const w = await workspace(t, { files, repository: true });
  const { tool, run } = await serve(t, w, { face: 'paddock' });
  const before = await snapshot(w.root);
  assert.equal((await tool('fs_readfile', { path: '.git/HEAD' })).isError, false);
  for (const path of ['.git/HEAD', '.git/hooks/x', '.GIT/x', '.kiro/settings/m.json', '.claude/settings.json', '.pyddock/pyddock.toml']) {
    assert.equal((await tool('fs_append', { path, content: 'x' })).isError, true, path);
    assert.equal((await tool('fs_delete', { path })).isError, true, path);
  }
  await run('rm -rf .git; mv .git x; mv .kiro y; rm -r .claude; echo x > .git/config; mkdir -p .pyddock; ln -s a .pyddock');
  assert.deepEqual(await snapshot(w.root), before);
});

test('a program that may be started is not written first', async (t) => {
  const policy = '[shell.scripts]\ncommand = "scripts/.*"\nmode = "allow"\n';
  const w = await workspace(t, { policy, files: { 'scripts/ok.sh': ['echo fine\n', 0o755], 'mine.sh': ['touch PWN\n', 0o755] } });
  const { tool, shell, run } = await serve(t, w, { face: 'paddock' });
  await tool('fs_append', { path: 'scripts/evil.sh', content: 'touch PWN\n' });
  await tool('fs_str_replace', { path: 'scripts/ok.sh', oldStr: 'echo fine', newStr: 'touch PWN' });
  await run('cp mine.sh scripts/e.sh; mv mine.sh scripts/e.sh; ln mine.sh scripts/e.sh; mv scripts s; mkdir -p scripts');
  for (const name of ['evil', 'ok', 'e']) await shell(`scripts/${name}.sh`);
  assert.equal(await exists(join(w.root, 'PWN')), false);
  assert.deepEqual(await readdir(join(w.root, 'scripts')), ['ok.sh']);
});

test('patterns are patterns, and none is an option', async (t) => {
  const files = { 'p.txt': '--pre=x here\n-e also\n', 'a.py': '', 'src/b.py': '', 'src/deep/c.py': '', 'src/pyfile.txt': '', 'long.txt': `${'a'.repeat(40)}!\n` };
  const w = await workspace(t, { files });
  const { tool } = await serve(t, w);
  const find = async (args) => (await tool('fs_find', args)).text.split('\n\n')[0].trim().split('\n').sort();
  assert.match((await tool('fs_grep', { grep_regex: '--pre=x' })).text, /p\.txt:1: --pre=x here/);
  assert.match((await tool('fs_grep', { grep_regex: '-e' })).text, /p\.txt:2: -e also/);
  const dash = await tool('fs_find', { file_glob: '-*' });
  assert.deepEqual([dash.isError, /^No files/.test(dash.text)], [false, true]);
  assert.equal((await tool('fs_grep', { grep_regex: '(a+)+$', path: 'long.txt' })).text.length > 0, true);
  assert.deepEqual(await find({ file_glob: '*.py' }), ['a.py', 'src/b.py', 'src/deep/c.py']);
  assert.deepEqual(await find({ file_glob: 'src/**/*.py' }), ['src/b.py', 'src/deep/c.py']);
  assert.deepEqual(await find({ file_glob: 'a.py' }), ['a.py']);
  assert.equal((await tool('fs_grep', { grep_regex: '(' })).isError, true);
});

test('links to the folder above make no endless walk', async (t) => {
  const w = await workspace(t, { files: { 'x/f.txt': 'hit\n' } });
  await symlink('.', join(w.root, 'x/self'));
  await symlink('..', join(w.root, 'x/up'));
  const { tool } = await serve(t, w);
  assert.deepEqual((await tool('fs_find', { file_glob: 'f.txt' })).text.match(/^.*f\.txt$/gm), ['x/f.txt']);
  assert.equal((await tool('fs_grep', { grep_regex: 'hit' })).text.match(/hit/g).length, 1);
});

test('a big tree and a long line give a short answer that says so', async (t) => {
  const w = await workspace(t, { files: { 'three.min.js': `${'var q=1;'.repeat(80000)}stats();\n` } });
  await mkdir(join(w.root, 'gen'));
  for (let i = 0; i < 3000; i++) await writeFile(join(w.root, `gen/f${i}.txt`), '');
  const { tool } = await serve(t, w);
  const found = await tool('fs_find', { file_glob: '*.txt' });
  assert.match(found.text, /first 100 results/);
  const line = await tool('fs_grep', { grep_regex: 'stats' });
  assert.ok(line.text.length < 2048);
  assert.match(line.text, /three\.min\.js:1: .*truncated/);
});

test('the end of a file of gigabytes is read at once', async (t) => {
  const w = await workspace(t, { files: { 'huge.log': '' } });
  await truncate(join(w.root, 'huge.log'), 3 * 2 ** 30);
  const file = await open(join(w.root, 'huge.log'), 'a');
  await file.write('\nLAST LINE\n');
  await file.close();
  const { tool } = await serve(t, w);
  assert.match((await tool('fs_readfile', { path: 'huge.log', start: -1 })).text, /LAST LINE/);
  assert.match((await tool('fs_stat', { path: 'huge.log' })).text, /size: 3221225483 bytes/);
});

test('odd names are shown and can be used', async (t) => {
  const w = await workspace(t, { files: { 'ok.txt': 'y\n', 'Shot at 2.40\u202fPM.txt': 'shot\n', 'new\nline.txt': 'n\n' } });
  await writeFile(Buffer.concat([Buffer.from(join(w.root, 'bad')), Buffer.from([0xff, 0xfe]), Buffer.from('.txt')]), 'x\n');
  const { tool } = await serve(t, w);
  const { text: found } = await tool('fs_find', { file_glob: '*.txt' });
  assert.match(found, /^ok\.txt$/m);
  assert.match(found, /bad/);
  assert.match((await tool('fs_grep', { grep_regex: '^(x|y)$' })).text, /ok\.txt:1: y/);
  assert.match((await tool('fs_readfile', { path: 'Shot at 2.40\u202fPM.txt' })).text, /shot/);
  const plain = await tool('fs_readfile', { path: 'Shot at 2.40 PM.txt' });
  assert.ok(plain.isError ? /U\+202F/.test(plain.text) : /shot/.test(plain.text), plain.text);
});

test('pipes and devices are no files to wait for', async (t) => {
  const w = await workspace(t, { files: { 'a.txt': 'x\n' } });
  execFileSync('mkfifo', [join(w.root, 'pipe')]);
  const { tool } = await serve(t, w);
  for (const path of ['pipe', '/dev/zero']) {
    const started = Date.now();
    for (const [name, args] of [['fs_readfile', {}], ['fs_append', { content: 'x' }], ['fs_grep', { grep_regex: 'x' }], ['fs_str_replace', { oldStr: 'a', newStr: 'b' }]])
      assert.equal((await tool(name, { path, ...args })).isError || name === 'fs_grep', true, `${name} ${path}`);
    await tool('fs_stat', { path });
    assert.ok(Date.now() - started < 20000, path);
  }
  assert.match((await tool('fs_grep', { grep_regex: 'x' })).text, /a\.txt:1: x/);
});

test('path patterns in the policy work or are refused, never ignored', async (t) => {
  const w = await workspace(t, { policy: '[filesystem]\nwritable_paths = ["out"]\n', files: { 'out/x': '' } });
  const { tool } = await serve(t, w);
  assert.equal((await tool('fs_append', { path: 'out/a', content: '1' })).isError, false);
  assert.equal((await tool('fs_append', { path: 'b', content: '1' })).isError, true);
  const pattern = await workspace(t, { policy: '[filesystem]\nwritable_paths = ["out/**"]\n', files: { 'out/x': '' } });
  const other = await serve(t, pattern).catch((error) => error);
  if (other instanceof Error) return;
  assert.equal((await other.tool('fs_append', { path: 'b', content: '1' })).isError, true);
});
