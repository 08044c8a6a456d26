// A server as a process, spoken to line by line, for tests that no client would write.
import { spawn } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';

const HANG_MS = 60000; // only to catch what never ends

/** A running server: send(), reply(id), and how it ended. */
export class Server {
  constructor(t, program, { args, stdin = 'pipe', stdout = 'pipe', env } = {}) {
    this.child = spawn(program, args, { stdio: [stdin, stdout, 'pipe'], env: { ...process.env, ...env } });
    this.messages = [];
    this.stderr = '';
    this.waiting = [];
    let parts = [];
    this.child.stdout?.setEncoding('utf8').on('data', (text) => {
      parts.push(text);
      if (!text.includes('\n')) return;
      const lines = parts.join('').split('\n');
      parts = [lines.pop()];
      for (const line of lines) this.messages.push(JSON.parse(line));
      this.waiting = this.waiting.filter((check) => !check());
    });
    this.child.stderr.setEncoding('utf8').on('data', (text) => { this.stderr += text; });
    this.child.stdin?.on('error', () => {});
    this.ended = new Promise((done) => this.child.on('close', (code, signal) => done({ code, signal })));
    t.after(() => this.child.kill('SIGKILL'));
  }

  send(...messages) {
    this.child.stdin.write(messages.map((m) => (typeof m === 'string' ? m : JSON.stringify(m)) + '\n').join(''));
  }

  find(wanted) {
    return new Promise((done, fail) => {
      const timer = setTimeout(() => fail(new Error(`no such message; stderr: ${this.stderr}`)), HANG_MS);
      timer.unref();
      const check = () => {
        const found = this.messages.find(wanted);
        if (found) { clearTimeout(timer); done(found); }
        return found;
      };
      if (!check()) this.waiting.push(check);
    });
  }

  reply(id) { return this.find((m) => m.id === id); }

  call(id, command, more = {}) {
    this.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'run', arguments: { command }, ...more } });
    return this.reply(id);
  }

  async text(id, command) {
    const { result } = await this.call(id, command);
    return { text: result.content[0].text, isError: result.isError };
  }
}

export const ping = (id) => ({ jsonrpc: '2.0', id, method: 'ping' });
export const cancel = (requestId) => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });

/** Whether a process is there and not only waits to be reaped. */
export async function runs(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat !== '' && !/\) [ZX] /.test(stat);
}

/** The processes that a server has started and that still run: pids, as text.  (The
 * kernel's list, task/PID/children, may lack some while another one ends.) */
export async function children(server) {
  const found = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^[0-9]+$/.test(name))) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    const [state, parent] = stat.replace(/^.*\) /s, '').split(' ');
    if (Number(parent) === server.child.pid && !/[ZX]/.test(state)) found.push(pid);
  }
  return found;
}
