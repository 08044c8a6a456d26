// The official Inspector against each server: what it is told, what it finds in the
// definitions of the tools, calls that work and calls that are refused, many at once.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { listen } from '../scenario/http.mjs';
import { mcpath, paddock, pyddock } from '../scenario/lib.mjs';
import { inspector, scratch } from './lib.mjs';

const revisions = { legacy: '2025-11-25', auto: '2026-07-28', modern: '2026-07-28' };

// `works` and `refused`: a tool and its arguments; the second would make the file 'made'.
const servers = {
  mcpath: {
    program: mcpath,
    args: (root) => [root],
    eras: ['legacy', 'auto', 'modern'],
    works: ['run', { command: 'echo $((6 * 7))' }],
    refused: ['edit', { path: '/made', old_string: 'a', new_string: 'b' }],
  },
  'pyddock serve': {
    program: pyddock,
    args: (root) => ['serve', '--no-install', '--workspace', root],
    eras: ['legacy'],
    works: ['fs_readfile', { path: 'answer' }],
    refused: ['run_shell', { command: 'touch', args: ['made'] }],
  },
  'paddock serve': {
    program: paddock,
    args: (root) => ['serve', '--no-install', root],
    eras: ['modern'],
    works: ['run', { command: 'echo $((6 * 7))' }],
    refused: ['run_shell', { command: 'touch', args: ['made'] }],
  },
};

const call = ([name, args]) => ['--method', 'tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args)];

async function inspect(t, { program, args, eras, works, refused }, transport) {
  const home = await scratch(t), root = await scratch(t);
  await writeFile(join(root, 'answer'), '42\n');
  const env = { HOME: home };
  const target = transport === 'http'
    ? [(await listen(t, args(root), { program, env })).url, '--transport', 'http'] : [program, ...args(root)];
  const ask = async (...more) => {
    const { code, stdout, stderr } = await inspector(home, [...target, ...more], env);
    return { code, stderr, ...(stdout ? JSON.parse(stdout) : {}) };
  };
  for (const era of eras) {
    const hello = await ask('--protocol-era', era, '--method', 'initialize');
    assert.equal(hello.code, 0, hello.stderr);
    assert.equal(hello.result.protocolVersion, revisions[era]);
    const result = await ask('--protocol-era', era, ...call(works));
    assert.equal(result.code, 0, result.stderr);
    assert.match(result.result.content[0].text, /42/);
  }
  const listed = await ask('--protocol-era', eras.at(-1), '--method', 'tools/list', '--strict');
  assert.equal(listed.code, 0, listed.stderr);
  assert.doesNotMatch(listed.stderr, /warning|error/i);
  assert.ok(listed.result.tools.some((one) => one.name === works[0]));
  const no = await ask(...call(refused));
  assert.equal(no.code, 5, no.stderr);
  assert.equal(no.result.isError, true);
  assert.ok(!existsSync(join(root, 'made')));
  const { code, stderr, result } = await ask(...call(works), '--load', '--load-requests', '2000', '--load-concurrency', '8');
  assert.equal(code, 0, stderr);
  assert.deepEqual([result.ok, result.errors, result.toolErrors], [2000, 0, 0]);
}

export function inspectAll(transport) {
  for (const [name, server] of Object.entries(servers)) {
    test(`the Inspector and ${name} over ${transport}`, (t) => inspect(t, server, transport));
  }
}
