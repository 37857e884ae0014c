/** Several server processes with one STATE_KEY: each goes on with what another began. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { after, test } from "node:test";
import type { Params } from "../mcp/peer.ts";
import { BUILT } from "./built.ts";
import { callModern, FORMS, textOf } from "./ends.ts";
import { startStooq } from "./stooq.ts";
import { Wire } from "./support.ts";

const stooq = await startStooq(
  (_request, response) => void response.writeHead(404).end(),
);
after(() => stooq.close());

const newKey = () => randomBytes(32).toString("base64");

/** Starts a server; what it returns makes one call and lets the process go. */
function member(key: string | undefined) {
  const { PATH, HOME } = process.env;
  const STATE_KEY = key === undefined ? {} : { STATE_KEY: key };
  const child = spawn(process.execPath, ["server.mjs"], {
    cwd: BUILT.cwd,
    env: { PATH, HOME, STOOQ_URL: stooq.url, ...STATE_KEY },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  const wire = new Wire(child.stdout, child.stdin);
  return async (args: Params, retry: Params = {}) => {
    wire.send(callModern(1, "get_stock_price", args, FORMS, retry));
    const reply = await wire.next();
    child.stdin.end();
    assert.deepEqual(await closed, [0, null]);
    return reply;
  };
}

test("it goes on where another process began, which is gone, and looks nothing up again", async () => {
  const key = newKey();
  const [first, second, third] = [member(key), member(key), member(key)];
  const asked = await first({});
  const { requestState, inputRequests } = asked.result;
  assert.deepEqual(Object.keys(inputRequests as Params), ["ticker"]);

  const ticker = { action: "accept", content: { ticker: "NVDA" } };
  const answered = { inputResponses: { ticker }, requestState };
  const found = (await second({}, answered)).result;
  assert.deepEqual(Object.keys(found["inputRequests"] as Params), ["useSample"]);
  assert.deepEqual(stooq.hits, ["nvda.us"]);

  const useSample = { action: "accept", content: { useSample: true } };
  const { requestState: later } = found;
  const retry = { inputResponses: { useSample }, requestState: later };
  const { result } = await third({}, retry);
  assert.match(textOf(result), /"symbol":"NVDA","price":177\.19,.*"source":"sample"/);
  assert.deepEqual(stooq.hits, ["nvda.us"]);
});

test("it refuses what was sealed under another key", async () => {
  const hits = stooq.hits.length;
  const first = member(newKey());
  const others = [member(newKey()), member(undefined)];
  const { requestState } = (await first({ ticker: "NVDA" })).result;
  assert.equal(stooq.hits.length, hits + 1);
  const useSample = { action: "accept", content: { useSample: true } };
  for (const other of others) {
    const retry = { inputResponses: { useSample }, requestState };
    const { error } = await other({ ticker: "NVDA" }, retry);
    assert.equal(error.code, -32602);
    assert.match(error.message, /^requestState was not issued for this request/);
  }
  assert.equal(stooq.hits.length, hits + 1);
});
