/**
 * Prints the functions of a CPU profile that took the most time by themselves:
 * `node test/interop/bench/prof.mjs <file.cpuprofile> …`.
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path";

const TOP = 10;

for (const file of process.argv.slice(2)) {
  const profile = JSON.parse(readFileSync(file, "utf8"));
  const functions = new Map();
  const names = new Map();
  for (const { id, callFrame } of profile.nodes) {
    const { functionName, url, lineNumber, columnNumber } = callFrame;
    const place = `${basename(url)}:${lineNumber + 1}:${columnNumber + 1}`;
    names.set(id, `${functionName || "(anonymous)"}  ${url ? place : ""}`);
  }
  // A sample belongs to the function that is on top of the stack, until the next sample.
  profile.samples.forEach((id, at) => {
    const ms = (profile.timeDeltas[at + 1] ?? 0) / 1000;
    functions.set(names.get(id), (functions.get(names.get(id)) ?? 0) + ms);
  });
  const isIdle = (name) => name.startsWith("(idle)");
  const busy = [...functions].filter(([name]) => !isIdle(name));
  const total = busy.reduce((sum, [, ms]) => sum + ms, 0);
  const script = profile.nodes
    .map(({ callFrame }) => basename(callFrame.url))
    .find((name) => /^(session|client|server)[\w-]*\.ts$/.test(name));
  console.log(`\n${script ?? file}: busy for ${Math.round(total)} ms`);
  for (const [name, ms] of busy.sort(([, a], [, b]) => b - a).slice(0, TOP))
    console.log(`${((100 * ms) / total).toFixed(1).padStart(5)} %  ${name}`);
}
