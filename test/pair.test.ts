/** The two ends with each other: every era against every era, then as real processes. */
import assert from "node:assert/strict";
import { PassThrough, Transform } from "node:stream";
import { after, test } from "node:test";
import type { Answerer } from "../mcp/answer.ts";
import type { Server } from "../mcp/process.ts";
import { type Params } from "../mcp/peer.ts";
import { tools } from "../server.ts";
import { connect, start } from "./ends.ts";
import { startStooq } from "./stooq.ts";
import { LEGACY, MODERN, run } from "./support.ts";

let isDown = false;
const stooq = await startStooq((_request, response, symbol) => {
  if (isDown) response.writeHead(404).end();
  else response.end(`Symbol,Date,Time,Close\r\n${symbol},2026-08-20,22:00:12,188.5\r\n`);
});
process.env["STOOQ_URL"] = stooq.url;
after(() => stooq.close());

/** Our server in this process; `refuses` takes the other era away from it. */
function inMemory(refuses: (message: Params) => boolean): () => Server {
  return () => {
    const input = new PassThrough();
    const output = new PassThrough();
    const ended = new Promise<string>((resolve) =>
      output.on("end", () => resolve("ended")),
    );
    const filter = new Transform({
      transform(chunk, _encoding, next) {
        for (const line of String(chunk).trimEnd().split("\n")) {
          const message = JSON.parse(line);
          if (!refuses(message)) this.push(`${line}\n`);
          else if (message.id !== undefined) {
            const error = { code: -32601, message: "no such era here" };
            output.write(
              `${JSON.stringify({ jsonrpc: "2.0", id: message.id, error })}\n`,
            );
          }
        }
        next();
      },
    });
    void start(tools, input.pipe(filter), output).then(() => output.end());
    return {
      input,
      output,
      gone: ended,
      stop: async () => void (input.end(), await ended),
    };
  };
}

const hasEnvelope = ({ params }: Params) =>
  JSON.stringify(params ?? {}).includes("io.modelcontextprotocol/protocolVersion");
const SERVERS = {
  dual: inMemory(() => false),
  modern: inMemory((message) => message["method"] === "initialize"),
  legacy: inMemory(hasEnvelope),
};

const MATRIX: [string, keyof typeof SERVERS, string | RegExp][] = [
  ["auto", "dual", MODERN],
  ["auto", "modern", MODERN],
  ["auto", "legacy", LEGACY],
  [MODERN, "dual", MODERN],
  [MODERN, "modern", MODERN],
  [MODERN, "legacy", /does not speak 2026-07-28/],
  [LEGACY, "dual", LEGACY],
  [LEGACY, "modern", /no such era here/],
  [LEGACY, "legacy", LEGACY],
  ["2025-06-18", "dual", "2025-06-18"],
  ["2025-03-26", "legacy", "2025-03-26"],
  ["2024-11-05", "dual", "2024-11-05"],
];

for (const [protocol, server, outcome] of MATRIX) {
  test(`a client of ${protocol} and a ${server} server: ${outcome}`, async () => {
    if (outcome instanceof RegExp) {
      await assert.rejects(connect(SERVERS[server], { protocol }), outcome);
      return;
    }
    const asked: string[] = [];
    const form: Answerer["form"] = async ({ message, fields }) => {
      asked.push(message);
      const content =
        fields[0]?.name === "ticker" ? { ticker: "nvda" } : { useSample: true };
      return { action: "accept", content };
    };
    const session = await connect(SERVERS[server], { protocol, answerer: { form } });
    assert.equal(session.version, outcome);

    const { tools } = await session.request("tools/list");
    assert.equal((tools as Params[])[0]?.["name"], "get_stock_price");

    isDown = false;
    const call = { name: "get_stock_price", arguments: {} };
    const live = (await session.request("tools/call", call))[
      "structuredContent"
    ] as Params;
    assert.deepEqual(
      [live["symbol"], live["price"], live["source"]],
      ["NVDA", 188.5, "stooq"],
    );

    isDown = true;
    const hits = stooq.hits.length;
    const old = (await session.request("tools/call", call))[
      "structuredContent"
    ] as Params;
    assert.deepEqual(
      [old["symbol"], old["price"], old["source"]],
      ["NVDA", 177.19, "sample"],
    );
    assert.equal(stooq.hits.length, hits + 1);
    assert.equal(asked.length, 3);
    isDown = false;

    for (const action of ["decline", "cancel"] as const) {
      const refusing = await connect(SERVERS[server], {
        protocol,
        answerer: { form: async () => ({ action }) },
      });
      const { isError, content } = await refusing.request("tools/call", call);
      assert.equal(isError, true);
      assert.match(
        JSON.stringify(content),
        action === "decline" ? /declined/ : /cancelled/,
      );
      await refusing.close();
    }
    await session.close();
  });
}

for (const protocol of [MODERN, LEGACY]) {
  test(`the two programs print one line and nothing else (${protocol})`, async () => {
    const args = [
      "--server",
      "server.ts",
      "--protocol",
      protocol,
      "--env",
      `STOOQ_URL=${stooq.url}`,
    ];
    isDown = false;
    assert.deepEqual(await run("client.ts", [...args, "--ticker", "NVDA"]), {
      code: 0,
      stdout: "NVDA 188.5\n",
      stderr: "",
    });
    assert.deepEqual(await run("client.ts", [...args, "--answer", "ticker=brk.b"]), {
      code: 0,
      stdout: "BRK-B 188.5\n",
      stderr: "",
    });
    isDown = true;
    assert.deepEqual(
      await run("client.ts", [...args, "--ticker", "NVDA", "--defaults"]),
      {
        code: 0,
        stdout: "NVDA 177.19 (bundled sample of 2026-02-27, not a live price)\n",
        stderr: "",
      },
    );
  });
}
