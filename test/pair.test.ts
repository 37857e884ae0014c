/** The two ends with each other: every era against every era, then as real processes. */
import assert from "node:assert/strict";
import { Transform, type Writable } from "node:stream";
import { after, test } from "node:test";
import type { Answerer } from "../mcp/answer.ts";
import { callTool, listTools } from "../mcp/connect.ts";
import type { Params } from "../mcp/peer.ts";
import type { Server } from "../mcp/process.ts";
import { tools } from "../server.ts";
import { connect, inMemory } from "./ends.ts";
import { startStooq } from "./stooq.ts";
import { error, LEGACY, MODERN, run } from "./support.ts";

let isDown = false;
const stooq = await startStooq((_request, response, symbol) => {
  if (isDown) response.writeHead(404).end();
  else response.end(`Symbol,Date,Time,Close\r\n${symbol},2026-08-20,22:00:12,188.5\r\n`);
});
process.env["STOOQ_URL"] = stooq.url;
after(() => stooq.close());

/** Our server in this process; `refuses` takes one of the eras away from it. */
function without(refuses: (message: Params) => boolean): () => Server {
  return () => {
    const server = inMemory(tools)();
    const input = new Transform({
      transform(chunk, _encoding, next) {
        for (const line of String(chunk).trimEnd().split("\n")) {
          const message = JSON.parse(line);
          const refusal = error(message.id, -32601, "no such era here");
          if (!refuses(message)) this.push(`${line}\n`);
          else
            (server.output as unknown as Writable).write(`${JSON.stringify(refusal)}\n`);
        }
        next();
      },
    });
    input.pipe(server.input);
    return { ...server, input, stop: async () => void (input.end(), await server.gone) };
  };
}

const hasEnvelope = ({ params }: Params) =>
  JSON.stringify(params ?? {}).includes("io.modelcontextprotocol/protocolVersion");
const SERVERS = {
  dual: inMemory(tools),
  modern: without((message) => message["method"] === "initialize"),
  legacy: without(hasEnvelope),
};

const MATRIX: [string, keyof typeof SERVERS, string | RegExp][] = [
  ["auto", "dual", MODERN],
  ["auto", "modern", MODERN],
  ["auto", "legacy", LEGACY],
  [MODERN, "dual", MODERN],
  [MODERN, "modern", MODERN],
  [MODERN, "legacy", /no version in common: it answered server\/discover/],
  [LEGACY, "dual", LEGACY],
  [LEGACY, "modern", /no such era here/],
  [LEGACY, "legacy", LEGACY],
  ["2025-06-18", "dual", "2025-06-18"],
  ["2025-03-26", "legacy", "2025-03-26"],
  ["2024-11-05", "dual", "2024-11-05"],
];

for (const [protocol, server, outcome] of MATRIX) {
  test(`a client of ${protocol} and a ${server} server: ${outcome}`, async () => {
    const start = SERVERS[server];
    if (outcome instanceof RegExp) {
      await assert.rejects(connect(start, { protocol }), outcome);
      return;
    }
    const asked: string[] = [];
    const form: Answerer["form"] = async ({ message, fields: [field] }) => {
      asked.push(message);
      const value = field?.name === "ticker" ? { ticker: "nvda" } : { useSample: true };
      return { action: "accept", content: value };
    };
    const session = await connect(start, { protocol, answerer: { form } });
    assert.equal(session.version, outcome);
    const [tool] = await listTools(session);
    assert.equal(tool?.name, "get_stock_price");

    const quote = async () => {
      const { structuredContent } = await callTool(session, "get_stock_price");
      const { symbol, price, source } = structuredContent as Params;
      return [symbol, price, source];
    };
    assert.deepEqual(await quote(), ["NVDA", 188.5, "stooq"]);
    isDown = true;
    const hits = stooq.hits.length;
    assert.deepEqual(await quote(), ["NVDA", 177.19, "sample"]);
    isDown = false;
    assert.equal(stooq.hits.length, hits + 1, "consent fetches nothing again");
    assert.equal(asked.length, 3);
    await session.close();

    for (const [action, verb] of [
      ["decline", "declined"],
      ["cancel", "cancelled"],
    ] as const) {
      const answerer: Answerer = { form: async () => ({ action }) };
      const refusing = await connect(start, { protocol, answerer });
      const { isError, content } = await callTool(refusing, "get_stock_price");
      assert.equal(isError, true);
      assert.match(String(content[0]?.["text"]), new RegExp(`^The user ${verb}: "Which`));
      await refusing.close();
    }
  });
}

test("the two programs print one line and nothing else", async () => {
  const args = ["--server", "server.ts", "--env", `STOOQ_URL=${stooq.url}`];
  const answer = ["--answer", "ticker=brk.b"];
  const live = await run("client.ts", [...args, ...answer]);
  assert.deepEqual(live, { code: 0, stdout: "BRK-B 188.5\n", stderr: "" });
  isDown = true;
  const consent = ["--protocol", LEGACY, "--ticker", "NVDA", "--defaults"];
  const sample = "NVDA 177.19 (bundled sample of 2026-02-27, not a live price)\n";
  const old = await run("client.ts", [...args, ...consent]);
  assert.deepEqual(old, { code: 0, stdout: sample, stderr: "" });
});
