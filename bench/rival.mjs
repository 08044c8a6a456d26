// Run a script in a shell of npm, in this process, and say how long it took.
// usage: node bench/rival.mjs FOLDER just-bash|bashkit ROOT TURNS < SCRIPT
// Prints {"seconds": [...], "status": N, "stdout": "...", "stderr": "..."} as JSON: the turns of
// the script (for three seconds, but one at least), and what the last one gave.
import { createRequire } from "node:module";
import { readFileSync, realpathSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, name, root, turns] = process.argv.slice(2);
const script = readFileSync(0, "utf8");
const most = Number.MAX_SAFE_INTEGER;
const big = 2 ** 31 - 1;
const packages = createRequire(pathToFileURL(`${realpathSync(folder)}/package.json`));
const load = (what) => import(pathToFileURL(packages.resolve(what)));

// Both have limits that the scripts would exceed; here they are as good as none.
async function justBash() {
    const { Bash, OverlayFs } = await load("just-bash");
    const fs = new OverlayFs({ root, mountPoint: "/work", maxFileReadSize: big });
    const limits = ["maxCommandCount", "maxLoopIterations", "maxAwkIterations", "maxWorkUnits",
        "maxSedIterations", "maxLiveBytes", "maxInputBytes", "maxOutputSize", "maxStringLength",
        "maxArrayElements", "maxBraceExpansionResults", "maxExecutionTimeMs"];
    const bash = new Bash({
        fs, cwd: "/work",
        executionLimits: Object.fromEntries(limits.map((limit) => [limit, big])),
    });
    return async (text) => {
        const result = await bash.exec(text);
        return { status: result.exitCode, stdout: result.stdout, stderr: result.stderr };
    };
}

async function bashkit() {
    const { Bash } = await load("@everruns/bashkit");
    const bash = new Bash({
        cwd: "/work", mounts: [{ path: "/work", root }], allowedMountPaths: [root],
        maxCommands: big, maxLoopIterations: big, maxTotalLoopIterations: big,
        maxMemory: most, timeoutMs: 600000,
    });
    return async (text) => {
        const result = bash.executeSync(text);
        return { status: result.exitCode, stdout: result.stdout, stderr: result.stderr };
    };
}

async function timed(run, text) {
    const started = process.hrtime.bigint();
    const result = await run(text);
    return { seconds: Number(process.hrtime.bigint() - started) / 1e9, ...result };
}

const run = await (name === "just-bash" ? justBash() : bashkit());
const seconds = [];
let last;
await run(":");
for (let turn = 0; turn < Number(turns); turn++) {
    last = await timed(run, script);
    seconds.push(last.seconds);
    if (seconds.reduce((a, b) => a + b) > 3)
        break;
}
console.log(JSON.stringify({ ...last, seconds }));
