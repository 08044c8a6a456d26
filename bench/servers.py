"""run_mcp against the same raw client that calls the same server directly."""
import json
import statistics
import time

from common import Client, row

POLICY = '[mcp.echo]\ntools = { ".*" = true }\n'
ECHO = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    if m["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "echo", "version": "1"}}
    else:
        result = {"content": [{"type": "text", "text": m["params"]["arguments"]["text"]}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
"""
DIRECT = ("echo", {"text": "hello"})
CALL = ("run_mcp", {"server": "echo", "tool": "echo", "arguments": DIRECT[1]})
BLOCK = 50


def define(workspace):
    """The server, told in the workspace; how it is started by hand."""
    argv = ["/usr/bin/python3", str(workspace / ".pyddock/echo.py")]
    (workspace / ".pyddock/echo.py").write_text(ECHO)
    (workspace / ".pyddock/mcp.json").write_text(json.dumps(
        {"mcpServers": {"echo": {"command": argv[0], "args": argv[1:]}}}))
    return argv


def seconds(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def start_and_call(argv):
    client = Client(argv)
    client.call(*DIRECT)
    return client


def cold(serve, workspace, turns):
    argv = define(workspace)
    client = Client(serve(workspace))
    ours, theirs, others = [], [], []
    for _ in range(turns):
        ours.append(seconds(lambda: client.call(*CALL)))
        theirs.append(seconds(lambda: others.append(start_and_call(argv))))
        others.pop().close()
    client.close()
    row("run_mcp echo, cold", statistics.median(ours), statistics.median(theirs),
        "the server itself")


def kept(serve, workspace, turns):
    direct = Client(define(workspace))
    client = Client(serve(workspace))
    client.call(*CALL)
    ours, theirs = [], []
    for _ in range(turns):
        for times, one, call in ((ours, client, CALL), (theirs, direct, DIRECT)):
            times.append(min(statistics.median(seconds(lambda: one.call(*call))
                                               for _ in range(BLOCK)) for _ in range(2)))
    client.close()
    direct.close()
    row("run_mcp echo, kept alive", min(ours), min(theirs), "the server itself", "us")


def measure(serve, for_cold, for_kept, turns):
    cold(serve, for_cold, turns * 5)
    kept(serve, for_kept, turns)
