import assert from "node:assert/strict";
import { test } from "node:test";
import type { Answerer } from "../mcp/answer.ts";
import type { Options } from "../mcp/link.ts";
import { ConnectionError, RpcError, type Params } from "../mcp/peer.ts";
import { connect } from "./ends.ts";
import {
  discovery,
  error,
  initialized,
  LEGACY,
  MODERN,
  question,
  request,
  result,
  scripted,
  serverInfo,
  textResult,
  type Wire,
} from "./support.ts";

const PREFIX = "io.modelcontextprotocol/";

/** Accepts every form with NVDA, and remembers what was asked. */
function answerer(action: "accept" | "decline" | "cancel" = "accept") {
  const asked: string[] = [];
  const form: Answerer["form"] = async ({ message }) => {
    asked.push(message);
    return action === "accept" ? { action, content: { ticker: "NVDA" } } : { action };
  };
  return { asked, form };
}

/** Connects to a scripted server; `notes` hears what the client found odd. */
async function open(
  script: (wire: Wire) => Promise<void>,
  options: Partial<Options> = {},
) {
  const notes: string[] = [];
  const onNote = (note: string) => notes.push(note);
  const session = await connect(scripted(script), { onNote, probeMs: 2000, ...options });
  return { session, notes };
}

const call = (args: Params = {}) => ({ name: "t", arguments: args });
const metaOf = (message: Params) => (message["params"] as Params)["_meta"] as Params;
const methodOf = (message: Params) => message["method"];

/** Answers the probe as a modern server. */
async function discover(wire: Wire) {
  const { id } = await wire.until({ method: "server/discover" });
  wire.send(result(id, discovery()));
}

/** Refuses the probe and goes through the handshake. */
async function handshake(wire: Wire, version: unknown = LEGACY) {
  const probe = await wire.until({ method: "server/discover" });
  wire.send(error(probe["id"], -32601));
  const { id } = await wire.until({ method: "initialize" });
  wire.send(result(id, initialized(version)));
  await wire.until({ method: "notifications/initialized" });
}

// --- The probe ---------------------------------------------------------------------------

test("it finds a modern server, and its name and version", async () => {
  const { session } = await open(discover);
  assert.equal(session.version, MODERN);
  assert.equal(session.name, serverInfo.name);
});

test("it needs nothing of a discovery but the versions", async () => {
  const { session } = await open(async (wire) => {
    const { id } = await wire.next();
    wire.send(
      result(id, {
        supportedVersions: ["2030-01-01", MODERN],
        _meta: { [`${PREFIX}serverInfo`]: 7 },
      }),
    );
  });
  assert.equal(session.version, MODERN);
  assert.equal(session.name, undefined);
});

for (const code of [-32601, -32602, -32600, -32603, -32700, -32000, -32042, 1]) {
  test(`it falls back to the handshake at error ${code}`, async () => {
    const { session } = await open(async (wire) => {
      wire.send(error((await wire.next())["id"], code));
      const { id, params } = await wire.until({ method: "initialize" });
      assert.equal((params as Params)["protocolVersion"], LEGACY);
      wire.send(result(id, initialized()));
    });
    assert.equal(session.version, LEGACY);
    assert.equal(session.name, serverInfo.name);
  });
}

for (const reply of [{}, { supportedVersions: "all" }, { tools: [] }]) {
  test(`it falls back to the handshake at the result ${JSON.stringify(reply)}`, async () => {
    const { session } = await open(async (wire) => {
      wire.send(result((await wire.next())["id"], reply));
      wire.send(
        result((await wire.until({ method: "initialize" }))["id"], initialized()),
      );
    });
    assert.equal(session.version, LEGACY);
  });
}

test("it falls back to the handshake at silence, and ignores a late discovery", async () => {
  const { session, notes } = await open(
    async (wire) => {
      const probe = await wire.next();
      const { id } = await wire.next();
      wire.send(result(probe["id"], discovery()));
      wire.send(result(id, initialized()));
      assert.equal(methodOf(await wire.next()), "notifications/initialized");
    },
    { probeMs: 30 },
  );
  assert.equal(session.version, LEGACY);
  assert.equal(notes.length, 1);
});

for (const when of ["at the probe", "after the probe", "at the handshake"]) {
  test(`it starts a server again that ends ${when}`, async () => {
    let starts = 0;
    const start = scripted(async (wire) => {
      if (++starts === 1) {
        const { id } = await wire.next();
        if (when !== "at the probe") wire.send(error(id, -32000));
        if (when === "at the handshake") await wire.next();
        return;
      }
      const { id } = await wire.next();
      wire.send(result(id, initialized()));
      await wire.rest();
    });
    const session = await connect(start, {});
    assert.equal(session.version, LEGACY);
    assert.equal(starts, 2);
  });
}

test("it does not start a server a third time", async () => {
  let starts = 0;
  const start = scripted(async (wire) => (starts++, void (await wire.next())));
  await assert.rejects(connect(start, {}), /the server ended/);
  assert.equal(starts, 2);
});

test("it asks once more with a version that it was offered", async () => {
  const refusal = { supported: [MODERN], requested: MODERN };
  const { session } = await open(async (wire) => {
    wire.send(error((await wire.next())["id"], -32022, "no", refusal));
    await discover(wire);
  });
  assert.equal(session.version, MODERN);
});

test("it does not ask for ever, and does not fall back from there", async () => {
  const methods: unknown[] = [];
  const connecting = open(async (wire) => {
    for (;;) {
      const { id, method } = await wire.next();
      methods.push(method);
      wire.send(error(id, -32022, "no", { supported: [MODERN] }));
    }
  });
  await assert.rejects(connecting, /refuses the very version/);
  assert.deepEqual(methods, ["server/discover", "server/discover"]);
});

for (const reply of [
  (id: unknown) => error(id, -32022, "no", { supported: ["2030-01-01", "2029-01-01"] }),
  (id: unknown) => result(id, discovery(["2030-01-01", "2029-01-01"])),
]) {
  test("it names both lists when there is no version in common", async () => {
    let methods = 0;
    const connecting = open(async (wire) => {
      for (;;) (methods++, wire.send(reply((await wire.next())["id"])));
    });
    await assert.rejects(connecting, /2030-01-01, 2029-01-01.*2026-07-28, 2025-11-25/);
    assert.equal(methods, 2, "one message, and one wait for another");
  });
}

for (const code of [-32020, -32021]) {
  test(`it takes the error ${code} for a modern server`, async () => {
    const { session } = await open(async (wire) =>
      wire.send(error((await wire.next())["id"], code)),
    );
    assert.equal(session.version, MODERN);
  });
}

test("it sends no probe when a legacy version is wanted", async () => {
  const { session } = await open(
    async (wire) => {
      const { id, method, params } = await wire.next();
      assert.equal(method, "initialize");
      wire.send(result(id, initialized((params as Params)["protocolVersion"])));
    },
    { protocol: "2024-11-05" },
  );
  assert.equal(session.version, "2024-11-05");
});

test("it does not fall back when the modern version is wanted", async () => {
  const connecting = open(
    async (wire) => {
      wire.send(error((await wire.next())["id"], -32601));
      await assert.rejects(wire.next(), /closed/);
    },
    { protocol: MODERN },
  );
  await assert.rejects(
    connecting,
    /does not speak 2026-07-28: .* error -32601; without --protocol its own/,
  );
});

for (const version of ["1998-07-01", MODERN, "\u001b[31m"]) {
  test(`it leaves a server that answers initialize with ${JSON.stringify(version)}`, async () => {
    await assert.rejects(
      open(async (wire) => {
        await handshake(wire, version).catch(() => {});
        assert.deepEqual(wire.seen.map(methodOf), ["server/discover", "initialize"]);
      }),
      (e) => e instanceof ConnectionError && e.message.includes(version),
    );
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

// --- What is declared --------------------------------------------------------------------

const all: Answerer = { ...answerer(), url: async () => ({ action: "accept" }) };
const DECLARED: [string, Partial<Options>, unknown][] = [
  [MODERN, {}, {}],
  [MODERN, { answerer: answerer() }, { elicitation: { form: {} } }],
  [MODERN, { answerer: all }, { elicitation: { form: {}, url: {} } }],
  [LEGACY, {}, {}],
  [LEGACY, { answerer: all }, { elicitation: { form: {}, url: {} } }],
  ["2025-06-18", { answerer: all }, { elicitation: {} }],
  [LEGACY, { answerer: answerer() }, { elicitation: { form: {} } }],
  ["2025-06-18", { answerer: answerer() }, { elicitation: {} }],
  ["2024-11-05", { answerer: answerer() }, { elicitation: {} }],
];
for (const [protocol, options, capabilities] of DECLARED) {
  test(`it declares ${JSON.stringify(capabilities)} in ${protocol}`, async () => {
    let declared: unknown;
    await open(
      async (wire) => {
        const message = await wire.next();
        if (protocol === MODERN) {
          declared = metaOf(message)[`${PREFIX}clientCapabilities`];
          wire.send(result(message["id"], discovery()));
        } else {
          declared = (message["params"] as Params)["capabilities"];
          wire.send(result(message["id"], initialized(protocol)));
        }
      },
      { ...options, protocol },
    );
    assert.deepEqual(declared, capabilities);
  });
}

// --- Modern ------------------------------------------------------------------------------

test("it answers a question by making the request again", async () => {
  const me = answerer();
  const { session } = await open(
    async (wire) => {
      await discover(wire);
      const first = await wire.next();
      const ask = {
        resultType: "input_required",
        inputRequests: { "q 1/é": question() },
        requestState: "s1",
      };
      wire.send(result(first["id"], ask));
      const second = await wire.next();
      assert.notEqual(second["id"], first["id"]);
      const { inputResponses, requestState, ...rest } = second["params"] as Params;
      assert.deepEqual(rest, first["params"]);
      assert.deepEqual(inputResponses, {
        "q 1/é": { action: "accept", content: { ticker: "NVDA" } },
      });
      assert.equal(requestState, "s1");
      assert.deepEqual(Object.keys(metaOf(second)).sort(), [
        `${PREFIX}clientCapabilities`,
        `${PREFIX}clientInfo`,
        `${PREFIX}protocolVersion`,
      ]);
      wire.send(result(second["id"], { resultType: "complete", ...textResult("done") }));
      // Neither answers nor state of one call leak into another request.
      const other = await wire.next();
      assert.deepEqual(Object.keys(other["params"] as Params), ["_meta"]);
      wire.send(result(other["id"], { resultType: "complete", tools: [] }));
    },
    { answerer: me },
  );
  const { content } = await session.request("tools/call", call({ a: 1 }));
  assert.deepEqual(content, textResult("done")["content"]);
  await session.request("tools/list");
  assert.deepEqual(me.asked, ["Which?"]);
});

test("it writes no responses to a modern server, and asks nobody on its request", async () => {
  const me = answerer();
  const { session, notes } = await open(
    async (wire) => {
      await discover(wire);
      const { id } = await wire.next();
      wire.send({ ...request("e1", "elicitation/create"), params: question()["params"] });
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

for (const method of ["tools/list", "server/discover", "prompts/list"]) {
  test(`it takes no question during ${method}`, async () => {
    const me = answerer();
    const { session } = await open(
      async (wire) => {
        await discover(wire);
        const { id } = await wire.next();
        wire.send(
          result(id, { resultType: "input_required", inputRequests: { q: question() } }),
        );
      },
      { answerer: me },
    );
    await assert.rejects(session.request(method), /may not ask for input/);
    assert.deepEqual(me.asked, []);
  });
}

const UNANSWERABLE: [string, unknown, RegExp][] = [
  [
    "sampling",
    { method: "sampling/createMessage", params: {} },
    /sampling\/createMessage/,
  ],
  ["an unknown kind", { method: "x/y", params: {} }, /x\/y/],
  [
    "a URL",
    {
      method: "elicitation/create",
      params: { mode: "url", url: "https://a.test", message: "m" },
    },
    /by url/,
  ],
  [
    "an unknown mode",
    { method: "elicitation/create", params: { mode: "popup", message: "m" } },
    /by popup/,
  ],
  ["a forbidden schema", question({ ticker: { type: "object" } }), /ticker\.type/],
  [
    "a form without message",
    { method: "elicitation/create", params: { requestedSchema: {} } },
    /message/,
  ],
];
for (const [what, ask, reason] of UNANSWERABLE) {
  test(`it ends a modern call at a question for ${what}, and does not retry`, async () => {
    const { session } = await open(
      async (wire) => {
        await discover(wire);
        const { id } = await wire.next();
        wire.send(
          result(id, { resultType: "input_required", inputRequests: { q: ask } }),
        );
        await assert.rejects(wire.next(), /closed/);
      },
      { answerer: answerer() },
    );
    await assert.rejects(session.request("tools/call", call()), (e) => {
      return e instanceof ConnectionError && reason.test(e.message);
    });
    await session.close();
  });
}

const page = (url: string): Params => ({
  method: "elicitation/create",
  params: { mode: "url", message: "Sign in.", url, elicitationId: "e" },
});

for (const url of [
  "javascript:alert(1)",
  "file:///etc/passwd",
  "data:text/html,x",
  "example.com",
  "",
  "https://",
]) {
  test(`it refuses to send anybody to ${JSON.stringify(url)}`, async () => {
    let sent = 0;
    const me: Answerer = {
      ...answerer(),
      url: async () => (sent++, { action: "accept" }),
    };
    const { session } = await open(
      async (wire) => {
        await handshake(wire);
        const { id } = await wire.next();
        wire.send({ jsonrpc: "2.0", id: "u1", ...page(url) });
        assert.equal(((await wire.next())["error"] as RpcError).code, -32602);
        wire.send(result(id, textResult("done")));
      },
      { answerer: me },
    );
    await session.request("tools/call", call());
    assert.equal(sent, 0);
  });
}

test("it sends nobody to a page in a version that has no pages", async () => {
  let sent = 0;
  const me: Answerer = { ...answerer(), url: async () => (sent++, { action: "accept" }) };
  const { session } = await open(
    async (wire) => {
      const { id } = await wire.next();
      wire.send(result(id, initialized("2025-06-18")));
      const call = await wire.until({ method: "tools/call" });
      wire.send({ jsonrpc: "2.0", id: "u1", ...page("https://a.test/") });
      assert.equal(((await wire.next())["error"] as RpcError).code, -32602);
      wire.send(result(call["id"], textResult("done")));
    },
    { answerer: me, protocol: "2025-06-18" },
  );
  await session.request("tools/call", call());
  assert.equal(sent, 0);
});

test("it sends no list in a version that has no lists", async () => {
  const me = answerer();
  const { session } = await open(
    async (wire) => {
      await handshake(wire, "2025-06-18");
      const { id } = await wire.next();
      const list = { type: "array", items: { type: "string", enum: ["a"] } };
      wire.send({ jsonrpc: "2.0", id: "e1", ...question({ ticker: list }) });
      assert.equal(((await wire.next())["error"] as RpcError).code, -32602);
      wire.send(result(id, textResult("done")));
    },
    { answerer: me },
  );
  await session.request("tools/call", call());
  assert.deepEqual(me.asked, []);
});

test("it waits at a page as long as the server does, in rounds that don't count", async () => {
  const visits: unknown[] = [];
  const me: Answerer = {
    ...answerer(),
    url: async ({ url, again }) => (visits.push([url.href, again]), { action: "accept" }),
  };
  const { session } = await open(
    async (wire) => {
      await discover(wire);
      const ask = {
        resultType: "input_required",
        inputRequests: { p: page("https://a.test/") },
      };
      for (let round = 0; round < 30; round++) {
        const { id, params } = await wire.next();
        // With the same question, and with the state alone.
        wire.send(
          result(
            id,
            round % 2 ? { resultType: "input_required", requestState: "s" } : ask,
          ),
        );
        if (round % 2)
          assert.deepEqual((params as Params)["inputResponses"], {
            p: { action: "accept" },
          });
        else assert.equal((params as Params)["inputResponses"], undefined);
      }
      wire.send(result((await wire.next())["id"], textResult("done")));
    },
    { answerer: me },
  );
  await session.request("tools/call", call());
  assert.equal(visits.length, 30);
  assert.deepEqual(visits.slice(0, 2), [
    ["https://a.test/", false],
    ["https://a.test/", true],
  ]);
});

test("it ends the call when the person gives up on a page", async () => {
  const me: Answerer = {
    ...answerer(),
    url: async ({ again }) => ({ action: again ? "cancel" : "accept" }),
  };
  const { session } = await open(
    async (wire) => {
      await discover(wire);
      const ask = {
        resultType: "input_required",
        inputRequests: { p: page("https://a.test/") },
      };
      wire.send(result((await wire.next())["id"], ask));
      wire.send(
        result((await wire.next())["id"], {
          resultType: "input_required",
          requestState: "s",
        }),
      );
      assert.deepEqual(await wire.rest(), []);
    },
    { answerer: me },
  );
  await assert.rejects(
    session.request("tools/call", call()),
    /before the page was done with/,
  );
  await session.close();
});

test("it ends a modern call at a question that nobody is there for", async () => {
  const { session } = await open(async (wire) => {
    await discover(wire);
    const { id } = await wire.next();
    wire.send(
      result(id, { resultType: "input_required", inputRequests: { q: question() } }),
    );
  });
  await assert.rejects(
    session.request("tools/call", call()),
    /does not answer elicitation\/create/,
  );
});

// --- Legacy ------------------------------------------------------------------------------

for (const action of ["accept", "decline", "cancel"] as const) {
  test(`it answers a legacy server's question with ${action}`, async () => {
    const me = answerer(action);
    const { session } = await open(
      async (wire) => {
        await handshake(wire);
        const { id } = await wire.next();
        wire.send({
          ...request("e1", "elicitation/create"),
          params: question()["params"],
        });
        const content = action === "accept" ? { content: { ticker: "NVDA" } } : {};
        assert.deepEqual(await wire.next(), result("e1", { action, ...content }));
        wire.send(result(id, textResult("done")));
      },
      { answerer: me },
    );
    const { content } = await session.request("tools/call", call());
    assert.deepEqual(content, textResult("done")["content"]);
    assert.equal(me.asked.length, 1);
  });
}

for (const [what, ask, reason] of UNANSWERABLE) {
  test(`it answers a legacy question for ${what} with an error`, async () => {
    const me = answerer();
    const { session } = await open(
      async (wire) => {
        await handshake(wire);
        const { id } = await wire.next();
        wire.send({ jsonrpc: "2.0", id: 0, ...(ask as Params) });
        const reply = await wire.next();
        const { code, message } = reply["error"] as RpcError;
        assert.equal(reply["id"], 0);
        assert.equal(
          code,
          what === "sampling" || what === "an unknown kind" ? -32601 : -32602,
        );
        assert.match(message, reason);
        wire.send(result(id, textResult("done")));
      },
      { answerer: me },
    );
    await session.request("tools/call", call());
    assert.deepEqual(me.asked, []);
  });
}

test("it answers a legacy server with -32603 when the asking fails, and with no decline", async () => {
  const form = () => Promise.reject(new Error("SECRET of the inside"));
  const { session } = await open(
    async (wire) => {
      await handshake(wire);
      const { id } = await wire.next();
      wire.send({ ...request("e1", "elicitation/create"), params: question()["params"] });
      const reply = await wire.next();
      assert.equal((reply["error"] as RpcError).code, -32603);
      assert.doesNotMatch(JSON.stringify(reply), /SECRET/);
      wire.send(result(id, textResult("done")));
    },
    { answerer: { form } },
  );
  await session.request("tools/call", call());
});

test("it answers pings and unknown requests while a question is open", async () => {
  let answerNow = (_: { action: "cancel" }) => {};
  const form = () =>
    new Promise<{ action: "cancel" }>((resolve) => (answerNow = resolve));
  const { session } = await open(
    async (wire) => {
      await handshake(wire);
      const { id } = await wire.next();
      wire.send({ ...request("e1", "elicitation/create"), params: question()["params"] });
      wire.send(request(0, "ping"));
      assert.deepEqual(await wire.next(), result(0, {}));
      wire.send(request("r1", "roots/list"));
      assert.equal(((await wire.next())["error"] as RpcError).code, -32601);
      answerNow({ action: "cancel" });
      assert.deepEqual(await wire.next(), result("e1", { action: "cancel" }));
      wire.send(result(id, textResult("done")));
    },
    { answerer: { form } },
  );
  await session.request("tools/call", call());
});

test("it drops a question that the server withdraws, and sends no answer", async () => {
  let withdrawn: AbortSignal | undefined;
  const form: Answerer["form"] = (_, signal) =>
    new Promise((_, reject) => {
      withdrawn = signal;
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
  const { session } = await open(
    async (wire) => {
      await handshake(wire);
      const { id } = await wire.next();
      wire.send({ ...request("e1", "elicitation/create"), params: question()["params"] });
      wire.send({
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: "e1" },
      });
      wire.send(result(id, textResult("done")));
      assert.deepEqual(await wire.rest(), []);
    },
    { answerer: { form } },
  );
  await session.request("tools/call", call());
  assert.ok(withdrawn?.aborted);
  await session.close();
});

// --- Both eras ---------------------------------------------------------------------------

for (const [era, begin] of [
  ["modern", discover],
  ["legacy", handshake],
] as const) {
  test(`it gives each of many calls its own answer, in any order (${era})`, async () => {
    const { session } = await open(async (wire) => {
      await begin(wire);
      const calls = [];
      for (let n = 0; n < 20; n++) calls.push(await wire.next());
      for (const { id, params } of calls.reverse()) {
        const { n } = (params as { arguments: { n: number } }).arguments;
        wire.send(result(id, textResult(`answer ${n}`)));
      }
    });
    const calls = Array.from({ length: 20 }, (_, n) =>
      session.request("tools/call", call({ n })),
    );
    for (const [n, { content }] of (await Promise.all(calls)).entries()) {
      assert.deepEqual(content, textResult(`answer ${n}`)["content"]);
    }
  });

  test(`it passes the error on that a call was answered with (${era})`, async () => {
    const { session } = await open(async (wire) => {
      await begin(wire);
      wire.send(error((await wire.next())["id"], -32602, "Unknown tool: t", { a: 1 }));
    });
    await assert.rejects(session.request("tools/call", call()), (e) => {
      return (
        e instanceof RpcError && e.code === -32602 && e.message === "Unknown tool: t"
      );
    });
  });

  test(`it says that the server ended in the middle of a call (${era})`, async () => {
    const { session } = await open(async (wire) => {
      await begin(wire);
      await wire.next();
    });
    await assert.rejects(session.request("tools/call", call()), /the server ended/);
    await assert.rejects(session.request("tools/call", call()), /the server ended/);
  });

  test(`it cancels a call that takes too long, once, and takes no late answer (${era})`, async () => {
    const { session, notes } = await open(
      async (wire) => {
        await begin(wire);
        const { id } = await wire.next();
        const cancelled = { requestId: id };
        assert.deepEqual(await wire.next(), {
          jsonrpc: "2.0",
          method: "notifications/cancelled",
          params: cancelled,
        });
        wire.send(result(id, textResult("late")));
        const next = await wire.next();
        wire.send(result(next["id"], textResult("done")));
      },
      { timeoutMs: 100, probeMs: 2000 },
    );
    await assert.rejects(
      session.request("tools/call", call()),
      /did not answer tools\/call within 0\.1 s/,
    );
    const { content } = await session.request("tools/call", call());
    assert.deepEqual(content, textResult("done")["content"]);
    assert.equal(notes.length, 1);
  });

  test(`it cancels a call whose signal aborts (${era})`, async () => {
    const abort = new AbortController();
    const { session } = await open(async (wire) => {
      await begin(wire);
      const { id } = await wire.next();
      abort.abort(new Error("enough"));
      assert.deepEqual((await wire.next())["params"], { requestId: id });
    });
    await assert.rejects(session.request("tools/call", call(), abort.signal), /enough/);
  });

  test(`it cancels a call that is given up while it is being sent (${era})`, async () => {
    const abort = new AbortController();
    const onLine = (direction: string, line: string) => {
      const isCall = direction === "sent" && line.includes("tools/call");
      if (isCall) abort.abort(new Error("enough"));
    };
    const script = async (wire: Wire) => {
      await begin(wire);
      const { id } = await wire.next();
      assert.deepEqual((await wire.next())["params"], { requestId: id });
    };
    const { session } = await open(script, { onLine });
    await assert.rejects(session.request("tools/call", call(), abort.signal), /enough/);
  });

  test(`it does not count the time in which a person thinks (${era})`, async () => {
    const form: Answerer["form"] = async () => {
      await new Promise((resolve) => setTimeout(resolve, 400));
      return { action: "accept", content: { ticker: "NVDA" } };
    };
    const { session } = await open(
      async (wire) => {
        await begin(wire);
        let { id } = await wire.next();
        if (era === "legacy") {
          wire.send({
            ...request("e1", "elicitation/create"),
            params: question()["params"],
          });
          await wire.until({ id: "e1" });
        } else {
          wire.send(
            result(id, {
              resultType: "input_required",
              inputRequests: { q: question() },
            }),
          );
          id = (await wire.next())["id"];
        }
        wire.send(result(id, textResult("done")));
        assert.deepEqual(await wire.rest(), []);
      },
      { timeoutMs: 200, answerer: { form } },
    );
    await session.request("tools/call", call());
    await session.close();
  });

  test(`it goes on over junk, notifications and strange answers (${era})`, async () => {
    const { session } = await open(async (wire) => {
      await begin(wire);
      const { id } = await wire.next();
      for (const line of ["starting up…", "{ oops", "}", "null", "[]", "7", "", "\r"])
        wire.send(line);
      for (const method of [
        "message",
        "tools/list_changed",
        "zzz",
        "elicitation/complete",
        "cancelled",
      ]) {
        wire.send({
          jsonrpc: "2.0",
          method: `notifications/${method}`,
          params: { requestId: "x" },
        });
        wire.send({ jsonrpc: "2.0", method: `notifications/${method}` });
      }
      wire.send({
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: { progressToken: "nope" },
      });
      wire.send({ jsonrpc: "2.0", error: { code: -32700, message: "x" } });
      wire.send({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "x" } });
      wire.send(result(999, {}));
      wire.send(result(String(id), textResult("wrong")));
      wire.send(result(id, textResult("right")));
      wire.send(result(id, textResult("late")));
    });
    const { content } = await session.request("tools/call", call());
    assert.deepEqual(content, textResult("right")["content"]);
  });
}

test("it never cancels initialize", async () => {
  const connecting = open(
    async (wire) => {
      assert.equal(methodOf(await wire.next()), "initialize");
      assert.deepEqual(await wire.rest(), []);
    },
    { protocol: LEGACY, timeoutMs: 50 },
  );
  await assert.rejects(connecting, /did not answer initialize within 0\.05 s/);
});

test("it stops connecting when the signal aborts", async () => {
  const abort = new AbortController();
  const connecting = open(
    async (wire) => {
      await wire.next();
      abort.abort(new Error("enough"));
      assert.deepEqual(await wire.rest(), []);
    },
    { signal: abort.signal },
  );
  await assert.rejects(connecting, /enough/);
});
