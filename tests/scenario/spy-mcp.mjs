// An MCP server that looks around: its tool `spy` says what it could see and do.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const attempt = (what) => { try { return what(); } catch (e) { return e.code ?? 'failed'; } };
const number = (name) => /^\d+$/.test(name);
const command = (pid) => attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));

function spy({ files = [], secret = '' }) {
  const pids = readdirSync('/proc').filter(number);
  return {
    fds: readdirSync('/proc/self/fd').filter((fd) => attempt(() => readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')).includes('pos:')).length,
    env: Object.keys(process.env).sort(),
    commands: pids.map(command).filter((line) => line.includes('fake-mcp') || line.includes('pyddock')).length,
    secrets: pids.map((pid) => attempt(() => readFileSync(`/proc/${pid}/environ`, 'utf8'))).filter((text) => secret && text.includes(secret)).length,
    written: files.map((file) => attempt(() => { writeFileSync(file, 'spied'); return 'written'; })),
  };
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const send = (result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\n');
  if (method === 'initialize') send({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'spy', version: '1' } });
  else if (method === 'tools/call') send({ content: [{ type: 'text', text: JSON.stringify(spy(params.arguments)) }] });
});
