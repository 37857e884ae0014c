/**
 * One session of the benchmark in a process of its own, with the server as its child:
 * `session.ts <ours|v2|v1|floor> <version> <calls|questions|large|memory>`. Prints figures as JSON.
 */
import { strict as assert } from "node:assert";
import { fileURLToPath } from "node:url";

export type Open = (
  server: string,
  protocol: string,
) => Promise<{
  /** Calls a tool and returns the text it answers with. */
  call(name: string, args: Record<string, unknown>): Promise<unknown>;
  close(): Promise<void>;
}>;

const [pair = "", protocol = "", task = ""] = process.argv.slice(2);
const server = fileURLToPath(new URL(`server-${pair}.ts`, import.meta.url));
const { open } = (await import(`./client-${pair}.ts`)) as { open: Open };
const session = await open(server, protocol);

/** Makes `count` calls with so many in flight; returns milliseconds. */
async function time(count: number, inFlight: number, call: () => Promise<void>) {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await call();
  };
  const begin = performance.now();
  await Promise.all(Array.from({ length: inFlight }, worker));
  return performance.now() - begin;
}

const echo = async (args: Record<string, unknown> = {}, length = 1) => {
  const text = await session.call("echo", args);
  assert.equal(String(text).length, length);
};
const ask = async () => assert.equal(await session.call("ask", {}), "Grace");

async function perSecond(count: number, call: () => Promise<void>) {
  await time(count / 10, 8, call); // warm
  const one = count / ((await time(count, 1, call)) / 1000);
  const many = count / ((await time(count, 64, call)) / 1000);
  return { one, many };
}

/** The median of three messages of so many bytes, there or back. */
async function large(bytes: number, way: "up" | "down") {
  const text = "x".repeat(bytes);
  const args = way === "up" ? { text } : { size: bytes };
  const call = () => echo(args, way === "up" ? 1 : bytes);
  const times = [];
  for (let run = 0; run < 4; run++) times.push(await time(1, 1, call));
  return times.slice(1).sort((a, b) => a - b)[1]; // the first warms
}

async function after(calls: number) {
  await time(calls, 64, echo);
  return JSON.parse(String(await session.call("memory", {})));
}

const MIB = 1024 * 1024;
const TASKS: Record<string, () => Promise<object>> = {
  calls: () => perSecond(10_000, echo),
  questions: () => perSecond(10_000, ask),
  large: async () => ({
    up1: await large(MIB, "up"),
    up16: await large(16 * MIB, "up"),
    down1: await large(MIB, "down"),
    down16: await large(16 * MIB, "down"),
  }),
  memory: async () => {
    const [few, many] = [await after(10_000), await after(90_000)];
    return {
      rss10: few.rss,
      rss100: many.rss,
      heap10: few.heapUsed,
      heap100: many.heapUsed,
    };
  },
};
console.log(JSON.stringify(await TASKS[task]?.()));
await session.close();
