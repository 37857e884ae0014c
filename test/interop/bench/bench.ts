/**
 * Our pair against the pairs on the official SDKs, as one table; README.md tells what is
 * measured and how.
 *
 *     npm run bench [-- [--runs <n>] [--node24 <path>] [--cores <list>] [<part> …]]
 *     npm run bench -- --cpu-prof [--node24 <path>]
 *
 * Linux only: peak memory is read from /proc.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startStooq } from "../../stooq.ts";
import { copy, inTurn, run, versionOf, type Figures, type Runner } from "./runs.ts";
import { bestOf, tableOf, type Row, type Values } from "./table.ts";

const { values, positionals } = parseArgs({
  options: {
    runs: { type: "string", default: "5" },
    node24: { type: "string" },
    cores: { type: "string" },
    "cpu-prof": { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const RUNS = Number(values.runs);
if (!(Number.isInteger(RUNS) && RUNS > 0)) throw new Error("--runs must be 1 or more");

const MODERN = "2026-07-28";
const LEGACY = "2025-11-25";
const NODE = [process.execPath, "--import", "tsx"];
const NPX = ["npx", "tsx"];
const BENCH = "test/interop/bench";

const rows: Row[] = [];
const notes: string[] = [];
if (values.cores !== undefined)
  notes.push(`Sessions of many calls ran on the cores ${values.cores} alone.`);

// --- Runners -----------------------------------------------------------------------------

const stooq = await startStooq();

/** The job of the pair: NVDA, and its price. `node` is the folder of another Node. */
function quote(launcher: string[], program: string[], node?: string): Runner {
  const job = ["--ticker", "NVDA", "--env", `STOOQ_URL=${stooq.url}`];
  return async () => {
    const { stdout, ms } = await run([...launcher, ...program, ...job], node);
    if (stdout !== "NVDA 188.5\n") throw new Error(`not a quote: ${stdout}`);
    return { ms };
  };
}

const inSdk = (client: string, server: string, ...more: string[]) => [
  `test/interop/sdk/${client}`,
  "--server",
  `test/interop/sdk/${server}`,
  ...more,
];
const OURS = ["client.ts", "--server", "server.ts"];
const V2_BOTH = inSdk("client.ts", "server.ts"); // looks for the newer era first, as ours does
const V2 = [...V2_BOTH, "--protocol", LEGACY]; // what the SDK does unless it is told
const V1 = inSdk("v1-client.ts", "v1-server.ts");

/** The same, and the peak memory of both processes. */
function peak(program: string[]): Runner {
  const start = quote([...NODE, "--import", `./${BENCH}/peak.mjs`], program);
  return async () => {
    await start();
    const folder = join(copy, BENCH);
    const files = readdirSync(folder).filter((name) => name.endsWith(".kib"));
    if (files.length !== 2) throw new Error(`${files.length} peaks instead of 2`);
    const peaks = files.map((name) => Number(readFileSync(join(folder, name), "utf8")));
    for (const name of files) rmSync(join(folder, name));
    return { mib: peaks.reduce((sum, kib) => sum + kib, 0) / 1024 };
  };
}

/** One session of many calls. */
function session(pair: string, protocol: string, task: string): Runner {
  const pinned = values.cores === undefined ? [] : ["taskset", "-c", values.cores];
  const script = [`${BENCH}/session.ts`, pair, protocol, task];
  const command = [...pinned, ...NODE, "--expose-gc", ...script];
  return async () => JSON.parse((await run(command)).stdout);
}

// --- Parts -------------------------------------------------------------------------------

async function startUp(): Promise<void> {
  for (const [name, launcher, most] of [
    ["npx tsx", NPX, 1.45],
    ["node --import tsx", NODE, 1.8],
  ] as const) {
    const runners = {
      ours: quote([...launcher], OURS),
      v2: quote([...launcher], V2),
      both: quote([...launcher], V2_BOTH),
      v1: quote([...launcher], V1),
      bare: async () => ({ ms: (await run([...launcher, `${BENCH}/floor.ts`])).ms }),
    };
    const of = await inTurn(`start-up, ${name}`, RUNS, runners, 1);
    const [ours, v2, both] = [of("ours", "ms"), of("v2", "ms"), of("both", "ms")];
    const [v1, bare] = [of("v1", "ms"), of("bare", "ms")];
    const start = { unit: "ms", better: "less", ours } as const;
    rows.push(
      {
        ...start,
        what: `Start-up to the quote, \`${name}\`, against SDK v2 in its default mode`,
        v2,
        v1,
        against: v2,
        reach: 0.75,
      },
      {
        ...start,
        what: "… against SDK v2 in both eras, as ours is",
        v2: both,
        reach: 0.55,
      },
      {
        ...start,
        what: "… against two bare starts",
        other: bare,
        against: bare,
        reach: most,
      },
    );
  }
}

/** A Node that runs TypeScript by itself: the one that was named, or this one. */
function newNode(): string | undefined {
  const node = values.node24 ?? process.execPath;
  const version = execFileSync(node, ["-p", "process.versions.node"], {
    encoding: "utf8",
  });
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isNew = major > 22 || (major === 22 && minor >= 18);
  if (!isNew && values.node24 !== undefined)
    throw new Error(`--node24 must be Node 22.18 or newer, not ${version.trim()}`);
  if (isNew) notes.push(`\`node client.ts\` was run on Node ${version.trim()}.`);
  return isNew ? node : undefined;
}

async function withoutTsx(): Promise<void> {
  const node = newNode();
  if (node === undefined) {
    notes.push(
      `Left out: \`node client.ts\` without tsx, which Node ${process.versions.node} ` +
        "can't run; `--node24 <path>` names one that can.",
    );
    return;
  }
  const of = await inTurn(
    "start-up without tsx",
    RUNS,
    {
      node: quote([node], OURS, dirname(node)),
      kept: quote(["env", `NODE_COMPILE_CACHE=${copy}/cache`, node], OURS),
      tsx: quote(NPX, OURS, dirname(node)),
    },
    1,
  );
  const other = of("tsx", "ms");
  for (const [what, runner] of [
    ["`node client.ts`, no tsx, against `npx tsx client.ts` on the same Node", "node"],
    ["… with NODE_COMPILE_CACHE, against the same", "kept"],
  ] as const)
    rows.push({
      what,
      unit: "ms",
      better: "less",
      ours: of(runner, "ms"),
      other,
      against: other,
      reach: 0.5,
    });
}

async function memory(): Promise<void> {
  const runners = { ours: peak(OURS), v2: peak(V2), v1: peak(V1) };
  const of = await inTurn("peak memory", RUNS, runners);
  const v2 = of("v2", "mib");
  rows.push({
    what: "Peak memory of both processes, against SDK v2",
    unit: "MiB",
    better: "less",
    ours: of("ours", "mib"),
    v2,
    v1: of("v1", "mib"),
    against: v2,
    reach: 0.75,
  });
}

const SESSIONS = [
  ["ours modern", "ours", MODERN],
  ["v2 modern", "v2", MODERN],
  ["ours legacy", "ours", LEGACY],
  ["v2 legacy", "v2", LEGACY],
  ["v1 legacy", "v1", LEGACY],
] as const;

/**
 * The rows of calls of one tool per second.
 *
 * @param push the tool of SDK v2 that asks in the other of its two ways, in the legacy era only
 */
async function perSecond(what: string, tool: string, push?: string): Promise<void> {
  const runners: Record<string, Runner> = {};
  for (const [name, pair, protocol] of SESSIONS)
    runners[name] = session(pair, protocol, tool);
  if (push !== undefined) runners["v2 push"] = session("v2", LEGACY, push);
  const of = await inTurn(what.toLowerCase(), RUNS, runners);
  for (const [figure, inFlight] of [
    ["one", 1],
    ["many", 64],
  ] as const)
    rows.push({
      what: `${what}, legacy, ${inFlight} in flight, against the better SDK`,
      unit: "/s",
      better: "more",
      ours: of("ours legacy", figure),
      ...legacyV2(of, figure, push !== undefined),
      v1: of("v1 legacy", figure),
      reach: 1.15,
    });
  for (const [figure, inFlight, reach] of [
    ["one", 1, 1.8],
    ["many", 64, 3],
  ] as const)
    rows.push({
      what: `${what}, modern, ${inFlight} in flight, against SDK v2`,
      unit: "/s",
      better: "more",
      ours: of("ours modern", figure),
      v2: of("v2 modern", figure),
      reach,
    });
}

/** SDK v2 at its best: of its two ways to ask, the faster one. */
function legacyV2(of: Figures, figure: string, hasTwoWays: boolean) {
  const v2: Values = of("v2 legacy", figure);
  if (!hasTwoWays) return { v2 };
  const pushed: Values = of("v2 push", figure);
  return bestOf([v2, pushed], "more") === v2
    ? { v2, by: "inputRequired" }
    : { v2: pushed, by: "elicitInput" };
}

async function bytes(): Promise<void> {
  const of = await inTurn("large messages", RUNS, {
    ours: session("ours", MODERN, "large"),
    v2: session("v2", MODERN, "large"),
  });
  for (const [way, to] of [
    ["up", "the server"],
    ["down", "the client"],
  ] as const) {
    const [ours, small] = [of("ours", `${way}16`), of("ours", `${way}1`)];
    const large = { unit: "ms", better: "less", ours } as const;
    const what = `16 MiB to ${to}, against SDK v2`;
    rows.push(
      { ...large, what, v2: of("v2", `${way}16`), reach: 0.5 },
      { ...large, what: "… against 1 MiB", other: small, against: small, reach: 20 },
    );
  }
}

async function leak(): Promise<void> {
  const runners = { ours: session("ours", MODERN, "heap") };
  const of = await inTurn("heap of the server", RUNS, runners);
  const inMiB = (figure: string) =>
    of("ours", figure).map((bytes) => bytes / 1024 / 1024);
  const few = inMiB("few");
  rows.push({
    what: "Heap of the server after 100,000 calls, against after 10,000",
    unit: "MiB",
    better: "less",
    ours: inMiB("many"),
    other: few,
    against: few,
    reach: 1.1,
  });
}

const PARTS: Record<string, () => Promise<void>> = {
  calls: () => perSecond("Calls per second", "echo"),
  questions: async () => {
    await perSecond("Questions", "ask", "push");
    await perSecond("Questions, form made once", "askOnce", "pushOnce");
  },
  "start-up": startUp,
  node24: withoutTsx,
  memory,
  bytes,
  leak,
};

// --- Profiles ----------------------------------------------------------------------------

/** Profiles our server and our client at 64 questions in flight, in both eras. */
async function profile(): Promise<void> {
  const [node = "", ...loader] = values.node24 === undefined ? NODE : [values.node24];
  const script = fileURLToPath(new URL("prof.mjs", import.meta.url));
  for (const [era, protocol] of [
    ["modern", MODERN],
    ["legacy", LEGACY],
  ] as const) {
    const folder = mkdtempSync(join(tmpdir(), `profile-${era}-`));
    const flags = ["--cpu-prof", `--cpu-prof-dir=${folder}`];
    const task = [`${BENCH}/session.ts`, "ours", protocol, "profile"];
    const { stdout } = await run([node, ...flags, ...loader, ...task]);
    console.log(`\n${era}: ${Math.round(JSON.parse(stdout).many)} questions per second`);
    // Of each process its main thread, number 0; tsx has another for its hooks.
    const files = readdirSync(folder).filter((name) =>
      /\.0\.\d+\.cpuprofile$/.test(name),
    );
    spawnSync(process.execPath, [script, ...files], { cwd: folder, stdio: "inherit" });
    console.log(`\nthe profiles are in ${folder}`);
  }
}

// --- Main --------------------------------------------------------------------------------

const unknown = positionals.find((part) => !Object.hasOwn(PARTS, part));
if (unknown !== undefined)
  throw new Error(`there is no part ${unknown}, but ${Object.keys(PARTS).join(", ")}`);

if (values["cpu-prof"]) await profile();
else {
  const begin = performance.now();
  for (const [name, part] of Object.entries(PARTS))
    if (positionals.length === 0 || positionals.includes(name)) await part();
  const minutes = ((performance.now() - begin) / 60_000).toFixed(1);
  const [cpu] = cpus();
  console.log(`
${tableOf(rows)}

${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node} on ${cpus().length} × ${cpu?.model.trim()};
SDK v2 ${versionOf("@modelcontextprotocol/client")}, SDK v1 ${versionOf("@modelcontextprotocol/sdk")}, zod ${versionOf("zod")}, tsx ${versionOf("tsx")}.
Medians of ${RUNS} runs in turn, ${minutes} minutes; a ratio is the median of the ratios of each run.
◄ marks a row in which something that people use is ahead of us.${["", ...notes].join("\n")}`);
}
await stooq.close();
