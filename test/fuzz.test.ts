/**
 * Lines that are valid, nearly valid and not at all, from a generator with a seed, at either
 * end. A few thousand here; a hundred thousand in `npm run soak`. FUZZ_SEED repeats a run.
 */
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { after, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Answerer } from "../mcp/answer.ts";
import type { Params } from "../mcp/peer.ts";
import { tools } from "../server.ts";
import { connect, start } from "./ends.ts";
import { csv, startStooq } from "./stooq.ts";
import {
  discovery,
  error,
  initialized,
  meta,
  question,
  result,
  textResult,
} from "./support.ts";

const LINES = process.env["SOAK"] ? 100_000 : 3000;
const seed = Number(process.env["FUZZ_SEED"] ?? 20260728);
const stooq = await startStooq(
  (_request, response, symbol) => void response.end(csv(symbol)),
);
process.env["STOOQ_URL"] = stooq.url;
after(() => stooq.close());
// The server's own log is not what is tested here.
console.error = () => {};

/** mulberry32: small, and the same everywhere. */
function randomness(seed: number) {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = (n: number) => Math.floor(next() * n);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T;
  return { next, below, pick };
}
const { next, below, pick } = randomness(seed);

const ODD = [
  null,
  true,
  0,
  -1,
  1.5,
  1e300,
  "",
  "x",
  "__proto__",
  "\u0000\u202e",
  [],
  {},
  [[]],
  "é🙂".repeat(20),
];
const KEYS = [
  "jsonrpc",
  "id",
  "method",
  "params",
  "result",
  "error",
  "_meta",
  "name",
  "arguments",
  "inputResponses",
  "requestState",
  "ticker",
  "action",
  "content",
  "__proto__",
  "constructor",
];

/** Changes a value somewhere within, in one of the ways in which messages go wrong. */
function mutate(value: unknown): unknown {
  if (typeof value !== "object" || value === null || next() < 0.2) return pick(ODD);
  const entries = Object.entries(value);
  const at = below(entries.length + 1);
  const [key, inner] = entries[at] ?? [pick(KEYS), pick(ODD)];
  const rest = entries.filter(([other]) => other !== key);
  if (next() < 0.3) return Object.fromEntries(rest);
  return Object.fromEntries([...rest, [key, mutate(inner)]]);
}

/** A line that is a message no longer, or hardly. */
function spoil(line: string): Buffer {
  const bytes = Buffer.from(line);
  switch (below(4)) {
    case 0:
      return bytes.subarray(0, below(bytes.length));
    case 1:
      bytes[below(bytes.length)] = below(256);
      return bytes;
    case 2:
      return Buffer.from(Array.from({ length: below(200) }, () => below(256)));
    default:
      return Buffer.concat([bytes, bytes.subarray(below(bytes.length))]);
  }
}

/** Valid, mutated or spoiled; `undefined` where the line is valid. */
function line(message: Params): { bytes: Buffer; isValid: boolean } {
  const kind = next();
  if (kind < 0.5) return { bytes: Buffer.from(JSON.stringify(message)), isValid: true };
  if (kind < 0.8)
    return { bytes: Buffer.from(JSON.stringify(mutate(message))), isValid: false };
  return { bytes: spoil(JSON.stringify(message)), isValid: false };
}

test(`the server answers every valid request once, whatever comes between (seed ${seed})`, async () => {
  const input = new PassThrough();
  const output = new PassThrough();
  const answers = new Map<unknown, number>();
  const questions: unknown[] = [];
  let rest = "";
  output.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) {
      const message = JSON.parse(text);
      assert.equal(message.jsonrpc, "2.0");
      if (message.method === undefined)
        answers.set(message.id, (answers.get(message.id) ?? 0) + 1);
      else if (message.id !== undefined) questions.push(message.id);
    }
  });
  const done = start(tools, input, output);
  // Else every question would wait for this, and its call stay open to the end.
  input.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  let early = 0;
  const heap = () => {
    globalThis.gc?.();
    return process.memoryUsage().heapUsed / 2 ** 20;
  };
  const valid = new Set<string>();
  const cancelled = new Set<unknown>();

  for (let n = 0; n < LINES; n++) {
    const id = `v${n}`;
    const ticker = pick(["NVDA", "AAPL", "", "nope", "../x", undefined]);
    const _meta = next() < 0.5 ? meta(pick([{}, { elicitation: {} }])) : undefined;
    const message: Params = pick([
      {
        jsonrpc: "2.0",
        id,
        method: "tools/call",
        params: { name: "get_stock_price", arguments: { ticker }, _meta },
      },
      { jsonrpc: "2.0", id, method: "tools/list", params: { _meta } },
      { jsonrpc: "2.0", id, method: "ping" },
      { jsonrpc: "2.0", id, method: "server/discover", params: { _meta } },
      {
        jsonrpc: "2.0",
        id,
        method: "initialize",
        params: {
          protocolVersion: pick(["2025-11-25", "2024-11-05", "x"]),
          capabilities: pick([{}, { elicitation: {} }]),
          clientInfo: { name: "f", version: "1" },
        },
      },
      {
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: `v${n - 1 - below(5)}` },
      },
      result(
        pick([...questions, 1]),
        pick([
          { action: "accept", content: { ticker: "MSFT" } },
          { action: "cancel" },
          {},
        ]),
      ),
      error(pick([...questions, 1]), -32000),
    ]);
    const { bytes, isValid } = line(message);
    if (bytes.includes(0x0a)) continue; // two lines, of which neither is known
    if (isValid && message["id"] === id) valid.add(id);
    const { requestId } = (message["params"] ?? {}) as Params;
    if (message["method"] === "notifications/cancelled") cancelled.add(requestId);
    input.write(Buffer.concat([bytes, Buffer.from("\n")]));
    if (n % 50 === 0) await turn();
    if (n === LINES / 2) early = heap();
  }
  const grown = heap() - early;
  input.end();
  await done;
  await turn();
  for (const id of valid) {
    const count = answers.get(id) ?? 0;
    if (cancelled.has(id)) assert.ok(count <= 1, `${id} has ${count} answers`);
    else assert.equal(count, 1, `${id} has ${count} answers`);
  }
  assert.ok(valid.size > LINES / 5);
  // What this test itself keeps of each id is within that.
  if (globalThis.gc)
    assert.ok(grown < 24, `${grown.toFixed(1)} MiB more for half of the lines`);
});

for (const era of ["modern", "legacy"]) {
  test(`the client gives every call its answer, whatever comes between (${era}, seed ${seed})`, async () => {
    const input = new PassThrough();
    const output = new PassThrough();
    const send = (message: object) => output.write(`${JSON.stringify(message)}\n`);
    let rest = "";
    let seen = 0;
    input.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const text of lines) receive(JSON.parse(text));
    });
    function receive({ id, method, params }: Params): void {
      if (method === "server/discover") {
        return void send(era === "modern" ? result(id, discovery()) : error(id, -32601));
      }
      if (method === "initialize") return void send(result(id, initialized()));
      if (method !== "tools/call") return;
      // Noise that could be for anybody but this call, and then its answer.
      for (let n = 0; n < 10; n++) {
        const message = pick<Params>([
          result(`x${seen}`, textResult("wrong")),
          result(String(id), textResult("wrong")),
          { jsonrpc: "2.0", id: `q${seen}-${n}`, ...question() },
          { jsonrpc: "2.0", id: `p${seen}-${n}`, method: "ping" },
          {
            jsonrpc: "2.0",
            method: "notifications/cancelled",
            params: { requestId: `q${seen}-${n - 1}` },
          },
          { jsonrpc: "2.0", method: "notifications/progress", params: {} },
        ]);
        const { bytes } = line(message);
        seen++;
        if (!bytes.toString("latin1").includes(`"id":${id},`))
          output.write(Buffer.concat([bytes, Buffer.from("\n")]));
      }
      const { n } = (params as { arguments: { n: number } }).arguments;
      send(result(id, textResult(`answer ${n}`)));
    }

    const form: Answerer["form"] = async () => ({
      action: "accept",
      content: { ticker: "A" },
    });
    const session = await connect(
      () => ({
        input,
        output,
        gone: new Promise(() => {}),
        stop: async () => void input.end(),
      }),
      { answerer: { form } },
    );
    for (let n = 0; seen < LINES; n++) {
      const { content } = await session.request("tools/call", {
        name: "t",
        arguments: { n },
      });
      assert.deepEqual(content, textResult(`answer ${n}`)["content"]);
    }
    await session.close();
  });
}
