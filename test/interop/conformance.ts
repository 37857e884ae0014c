/**
 * Runs the official conformance suite against our client and our server, through the two
 * bridges: `tsx conformance.ts [word …]`. One scenario after the other, one line each; with
 * words, only the lines that contain them all (`client`, `2026-07-28`, `tools_call` …). The
 * exit code is 1 if any failed; what the suite wrote then is kept, and the last line says
 * where.
 *
 * A scenario passes if each of its checks does. A warning counts as a failure, and so do a
 * client's non-zero exit, a scenario that the suite skips, and a process that outlives it.
 * Scenarios for what we don't offer (prompts, resources, authorization …) aren't listed.
 */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const tsx = [process.execPath, "--import", import.meta.resolve("tsx")];

/** The client under test. It gets the URL as its last argument, starts the bridge with it. */
const CLIENT = [...tsx, here("driver.ts")];
/** The stdio server under test. */
const SERVER = [...tsx, here("fixtures.ts")];

const SCENARIOS: Record<"client" | "server", Record<string, string[]>> = {
  client: {
    "2025-11-25": [
      "initialize",
      "tools_call",
      "elicitation-sep1034-client-defaults",
      "sse-retry",
      "json-schema-2020-12-preservation",
    ],
    "2026-07-28": [
      "tools_call",
      "request-metadata",
      "sep-2322-client-request-state",
      "http-standard-headers",
      "json-schema-ref-no-deref",
      "json-schema-2020-12-preservation",
    ],
  },
  server: {
    "2025-11-25": [
      "server-initialize",
      "server-session-lifecycle",
      "ping",
      "tools-list",
      "tools-call-simple-text",
      "tools-call-error",
      "tools-call-image",
      "tools-call-audio",
      "tools-call-embedded-resource",
      "tools-call-mixed-content",
      "tools-call-sampling",
      "tools-call-elicitation",
      "elicitation-sep1034-defaults",
      "elicitation-sep1330-enums",
      "json-schema-2020-12",
      "server-sse-multiple-streams",
      "dns-rebinding-protection",
    ],
    "2026-07-28": [
      "server-stateless",
      "tools-list",
      "tools-call-simple-text",
      "tools-call-image",
      "tools-call-audio",
      "tools-call-embedded-resource",
      "tools-call-mixed-content",
      "tools-call-error",
      "json-schema-2020-12",
      "server-sse-multiple-streams",
      "dns-rebinding-protection",
      "caching",
      "http-header-validation",
      "input-required-result-basic-elicitation",
      "input-required-result-basic-sampling",
      "input-required-result-basic-list-roots",
      "input-required-result-request-state",
      "input-required-result-multiple-input-requests",
      "input-required-result-multi-round",
      "input-required-result-missing-input-response",
      "input-required-result-result-type",
      "input-required-result-unsupported-methods",
      "input-required-result-tampered-state",
      "input-required-result-capability-check",
      "input-required-result-ignore-extra-params",
      "input-required-result-validate-input",
    ],
  },
};

/** Checks of the scenarios above that fail, as they must, for want of a feature. */
const NOT_OFFERED = new Set([
  "caching:sep-2549-prompts-list-caching-hints",
  "caching:sep-2549-resources-list-caching-hints",
  "caching:sep-2549-resources-templates-list-caching-hints",
]);

/** The suite's own limit, which spares a hung client's children; and ours, which doesn't. */
const SUITE_LIMIT_MS = 20_000;
const OUTER_LIMIT_MS = 30_000;
const AFTERLIFE_MS = 1000;

type Run = { scenario: string };
type Check = { id: string; status: string };

const suite = [
  process.execPath,
  ...(parseInt(process.versions.node) < 22 ? ["--import", here("node20-hook.mjs")] : []),
  createRequire(import.meta.url)
    .resolve("@modelcontextprotocol/conformance/package.json")
    .replace(/package\.json$/, "dist/index.js"),
];

/** Each started process leads a group of its own, so that its children can be ended too. */
const groups = new Map<number, NodeJS.Timeout>();

function start([command = "", ...args]: string[]) {
  const child = spawn(command, args, {
    detached: true,
    // The bridge takes the end of a piped stdin as its own, should this runner be killed.
    stdio: ["pipe", "pipe", "pipe"],
  });
  const { pid = 0 } = child;
  groups.set(pid, setTimeout(signal, OUTER_LIMIT_MS, pid, "SIGKILL"));
  return child;
}

function signal(group: number, name: NodeJS.Signals): void {
  try {
    process.kill(-group, name);
  } catch {
    // Nobody is left in it.
  }
}

/**
 * What still runs in a group. Zombies don't: where process 1 is slow to reap, an orphan
 * (the compiler that tsx starts for a changed file, for one) stays in the list for seconds.
 */
function alive(group: number): string[] {
  const all = execFileSync("ps", ["-A", "-o", "pgid=,stat=,args="], { encoding: "utf8" });
  const rows = all.split("\n").map((row) => row.trim().split(/\s+/));
  return rows
    .filter(([pgid, stat]) => Number(pgid) === group && !stat?.startsWith("Z"))
    .map(([, , ...args]) => args.join(" "));
}

/** Waits for a group to be gone. Returns what had to be killed. */
async function settle({ pid = 0 }: ChildProcess): Promise<string[]> {
  const end = Date.now() + AFTERLIFE_MS;
  while (alive(pid).length > 0 && Date.now() < end) await sleep(50);
  const left = alive(pid);
  signal(pid, "SIGKILL");
  clearTimeout(groups.get(pid));
  groups.delete(pid);
  return left.map((args) => `left behind: ${args}`);
}

/** Runs the suite once; returns its exit code and what went wrong with its processes. */
async function runSuite(args: string[], output: string) {
  const child = start([...suite, ...args, "-o", output]);
  let log = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (log += text));
  const [code] = (await once(child, "exit")) as [number | null];
  const problems = await settle(child);
  if (code === null) problems.push(`killed after ${OUTER_LIMIT_MS} ms`);
  writeFileSync(join(output, "suite.log"), log);
  return { code, problems };
}

function readChecks(output: string): Check[] | undefined {
  const file = readdirSync(output, { recursive: true })
    .map(String)
    .find((name) => name.endsWith("checks.json"));
  return file && JSON.parse(readFileSync(join(output, file), "utf8"));
}

function problemsOf({ scenario }: Run, checks: Check[] | undefined): string[] {
  if (!checks) return ["no checks.json"];
  const failed = new Set(
    checks.filter(({ status }) => /FAILURE|WARNING/.test(status)).map(({ id }) => id),
  );
  const ran = new Set(checks.map(({ id }) => id));
  const stale = [...ran].filter(
    (id) => NOT_OFFERED.has(`${scenario}:${id}`) && !failed.has(id),
  );
  return [
    ...[...failed].filter((id) => !NOT_OFFERED.has(`${scenario}:${id}`)),
    ...stale.map((id) => `${id} (passes, though listed as not offered)`),
  ];
}

async function runClient(run: Run, common: string[], output: string) {
  // Without `exec` the suite's time limit would end a shell and leave the client alone.
  const command = ["--command", `exec ${CLIENT.join(" ")}`];
  const { code, problems } = await runSuite(["client", ...command, ...common], output);
  problems.push(...problemsOf(run, readChecks(output)));
  return code !== 0 && problems.length === 0 ? [`exit code ${code}`] : problems;
}

async function runServer(run: Run, common: string[], output: string) {
  // A bridge for each scenario: what one does to the shared process can't reach the next.
  const bridge = start([...tsx, here("bridge/http-to-stdio.ts"), "--", ...SERVER]);
  let log = "";
  bridge.stderr.setEncoding("utf8").on("data", (text: string) => (log += text));
  const url = await Promise.race([
    once(bridge.stdout, "data").then(String),
    once(bridge, "exit").then(() => undefined),
  ]);
  const problems: string[] = [];
  if (url === undefined) problems.push("the bridge did not start");
  else {
    const args = ["server", "--url", url.trim(), ...common];
    problems.push(...(await runSuite(args, output)).problems);
    problems.push(...problemsOf(run, readChecks(output)));
  }
  bridge.kill("SIGTERM");
  problems.push(...(await settle(bridge)));
  writeFileSync(join(output, "bridge.log"), log);
  return problems;
}

for (const name of ["SIGINT", "SIGTERM"] as const)
  process.once(name, () => process.exit(1));
process.on("exit", () => groups.forEach((_, group) => signal(group, "SIGKILL")));

const results = mkdtempSync(join(tmpdir(), "conformance-"));
const words = process.argv.slice(2);
const failures: string[] = [];
let passed = 0;
for (const side of ["client", "server"] as const)
  for (const [revision, scenarios] of Object.entries(SCENARIOS[side]))
    for (const scenario of scenarios) {
      const name = `${side} ${scenario} (${revision})`;
      if (!words.every((word) => name.includes(word))) continue;
      const output = mkdtempSync(join(results, `${side}-${scenario}-${revision}-`));
      const common = ["--scenario", scenario, "--spec-version", revision];
      common.push("--timeout", String(SUITE_LIMIT_MS));
      const runOne = side === "client" ? runClient : runServer;
      const problems = await runOne({ scenario }, common, output);
      if (problems.length > 0) failures.push(name);
      else passed++;
      console.log(
        problems.length > 0 ? `FAIL ${name}: ${problems.join(", ")}` : `ok   ${name}`,
      );
    }
console.log(`${passed} passed, ${failures.length} failed`);
if (failures.length > 0) console.log(`see ${results}`);
else rmSync(results, { recursive: true });
process.exitCode = failures.length > 0 || passed === 0 ? 1 : 0;
