"""Calls over HTTP that wrk makes: requests a second and latency, against other servers of MCP.

All servers run at once and are measured in turns, each by one thread of wrk on the same
machine, over connections that are kept alive.  There are as many sessions as connections,
except where a call has none: a modern fs_stat, and run in a fresh shell.  Our shortest call
that does any work is fs_stat, which asks a confined process for one file; the rivals' is an
echo, which asks nobody.  Of calls a second the ratio is the rival's to ours, so that below
1.00 paddock is faster here too.
"""
import shutil
import subprocess

import web
from common import TOP, row

ECHO = ("echo", {"message": "hi"})
STAT = ("fs_stat", {"path": "f.txt"})
RUN = ("run", {"command": "echo hi"})
CONNECTIONS = (1, 64)


class Case:
    """A call of one server, of one way of sessions, over so many connections."""

    def __init__(self, name, server, call, way, connections, root):
        self.name, self.connections = name, connections
        self.server, self.file = server, root / "requests"
        self.results = []
        self.requests = [self.one(web.Peer(server), *call, way)
                         for _ in range(1 if way == "alone" else connections)]

    def one(self, peer, tool, arguments, way):
        """The bytes of its request, which has been made once."""
        if way == "legacy":
            peer.open()
        elif way == "ticket":
            arguments = {**arguments, "session": peer.open_ticket()}
        peer.call(tool, arguments, way != "legacy")
        peer.close()
        return peer.raw(tool, arguments, way != "legacy")

    def measure(self, seconds):
        result = web.load(self.server, self.requests, self.connections, seconds, self.file)
        if result["errors"]:
            print(f"{self.name}, {self.connections} conn.: {result['errors']} requests failed")
        elif not result["requests"]:
            print(f"{self.name}, {self.connections} conn.: no answer in {seconds} s")
        else:
            self.results.append(result)

    def best(self, what):
        values = [result[what] for result in self.results]
        return max(values) if what == "per_second" else min(values)


def find_rivals(folder):
    """{name: a running server}, of those that can be had."""
    found = {}
    start = folder / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    python = folder / "fastmcp/bin/python"
    ready = folder / "fastmcp/bin/fastmcp"  # is there once all of it is installed
    if not (start.exists() and ready.exists()) and shutil.which("npm"):
        subprocess.run([str(TOP / "bench/get-rivals"), str(folder)], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    for name, program, argv in (
            ("server-everything", start, ["env", "PORT={}", "node", str(start), "streamableHttp"]),
            ("FastMCP", ready, [str(python), str(TOP / "bench/fastmcp-echo.py"), "{}"])):
        if program.exists():
            port = web.free_port()
            found[name] = web.Server([word.replace("{}", str(port)) for word in argv], port)
        else:
            print(f"{name} is left out: bench/get-rivals {folder} did not install it")
    return found


def cases(servers, rivals, root):
    """{connections: (ours, rivals)}"""
    made = {}
    for n in CONNECTIONS:
        ours = [Case(name, servers[program], call, way, n, root) for name, program, call, way in (
            ("fs_stat, legacy", "pyddock", STAT, "legacy"),
            ("fs_stat, modern", "pyddock", STAT, "alone"),
            ("run echo hi, legacy", "mcpath", RUN, "legacy"),
            ("run echo hi, modern", "mcpath", RUN, "ticket"),
            ("run echo hi, fresh shell", "mcpath", RUN, "alone"))]
        made[n] = ours, [Case(name, server, ECHO, "legacy", n, root)
                         for name, server in rivals.items()]
    return made


def report(made):
    for n, (ours, rivals) in made.items():
        for one in filter(lambda case: case.results, ours):
            for rival in filter(lambda case: case.results, rivals):
                what = f"{one.name}, {n} conn."
                row(f"{what}, calls/s", one.best("per_second"), rival.best("per_second"),
                    f"{rival.name}: echo", "/s")
                for p in ("p50", "p99"):
                    row(f"{what}, {p}", one.best(p), rival.best(p), f"{rival.name}: echo")


def run(build, root, turns, seconds, folder):
    (root / "f.txt").write_text("hi\n")
    many = ("--max-workers", "80", "--max-sessions", "400")
    servers = {"pyddock": web.paddock(build / "src/pyddock", root),
               "mcpath": web.paddock(build / "src/mcpath", root, *many)}
    rivals = find_rivals(folder)
    made = cases(servers, rivals, root)
    for _ in range(turns):
        for ours, others in made.values():
            for case in ours + others:
                case.measure(seconds)
    report(made)
    for server in [*servers.values(), *rivals.values()]:
        server.close()
