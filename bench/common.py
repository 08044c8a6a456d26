"""What the parts of the bench share: a client, a timed process, a row of the table."""
import json
import os
import pathlib
import subprocess
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {},
          "clientInfo": {"name": "bench", "version": "1"}}
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": "/"}


class Client:
    """A client of raw lines: as little of its own as Python allows."""

    def __init__(self, argv):
        self.started = time.perf_counter()
        self.p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, bufsize=0)
        self.id = 0
        self.request("initialize", CLIENT)
        self.connected = time.perf_counter() - self.started

    def request(self, method, params):
        self.id += 1
        message = {"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}
        self.p.stdin.write(json.dumps(message).encode() + b"\n")
        reply = bytearray()
        while not reply.endswith(b"\n"):
            part = self.p.stdout.read(1 << 20)
            if not part:
                raise SystemExit("the server has gone")
            reply += part
        return reply

    def call(self, tool, arguments):
        reply = self.request("tools/call", {"name": tool, "arguments": arguments})
        if b'"isError":true' in reply or b'"error":' in reply[:80]:
            raise SystemExit(f"{tool} failed: {reply.decode()[:500]}")
        return reply

    def close(self):
        self.p.stdin.close()
        self.p.wait()


def row(what, ours, rival, name, unit="ms"):
    """"/s" is better if it is more: the ratio is turned over."""
    scale = {"ms": 1e3, "us": 1e6, "MB": 1, "/s": 1}[unit]
    ratio = rival / ours if unit == "/s" else ours / rival
    print(f"{what:44} {ours * scale:9.2f} {rival * scale:9.2f} {unit}  "
          f"{ratio:6.2f}x  {name}", flush=True)


def timed(argv, cwd):
    started = time.perf_counter()
    p = subprocess.Popen(argv, cwd=cwd, env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = status
    return time.perf_counter() - started, usage.ru_maxrss / 1024, status
