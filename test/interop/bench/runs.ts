/**
 * How the benchmark runs programs: in a copy with one `node_modules`, so that no pair loads
 * zod twice, each run in new processes, and all in turn, so that a busy moment hits all.
 */
import { spawn } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const interop = fileURLToPath(new URL("..", import.meta.url));

/** The folder in which all programs run. */
export const copy = mkdtempSync(join(tmpdir(), "bench-"));
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

/** The version of an installed package. */
export function versionOf(name: string): string {
  const file = join(interop, "node_modules", name, "package.json");
  return JSON.parse(readFileSync(file, "utf8")).version;
}

/**
 * Runs a program in the copy to its end.
 *
 * @param path is looked in for programs before PATH
 * @returns its output, and the milliseconds until the first of it came
 */
export async function run([command = "", ...args]: string[], path?: string) {
  const { PATH } = process.env;
  const begin = performance.now();
  const child = spawn(command, args, {
    cwd: copy,
    env: { ...process.env, ...(path !== undefined && { PATH: `${path}:${PATH}` }) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let stdout = "";
  let ms = NaN;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (stdout === "") ms = performance.now() - begin;
    stdout += text;
  });
  const code = await new Promise((resolve, reject) =>
    child.once("error", reject).once("close", resolve),
  );
  if (code !== 0) throw new Error(`${command} ${args.join(" ")}: exit code ${code}`);
  return { stdout, ms };
}

/** One run of a program, and what was measured in it, each figure by its name. */
export type Runner = () => Promise<Record<string, number>>;

/** The figures of a runner, one value for each run. */
export type Figures = (runner: string, figure: string) => number[];

/**
 * Runs all runners in turn.
 *
 * @param warmUps so many rounds before, which don't count: for what caches on the disk speed up
 */
export async function inTurn(
  what: string,
  runs: number,
  runners: Record<string, Runner>,
  warmUps = 0,
): Promise<Figures> {
  const all = new Map<string, number[]>();
  for (let round = 1 - warmUps; round <= runs; round++) {
    process.stderr.write(`\r${what}: run ${Math.max(round, 0)} of ${runs} `);
    for (const [name, runner] of Object.entries(runners)) {
      const figures = await runner();
      if (round < 1) continue;
      for (const [figure, value] of Object.entries(figures)) {
        const key = `${name}, ${figure}`;
        all.set(key, [...(all.get(key) ?? []), value]);
      }
    }
  }
  process.stderr.write("\n");
  return (runner, figure) => {
    const values = all.get(`${runner}, ${figure}`);
    if (!values) throw new Error(`no figure ${figure} of ${runner}`);
    return values;
  };
}
