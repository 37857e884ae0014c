/**
 * Many calls in one session, in memory and in both eras. A short run here; in `npm run soak`
 * 100,000 calls and a look at the memory.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Answerer } from "../mcp/answer.ts";
import { formRequest } from "../mcp/form.ts";
import type { Tools } from "../mcp/tool.ts";
import { connect, inMemory } from "./ends.ts";
import { LEGACY, MODERN, textResult } from "./support.ts";

const isSoak = Boolean(process.env["SOAK"]);

const form = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
const tools: Tools = {
  echo: {
    description: "Says what it is given",
    inputSchema: { type: "object" },
    call: async ({ text }) => textResult(String(text)) as never,
  },
  ask: {
    description: "Asks for the number that it is given, and answers after a random while",
    inputSchema: { type: "object" },
    async call({ n }, { answers, state }) {
      if (!answers["n"])
        return { questions: { n: formRequest(String(n), form) }, state: n };
      await new Promise((resolve) => setTimeout(resolve, Number(n) % 7));
      const { content } = answers["n"] as { content: { n: number } };
      return textResult(`${state} ${content.n}`) as never;
    },
  },
};

/** Answers with the number in the message, after a while that depends on it. */
const answerer: Answerer = {
  form: async ({ message }) => {
    const n = Number(message);
    await new Promise((resolve) => setTimeout(resolve, (n * 31) % 11));
    return { action: "accept", content: { n } };
  },
};

const text = ({ content }: Record<string, unknown>) =>
  (content as { text: string }[])[0]?.text;

for (const protocol of [MODERN, LEGACY]) {
  test(`it gives each of 1,000 calls at once its own answer, half of them asked (${protocol})`, async () => {
    const session = await connect(inMemory(tools), { protocol, answerer });
    const calls = Array.from({ length: 1000 }, async (_, n) => {
      const params =
        n % 2
          ? { name: "ask", arguments: { n } }
          : { name: "echo", arguments: { text: n } };
      const got = text(await session.request("tools/call", params));
      assert.equal(got, n % 2 ? `${n} ${n}` : String(n));
    });
    await Promise.all(calls);
    await session.close();
  });

  test(`it makes call after call, and keeps nothing of them (${protocol})`, async () => {
    const session = await connect(inMemory(tools), { protocol, answerer });
    const call = async (n: number) =>
      assert.equal(
        text(
          await session.request("tools/call", { name: "echo", arguments: { text: n } }),
        ),
        `${n}`,
      );
    const heap = () => {
      globalThis.gc?.();
      return process.memoryUsage().heapUsed / 2 ** 20;
    };
    for (let n = 0; n < (isSoak ? 10_000 : 1000); n++) await call(n);
    const before = heap();
    for (let n = 0; n < (isSoak ? 90_000 : 1000); n++) await call(n);
    if (isSoak) {
      assert.ok(globalThis.gc, "the soak needs --expose-gc");
      const growth = heap() - before;
      assert.ok(growth < 4, `${growth.toFixed(1)} MiB more`);
    }
    await session.close();
  });
}

test(
  "its time is in step with the bytes",
  { skip: isSoak ? false : "in the soak" },
  async () => {
    const session = await connect(inMemory(tools), { protocol: MODERN });
    const time = async (bytes: number) => {
      const times: number[] = [];
      for (let run = 0; run < 7; run++) {
        const begin = performance.now();
        const big = "x".repeat(bytes);
        const params = { name: "echo", arguments: { text: big } };
        assert.equal(text(await session.request("tools/call", params))?.length, bytes);
        times.push(performance.now() - begin);
      }
      return Number(times.sort((a, b) => a - b)[3]);
    };
    await time(2 ** 20);
    const ratio = (await time(2 ** 24)) / (await time(2 ** 20));
    assert.ok(ratio < 24, `16 MiB take ${ratio.toFixed(1)} times as long as 1 MiB`);
    await session.close();
  },
);
