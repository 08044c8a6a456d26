"""The shell against bash, dash, and the shells for agents that npm has.

Every script runs in a shell that is there already and has run one before: a session of mcpath
over stdio, a bash or dash that reads from a pipe and sources a file, a node that has loaded the
rival. What bash prints is what the others must print before a time of theirs is shown.
"""
import json
import random
import shutil
import statistics
import subprocess
import time

from common import ENVIRONMENT, TOP, Client, row, timed

HANG_SECONDS = 60
PER_CALL = 1000

# name, script, how many calls its time is divided by
SCRIPTS = [
    ("echo hi, parsed and run", "echo hi\n" * PER_CALL, PER_CALL),
    ("x=$(echo a), parsed and run", "x=$(echo a)\n" * PER_CALL + "echo $x", PER_CALL),
    ("100,000 turns of while [ ]",
     "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo $i", 1),
    ("100,000 turns of for (( ))", "for ((i=0; i<100000; i++)); do :; done; echo $i", 1),
    ("for i in $(seq 100000)", "for i in $(seq 100000); do :; done; echo $i", 1),
    ("100,000 calls of a function",
     'f() { r=$1; }; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); f $i; done; echo $r', 1),
    ("100,000 times case and ${x%y}",
     'for ((i=0; i<100000; i++)); do x=a$i.c; case $x in *7.c) r=${x%.*};; esac; done; echo $r', 1),
    ("seq 5000000 | head -1", "seq 5000000 | head -1", 1),
    ("yes | head -2", "yes | head -2", 1),
    ("sort | uniq -c | sort -rn | head", "cut -d' ' -f2- words.txt | sort | uniq -c | sort -rn | head", 1),
    ("grep -c", "grep -c 'ab.*c' words.txt", 1),
    ("awk, count", "awk '{n += NF} END {print NR, n}' words.txt", 1),
    ("sed -n range", "sed -n '1000,1010p' words.txt", 1),
    ("wc -l", "wc -l words.txt", 1),
    ("cut | sort | uniq -c", "cut -d' ' -f2 words.txt | sort | uniq -c", 1),
]


class Failed(Exception):
    """A shell could not do it; the text says how."""


def make_words(root, megabytes):
    """Lines of a number and two words, of which there are 1,600 pairs."""
    r = random.Random(4)
    words = ["".join(r.choice("abcdefgh") for _ in range(r.randint(2, 9))) for _ in range(40)]
    with open(root / "words.txt", "w") as out:
        while out.tell() < megabytes << 20:
            out.write("".join(f"{r.randrange(10**6)} {r.choice(words)} {r.choice(words)}\n"
                              for _ in range(20000)))


class Session:
    """A shell that waits for commands on a pipe."""

    def __init__(self, program, root):
        self.p = subprocess.Popen([program], cwd=root, env=ENVIRONMENT, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)

    def run(self, script):
        """Of a file in its folder; gives seconds and output."""
        started = time.perf_counter()
        self.p.stdin.write(f". ./{script}; printf 'status %03d' $?\n".encode())
        output = bytearray()
        while output[-10:-3] != b"status ":
            part = self.p.stdout.read(1 << 16)
            if not part:
                raise Failed("not in its language")
            output += part
        seconds = time.perf_counter() - started
        if output[-3:] != b"000":
            raise Failed(f"status {int(output[-3:])}")
        return seconds, output[:-10].decode()

    def close(self):
        self.p.stdin.close()
        self.p.stdout.close()
        self.p.wait()


def of_program(program):
    def run(script, root, turns):
        (root / "script").write_text(script)
        (root / "first").write_text(":\n")
        session = Session(program, root)
        try:
            session.run("first")
            times = [session.run("script") for _ in range(turns)]
        finally:
            session.close()
        return min(times)[0], times[0][1]
    return run


def of_paddock(server):
    def run(script, root, turns):
        client = Client([*server, str(root)])
        client.call("run", {"command": ":"})
        best = float("inf")
        for _ in range(turns):
            started = time.perf_counter()
            reply = client.call("run", {"command": script})
            best = min(best, time.perf_counter() - started)
        client.close()
        return best, json.loads(reply)["result"]["content"][0]["text"]
    return run


def of_rival(folder, name):
    def run(script, root, turns):
        try:
            p = subprocess.run(["node", str(TOP / "bench/rival.mjs"), str(folder), name,
                                str(root), str(turns)], input=script.encode(),
                               capture_output=True, timeout=HANG_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed(f"no end in {HANG_SECONDS} s")
        if p.returncode:
            raise Failed((p.stderr.decode().strip().splitlines() or ["ended"])[-1][:70])
        result = json.loads(p.stdout)
        if result["status"]:
            raise Failed(f"status {result['status']}: {result['stderr'].strip()[:70]}")
        return min(result["seconds"]), result["stdout"]
    return run


def find_rivals(folder):
    """{name: how to run a script in it}, of those that can be had."""
    rivals = {"bash": of_program("bash")}
    if shutil.which("dash"):
        rivals["dash"] = of_program("dash")
    if not (folder / "node_modules").exists() and shutil.which("npm"):
        subprocess.run([str(TOP / "bench/get-rivals"), str(folder)], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    for name, package in (("just-bash", "just-bash"), ("bashkit", "@everruns/bashkit")):
        if (folder / "node_modules" / package).exists():
            rivals[name] = of_rival(folder, name)
        else:
            print(f"{name} is left out: bench/get-rivals {folder} did not install it")
    return rivals


def start(build, root, rivals, folder, turns):
    """A process that starts, says hi and ends."""
    script = "echo hi"
    commands = {"paddock": [str(build / "src/paddock"), "shell", str(root), "-c", script]}
    for name in rivals:
        commands[name] = [name, "-c", script] if name in ("bash", "dash") else \
            ["sh", "-c", f'echo "{script}" | node "$@"', "sh", str(TOP / "bench/rival.mjs"),
             str(folder), name, str(root), "1"]
    times = {name: [] for name in commands}
    for _ in range(turns):
        for name, argv in commands.items():
            times[name].append(timed(argv, root)[0])
    for name in rivals:
        row("a process that says hi", statistics.median(times["paddock"]),
            statistics.median(times[name]), name)


def compare(what, script, calls, ours, rivals, root, turns):
    unit, shown = ("us", 1e6) if calls > 1 else ("ms", 1e3)
    measured = {}
    for name, run in {"bash": rivals["bash"], "paddock": ours, **rivals}.items():
        try:
            measured[name] = run(script, root, turns)
        except Failed as e:
            measured[name] = str(e)
    expected = measured["bash"][1]
    for name, result in measured.items():
        if not isinstance(result, str) and result[1] != expected:
            measured[name] = f"other output: ...{result[1][-40:]!r}"
    if isinstance(measured["paddock"], str):
        print(f"{what:44} failed: {measured['paddock']}", flush=True)
        return
    seconds = measured["paddock"][0] / calls
    for name in rivals:
        if isinstance(measured[name], str):
            print(f"{what:44} {seconds * shown:9.2f} {'-':>9} {unit}  {'-':>7}  "
                  f"{name}: {measured[name]}", flush=True)
        else:
            row(what, seconds, measured[name][0] / calls, name, unit)


def run(build, root, turns, megabytes, folder):
    (root / "shells").mkdir()
    root = (root / "shells").resolve()
    make_words(root, megabytes)
    rivals = find_rivals(folder)
    ours = of_paddock([str(build / "src/mcpath")])
    start(build, root, rivals, folder, turns)
    for what, script, calls in SCRIPTS:
        compare(what, script, calls, ours, rivals, root, turns)
