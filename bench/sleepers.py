"""Many sessions opened, used and put to sleep: what they cost in memory and in time."""
import statistics
import time

import web

SAMPLE = 500  # of the sessions, woken up and asked what they remember


def shown(what, seconds):
    ordered = sorted(seconds)
    p50, p99 = statistics.median(ordered), ordered[len(ordered) * 99 // 100]
    print(f"{what:44} {p50 * 1e3:9.2f} ms p50  {p99 * 1e3:9.2f} ms p99", flush=True)


def timed(times, work):
    started = time.perf_counter()
    result = work()
    times.append(time.perf_counter() - started)
    return result


def wait_for_sleep(server, sessions):
    """Until all its shells are asleep; what processes it has then."""
    give_up = time.monotonic() + web.HANG_SECONDS
    while f'paddock_sessions{{state="asleep"}} {sessions}\n' not in web.metrics(server):
        if time.monotonic() > give_up:
            raise SystemExit("some shells do not go to sleep")
        time.sleep(0.05)
    return 1 + len(web.descendants(server.p.pid))


def run(build, root, sessions):
    (root / "d").mkdir()
    server = web.paddock(build / "src/mcpath", root, "--max-sessions", str(sessions),
                         "--shell-idle", "1", "--session-idle", "86400", "--metrics")
    peer = web.Peer(server)
    peer.open()
    peer.call("run", {"command": "true"})
    peer.close_session()
    before = web.status_number(server.p.pid, "VmRSS")
    opened, first, woken = [], [], []
    ids = []
    most = 0
    for i in range(sessions):
        ids.append(timed(opened, peer.open))
        timed(first, lambda: peer.call("run", {"command": f"cd d; x={i}"}))
        if i % 100 == 0:
            most = max(most, len(web.descendants(server.p.pid)))
    processes = wait_for_sleep(server, sessions)
    after = web.status_number(server.p.pid, "VmRSS")
    for i in range(0, sessions, max(1, sessions // SAMPLE)):
        peer.session = ids[i]
        text = timed(woken, lambda: peer.call("run", {"command": "echo $PWD $x"}))
        if text != f"/d {i}\n":
            raise SystemExit(f"session {i} remembers {text!r}")
    what = f"{sessions:,} sessions"
    shown(f"{what}: to open one", opened)
    shown(f"{what}: first call, cd and a variable", first)
    shown(f"{what}: a call that wakes it up", woken)
    print(f"{what + ': all asleep':44} {after / 1024:9.2f} MB resident, processes: {processes}; "
          f"{before / 1024:.2f} MB before, {(after - before) * 1024 // sessions} bytes for each; "
          f"at most {most} workers at once", flush=True)
    peer.close()
    server.close()
