// An MCP server that answers a call with its name and arguments, and writes each line that
// it gets to a file: echo-mcp.mjs WORD LOG.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [word, log] = process.argv.slice(2);
createInterface({ input: process.stdin }).on('line', (line) => {
  appendFileSync(log, line + '\n');
  const { id, method, params } = JSON.parse(line);
  const send = (result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\n');
  if (method === 'initialize') send({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'echo', version: '1' }, instructions: 'FOREIGN' });
  else if (method === 'tools/list') send({ tools: [{ name: 'get_item', description: 'FOREIGN', inputSchema: { type: 'object' } }] });
  else if (method === 'tools/call') send({ content: [{ type: 'text', text: `${word}: ${params.name} ${JSON.stringify(params.arguments)}` }] });
});
