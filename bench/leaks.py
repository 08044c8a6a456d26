"""A great many calls of every kind over HTTP: what they leave behind in a server.

Most are made by wrk, eight at a time; those that a fixed request cannot make, and the first of
each kind, whose answers are looked at, by a client.
"""
import socket
import time

import web

MOST_KB = 5 << 10
REST_S = 12  # a worker that is not needed stays for 5 to 10


class Mixed:
    """A server and its clients: some with a session, one that opens others, one without."""

    def __init__(self, server, root):
        self.server, self.file = server, root / "requests"
        self.calls = 0
        self.peer, self.visitor = web.Peer(server), web.Peer(server)
        self.peer.open()
        self.requests = []

    def expect(self, peer, call, status, is_error, modern=False):
        got, message = peer.ask(*call, modern)
        wrong = "error" in message or bool(message.get("result", {}).get("isError"))
        if (got, wrong) != (status, is_error):
            raise SystemExit(f"{call}: {got} {message}")
        self.calls += 1

    def repeat(self, call, is_error=False, ways=(False, True)):
        """It is made once in each way, and by wrk from then on."""
        for modern in ways:
            self.expect(self.peer, call, 200, is_error, modern)
            self.requests.append(self.peer.raw(*call, modern))

    def hang_up(self, call):
        """A call that nobody waits for."""
        with socket.create_connection(("127.0.0.1", self.server.port)) as s:
            s.sendall(self.peer.raw(*call, False).encode())
            time.sleep(0.01)  # so that it has begun
        self.calls += 1

    def visit(self, call):
        """A session that is opened, used and ended; what comes after that is refused."""
        self.visitor.open()
        self.expect(self.visitor, call, 200, False)
        self.visitor.close_session()
        self.expect(self.visitor, call, 404, True)
        self.calls += 3

    def load(self, seconds):
        result = web.load(self.server, self.requests, 8, seconds, self.file)
        if result["errors"]:
            raise SystemExit(f"{result['errors']} of {result['requests']} requests failed")
        self.calls += result["requests"]

    def settled(self):
        """What it holds once nothing runs any more, and what waits for nothing has ended."""
        last, same = None, 0
        give_up = time.monotonic() + 60
        while same < 2 * REST_S and time.monotonic() < give_up:
            time.sleep(0.5)
            now = self.server.footprint()
            same = same + 1 if last and all(now[name] == last[name] for name in now
                                            if name != "resident KB") else 0
            last = now
        return last

    def close(self):
        self.peer.close()
        self.visitor.close()
        self.server.close()


def run_call(text, **more):
    return "run", {"command": text, **more}


class Shells(Mixed):
    def __init__(self, server, root):
        super().__init__(server, root)
        (root / "edited.txt").write_text("a\n")
        session = {"session": self.peer.open_ticket()}
        for n in range(6):
            self.repeat(run_call(f"x=$((x + 1)); echo {n} $PWD | tr a b"), ways=(False,))
            self.repeat(run_call(f"echo {n} > file{n}", **session), ways=(True,))
        for old, new in ("ab", "ba"):
            self.repeat(("edit", {"path": "edited.txt", "old_string": old, "new_string": new}),
                        ways=(False,))
        self.repeat(run_call("true", session="none"), True, (True,))
        self.repeat(run_call("true", none=1), True)
        self.repeat(("edit", {"path": "none"}), True)

    def round(self):
        self.visit(run_call("z=1; echo $z"))
        self.expect(self.peer, run_call("echo fresh"), 200, False, True)
        session = {"session": self.peer.open_ticket()}
        self.expect(self.peer, run_call("exit", **session), 200, False, True)
        self.expect(self.peer, run_call("true", **session), 200, True, True)
        self.hang_up(run_call("sleep 30"))
        self.calls += 1


class Files(Mixed):
    def __init__(self, server, root):
        super().__init__(server, root)
        for _ in range(4):
            self.repeat(("fs_stat", {"path": "edited.txt"}))
        self.repeat(("fs_readfile", {"path": "edited.txt"}))
        self.repeat(("fs_readfile", {"path": "none"}), True)
        self.repeat(("run_shell", {"command": "none"}), True)

    def round(self):
        self.visit(("fs_stat", {"path": "edited.txt"}))
        self.hang_up(("fs_stat", {"path": "edited.txt"}))


def measure(what, mixed, calls):
    """True: nothing has grown."""
    def make(most):
        until = mixed.calls + most
        while mixed.calls < until:
            mixed.round()
            mixed.load(1)
        return most + mixed.calls - until

    make(max(2000, calls // 20))
    before = mixed.settled()
    made = make(calls)
    after = mixed.settled()
    grown = {name: after[name] - before[name] for name in before}
    good = grown["resident KB"] <= MOST_KB and not any(
        n > 0 for name, n in grown.items() if name != "resident KB")
    print(f"{f'{made:,} calls of {what} leave behind':44} "
          + ", ".join(f"{n:+} {name}" for name, n in grown.items())
          + ("" if good else "  TOO MUCH"), flush=True)
    mixed.close()
    return good


def run(build, root, calls):
    shells = measure("mcpath", Shells(web.paddock(build / "src/mcpath", root), root), calls // 2)
    files = measure("pyddock", Files(web.paddock(build / "src/pyddock", root), root), calls // 2)
    return shells and files
