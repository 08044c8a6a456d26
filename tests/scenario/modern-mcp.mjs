// An MCP server of the official SDK that refuses the handshake of older revisions, or
// (with "both") speaks either.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

serveStdio(({ era }) => {
  const server = new McpServer({ name: 'modern', version: '1' });
  server.registerTool('era', { description: 'Which era is this?' }, () => ({ content: [{ type: 'text', text: `era ${era}` }] }));
  server.registerTool('broken', { description: 'Fails.' }, () => { throw new Error('out of order'); });
  return server;
}, { legacy: process.argv[2] === 'both' ? 'serve' : 'reject' });
