/** A server's question on its way to whoever answers; and pages, in both eras and roles. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import {
  answerQuestion,
  capabilities,
  withPages,
  type Answerer,
  type Form,
  type Page,
} from "../mcp/answer.ts";
import { callTool } from "../mcp/connect.ts";
import { RpcError, type Params } from "../mcp/peer.ts";
import type { ElicitResult, InputRequest, InputResponse } from "../mcp/schema.ts";
import { tool, type Tool } from "../mcp/tool.ts";
import {
  answerer,
  asking,
  connect,
  echo,
  inMemory,
  open,
  SCRIPTED,
  textOf,
} from "./ends.ts";
import { LEGACY, MODERN, question, result, textResult } from "./support.ts";

const ERAS = [MODERN, LEGACY];
const never = new AbortController().signal;
const accepted: ElicitResult = { action: "accept" };
const pageAt = (url: unknown): InputRequest => ({
  method: "elicitation/create",
  params: { mode: "url", message: "Sign in.", url, elicitationId: "e" },
});

// --- One question ------------------------------------------------------------------------

const url: Answerer["url"] = async () => accepted;
const { form } = answerer();
const CAPABILITIES: [Answerer | undefined, string, Params][] = [
  [undefined, MODERN, {}],
  [{ form }, MODERN, { elicitation: { form: {} } }],
  [{ form, url }, MODERN, { elicitation: { form: {}, url: {} } }],
  [undefined, LEGACY, {}],
  [{ form }, LEGACY, { elicitation: { form: {} } }],
  [{ form, url }, LEGACY, { elicitation: { form: {}, url: {} } }],
  // Before there were modes.
  ...["2025-06-18", "2025-03-26", "2024-11-05"].flatMap(
    (version): [Answerer | undefined, string, Params][] => [
      [undefined, version, {}],
      [{ form }, version, { elicitation: {} }],
      [{ form, url }, version, { elicitation: {} }],
    ],
  ),
];
test("it declares what an answerer can do", () => {
  for (const [me, version, declared] of CAPABILITIES) {
    assert.deepEqual(capabilities(me, version), declared);
  }
});

test("it hands over the fields of a form, and the page of a URL", async () => {
  const handed: unknown[] = [];
  const me: Answerer = {
    form: async (...its) => (handed.push(its), accepted),
    url: async (...its) => (handed.push(its), accepted),
  };
  const page = pageAt("https://a.test/x");
  assert.equal(await answerQuestion(question(), me, false, never), accepted);
  for (const again of [false, true]) await answerQuestion(page, me, again, never);
  const [[{ message, fields }, signal], ...pages] = handed as [[Form, AbortSignal]];
  assert.equal(message, "Which?");
  assert.deepEqual(
    fields.map(({ name, required }) => [name, required]),
    [["ticker", true]],
  );
  assert.equal(signal, never);
  const its = { message: "Sign in.", url: new URL("https://a.test/x") };
  assert.deepEqual(pages, [
    [{ ...its, again: false }, never],
    [{ ...its, again: true }, never],
  ]);
});

const elicit = (params: Params) => ({ method: "elicitation/create", params });
const { requestedSchema } = question().params;
const nulls = { type: "string", title: null, description: null, default: null };
const QUESTIONS: [InputRequest, Partial<Answerer> | undefined, number | undefined][] = [
  // What is null is left out.
  [elicit({ message: "m", requestedSchema, mode: null, url: null }), {}, undefined],
  [question({ ticker: nulls }), {}, undefined],
  [
    elicit({
      message: "m",
      requestedSchema: { type: "object", properties: {}, required: null },
    }),
    {},
    undefined,
  ],
  [pageAt("HTTP://a.test"), { url }, undefined],
  [question(), undefined, -32601],
  [{ method: "sampling/createMessage", params: {} }, { url }, -32601],
  [elicit({ requestedSchema }), {}, -32602],
  [elicit({ message: 7, requestedSchema }), {}, -32602],
  [elicit({ message: "m" }), {}, -32602],
  [elicit({ message: "m", requestedSchema, mode: "popup" }), { url }, -32602],
  [question({ ticker: { type: "object" } }), {}, -32602],
  [pageAt("https://a.test/"), {}, -32602],
  ...[
    "javascript:alert(1)",
    "file:///etc/passwd",
    "data:text/html,x",
    "example.com",
    "",
    "https://",
    null,
    7,
  ].map((at): [InputRequest, Partial<Answerer>, number] => [pageAt(at), { url }, -32602]),
];
test("it checks a question before anybody is asked", async () => {
  for (const [asked, can, code] of QUESTIONS) {
    let count = 0;
    const counting = async () => (count++, accepted);
    const me = can && { form: counting, ...(can.url && { url: counting }) };
    const outcome = await answerQuestion(asked, me, false, never).catch((e) => e);
    const what = JSON.stringify(asked);
    assert.equal(outcome instanceof RpcError ? outcome.code : undefined, code, what);
    assert.equal(count, code === undefined ? 1 : 0, what);
  }
});

// --- Names of the language ---------------------------------------------------------------

const NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty"];
const withNames = (value: unknown): Params =>
  JSON.parse(`{${NAMES.map((name) => `"${name}":${JSON.stringify(value)}`)}}`);

for (const { era, begin, ask } of SCRIPTED) {
  test(`it loses no field with a name of the language (${era})`, async () => {
    const named: string[] = [];
    const me: Answerer = {
      async form({ fields }) {
        named.push(...fields.map(({ name }) => name));
        return { action: "accept", content: withNames("x") };
      },
    };
    const asked = elicit({
      message: "Which?",
      requestedSchema: {
        type: "object",
        properties: withNames({ type: "string" }),
        required: NAMES,
      },
    });
    const { session } = await open(
      async (wire) => {
        await begin(wire);
        const { answer, id } = await ask(wire, (await wire.next()).id, asked);
        assert.equal(JSON.stringify(answer?.["content"]), JSON.stringify(withNames("x")));
        wire.send(result(id, textResult("done")));
      },
      { answerer: me },
    );
    await session.request("tools/call", { name: "t" });
    assert.deepEqual(named, NAMES);
  });
}

for (const protocol of ERAS) {
  test(`it loses no argument and no answer with such a name (${protocol})`, async () => {
    const content = withNames("x");
    const me: Answerer = { form: async () => ({ action: "accept", content }) };
    const typed = tool({
      description: "takes nothing",
      input: z.object({ a: z.string().optional() }),
      run: async (args) => JSON.stringify(args),
    });
    const tools = { echo, asks: asking(question()), typed };
    const session = await connect(inMemory(tools), { protocol, answerer: me });
    const args = withNames("x");
    assert.equal(textOf(await callTool(session, "echo", args)), JSON.stringify(args));
    const asked = textOf(await callTool(session, "asks", args));
    assert.equal(asked, JSON.stringify({ action: "accept", content }));
    for (const unknown of ["x", null]) {
      assert.equal(textOf(await callTool(session, "typed", withNames(unknown))), "{}");
    }
    await session.close();
  });
}

// --- Pages -------------------------------------------------------------------------------

/** Remembers pages; `put` hears of each question, and gives the answers in turn. */
function pages(...answers: string[]) {
  const seen: [unknown, boolean][] = [];
  const its = withPages(async ({ params }, again): Promise<InputResponse> => {
    seen.push([params["url"], again]);
    return { action: answers.shift() ?? "accept" };
  });
  const context = { signal: never };
  return {
    seen,
    ask: (asked: InputRequest) => its.ask(asked, context),
    pause: (signal = never) => its.pause({ signal }),
  };
}
const [A, B] = ["https://a.test/", "https://b.test/"];

test("it knows a page that was agreed to, until another one comes", async () => {
  const { ask, seen } = pages("decline", "accept", "cancel");
  for (const at of [A, A, A, A, B, B, A]) await ask(pageAt(at));
  assert.deepEqual(seen, [
    [A, false],
    [A, false],
    [A, true],
    [A, true],
    [B, false],
    [B, true],
    [A, false],
  ]);
});

test("it forgets no page over a form", async () => {
  const { ask, seen } = pages();
  for (const asked of [pageAt(A), question(), pageAt(A)]) await ask(asked);
  assert.deepEqual(seen, [
    [A, false],
    [undefined, false],
    [A, true],
  ]);
});

test("it waits for the person where a page is open, and a moment where none is", async () => {
  const { ask, pause, seen } = pages("accept", "accept", "cancel");
  await pause();
  assert.deepEqual(seen, []);
  await ask(pageAt(A));
  await pause();
  assert.deepEqual(seen[1], [A, true]);
  await assert.rejects(pause(), /you left before the page was done with/);
});

test("it waits no longer than its request is wanted", async () => {
  const abort = new AbortController();
  const waiting = pages().pause(abort.signal);
  abort.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
});

/** A tool that waits for a sign-in: it asks again, or sends its state alone. */
function signIn(asksAgain: boolean) {
  let isDone = false;
  let runs = 0;
  const call: Tool["call"] = async (_args, { state }) => {
    runs++;
    if (isDone) return textResult("signed in");
    const asks = asksAgain || state === undefined;
    return { ...(asks && { questions: { p: pageAt(A) } }), state: "waiting" };
  };
  const finish = (done: boolean) => (isDone = done);
  return { tools: { enter: { ...echo, call } }, finish, runs: () => runs };
}

for (const protocol of ERAS) {
  for (const asksAgain of [true, false]) {
    const how = asksAgain ? "the question again" : "a state alone";
    test(`it waits for a slow sign-in, by ${how} (${protocol})`, async () => {
      const { tools, finish, runs } = signIn(asksAgain);
      const visits: boolean[] = [];
      const me: Answerer = {
        form,
        // Nothing but the person ends the sign-in: without them it would go on for ever.
        async url({ again }: Page) {
          visits.push(again);
          if (visits.length % 5 === 0) finish(true);
          return accepted;
        },
      };
      const session = await connect(inMemory(tools), { protocol, answerer: me });
      for (let call = 1; call <= 2; call++) {
        finish(false);
        assert.equal(textOf(await callTool(session, "enter")), "signed in");
        assert.equal(runs(), call * 6);
      }
      // In the next call the page is a new one.
      const one = [false, true, true, true, true];
      assert.deepEqual(visits, [...one, ...one]);
      await session.close();
    });
  }

  test(`it ends the call when the person gives up on a page (${protocol})`, async () => {
    const { tools, runs } = signIn(false);
    const me: Answerer = {
      form,
      url: async ({ again }) => ({ action: again ? "cancel" : "accept" }),
    };
    const session = await connect(inMemory(tools), { protocol, answerer: me });
    const calling = callTool(session, "enter");
    const reason = /you left before the page was done with/;
    if (protocol === MODERN) await assert.rejects(calling, reason);
    else assert.match(textOf(await calling), reason);
    assert.equal(runs(), 2);
    await session.close();
  });
}
