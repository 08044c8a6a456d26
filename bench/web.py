"""Servers that are reached over HTTP: how they are started and spoken to."""
import atexit
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from common import CLIENT, TOP

HANG_SECONDS = 120
MODERN = "2026-07-28"
LOAD_ID = 7000000  # wrk.lua puts others in its place
META = {"io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {}}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def descendants(pid):
    """Its processes, by what they run: {pid: name}; those that end meanwhile are left out."""
    found = {}
    try:
        for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            found[int(child)] = pathlib.Path(f"/proc/{child}/comm").read_text().strip()
            found.update(descendants(int(child)))
    except OSError:
        pass
    return found


def status_number(pid, field):
    """0: it has ended."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines()
                 if line.startswith(field + ":")), 0)


def descriptors(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


class Server:
    """A process that listens on a port of the loopback."""

    def __init__(self, argv, port):
        self.port = port
        self.p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        atexit.register(self.close)
        give_up = time.monotonic() + HANG_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                if self.p.poll() is not None or time.monotonic() > give_up:
                    raise SystemExit(f"{argv[0]} does not serve on port {port}")
                time.sleep(0.05)

    def footprint(self):
        """What it holds, of its processes all together."""
        pids = [self.p.pid, *descendants(self.p.pid)]
        return {"resident KB": sum(status_number(pid, "VmRSS") for pid in pids),
                "descriptors": sum(map(descriptors, pids)),
                "threads": sum(status_number(pid, "Threads") for pid in pids),
                "processes": len(pids)}

    def close(self):
        atexit.unregister(self.close)
        self.p.send_signal(signal.SIGTERM)
        try:
            self.p.wait(10)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()


def paddock(program, folder, *flags):
    port = free_port()
    where = ["serve", "--workspace", str(folder)] if program.name == "pyddock" else [str(folder)]
    return Server([str(program), *where, "--transport", "http", "--port", str(port), *flags], port)


def metrics(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=HANG_SECONDS)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return text


class Peer:
    """A client with a connection that is kept alive."""

    def __init__(self, server):
        self.port = server.port
        self.http = http.client.HTTPConnection("127.0.0.1", server.port, timeout=HANG_SECONDS)
        self.http.connect()
        self.http.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.session = None
        self.id = 0

    def head(self, method, params, modern):
        head = {"Content-Type": "application/json",
                "Accept": "application/json, text/event-stream"}
        if modern:
            head.update({"MCP-Protocol-Version": MODERN, "Mcp-Method": method})
            if "name" in params:
                head["Mcp-Name"] = params["name"]
        elif self.session:
            head.update({"Mcp-Session-Id": self.session,
                         "MCP-Protocol-Version": CLIENT["protocolVersion"]})
        return head

    def message(self, method, params, modern, number=None):
        self.id += 1
        if modern:
            params = {**params, "_meta": META}
        return json.dumps({"jsonrpc": "2.0", "id": number or self.id, "method": method,
                           "params": params}, separators=(",", ":"))

    def send(self, verb, body, head):
        """(status, headers, message) of a request."""
        self.http.request(verb, "/mcp", body, head)
        answer = self.http.getresponse()
        text = answer.read()
        if b"event-stream" in answer.headers.get("Content-Type", "").encode():
            text = next(line[6:] for line in text.split(b"\n") if line.startswith(b"data: {"))
        return answer.status, answer.headers, json.loads(text) if text else None

    def open(self):
        """A session of the era that has them."""
        self.session = None
        _, headers, _ = self.send("POST", self.message("initialize", CLIENT, False),
                                  self.head("initialize", CLIENT, False))
        self.session = headers["Mcp-Session-Id"]
        body = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.send("POST", body, self.head("notifications/initialized", {}, False))
        return self.session

    def close_session(self):
        return self.send("DELETE", None, self.head("", {}, False))[0]

    def ask(self, tool, arguments, modern=False):
        """(status, message) of a call, whatever came of it."""
        params = {"name": tool, "arguments": arguments}
        status, _, message = self.send("POST", self.message("tools/call", params, modern),
                                       self.head("tools/call", params, modern))
        return status, message

    def call(self, tool, arguments, modern=False):
        """The text of a call that has to succeed."""
        status, message = self.ask(tool, arguments, modern)
        if status != 200 or "error" in message or message["result"].get("isError"):
            raise SystemExit(f"{tool} failed: {status} {message}")
        return "".join(block.get("text", "") for block in message["result"]["content"])

    def raw(self, tool, arguments, modern, number=LOAD_ID):
        """The bytes of that call, to be sent some other way."""
        params = {"name": tool, "arguments": arguments}
        body = self.message("tools/call", params, modern, number)
        head = {"Host": f"127.0.0.1:{self.port}", "Content-Length": str(len(body)),
                **self.head("tools/call", params, modern)}
        return "POST /mcp HTTP/1.1\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in head.items()) + "\r\n" + body

    def open_ticket(self):
        """A session of the stateless revision."""
        text = self.call("run", {"command": "true", "session": "new"}, True)
        return re.search(r"\[paddock: session ([^;]+);", text)[1]

    def close(self):
        self.http.close()


def load(server, requests, connections, seconds, file):
    """Those of Peer.raw(), again and again, each with an id of its own: what wrk.lua says."""
    file.write_bytes(b"".join(r.encode() + b"\0" for r in requests))
    p = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s",
                        "-s", str(TOP / "bench/wrk.lua"),
                        f"http://127.0.0.1:{server.port}/mcp", "--", str(file)],
                       capture_output=True, text=True, check=True)
    return json.loads(p.stdout.splitlines()[-1])
