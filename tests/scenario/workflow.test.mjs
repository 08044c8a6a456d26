// The explore -> read -> edit -> verify loop, through every official client.
import assert from 'node:assert/strict';
import { readFile, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { clients, folder, session } from './lib.mjs';

for (const kind of Object.keys(clients)) {
  test(`${kind}: tools are listed as the schema says`, async (t) => {
    const { client } = await session(t, kind, await folder(t));
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name), ['edit', 'run']);
    const run = tools.find((tool) => tool.name === 'run');
    assert.deepEqual(run.inputSchema.required, ['command']);
    assert.equal(run.annotations.readOnlyHint, false);
    assert.equal(run.annotations.openWorldHint, false);
    for (const name of ['grep', 'find', 'xargs', 'sort']) assert.match(run.description, new RegExp(`\\b${name}\\b`));
  });

  test(`${kind}: a whole session`, async (t) => {
    const root = await folder(t);
    const { run, edit } = await session(t, kind, root);
    assert.equal(await run('ls'), 'README.md\ndata\ndocs\nsrc\n');
    assert.equal(await run("grep -rn TODO . | wc -l"), '2\n');
    assert.equal(await run('cd src; pwd'), '/src\n');
    assert.equal(await run("grep -c '' orchard.py"), '23\n', 'the working directory persists');
    assert.equal(await run('cat ../data/harvest.csv | grep Gala | wc -l'), '3\n');
    assert.equal(await run("cut -d, -f3 ../data/harvest.csv 2>/dev/null || grep -o 'Gala' ../data/harvest.csv | sort | uniq -c | head -1"),
      await run("cut -d, -f3 ../data/harvest.csv 2>/dev/null || grep -o 'Gala' ../data/harvest.csv | sort | uniq -c | head -1"));
    const changed = await edit({ path: 'prices.py', old_string: '"Gala": 1200', new_string: '"Gala": 1250' });
    assert.equal(changed.isError, false);
    assert.match(changed.text, /^Edited \/src\/prices\.py: replaced 1 occurrence\.\n/);
    assert.match(changed.text, /^ {5}2\tPRICES = .*1250/m);
    assert.equal(await run('grep -n 1250 prices.py'), '2:PRICES = {"Boskoop": 1450, "Gala": 1250, "Topaz": 1390}\n');
    assert.match(await readFile(join(root, 'src/prices.py'), 'utf8'), /"Gala": 1250/);
    assert.equal(await run("cat > ../notes.txt <<'EOF'\nfirst $HOME\nsecond\nEOF\nwc -l < ../notes.txt"), '2\n');
    assert.equal(await run('x=5; for i in 1 2 3; do echo $x$i; done'), '51\n52\n53\n');
    assert.equal(await run('echo $x'), '5\n', 'variables persist');
    assert.equal(await run('false'), '[exit 1]');
    assert.equal(await run('cat nothing'), 'cat: nothing: No such file or directory\n[exit 1]');
  });

  test(`${kind}: what is outside or secret stays so`, async (t) => {
    const root = await folder(t);
    await symlink('/etc', join(root, 'out'));
    const { run, edit } = await session(t, kind, root);
    assert.match(await run('cat ../../etc/passwd'), /No such file or directory\n\[exit 1\]$/);
    assert.match(await run('cat out/passwd'), /Permission denied\n\[exit 1\]$/);
    assert.match(await run('cat .env'), /^cat: \.env: Permission denied\n\[exit 1\]$/);
    assert.doesNotMatch(await run('ls -a; find .; echo .*'), /\.env/);
    assert.equal((await edit({ path: '.env', old_string: '', new_string: 'x' })).isError, true);
    assert.match(await readFile(join(root, '.env'), 'utf8'), /not-for-readers/);
    assert.match(await run('echo x > .env'), /Permission denied/);
    assert.match(await run('python3 -c 1'), /command not found/);
  });

  test(`${kind}: read-only`, async (t) => {
    const root = await folder(t);
    const { client, run } = await session(t, kind, root, ['--read-only']);
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name), ['run']);
    assert.equal(tools[0].annotations.readOnlyHint, true);
    assert.match(tools[0].description, /READ-ONLY/);
    assert.match(await run('echo x > new'), /Read-only file system/);
    assert.match(await run('rm README.md'), /Read-only file system/);
    await assert.rejects(stat(join(root, 'new')));
  });

  test(`${kind}: edits that cannot be done change nothing and say why`, async (t) => {
    const root = await folder(t);
    const before = await readFile(join(root, 'src/orchard.py'), 'utf8');
    const { edit } = await session(t, kind, root);
    const twice = await edit({ path: '/src/orchard.py', old_string: 'sums', new_string: 'total' });
    assert.equal(twice.isError, true);
    assert.match(twice.text, /appears 4 times/);
    const missing = await edit({ path: 'src/orchard.py', old_string: 'def totals(row):', new_string: '' });
    assert.equal(missing.isError, true);
    assert.match(missing.text, /not found/);
    assert.match(missing.text, /def totals\(rows\)/, 'shows the nearest text');
    const create = await edit({ path: 'README.md', old_string: '', new_string: 'x' });
    assert.equal(create.isError, true);
    assert.match(create.text, /already exists/);
    assert.equal(await readFile(join(root, 'src/orchard.py'), 'utf8'), before);
  });

  test(`${kind}: bad arguments are results that name the field`, async (t) => {
    const { tool, client } = await session(t, kind, await folder(t));
    const wrong = await tool('run', { command: 42 });
    assert.equal(wrong.isError, true);
    assert.match(wrong.text, /command/);
    const unknown = await tool('run', { command: 'true', comand: 'x' });
    assert.equal(unknown.isError, true);
    assert.match(unknown.text, /comand/);
    await assert.rejects(clients[kind].call(client, 'no_such_tool', {}), /no_such_tool/);
  });

  test(`${kind}: twenty calls at once do not mix`, async (t) => {
    const { run } = await session(t, kind, await folder(t));
    const replies = await Promise.all(Array.from({ length: 20 }, () => run('cd /src; pwd; cd /')));
    assert.deepEqual(replies, Array(20).fill('/src\n'));
  });

  test(`${kind}: an endless command ends at its limit and the session lives on`, async (t) => {
    const { run } = await session(t, kind, await folder(t), ['--timeout', '1']);
    assert.equal(await run('keep=1'), '');
    const text = await run('while true; do :; done');
    assert.match(text, /time limit of 1\.000 s/);
    assert.match(text, /\[exit 124\]$/);
    assert.equal(await run('echo $keep'), '1\n');
  });

  test(`${kind}: a call that is cancelled is forgotten, the next one is served`, async (t) => {
    const { run } = await session(t, kind, await folder(t));
    const abort = new AbortController();
    const slow = run('while true; do :; done', { signal: abort.signal });
    setTimeout(() => abort.abort(), 100);
    await assert.rejects(slow);
    assert.equal(await run('echo here'), 'here\n');
  });
}
