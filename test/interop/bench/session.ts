/**
 * One session of the benchmark in a process of its own, with the server as its child:
 * `session.ts <ours|v2|v1> <version> <task>`. Prints its figures as JSON. The tasks are `echo`,
 * `ask`, `askOnce`, `push` and `pushOnce`, which count calls of that tool per second, and
 * `large`, `heap` and `profile`.
 */
import { strict as assert } from "node:assert";
import { fileURLToPath } from "node:url";

export type Open = (
  server: string,
  protocol: string,
) => Promise<{
  /** Calls a tool. What it returns has passed the checks that README.md lists. */
  call(
    name: string,
    args: Record<string, unknown>,
  ): Promise<{ text: unknown; structured: Record<string, unknown> }>;
  close(): Promise<void>;
}>;

const WARM_MS = 1500; // shorter, and a slow machine measures V8's compilers
const COUNT_MS = 1000;
const PROFILE_MS = 5000;
const MIB = 1024 * 1024;

const [pair = "", protocol = "", task = ""] = process.argv.slice(2);
const server = fileURLToPath(new URL(`server-${pair}.ts`, import.meta.url));
const { open } = (await import(`./client-${pair}.ts`)) as { open: Open };
const session = await open(server, protocol);

/** Repeats a call with so many in flight, as long as `goesOn`. */
async function repeat(
  inFlight: number,
  goesOn: () => boolean,
  call: () => Promise<void>,
): Promise<void> {
  const worker = async () => {
    while (goesOn()) await call();
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}

/** Repeats a call for so many milliseconds; returns how often it was made per second. */
async function rate(ms: number, inFlight: number, call: () => Promise<void>) {
  const begin = performance.now();
  let count = 0;
  await repeat(
    inFlight,
    () => performance.now() - begin < ms,
    () => call().then(() => void count++),
  );
  return (count / (performance.now() - begin)) * 1000;
}

async function rates(call: () => Promise<void>) {
  await rate(WARM_MS, 8, call);
  return { one: await rate(COUNT_MS, 1, call), many: await rate(COUNT_MS, 64, call) };
}

async function echo(sent = 0, size = 1): Promise<void> {
  const args = { ...(sent > 0 && { text: "x".repeat(sent) }), size };
  const { text, structured } = await session.call("echo", args);
  assert.equal(String(text).length, size);
  assert.equal(structured["received"], sent);
}

async function ask(tool: string): Promise<void> {
  const { text, structured } = await session.call(tool, {});
  assert.match(String(text), /Grace/); // tool() writes its output as JSON too
  assert.equal(structured["name"], "Grace");
}

/** The median of three messages of so many bytes, there or back, in milliseconds. */
async function large(bytes: number, way: "up" | "down") {
  const times = [];
  for (let run = 0; run < 4; run++) {
    const begin = performance.now();
    await (way === "up" ? echo(bytes) : echo(0, bytes));
    times.push(performance.now() - begin);
  }
  return times.slice(1).sort((a, b) => a - b)[1]; // the first warms
}

/** What the server's heap holds after so many more calls. */
async function heapAfter(calls: number) {
  let left = calls;
  await repeat(
    64,
    () => left-- > 0,
    () => echo(),
  );
  return (await session.call("heap", {})).structured["heap"];
}

const tasks: Record<string, () => Promise<object>> = {
  echo: () => rates(() => echo()),
  large: async () => ({
    up1: await large(MIB, "up"),
    up16: await large(16 * MIB, "up"),
    down1: await large(MIB, "down"),
    down16: await large(16 * MIB, "down"),
  }),
  heap: async () => ({ few: await heapAfter(10_000), many: await heapAfter(90_000) }),
  profile: async () => ({ many: await rate(PROFILE_MS, 64, () => ask("askOnce")) }),
};
for (const tool of ["ask", "askOnce", "push", "pushOnce"])
  tasks[tool] = () => rates(() => ask(tool));

console.log(JSON.stringify(await tasks[task]?.()));
await session.close();
