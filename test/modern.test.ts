/** The conversation of 2026-07-28: our server by hand on the wire, our client against scripts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConnectionError, type Params } from "../mcp/peer.ts";
import type { InputRequest } from "../mcp/schema.ts";
import type { Tool, Tools } from "../mcp/tool.ts";
import {
  answerer,
  asking,
  callModern,
  discover,
  echo,
  FORMS,
  open,
  SERVER,
  serving,
  textOf,
  type Served,
} from "./ends.ts";
import {
  LEGACY,
  meta,
  MODERN,
  question,
  request,
  result,
  textResult,
} from "./support.ts";

const PREFIX = "io.modelcontextprotocol/";
const stamp = { [`${PREFIX}serverInfo`]: SERVER };

const page: InputRequest = {
  method: "elicitation/create",
  params: { mode: "url", url: "https://a.test/", message: "Sign in." },
};
const sampling: InputRequest = {
  method: "sampling/createMessage",
  params: { messages: [], maxTokens: 9 },
};
const roots: InputRequest = { method: "roots/list", params: {} };

// --- The server's end: what it says ------------------------------------------------------

/** Sends one modern request, and returns the reply. */
async function ask(wire: Served, method: string, params: Params = {}) {
  wire.send(request(1, method, { _meta: meta(FORMS), ...params }));
  return wire.next();
}

test("it is discovered without a handshake", async () => {
  const { result } = await ask(serving({ echo }), "server/discover");
  assert.deepEqual(result, {
    resultType: "complete",
    supportedVersions: [MODERN],
    capabilities: { tools: {} },
    ttlMs: 3_600_000,
    cacheScope: "public",
    _meta: stamp,
  });
});

test("it lists its tools, less what runs them, and says how long that holds", async () => {
  const outputSchema = { type: "object" };
  const annotations = { readOnlyHint: true };
  const tools = { echo, more: { ...echo, title: "More", outputSchema, annotations } };
  const { call, ...listed } = echo;
  const { result } = await ask(serving(tools), "tools/list");
  assert.deepEqual(result, {
    resultType: "complete",
    tools: [
      { name: "echo", ...listed },
      { name: "more", ...listed, title: "More", outputSchema, annotations },
    ],
    ttlMs: 3_600_000,
    cacheScope: "public",
    _meta: stamp,
  });
});

test("it stamps a result, and leaves in it what the tool put there", async () => {
  const own = { ...textResult("done"), _meta: { "a.test/own": 1 } };
  const wire = serving({ own: { ...echo, call: async () => own } });
  wire.send(callModern(1, "own"));
  const { result } = await wire.next();
  assert.deepEqual(result, {
    resultType: "complete",
    ...textResult("done"),
    _meta: { "a.test/own": 1, ...stamp },
  });
});

// --- The server's end: questions ---------------------------------------------------------

test("it returns its question with a sealed state, and goes on with the answer", async () => {
  const wire = serving({ asks: asking(question()) });
  wire.send(callModern(1, "asks", { a: 1 }));
  const { result: asked } = await wire.next();
  const { requestState, ...rest } = asked;
  assert.deepEqual(rest, {
    resultType: "input_required",
    inputRequests: { q: question() },
    _meta: stamp,
  });
  assert.match(String(requestState), /^[\w-]{40,}$/);

  const answer = { action: "accept", content: { ticker: "NVDA" } };
  const retry = { inputResponses: { q: answer }, requestState };
  wire.send(callModern(2, "asks", { a: 1 }, FORMS, retry));
  const { id, result } = await wire.next();
  assert.equal(id, 2);
  assert.deepEqual(JSON.parse(textOf(result)), answer);
});

const KINDS: [string, InputRequest, Params, unknown[], unknown[]][] = [
  [
    "a form",
    question(),
    { elicitation: { form: {} } },
    [{}, { form: {} }, { form: {}, url: {} }, { other: {} }, { url: null }].map(
      (elicitation) => ({ elicitation }),
    ),
    [
      {},
      { elicitation: null },
      { elicitation: { url: {} } },
      { elicitation: { form: null, url: {} } },
      { sampling: {}, roots: {} },
    ],
  ],
  [
    "a page",
    page,
    { elicitation: { url: {} } },
    [{ elicitation: { url: {} } }],
    [{}, { elicitation: {} }, FORMS],
  ],
  [
    "a sampling",
    sampling,
    { sampling: {} },
    [{ sampling: {} }, { sampling: { tools: {} } }],
    [{}, { sampling: null }, FORMS, { roots: {} }],
  ],
  [
    "the roots",
    roots,
    { roots: {} },
    [{ roots: {} }, { roots: { listChanged: true } }],
    [{}, { roots: null }, FORMS, { sampling: {} }],
  ],
];
for (const [what, asked, requiredCapabilities, able, unable] of KINDS) {
  test(`it asks for ${what} where that is declared, else says what it takes`, async () => {
    const can: boolean[] = [];
    const asks = asking(asked);
    const call: Tool["call"] = (args, round) => {
      can.push(round.canAsk(asked));
      return asks.call(args, round);
    };
    const wire = serving({ asks: { ...asks, call } });
    for (const capabilities of able) {
      wire.send(callModern(1, "asks", {}, capabilities));
      const { result } = await wire.next();
      assert.deepEqual(result["inputRequests"], { q: asked });
    }
    for (const capabilities of unable) {
      wire.send(callModern(2, "asks", {}, capabilities));
      const { error } = await wire.next();
      assert.equal(error.code, -32021, JSON.stringify(capabilities));
      assert.deepEqual(error.data, { requiredCapabilities });
      assert.match(error.message, /ask the user for q, and this client can't be asked$/);
    }
    assert.deepEqual(can, [...able.map(() => true), ...unable.map(() => false)]);
  });
}

test("it names the argument that would spare the question", async () => {
  const inputSchema = { type: "object", properties: { q: { type: "string" } } };
  const wire = serving({ asks: asking(question(), { inputSchema }) });
  wire.send(callModern(1, "asks", {}, {}));
  assert.match((await wire.next()).error.message, /asked: pass q as an argument$/);
});

test("it sends no state that the tool doesn't have, and no questions with a state alone", async () => {
  const round: Tool["call"] = async (_args, { state = 0 }) =>
    state === 2 ? textResult("done") : { state: Number(state) + 1 };
  const stateless: Tool["call"] = async () => ({ questions: { q: question() } });
  const tools = { counts: { ...echo, call: round }, asks: { ...echo, call: stateless } };
  const wire = serving(tools);
  wire.send(callModern(1, "asks"));
  assert.deepEqual(Object.keys((await wire.next()).result).sort(), [
    "_meta",
    "inputRequests",
    "resultType",
  ]);
  wire.send(callModern(2, "counts"));
  for (let count = 1; count <= 2; count++) {
    const { requestState, ...rest } = (await wire.next()).result;
    assert.deepEqual(rest, { resultType: "input_required", _meta: stamp });
    wire.send(callModern(2, "counts", undefined, FORMS, { requestState }));
  }
  assert.equal(textOf((await wire.next()).result), "done");
});

const other = (character: string) => (character === "A" ? "B" : "A");
const FORGED: [string, (state: string) => Params][] = [
  ["a changed state", (state) => ({ requestState: state.replace(/^./, other) })],
  ["a state with more to it", (state) => ({ requestState: `${state}-TAMPERED` })],
  ["half a state", (state) => ({ requestState: state.slice(0, 40) })],
  ["no string", () => ({ requestState: {} })],
  ["a state in a list", (state) => ({ requestState: [state] })],
  ["a state that can't be text", () => ({ requestState: { toString: 1 } })],
  ["an invented state", () => ({ requestState: "e30.AAAA" })],
  ["other arguments", (requestState) => ({ requestState, arguments: { a: 2 } })],
  ["no arguments", (requestState) => ({ requestState, arguments: undefined })],
  ["another tool", (requestState) => ({ requestState, name: "other" })],
];
test("it refuses a state that was not issued for this request, in one sentence", async () => {
  let runs = 0;
  const asks = asking(question());
  const call: Tool["call"] = (...its) => (runs++, asks.call(...its));
  const wire = serving({ asks: { ...asks, call }, other: { ...asks, call } });
  wire.send(callModern(1, "asks", { a: 1 }));
  const { requestState } = (await wire.next()).result;
  for (const [what, forge] of FORGED) {
    wire.send(callModern(2, "asks", { a: 1 }, FORMS, forge(String(requestState))));
    const { error } = await wire.next();
    assert.equal(error?.code, -32602, what);
    assert.match(error.message, /^requestState was not issued for this request/, what);
  }
  assert.equal(runs, 1);
});

// --- The server's end: what it refuses ---------------------------------------------------

const ENVELOPES: [string, unknown, number | undefined][] = [
  ["with no sender", { ...meta(), [`${PREFIX}clientInfo`]: undefined }, undefined],
  ["with null for the sender", { ...meta(), [`${PREFIX}clientInfo`]: null }, undefined],
  ["with other keys", { ...meta(), progressToken: 1, [`${PREFIX}x`]: 1 }, undefined],
  ["without capabilities", { [`${PREFIX}protocolVersion`]: MODERN }, -32602],
  ["without version", { [`${PREFIX}clientCapabilities`]: {} }, -32602],
  ["with the sender only", { [`${PREFIX}clientInfo`]: SERVER }, -32602],
  ["with the log level only", { [`${PREFIX}logLevel`]: "info" }, -32602],
  ["with null for capabilities", meta(null), -32602],
  ["with a list for capabilities", meta([]), -32602],
  ["with a number for version", meta({}, 20260728), -32602],
  ["with null for version", meta({}, null), -32602],
  ["with a sender without name", { ...meta(), [`${PREFIX}clientInfo`]: {} }, -32602],
  ["with a version that never was", meta({}, "1987-10-19"), -32022],
  ["with a legacy version", meta({}, LEGACY), -32022],
  ["that is no object", "x", -32602],
  ["that is a list", [], -32602],
  ["that is not there", undefined, -32602],
];
test("it checks the envelope of every request", async () => {
  const wire = serving({ echo });
  for (const [what, _meta, code] of ENVELOPES) {
    for (const method of ["server/discover", "tools/list", "tools/call"]) {
      wire.send(request(method, method, { name: "echo", _meta }));
      const { error } = await wire.next();
      assert.equal(error?.code, code, `an envelope ${what}, ${method}`);
      if (code !== -32022) continue;
      const requested = (_meta as Params)[`${PREFIX}protocolVersion`];
      assert.deepEqual(error.data, { supported: [MODERN], requested });
    }
  }
});

test("it says which method it does not have", async () => {
  const wire = serving({ echo });
  const others = ["ping", "logging/setLevel", "prompts/list", "toString", "__proto__"];
  for (const method of others) {
    const { error } = await ask(wire, method);
    assert.deepEqual(error, { code: -32601, message: `This server has no ${method}` });
  }
  // Clients of another era send this one, and learn here what is spoken.
  const { error } = await ask(wire, "initialize");
  assert.equal(error.message, `This server has no initialize; it speaks ${MODERN}`);
});

const CALLS: [unknown, number | undefined][] = [
  [{ name: "echo" }, undefined],
  [{ name: "echo", arguments: null }, undefined],
  [{ name: "echo", arguments: {}, inputResponses: null, requestState: null }, undefined],
  [{ name: "echo", arguments: [] }, -32602],
  [{ name: "echo", arguments: "AAPL" }, -32602],
  [{ name: "echo", arguments: 7 }, -32602],
  [{ name: "echo", inputResponses: [] }, -32602],
  [{ name: 7 }, -32602],
  [{}, -32602],
];
test("it calls with an object of arguments, or with none", async () => {
  const wire = serving({ echo });
  for (const [params, code] of CALLS) {
    const { error, result } = await ask(wire, "tools/call", params as Params);
    assert.equal(error?.code, code, JSON.stringify(params));
    if (!error) assert.equal(textOf(result), "{}");
  }
});

test("it keeps the failures of a tool to itself, an impossible question included", async () => {
  const broken = { ...echo, call: () => Promise.reject(new Error("SECRET123")) };
  const tools: Tools = { broken, asks: asking({ method: "x/y", params: {} }) };
  const wire = serving(tools);
  const { error: log } = console;
  const logged: unknown[] = [];
  console.error = (line) => logged.push(line);
  try {
    for (const name of ["broken", "asks"]) {
      wire.send(callModern(1, name));
      const { error } = await wire.next();
      assert.deepEqual(error, { code: -32603, message: "internal error" });
    }
  } finally {
    console.error = log;
  }
  assert.match(String(logged[0]), /SECRET123/);
  assert.match(String(logged[1]), /asks by x\/y, which no client answers/);
});

// --- The client's end --------------------------------------------------------------------

const call = (args: Params = {}) => ({ name: "t", arguments: args });
const asks = (inputRequests: unknown, more: Params = {}) => ({
  resultType: "input_required",
  inputRequests,
  ...more,
});

test("it answers a question by making the request again", async () => {
  const me = answerer();
  const { session } = await open(
    async (wire) => {
      await discover(wire);
      const first = await wire.next();
      const { progressToken, ...envelope } = first.params["_meta"] as Params;
      assert.deepEqual(Object.keys(envelope).sort(), [
        `${PREFIX}clientCapabilities`,
        `${PREFIX}clientInfo`,
        `${PREFIX}protocolVersion`,
      ]);
      wire.send(result(first.id, asks({ "q 1/é": question() }, { requestState: "s1" })));
      const second = await wire.next();
      assert.notEqual(second.id, first.id);
      const { inputResponses, requestState, _meta, ...rest } = second.params;
      assert.deepEqual({ ...rest, _meta: first.params["_meta"] }, first.params);
      // A request of its own has a token of its own.
      const { progressToken: another, ...same } = _meta as Params;
      assert.deepEqual(same, envelope);
      assert.notEqual(another, progressToken);
      const answer = { action: "accept", content: { ticker: "NVDA" } };
      assert.deepEqual(inputResponses, { "q 1/é": answer });
      assert.equal(requestState, "s1");
      wire.send(result(second.id, { resultType: "complete", ...textResult("done") }));
      // Neither answers nor state of one call leak into another request.
      const other = await wire.next();
      assert.deepEqual(other.params, { _meta: envelope });
      wire.send(result(other.id, { resultType: "complete", tools: [] }));
    },
    { answerer: me },
  );
  const { content } = await session.request("tools/call", call({ a: 1 }));
  assert.deepEqual(content, textResult("done").content);
  await session.request("tools/list");
  assert.deepEqual(me.asked, ["Which?"]);
});

test("it takes null for a key that a server leaves out", async () => {
  const { session } = await open(
    async (wire) => {
      await discover(wire);
      const first = await wire.next();
      wire.send(result(first.id, asks({ q: question() }, { requestState: null })));
      const second = await wire.next();
      assert.ok(!("requestState" in second.params));
      wire.send(result(second.id, asks(null, { requestState: "s1" })));
      const third = await wire.next();
      assert.equal(third.params["requestState"], "s1");
      assert.ok(!("inputResponses" in third.params));
      wire.send(result(third.id, { resultType: null, ...textResult("done") }));
    },
    { answerer: answerer() },
  );
  const { content } = await session.request("tools/call", call());
  assert.deepEqual(content, textResult("done").content);
});

test("it writes no responses to a modern server, and asks nobody on its request", async () => {
  const me = answerer();
  const { session, notes } = await open(
    async (wire) => {
      await discover(wire);
      const { id } = await wire.next();
      wire.send({ jsonrpc: "2.0", id: "e1", ...question() });
      wire.send(request("p1", "ping"));
      wire.send(result(id, textResult("done")));
      assert.deepEqual(await wire.rest(), []);
    },
    { answerer: me },
  );
  await session.request("tools/call", call());
  await session.close();
  assert.deepEqual(me.asked, []);
  assert.equal(notes.length, 2);
});

test("it takes questions during three requests, and during no other", async () => {
  const may = ["tools/call", "prompts/get", "resources/read"];
  const mayNot = ["tools/list", "server/discover", "prompts/list"];
  const me = answerer();
  const { session } = await open(
    async (wire) => {
      await discover(wire);
      for (const method of [...may, ...mayNot]) {
        const { id } = await wire.until({ method });
        wire.send(result(id, asks({ q: question() })));
        if (may.includes(method)) wire.send(result((await wire.next()).id, {}));
      }
    },
    { answerer: me },
  );
  for (const method of may) await session.request(method);
  assert.equal(me.asked.length, 3);
  for (const method of mayNot) {
    const reason = new RegExp(`may not ask for input during ${method}`);
    await assert.rejects(session.request(method), reason);
  }
  assert.equal(me.asked.length, 3);
});

const elicit = (params: Params) => ({ method: "elicitation/create", params });
const UNANSWERABLE: [string, unknown, RegExp][] = [
  ["sampling", sampling, /sampling\/createMessage/],
  ["an unknown kind", { method: "x/y" }, /x\/y/],
  ["a page, which was not declared", page, /by url/],
  ["an unknown mode", elicit({ mode: "popup", message: "m" }), /by popup/],
  ["a forbidden schema", question({ ticker: { type: "object" } }), /ticker/],
  ["a form without message", elicit({ requestedSchema: {} }), /message/],
];
test("it ends a call at a question that it can't answer, and does not retry", async () => {
  for (const [what, q, reason] of UNANSWERABLE) {
    const me = answerer();
    const { session } = await open(
      async (wire) => {
        await discover(wire);
        wire.send(result((await wire.next()).id, asks({ q })));
        assert.deepEqual(await wire.rest(), []);
      },
      { answerer: me },
    );
    await assert.rejects(session.request("tools/call", call()), (error) => {
      assert.ok(error instanceof ConnectionError, what);
      assert.match(error.message, /^the server asked what it may not: /, what);
      return reason.test(error.message);
    });
    await session.close();
    assert.deepEqual(me.asked, [], what);
  }
});

test("it ends a call at a question that nobody is there for", async () => {
  const { session } = await open(async (wire) => {
    await discover(wire);
    wire.send(result((await wire.next()).id, asks({ q: question() })));
  });
  await assert.rejects(
    session.request("tools/call", call()),
    /does not answer elicitation\/create/,
  );
});
