// The official conformance suite over HTTP, of both revisions.  Each of its checks is a
// test; what we do not offer at all stands in without-REVISION.yaml.
import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { listen } from '../scenario/http.mjs';
import { mcpath, paddock, pyddock } from '../scenario/lib.mjs';
import { fixtureServer, scratch, suite } from './lib.mjs';

const here = dirname(fileURLToPath(import.meta.url));

// Those that the suite reports, but does not count, and that are about what we offer.
const more = {
  '2025-11-25': ['server-session-lifecycle', 'json-schema-2020-12'],
  '2026-07-28': ['http-header-validation', 'http-custom-header-server-validation', 'json-schema-2020-12'],
};

/** {scenario: its checks}. */
async function results(folder) {
  const found = {};
  for (const name of await readdir(folder)) {
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(name)?.[1];
    if (scenario) found[scenario] = JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8'));
  }
  return found;
}

for (const revision of Object.keys(more)) {
  test(`conformance to ${revision}`, async (t) => {
    const out = await scratch(t), root = await scratch(t);
    const server = await listen(t, [root], { program: fixtureServer });
    const baseline = join(here, `without-${revision}.yaml`);
    const { code, stdout, stderr } = await suite(['server', '--url', server.url, '--requirements', revision, '--expected-failures', baseline, '-o', out]);
    const without = [...(await readFile(baseline, 'utf8')).matchAll(/^ {2}- (\S+)$/gm)].map((match) => match[1]);
    const found = await results(out);
    const ran = [...stdout.matchAll(/^[✓✗] ([^:]+): /gm)].map((match) => match[1]);
    // Tasks are an extension; polling is for streams that can be resumed.
    const ours = ran.filter((name) => !/^tasks-|^server-sse-polling$/.test(name) && !without.includes(name));
    for (const name of more[revision]) assert.ok(ours.includes(name), `${name} did not run:\n${stdout}${stderr}`);
    for (const scenario of ours) {
      assert.ok(found[scenario]?.length, `${scenario} has no results`);
      for (const check of found[scenario]) {
        if (without.includes(`${scenario}:${check.id}`)) continue;
        await t.test(`${scenario}: ${check.name}`, (one) => {
          if (check.status === 'SKIPPED') return one.skip();
          assert.match(check.status, /^(SUCCESS|INFO)$/, JSON.stringify(check, null, 1));
        });
      }
    }
    assert.equal(code, 0, stdout.slice(stdout.indexOf('=== SUMMARY')) + stderr);
    server.child.kill('SIGTERM');
    assert.equal((await server.ended).code, 0);
  });
}

test('no program of ours has a tool that is there for the suite', async () => {
  const names = [/test_(simple_text|tool_with_progress|missing_capability|custom_header)/, /json_schema_2020_12/];
  const holds = async (path) => { const text = await readFile(path, 'latin1'); return names.map((name) => name.test(text)); };
  assert.deepEqual(await holds(fixtureServer), [true, true]);
  for (const program of [paddock, mcpath, pyddock]) assert.deepEqual(await holds(program), [false, false]);
});
