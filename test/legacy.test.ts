/** The conversation of 2024-11-05 to 2025-11-25: our server by hand, our client against scripts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Answerer } from "../mcp/answer.ts";
import { ConnectionError, type Params } from "../mcp/peer.ts";
import type { ElicitResult, InputRequest } from "../mcp/schema.ts";
import type { Tool } from "../mcp/tool.ts";
import {
  answerer,
  asking,
  callLegacy,
  echo,
  FORMS,
  greeted,
  handshake,
  open,
  SERVER,
  serving,
  textOf,
} from "./ends.ts";
import {
  error,
  initialize,
  initialized,
  LEGACY,
  MODERN,
  notification,
  question,
  request,
  result,
  serverInfo,
  stopTime,
  textResult,
  type Wire,
} from "./support.ts";

const VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const page: InputRequest = {
  method: "elicitation/create",
  params: { mode: "url", url: "https://a.test/", message: "Sign in." },
};
const sampling: InputRequest = {
  method: "sampling/createMessage",
  params: { messages: [], maxTokens: 9 },
};
const roots: InputRequest = { method: "roots/list", params: {} };
const NVDA = { action: "accept", content: { ticker: "NVDA" } };

// --- The server's end --------------------------------------------------------------------

test("it answers initialize in a version that it knows, else in its newest", async () => {
  const rows = [...VERSIONS.map((version) => [version, version])];
  for (const version of ["2099-01-01", MODERN, ""]) rows.push([version, LEGACY]);
  for (const [asked, protocolVersion] of rows) {
    const wire = serving({ echo });
    wire.send(initialize({}, asked));
    assert.deepEqual((await wire.next()).result, {
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: SERVER,
    });
  }
});

const clientInfo = { name: "test", version: "1" };
test("it refuses an initialize without what it needs, and stays as it was", async () => {
  const whole = { protocolVersion: LEGACY, capabilities: {}, clientInfo };
  for (const lack of Object.keys(whole)) {
    const wire = serving({ echo });
    wire.send(request(1, "initialize", { ...whole, [lack]: undefined }));
    const { error } = await wire.next();
    assert.equal(error.code, -32602);
    assert.match(error.message, new RegExp(`^initialize: ${lack}: `));
    wire.send(request(2, "tools/list"));
    assert.equal((await wire.next()).error.code, -32602);
  }
});

test("it leaves out what older clients don't know", async () => {
  const own = { ...textResult("done"), structuredContent: {}, _meta: { "a.test/x": 1 } };
  const wire = await greeted({ echo, own: { ...echo, call: async () => own } });
  const { call, ...listed } = echo;
  const tools = ["echo", "own"].map((name) => ({ name, ...listed }));
  wire.send(request(1, "tools/list"));
  assert.deepEqual((await wire.next()).result, { tools });
  wire.send(callLegacy(2, "own"));
  assert.deepEqual((await wire.next()).result, own);
  wire.send(callLegacy(3, "echo", { a: 1 }));
  assert.deepEqual((await wire.next()).result, textResult('{"a":1}'));
});

test("it says which method it does not have, and names no version", async () => {
  const wire = await greeted({ echo });
  for (const method of ["prompts/list", "resources/list", "logging/setLevel"]) {
    wire.send(request(1, method));
    const { error } = await wire.next();
    assert.deepEqual(error, { code: -32601, message: `This server has no ${method}` });
  }
});

const KINDS: [string, InputRequest, Params, Params][] = [
  ["a form", question(), { elicitation: {} }, NVDA],
  ["a page", page, { elicitation: { url: {} } }, { action: "accept" }],
  ["a sampling", sampling, { sampling: {} }, { role: "assistant", model: "m" }],
  ["the roots", roots, { roots: {} }, { roots: [{ uri: "file:///a" }] }],
];
for (const [what, asked, capabilities, answer] of KINDS) {
  test(`it asks for ${what} by request, and goes on with the answer`, async () => {
    for (const version of VERSIONS) {
      const wire = await greeted({ asks: asking(asked) }, capabilities, version);
      wire.send(callLegacy(2, "asks"));
      const { id, method, params } = await wire.next();
      const { elicitationId, ...rest } = params;
      assert.deepEqual({ method, params: rest }, asked);
      // A question by URL has an id in these versions.
      if (asked === page) assert.match(String(elicitationId), /^[0-9a-f-]{36}$/);
      else assert.equal(elicitationId, undefined);
      wire.send(result(id, answer));
      const last = await wire.next();
      assert.equal(last.id, 2);
      assert.deepEqual(JSON.parse(textOf(last.result)), answer);
      assert.doesNotMatch(JSON.stringify(wire.seen), /input_required|requestState/);
    }
  });

  test(`it fails the call where ${what} can't be asked for, and sends nothing`, async () => {
    const wire = await greeted({ asks: asking(asked) }, {});
    wire.send(callLegacy(2, "asks"));
    const { result } = await wire.next();
    assert.equal(result["isError"], true);
    assert.equal(
      textOf(result),
      "asks has to ask the user for q, and this client can't be asked.",
    );
    assert.deepEqual(await wire.end(), []);
  });
}

const UNANSWERED: [string, (id: unknown) => Params, RegExp][] = [
  ["an error", (id) => error(id, -32601), /answered "Which\?" with error -32601: no\.$/],
  ["an unknown action", (id) => result(id, { action: "yes" }), /answer .* is not valid/],
  ["no action", (id) => result(id, {}), /answer .* is not valid/],
  ["null for an action", (id) => result(id, { action: null }), /answer .* is not valid/],
  ["no response", (id) => ({ jsonrpc: "2.0", id, result: 7 }), /is not .*response/],
];
test("it fails the call when the question gets no answer, and goes on", async () => {
  const wire = await greeted({ asks: asking(question()) });
  for (const [what, reply, text] of UNANSWERED) {
    wire.send(callLegacy(2, "asks"));
    wire.send(reply((await wire.next()).id));
    const { id, result } = await wire.next();
    assert.equal(id, 2);
    assert.equal(result["isError"], true, what);
    assert.match(textOf(result), text);
    assert.doesNotMatch(textOf(result), /schema|expected/i);
  }
});

test("it asks for twenty rounds, and not for ever", async () => {
  const call: Tool["call"] = async () => ({ questions: { q: question() }, state: 1 });
  const wire = await greeted({ asks: { ...echo, call } });
  wire.send(callLegacy(2, "asks"));
  let asked = 0;
  for (;;) {
    const { id, method, result: last } = await wire.next();
    if (method === "elicitation/create") {
      asked++;
      wire.send(result(id, NVDA));
      continue;
    }
    assert.equal(last["isError"], true);
    assert.match(textOf(last), /still asks after 20 rounds/);
    break;
  }
  assert.equal(asked, 20);
});

test("it keeps concurrent calls and their answers apart", async () => {
  const wire = await greeted({ asks: asking(question()) });
  for (const id of [2, 3, 4]) wire.send(callLegacy(id, "asks"));
  const asked = [await wire.next(), await wire.next(), await wire.next()];
  assert.equal(new Set(asked.map(({ id }) => id)).size, 3);
  for (const n of [2, 0, 1]) {
    wire.send(result(asked[n]?.id, { action: "accept", content: { ticker: `T${n}` } }));
    const { id, result: got } = await wire.next();
    assert.equal(id, n + 2);
    assert.match(textOf(got), new RegExp(`"T${n}"`));
  }
});

test("it takes no answers and no state from outside", async () => {
  const wire = await greeted({ asks: asking(question()) });
  const params = { name: "asks", inputResponses: { q: NVDA }, requestState: "x" };
  wire.send(request(2, "tools/call", params));
  assert.equal((await wire.next()).method, "elicitation/create");
});

test("it withdraws its question when the call is cancelled", async () => {
  const wire = await greeted({ asks: asking(question()) });
  wire.send(callLegacy(5, "asks"));
  const { id } = await wire.next();
  wire.send(notification("cancelled", { requestId: 5 }));
  assert.deepEqual(await wire.next(), notification("cancelled", { requestId: id }));
  wire.send(result(id, NVDA));
  assert.deepEqual(await wire.end(), []);
});

// --- The server's end: when it asks ------------------------------------------------------

/** Past `initialize`, with a call that has to ask; the client has not said that it is ready. */
async function unready(): Promise<ReturnType<typeof serving>> {
  const wire = serving({ asks: asking(question()) });
  wire.send(initialize(FORMS));
  await wire.next();
  wire.send(callLegacy(2, "asks"));
  wire.send(request(3, "ping"));
  assert.equal((await wire.next()).id, 3, "no question before the client is ready");
  return wire;
}

test("it asks when the client has said that it is initialized", async () => {
  const wire = await unready();
  wire.send(notification("initialized"));
  const { id, method } = await wire.next();
  assert.equal(method, "elicitation/create");
  wire.send(result(id, NVDA));
  assert.match(textOf((await wire.next()).result), /NVDA/);
});

test("it answers a call whose client never says so, in ten minutes or at the end", async (t) => {
  const ended = await unready();
  const [last] = await ended.end();
  assert.equal(last?.id, 2);
  assert.equal(last?.result["isError"], true);

  const pass = stopTime(t);
  const wire = await unready();
  await pass(10 * 60_000 - 1);
  wire.send(request(4, "ping"));
  assert.equal((await wire.next()).id, 4);
  await pass(1);
  const { id, result } = await wire.next();
  assert.equal(id, 2);
  assert.equal(textOf(result), "The client did not answer in time.");
  assert.equal(result["isError"], true);
});

test("it waits ten minutes for an answer, and withdraws the question then", async (t) => {
  const pass = stopTime(t);
  const wire = await greeted({ asks: asking(question()) });
  wire.send(callLegacy(2, "asks"));
  const { id: asked } = await wire.next();
  await pass(10 * 60_000 - 1);
  wire.send(request(4, "ping"));
  assert.equal((await wire.next()).id, 4);
  await pass(1);
  assert.deepEqual(await wire.next(), notification("cancelled", { requestId: asked }));
  const { id, result: got } = await wire.next();
  assert.equal(id, 2);
  assert.equal(textOf(got), "The client did not answer in time.");
  wire.send(result(asked, NVDA));
  assert.deepEqual(await wire.end(), []);
});

// --- The client's end: the handshake -----------------------------------------------------

test("it sends no probe when a legacy version is wanted", async () => {
  for (const protocol of VERSIONS) {
    const script = async (wire: Wire) => {
      const { id, method, params } = await wire.next();
      assert.equal(method, "initialize");
      assert.equal(params["protocolVersion"], protocol);
      wire.send(result(id, initialized(protocol)));
    };
    const { session } = await open(script, { protocol });
    assert.equal(session.version, protocol);
    assert.equal(session.name, serverInfo.name);
  }
});

for (const version of ["1998-07-01", MODERN, "\u001b[31m"]) {
  test(`it leaves a server that answers initialize with ${JSON.stringify(version)}`, async () => {
    const opening = open(async (wire) => {
      await handshake(wire, version).catch(() => {});
      const methods = wire.seen.map(({ method }) => method);
      assert.deepEqual(methods, ["server/discover", "initialize"]);
    });
    await assert.rejects(opening, (error) => {
      return error instanceof ConnectionError && error.message.includes(version);
    });
  });
}

test("it leaves a server that answers initialize without a version", async () => {
  await assert.rejects(
    open((wire) => handshake(wire, null)),
    /protocolVersion/,
  );
});

test("it goes on in another legacy version than it asked for, and says so", async () => {
  const { session, notes } = await open((wire) => handshake(wire, "2025-06-18"));
  assert.equal(session.version, "2025-06-18");
  assert.match(notes.join(), /2025-06-18, not in 2025-11-25/);
});

const REFUSED: [unknown, RegExp][] = [
  [
    { supported: [MODERN] },
    /^the server does not speak 2025-11-25, but 2026-07-28; without --protocol its own version is used$/,
  ],
  [undefined, /^the server does not speak 2025-11-25, but .+; without --protocol/],
];
test("it says what a server speaks that has no handshake", async () => {
  for (const [data, reason] of REFUSED) {
    const script = async (wire: Wire) =>
      wire.send(error((await wire.next()).id, -32022, "Unsupported", data));
    await assert.rejects(open(script, { protocol: LEGACY }), (error) => {
      return error instanceof ConnectionError && reason.test(error.message);
    });
  }
});

// --- The client's end: questions ---------------------------------------------------------

/** Makes one call of a server that plays this part while the call is open. */
async function during(part: (wire: Wire) => Promise<unknown>, me: Answerer = answerer()) {
  const { session } = await open(
    async (wire) => {
      await handshake(wire);
      const { id } = await wire.next();
      await part(wire);
      wire.send(result(id, textResult("done")));
      assert.deepEqual(await wire.rest(), []);
    },
    { answerer: me },
  );
  const { content } = await session.request("tools/call", { name: "t" });
  assert.deepEqual(content, textResult("done").content);
  await session.close();
}
const elicitation = (id: unknown) => ({ jsonrpc: "2.0", id, ...question() });

for (const action of ["accept", "decline", "cancel"] as const) {
  test(`it answers a server's question with ${action}`, async () => {
    const me = answerer(action);
    await during(async (wire) => {
      wire.send(elicitation("e1"));
      const answer = action === "accept" ? NVDA : { action };
      assert.deepEqual(await wire.next(), result("e1", answer));
    }, me);
    assert.deepEqual(me.asked, ["Which?"]);
  });
}

const elicit = (params: Params) => ({ method: "elicitation/create", params });
const UNANSWERABLE: [string, object, number, RegExp][] = [
  ["sampling", sampling, -32601, /sampling\/createMessage/],
  ["the roots", roots, -32601, /roots\/list/],
  ["an unknown kind", { method: "x/y" }, -32601, /x\/y/],
  ["a page, which was not declared", page, -32602, /by url/],
  ["an unknown mode", elicit({ mode: "popup", message: "m" }), -32602, /by popup/],
  ["a forbidden schema", question({ ticker: { type: "object" } }), -32602, /ticker/],
  ["a form without message", elicit({ requestedSchema: {} }), -32602, /message/],
];
test("it answers with an error what it can't be asked, and asks nobody", async () => {
  const me = answerer();
  await during(async (wire) => {
    for (const [what, asked, code, reason] of UNANSWERABLE) {
      wire.send({ jsonrpc: "2.0", id: 0, ...asked });
      const { id, error } = await wire.next();
      assert.equal(id, 0);
      assert.equal(error?.code, code, what);
      assert.match(error.message, reason);
    }
  }, me);
  assert.deepEqual(me.asked, []);
});

test("it answers -32603 when the asking fails, and tells nothing of it", async () => {
  const form = () => Promise.reject(new Error("SECRET of the inside"));
  await during(
    async (wire) => {
      wire.send(elicitation("e1"));
      const reply = await wire.next();
      assert.equal(reply.error.code, -32603);
      assert.doesNotMatch(JSON.stringify(reply), /SECRET/);
    },
    { form },
  );
});

test("it answers pings and unknown requests while a question is open", async () => {
  let answerNow = (_: ElicitResult) => {};
  const form = () => new Promise<ElicitResult>((resolve) => (answerNow = resolve));
  await during(
    async (wire) => {
      wire.send(elicitation("e1"));
      wire.send(request(0, "ping"));
      assert.deepEqual(await wire.next(), result(0, {}));
      wire.send(request("r1", "x/y"));
      assert.equal((await wire.next()).error.code, -32601);
      answerNow({ action: "cancel" });
      assert.deepEqual(await wire.next(), result("e1", { action: "cancel" }));
    },
    { form },
  );
});

test("it drops a question that the server withdraws, and sends no answer", async () => {
  let withdrawn: AbortSignal | undefined;
  const form: Answerer["form"] = (_, signal) =>
    new Promise((_, reject) => {
      withdrawn = signal;
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
  await during(
    async (wire) => {
      wire.send(elicitation("e1"));
      wire.send(notification("cancelled", { requestId: "e1" }));
    },
    { form },
  );
  assert.ok(withdrawn?.aborted);
});

test("it answers a page and a list in a version that had none", async () => {
  const items = { type: "string", enum: ["NVDA"] };
  const list = question({ ticker: { type: "array", items } });
  const me: Answerer = {
    form: async () => ({ action: "accept", content: { ticker: ["NVDA"] } }),
    url: async () => ({ action: "accept" }),
  };
  const { session } = await open(
    async (wire) => {
      await handshake(wire, "2025-06-18");
      const { id } = await wire.next();
      wire.send({ jsonrpc: "2.0", id: "l", ...list });
      const content = { ticker: ["NVDA"] };
      assert.deepEqual(await wire.next(), result("l", { action: "accept", content }));
      wire.send({ jsonrpc: "2.0", id: "p", ...page });
      assert.deepEqual(await wire.next(), result("p", { action: "accept" }));
      wire.send(result(id, textResult("done")));
    },
    { answerer: me, protocol: "2025-06-18" },
  );
  await session.request("tools/call", { name: "t" });
});
