import assert from "node:assert/strict";
import { test } from "node:test";
import { ConnectionError } from "../mcp/peer.ts";
import { MAX_ROUNDS, untilComplete, type Retry } from "../mcp/rounds.ts";
import type { InputRequest } from "../mcp/schema.ts";
import { question } from "./support.ts";

const asks = (keys: string[], requestState?: string) => ({
  resultType: "input_required",
  inputRequests: Object.fromEntries(keys.map((key) => [key, question()])),
  ...(requestState !== undefined && { requestState }),
});
const done = { resultType: "complete", content: [] };

const pause = async () => {};

/** Plays the results in turn; returns the retries that it saw and the final result. */
async function play(
  results: unknown[],
  ask = async (_: InputRequest) => ({ action: "cancel" }),
) {
  const retries: Retry[] = [];
  const left = [...results];
  const attempt = async (retry: Retry) => (retries.push(retry), left.shift());
  return { result: await untilComplete(attempt, ask, pause), retries };
}

test("it returns a complete result at once, with nothing added to the request", async () => {
  const { result, retries } = await play([done]);
  assert.deepEqual(result, done);
  assert.deepEqual(retries, [{}]);
});

test("it takes an absent resultType as complete", async () => {
  const { result } = await play([{ content: [] }]);
  assert.deepEqual(result, done);
});

test("it answers every question under its own key", async () => {
  const keys = ["ticker", "q 1/é", "", "constructor", "__proto__"];
  const { retries } = await play([asks(keys), done]);
  assert.deepEqual(Object.keys(retries[1]?.inputResponses ?? {}), keys);
  assert.deepEqual(retries[1]?.inputResponses?.["q 1/é"], { action: "cancel" });
});

for (const state of ["s1", "", 'ä/+=\u0000 {"x":1}'.repeat(1000)]) {
  test(`it sends the state of ${state.length} characters back as it came`, async () => {
    const { retries } = await play([asks(["a"], state), done]);
    assert.equal(retries[1]?.requestState, state);
  });
}

test("it sends no state where none came, not even an older one", async () => {
  const { retries } = await play([asks(["a"], "s1"), asks(["a"]), done]);
  assert.ok(!("requestState" in (retries[2] as Retry)));
});

test("it retries with the state alone when there is no question", async () => {
  const only = { resultType: "input_required", requestState: "s1" };
  const { retries } = await play([only, { ...only, inputRequests: {} }, done]);
  assert.deepEqual(retries, [{}, { requestState: "s1" }, { requestState: "s1" }]);
});

test("it pauses before a retry that answers nothing, and ends with what that throws", async () => {
  let attempts = 0;
  const attempt = () => (
    attempts++,
    { resultType: "input_required", requestState: "s1" }
  );
  const interrupted = () => Promise.reject(new Error("interrupted"));
  const loop = untilComplete(attempt, async () => ({}), interrupted);
  await assert.rejects(loop, /interrupted/);
  assert.equal(attempts, 1);
});

test(`it goes ${MAX_ROUNDS} rounds, and takes the result of the last`, async () => {
  const { retries } = await play([...Array(MAX_ROUNDS).fill(asks(["a"])), done]);
  assert.equal(retries.length, MAX_ROUNDS + 1);
});

test("it does not ask once more after that", async () => {
  let asked = 0;
  const ask = async () => (asked++, { action: "cancel" });
  const loop = play(Array(MAX_ROUNDS + 1).fill(asks(["a"])), ask);
  await assert.rejects(loop, /still asks after 20 rounds/);
  assert.equal(asked, MAX_ROUNDS);
});

test("it takes a decline or a cancel for an answer like any other", async () => {
  const { retries } = await play([asks(["a"]), done], async () => ({
    action: "decline",
  }));
  assert.deepEqual(retries[1]?.inputResponses, { a: { action: "decline" } });
});

test("it ends with what the asking throws, and does not retry", async () => {
  const seen: Retry[] = [];
  const attempt = async (retry: Retry) => (seen.push(retry), asks(["a"]));
  const ask = async () => Promise.reject(new Error("nobody there"));
  await assert.rejects(untilComplete(attempt, ask, pause), /nobody there/);
  assert.equal(seen.length, 1);
});

test("it decides by the resultType alone", async () => {
  const mixed = { ...asks(["a"], "s"), _meta: {}, content: [], isError: true };
  const { retries } = await play([mixed, done]);
  assert.equal(retries.length, 2);
});

const BROKEN: [string, unknown, RegExp][] = [
  [
    "an unknown resultType",
    { resultType: "task", inputRequests: {} },
    /resultType "task"/,
  ],
  [
    "no question and no state",
    { resultType: "input_required" },
    /no question and no state/,
  ],
  ["no question and no state", { ...asks([]) }, /no question and no state/],
  [
    "questions in a list",
    { resultType: "input_required", inputRequests: [] },
    /inputRequests/,
  ],
  ["a state that is no string", { ...asks(["a"]), requestState: 7 }, /requestState/],
  [
    "a question without method",
    { ...asks(["a"]), inputRequests: { a: {} } },
    /\(a\) is not valid: method/,
  ],
];
for (const [what, result, reason] of BROKEN) {
  test(`it refuses a result with ${what}`, async () => {
    await assert.rejects(play([result]), (error) => {
      assert.ok(error instanceof ConnectionError);
      assert.match(error.message, reason);
      return true;
    });
  });
}
