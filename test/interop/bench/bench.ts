/**
 * Ours against the official SDKs, taken in turn on the same machine: `npm run bench`. Prints one
 * table; every figure is a median of this run. Not a test: a machine that is busy shows it.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { connect } from "../../../client.ts";
import { startProcess } from "../../../mcp/process.ts";
import { startStooq } from "../../stooq.ts";

const RUNS = 11;
const CALLS = 10_000;
const QUESTIONS = 2000;
const BIG = 2 ** 24;
const root = fileURLToPath(new URL("../../..", import.meta.url));
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const tsx = ["--import", import.meta.resolve("tsx")];
const median = (values: number[]) =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
const rows: string[] = [];

/** A figure, and what we want to reach with it, if anything. */
function row(figure: string, value: number, reach?: number, isLeast = false): void {
  const holds =
    reach === undefined ? "" : (isLeast ? value >= reach : value <= reach) ? "yes" : "no";
  const want = reach === undefined ? "" : `${isLeast ? "≥" : "≤"} ${reach} ×`;
  rows.push(`| ${figure} | ${value.toFixed(2)} × | ${want} | ${holds} |`);
  console.error(rows.at(-1));
}

// --- Start-up ----------------------------------------------------------------------------

const folder = mkdtempSync(join(tmpdir(), "bench-"));
const stooq = await startStooq();
const quote = (folder: string) => [
  join(root, folder, "client.ts"),
  "--server",
  join(root, folder, "server.ts"),
  "--ticker",
  "NVDA",
  "--env",
  `STOOQ_URL=${stooq.url}`,
];
const PAIRS = {
  ours: quote(""),
  v2: quote("test/interop/sdk"),
  floor: [here("floor.ts")],
};
const LAUNCHERS = {
  "npx tsx": ["npx", "tsx"],
  "node --import tsx": [process.execPath, ...tsx],
};

/** Milliseconds to the first output. */
function timeToOutput([command = "", ...args]: string[]): Promise<number> {
  return new Promise((resolve) => {
    const begin = performance.now();
    let time = NaN;
    const child = spawn(command, args, {
      cwd: root,
      stdio: ["ignore", "pipe", "inherit"],
    });
    child.stdout.once("data", () => (time = performance.now() - begin));
    child.on("close", () => resolve(time));
  });
}

for (const [launcher, command] of Object.entries(LAUNCHERS)) {
  const times: Record<string, number[]> = { ours: [], v2: [], floor: [] };
  for (let run = 0; run < RUNS; run++) {
    for (const [name, args] of Object.entries(PAIRS)) {
      times[name]?.push(await timeToOutput([...command, ...args]));
    }
  }
  const [ours = NaN, v2 = NaN, floor = NaN] = Object.values(times).map(median);
  console.error(launcher, "ms:", { ours, v2, floor });
  row(
    `start-up to the quote, \`${launcher}\`, against SDK v2 (\`auto\`)`,
    ours / v2,
    0.75,
  );
  row(
    "the same against two bare starts",
    ours / floor,
    launcher === "npx tsx" ? 1.35 : 1.7,
  );
}

async function peak(args: string[]): Promise<number> {
  const file = join(folder, "rss");
  rmSync(file, { force: true });
  const preload = `${pathToFileURL(here("rss.mjs")).href}?file=${file}`;
  await timeToOutput([process.execPath, ...tsx, "--import", preload, ...args]);
  const [one = NaN, other = NaN] = readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map(Number);
  return one + other;
}
const peaks: Record<"ours" | "v2", number[]> = { ours: [], v2: [] };
for (let run = 0; run < RUNS; run++) {
  for (const name of ["ours", "v2"] as const) peaks[name].push(await peak(PAIRS[name]));
}
row(
  "peak memory of that run, against SDK v2",
  median(peaks.ours) / median(peaks.v2),
  0.8,
);

// --- Calls -------------------------------------------------------------------------------

type Caller = {
  call(name: string, text?: string): Promise<unknown>;
  close(): Promise<void>;
};

const accept = () => ({ action: "accept" as const, content: { n: 5 } });
const info = { name: "bench", version: "1.0.0" };
const capabilities = { elicitation: { form: {} } };
const server = (script: string) => ({
  command: process.execPath,
  args: [...tsx, here(script)],
  maxBufferSize: 2 * BIG,
});
const params = (name: string, text = "x") => ({ name, arguments: { text } });

async function openOurs(era: string): Promise<Caller> {
  const { command, args } = server("ours.ts");
  const session = await connect(() => startProcess(command, args, {}, () => {}), {
    protocol: era,
    answerer: { form: async () => accept() },
  });
  return {
    call: (name, text) => session.request("tools/call", params(name, text)),
    close: session.close,
  };
}

async function openV2(era: string): Promise<Caller> {
  const mode = era === "2026-07-28" ? { pin: era } : ("legacy" as const);
  const client = new ClientV2(info, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler("elicitation/create", accept);
  await client.connect(new StdioV2(server("v2.ts")));
  return {
    call: (name, text) => client.callTool(params(name, text)),
    close: () => client.close(),
  };
}

async function openV1(): Promise<Caller> {
  const client = new ClientV1(info, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, accept);
  await client.connect(new StdioV1(server("v1.ts")));
  return {
    call: (name, text) => client.callTool(params(name, text)),
    close: () => client.close(),
  };
}

/** Calls per second, so many at a time. */
async function rate(
  { call }: Caller,
  name: string,
  count: number,
  atOnce: number,
): Promise<number> {
  let left = count;
  const begin = performance.now();
  const worker = async () => {
    while (left-- > 0) await call(name);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return (count / (performance.now() - begin)) * 1000;
}

for (const era of ["2026-07-28", "2025-11-25"]) {
  const others: Record<string, () => Promise<Caller>> = {
    "SDK v2": () => openV2(era),
    ...(era === "2025-11-25" && { "SDK v1": openV1 }),
  };
  for (const [name, count, reach] of [
    ["echo", CALLS, 2.5],
    ["ask", QUESTIONS, 5],
  ] as const) {
    for (const atOnce of [1, 64]) {
      for (const [whose, open] of Object.entries(others)) {
        const callers = [await openOurs(era), await open()];
        const rates: number[][] = [[], []];
        for (const caller of callers) await rate(caller, name, 500, atOnce); // warm
        for (let run = 0; run < 3; run++) {
          for (const [at, caller] of callers.entries()) {
            rates[at]?.push(await rate(caller, name, count, atOnce));
          }
        }
        for (const caller of callers) await caller.close();
        const [ours = NaN, theirs = NaN] = rates.map(median);
        console.error("per second:", { ours, theirs });
        const what = name === "echo" ? "calls" : "calls with a question";
        row(
          `${what} per second, ${era}, ${atOnce} at once, against ${whose}`,
          ours / theirs,
          whose === "SDK v2" ? reach : undefined,
          true,
        );
      }
    }
  }
}

// --- Bytes and memory --------------------------------------------------------------------

async function time({ call }: Caller, bytes: number): Promise<number> {
  const text = "x".repeat(bytes);
  const times: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const begin = performance.now();
    await call("echo", text);
    times.push(performance.now() - begin);
  }
  return median(times);
}
const ours = await openOurs("2026-07-28");
const v2 = await openV2("2026-07-28");
await time(ours, 2 ** 20);
await time(v2, 2 ** 20);
const big = await time(ours, BIG);
row("16 MiB there and back, against 1 MiB", big / (await time(ours, 2 ** 20)), 20);
const theirs = await time(v2, BIG).catch(() => NaN);
if (Number.isNaN(theirs))
  console.error(
    "SDK v2 took no message of 16 MiB: its limit is 10 MiB unless raised at both ends",
  );
else row("16 MiB there and back, against SDK v2", big / theirs, 0.6);
await v2.close();
await ours.close();

const resident = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
let pid = 0;
const { command, args } = server("ours.ts");
const session = await connect(
  () => {
    const started = startProcess(command, args, {}, () => {});
    pid = started.pid ?? 0;
    return started;
  },
  { protocol: "2026-07-28" },
);
const caller: Caller = {
  call: (name) => session.request("tools/call", params(name)),
  close: session.close,
};
await rate(caller, "echo", 10_000, 64);
const early = resident(pid);
await rate(caller, "echo", 90_000, 64);
row(
  "memory of the server after 100,000 calls, against 10,000",
  resident(pid) / early,
  1.1,
);
await caller.close();
await stooq.close();
rmSync(folder, { recursive: true });

const version = (name: string) =>
  JSON.parse(readFileSync(here(`../node_modules/${name}/package.json`), "utf8")).version;
console.log(
  `| figure | ours | reach | holds |\n| --- | --- | --- | --- |\n${rows.join("\n")}\n`,
);
console.log(
  `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}; ` +
    `SDK v2 ${version("@modelcontextprotocol/client")}, SDK v1 ${version("@modelcontextprotocol/sdk")}, ` +
    `tsx ${version("tsx")}, zod ${version("zod")}`,
);
