/**
 * Our pair against the pairs on the official SDKs:
 * `npm run bench [-- [--runs <n>] [start-up memory calls questions bytes leak]]`. All take
 * turns on the same machine, each run in new processes; a figure is the median of its runs.
 * Prints one table of what was measured, beside what we want it to be.
 *
 * The programs run in a copy with one `node_modules`, so that no pair loads zod twice. Linux
 * only: peak memory is read from /proc.
 */
import { spawn } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startStooq } from "../../stooq.ts";

const { values, positionals } = parseArgs({
  options: { runs: { type: "string", default: "11" } },
  allowPositionals: true,
});
const RUNS = Number(values.runs);
const wants = (part: string) => positionals.length === 0 || positionals.includes(part);
const MODERN = "2026-07-28";
const LEGACY = "2025-11-25";

// --- The copy ----------------------------------------------------------------------------

const root = fileURLToPath(new URL("../../..", import.meta.url));
const interop = fileURLToPath(new URL("..", import.meta.url));
const copy = mkdtempSync(join(tmpdir(), "bench-"));
process.on("exit", () => rmSync(copy, { recursive: true, force: true }));
for (const name of ["SIGINT", "SIGTERM"] as const)
  process.once(name, () => process.exit(1));

for (const path of ["client.ts", "server.ts", "price.ts", "mcp", "tsconfig.json"])
  cpSync(join(root, path), join(copy, path), { recursive: true });
for (const path of ["sdk", "bench"])
  cpSync(join(interop, path), join(copy, "test/interop", path), { recursive: true });
writeFileSync(join(copy, "package.json"), '{ "type": "module" }');
mkdirSync(join(copy, "node_modules/.bin"), { recursive: true });
for (const [from, name] of [
  [root, "csv-parse"],
  [root, "picocolors"],
  [interop, "zod"],
  [interop, "tsx"],
  [interop, "@modelcontextprotocol"],
  [interop, ".bin/tsx"],
] as const)
  symlinkSync(join(from, "node_modules", name), join(copy, "node_modules", name));

// --- Runs --------------------------------------------------------------------------------

const stooq = await startStooq();

/** Runs a program in the copy to its end; returns its output, and when its first came. */
async function run(command: string, args: string[]) {
  const begin = performance.now();
  const child = spawn(command, args, {
    cwd: copy,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let stdout = "";
  let ms = NaN;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (stdout === "") ms = performance.now() - begin;
    stdout += text;
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(`${command} ${args.join(" ")}: exit code ${code}`);
  return { stdout, ms };
}

type Runner = () => Promise<Record<string, number>>;
type Figures = Record<string, number>;

/** All runners in turn, `RUNS` times and once before that to warm caches; their medians. */
async function inTurn(what: string, runners: Record<string, Runner>) {
  const all: Record<string, number[]> = {};
  for (let round = 0; round <= RUNS; round++) {
    process.stderr.write(`\r${what}: run ${round} of ${RUNS} `);
    for (const [name, runner] of Object.entries(runners))
      for (const [key, value] of Object.entries(await runner()))
        if (round > 0) (all[`${name} ${key}`] ??= []).push(value);
  }
  process.stderr.write("\n");
  const medians: Figures = {};
  for (const [name, values] of Object.entries(all)) medians[name] = median(values);
  return medians;
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

const OURS = ["client.ts", "--server", "server.ts"];
const V2 = ["client.ts", "--server", "server.ts"].map(inSdk);
const V1 = ["v1-client.ts", "--server", "v1-server.ts"].map(inSdk);

const JOB = ["--ticker", "NVDA", "--env", `STOOQ_URL=${stooq.url}`];

function inSdk(word: string): string {
  return word.endsWith(".ts") ? `test/interop/sdk/${word}` : word;
}

const quote = (launcher: string[], program: string[]): Runner => {
  const [command = "", ...args] = [...launcher, ...program, ...JOB];
  return async () => {
    const { stdout, ms } = await run(command, args);
    if (stdout !== "NVDA 188.5\n") throw new Error(`not a quote: ${stdout}`);
    return { ms };
  };
};

const floor =
  ([command = "", ...args]: string[]): Runner =>
  async () => ({
    ms: (await run(command, [...args, "test/interop/bench/floor.ts"])).ms,
  });

const startUps = (launcher: string[]): Record<string, Runner> => ({
  ours: quote(launcher, OURS),
  v2: quote(launcher, [...V2, "--protocol", LEGACY]), // what the SDK does unless told
  "v2 auto": quote(launcher, V2),
  v1: quote(launcher, V1),
  floor: floor(launcher),
});

const NODE = [process.execPath, "--import", "tsx"];
const NPX = ["npx", "tsx"];

const peak = (program: string[]): Runner => {
  const start = quote([...NODE, "--import", "./test/interop/bench/peak.mjs"], program);
  return async () => {
    await start();
    const folder = join(copy, "test/interop/bench");
    const files = readdirSync(folder).filter((name) => name.endsWith(".kib"));
    if (files.length !== 2) throw new Error(`${files.length} peaks instead of 2`);
    const peaks = files.map((name) => Number(readFileSync(join(folder, name), "utf8")));
    for (const name of files) rmSync(join(folder, name));
    return { mib: peaks.reduce((sum, kib) => sum + kib, 0) / 1024 };
  };
};

const session = (pair: string, protocol: string, task: string): Runner => {
  const [command = "", ...loader] = NODE;
  const script = "test/interop/bench/session.ts";
  const args = [...loader, "--expose-gc", script, pair, protocol, task];
  return async () => JSON.parse((await run(command, args)).stdout) as Figures;
};

const pairs = (task: string): Record<string, Runner> => ({
  "ours modern": session("ours", MODERN, task),
  "v2 modern": session("v2", MODERN, task),
  "ours legacy": session("ours", LEGACY, task),
  "v2 legacy": session("v2", LEGACY, task),
  "v1 legacy": session("v1", LEGACY, task),
  floor: session("floor", "", "calls"),
});

// --- The table ---------------------------------------------------------------------------

type Row = (string | number | undefined)[];
const rows: Row[] = [];

/** One line: what, ours, that of version 2, of version 1, of the floor, ratio, target. */
function row(
  what: string,
  unit: string,
  ours: number,
  others: { v2?: number; v1?: number; other?: number },
  ratio: number,
  target?: ["≤" | "≥", number],
) {
  const show = (value?: number) => (value === undefined ? "" : `${round(value)} ${unit}`);
  const isMet = target && (target[0] === "≤" ? ratio <= target[1] : ratio >= target[1]);
  const verdict = target ? `${target.join(" ")}${isMet ? "" : " **missed**"}` : "";
  const { v2, v1, other } = others;
  rows.push([
    what,
    show(ours),
    show(v2),
    show(v1),
    show(other),
    ratio.toFixed(2),
    verdict,
  ]);
}

function round(value: number): string {
  return value >= 1000
    ? Math.round(value).toLocaleString("en")
    : value.toPrecision(3).replace(/\.0+$/, "");
}

const get = (figures: Figures, key: string): number => {
  const value = figures[key];
  if (value === undefined) throw new Error(`no figure ${key}`);
  return value;
};

if (wants("start-up"))
  for (const [name, launcher, most] of [
    ["npx tsx", NPX, 1.35],
    ["node --import tsx", NODE, 1.7],
  ] as const) {
    const of = await inTurn(`start-up, ${name}`, startUps([...launcher]));
    const ours = get(of, "ours ms");
    const v2 = get(of, "v2 ms");
    const bare = get(of, "floor ms");
    const what = `Start-up to the quote, \`${name}\``;
    row(what, "ms", ours, { v2, v1: get(of, "v1 ms") }, ours / v2, ["≤", 0.75]);
    row(`… against two bare starts`, "ms", ours, { other: bare }, ours / bare, [
      "≤",
      most,
    ]);
    const auto = get(of, "v2 auto ms");
    row(
      `… against SDK v2 in both eras, as ours is`,
      "ms",
      ours,
      { v2: auto },
      ours / auto,
    );
  }

if (wants("memory")) {
  const of = await inTurn("peak memory", {
    ours: peak(OURS),
    v2: peak([...V2, "--protocol", LEGACY]),
    v1: peak(V1),
  });
  const [ours, v2] = [get(of, "ours mib"), get(of, "v2 mib")];
  const what = "Peak memory of both processes";
  row(what, "MiB", ours, { v2, v1: get(of, "v1 mib") }, ours / v2, ["≤", 0.8]);
}

for (const [task, what, least] of [
  ["calls", "Calls", 2.5],
  ["questions", "Calls with a question", 5],
] as const) {
  if (!wants(task)) continue;
  const of = await inTurn(task, pairs(task));
  for (const era of ["modern", "legacy"])
    for (const [key, inFlight] of [
      ["one", 1],
      ["many", 64],
    ] as const) {
      const ours = get(of, `ours ${era} ${key}`);
      const v2 = get(of, `v2 ${era} ${key}`);
      const v1 = of[`v1 ${era} ${key}`];
      const name = `${what}, ${era}, ${inFlight} in flight`;
      const others = { v2, ...(v1 !== undefined && { v1 }) };
      row(name, "/s", ours, others, ours / v2, ["≥", least]);
      if (inFlight > 1) continue;
      // A question is a second round.
      const bare = get(of, "floor one") / (task === "calls" ? 1 : 2);
      row(`… against bare lines`, "/s", ours, { other: bare }, ours / bare);
    }
}

if (wants("bytes")) {
  const of = await inTurn("large messages", {
    ours: session("ours", MODERN, "large"),
    v2: session("v2", MODERN, "large"),
  });
  for (const [way, to] of [
    ["up", "the server"],
    ["down", "the client"],
  ] as const) {
    const [ours, v2] = [get(of, `ours ${way}16`), get(of, `v2 ${way}16`)];
    const [small, smallV2] = [get(of, `ours ${way}1`), get(of, `v2 ${way}1`)];
    row(`1 MiB to ${to}`, "ms", small, { v2: smallV2 }, small / smallV2);
    row(`16 MiB to ${to}`, "ms", ours, { v2 }, ours / v2, ["≤", 0.6]);
    row(`… against 1 MiB`, "ms", ours, { other: small }, ours / small, ["≤", 20]);
  }
}

if (wants("leak")) {
  const of = await inTurn("memory of the server", {
    ours: session("ours", MODERN, "memory"),
  });
  for (const [key, what] of [
    ["heap", "Heap of the server"],
    ["rss", "Memory of the server"],
  ] as const) {
    const [many, few] = [get(of, `ours ${key}100`), get(of, `ours ${key}10`)];
    const MIB = 1024 * 1024;
    const name = `${what} after 100,000 calls against 10,000`;
    row(name, "MiB", many / MIB, { other: few / MIB }, many / few, ["≤", 1.1]);
  }
}
await stooq.close();

const versionOf = (name: string) =>
  JSON.parse(readFileSync(join(interop, "node_modules", name, "package.json"), "utf8"))
    .version;
const [cpu] = cpus();
const HEAD = ["", "ours", "SDK v2", "SDK v1", "compared with", "ratio", "target"];
const table = [HEAD, HEAD.map((_, column) => (column ? "--:" : "---")), ...rows];
console.log(`
${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${cpus().length} × ${cpu?.model.trim()},
SDK v2 ${versionOf("@modelcontextprotocol/client")}, SDK v1 ${versionOf("@modelcontextprotocol/sdk")}, zod ${versionOf("zod")}, tsx ${versionOf("tsx")}; medians of ${RUNS} runs in turn.
The ratio is ours to SDK v2, or to what the column before it says.

${table.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}`);
