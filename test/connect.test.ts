/** The client's door: which era a server belongs to, what is declared, tools and calls. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { callTool, listTools } from "../mcp/connect.ts";
import type { Answerer } from "../mcp/answer.ts";
import { ConnectionError, type Params } from "../mcp/peer.ts";
import { answerer, connect, discover, open, SCRIPTED } from "./ends.ts";
import {
  discovery,
  error,
  initialized,
  LEGACY,
  MODERN,
  result,
  scripted,
  serverInfo,
  stopTime,
  textResult,
  type Wire,
} from "./support.ts";

const PREFIX = "io.modelcontextprotocol/";

// --- The probe ---------------------------------------------------------------------------

test("it finds a modern server, and its name and version", async () => {
  const { session } = await open(discover);
  assert.equal(session.version, MODERN);
  assert.equal(session.name, serverInfo.name);
});

test("it needs nothing of a discovery but the versions", async () => {
  const { session } = await open(async (wire) => {
    const supportedVersions = ["2030-01-01", MODERN];
    const _meta = { [`${PREFIX}serverInfo`]: 7 };
    wire.send(result((await wire.next()).id, { supportedVersions, _meta }));
  });
  assert.equal(session.version, MODERN);
  assert.equal(session.name, undefined);
});

type Reply = (id: unknown) => Params;
const FALLS_BACK: [string, Reply][] = [
  ...[-32601, -32602, -32600, -32603, -32700, -32000, -32042, 1].map(
    (code): [string, Reply] => [`error ${code}`, (id) => error(id, code)],
  ),
  ...[{}, { supportedVersions: "all" }, { tools: [] }].map((reply): [string, Reply] => [
    JSON.stringify(reply),
    (id) => result(id, reply),
  ]),
  ["no response", (id) => ({ jsonrpc: "2.0", id, result: null })],
];
test("it falls back to the handshake at any answer that is not modern", async () => {
  for (const [what, reply] of FALLS_BACK) {
    const { session } = await open(async (wire) => {
      wire.send(reply((await wire.next()).id));
      const { id, method, params } = await wire.next();
      assert.equal(method, "initialize", what);
      assert.equal(params["protocolVersion"], LEGACY);
      wire.send(result(id, initialized()));
    });
    assert.equal(session.version, LEGACY);
    assert.equal(session.name, serverInfo.name);
  }
});

test("it falls back to the handshake at silence, after ten seconds", async (t) => {
  const pass = stopTime(t);
  const { session, notes } = await open(async (wire) => {
    const probe = await wire.next();
    await pass(9999);
    assert.equal(wire.seen.length, 1);
    await pass(1);
    const { id } = await wire.next();
    wire.send(result(probe.id, discovery())); // too late
    wire.send(result(id, initialized()));
    assert.equal((await wire.next()).method, "notifications/initialized");
  });
  assert.equal(session.version, LEGACY);
  assert.equal(notes.length, 1);
});

test("it takes an error that only the new era has for a modern server", async () => {
  for (const code of [-32020, -32021]) {
    const { session } = await open(async (wire) =>
      wire.send(error((await wire.next()).id, code)),
    );
    assert.equal(session.version, MODERN);
  }
});

test("it asks once more with a version that it was offered", async () => {
  const { session } = await open(async (wire) => {
    const { id } = await wire.next();
    wire.send(error(id, -32022, "no", { supported: [MODERN], requested: MODERN }));
    await discover(wire);
  });
  assert.equal(session.version, MODERN);
});

const NO_VERSION: [string, Reply, string[], RegExp][] = [
  [
    "that refuses the version which it offers",
    (id) => error(id, -32022, "no", { supported: [MODERN] }),
    ["server/discover", "server/discover"],
    /refuses the very version that it offers/,
  ],
  [
    "that refuses with other versions",
    (id) => error(id, -32022, "no", { supported: ["2030-01-01", "2029-01-01"] }),
    ["server/discover"],
    /speaks 2030-01-01, 2029-01-01, this client 2026-07-28, 2025-11-25, .*2024-11-05$/,
  ],
  [
    "that discovers other versions",
    (id) => result(id, discovery(["2030-01-01", "2029-01-01"])),
    ["server/discover"],
    /speaks 2030-01-01, 2029-01-01, this client 2026-07-28, 2025-11-25, .*2024-11-05$/,
  ],
  [
    "that discovers none",
    (id) => result(id, discovery([])),
    ["server/discover"],
    /the server speaks none that it names, this client/,
  ],
  [
    "that discovers a legacy version",
    (id) => result(id, discovery(["2025-06-18"])),
    ["server/discover"],
    /the server speaks 2025-06-18, this client 2026-07-28, .*2024-11-05$/,
  ],
];
test("it leaves a modern server without a version in common, and does not fall back", async () => {
  for (const [what, reply, sent, reason] of NO_VERSION) {
    const methods: string[] = [];
    const opening = open(async (wire) => {
      for (;;) {
        const { id, method } = await wire.next();
        methods.push(method);
        wire.send(reply(id));
      }
    });
    await assert.rejects(opening, (error) => {
      return error instanceof ConnectionError && reason.test(error.message);
    });
    assert.deepEqual(methods, sent, `a server ${what}`);
  }
});

test("it does not fall back when the modern version is wanted", async () => {
  const starts: unknown[] = [];
  const silent = async (wire: Wire) => (starts.push(wire), wire.rest());
  const WANTED: [(wire: Wire) => Promise<unknown>, number, RegExp][] = [
    [
      async (wire) => {
        wire.send(error((await wire.next()).id, -32601));
        assert.deepEqual(await wire.rest(), []);
      },
      2000,
      /: no version in common: .* error -32601; without --protocol its own version is used$/,
    ],
    [silent, 30, /: no version in common: .* did not answer server\/discover/],
    [async () => {}, 2000, /: no version in common: the server ended/],
  ];
  for (const [script, timeoutMs, reason] of WANTED) {
    const part = async (wire: Wire) => void (await script(wire));
    await assert.rejects(open(part, { protocol: MODERN, timeoutMs }), reason);
  }
  assert.equal(starts.length, 1);
});

test("it stops connecting when the signal aborts", async () => {
  const abort = new AbortController();
  const opening = open(
    async (wire) => {
      await wire.next();
      abort.abort(new Error("enough"));
      assert.deepEqual(await wire.rest(), []);
    },
    { signal: abort.signal },
  );
  await assert.rejects(opening, /enough/);
});

// --- The second start --------------------------------------------------------------------

/** A server that plays these parts, one a start. */
function parts(...scripts: ((wire: Wire) => Promise<unknown>)[]) {
  const seen: string[][] = [];
  const start = scripted(async (wire) => {
    const methods: string[] = [];
    const script = scripts[seen.push(methods) - 1];
    assert.ok(script, "it is not started so often");
    await script(wire);
    methods.push(...wire.seen.map(({ method }) => method));
  });
  return { start, seen };
}

const initializes = async (wire: Wire) => {
  const { id, params } = await wire.next();
  wire.send(result(id, initialized(params["protocolVersion"])));
  await wire.rest();
};
const ENDS: [string, (wire: Wire) => Promise<unknown>][] = [
  ["at the probe", (wire) => wire.next()],
  ["after the probe", async (wire) => wire.send(error((await wire.next()).id, -32000))],
  [
    "at the handshake",
    async (wire) => {
      wire.send(error((await wire.next()).id, -32000));
      await wire.next();
    },
  ],
];
for (const [when, ends] of ENDS) {
  test(`it starts a server again that ends ${when}, and does not probe it`, async () => {
    const { start, seen } = parts(ends, initializes);
    const session = await connect(start);
    assert.equal(session.version, LEGACY);
    await session.close();
    assert.equal(seen.length, 2);
  });
}

test("it does not start a server a third time", async () => {
  const { start, seen } = parts(
    (wire) => wire.next(),
    (wire) => wire.next(),
  );
  await assert.rejects(connect(start), /the server ended/);
  assert.deepEqual(seen, [["server/discover"], ["initialize"]]);
});

test("it starts a server once where its version is not ours to choose", async () => {
  const { start, seen } = parts((wire) => wire.next());
  await assert.rejects(connect(start, { protocol: LEGACY }), /the server ended/);
  assert.deepEqual(seen, [["initialize"]]);
});

// --- What is declared --------------------------------------------------------------------

const all: Answerer = { ...answerer(), url: async () => ({ action: "accept" }) };
const DECLARED: [string, Answerer | undefined, unknown][] = [
  [MODERN, undefined, {}],
  [MODERN, all, { elicitation: { form: {}, url: {} } }],
  [LEGACY, undefined, {}],
  [LEGACY, answerer(), { elicitation: { form: {} } }],
  ["2025-06-18", all, { elicitation: {} }],
];
test("it declares what its answerer can do, in the words of the version", async () => {
  for (const [protocol, me, capabilities] of DECLARED) {
    let declared: unknown;
    const script = async (wire: Wire) => {
      const { id, params } = await wire.next();
      if (protocol === MODERN) {
        declared = (params["_meta"] as Params)[`${PREFIX}clientCapabilities`];
        wire.send(result(id, discovery()));
      } else {
        declared = params["capabilities"];
        wire.send(result(id, initialized(protocol)));
      }
    };
    await open(script, { answerer: me, protocol });
    assert.deepEqual(declared, capabilities, protocol);
  }
});

// --- Tools and calls ---------------------------------------------------------------------

const tool = (name: string) => ({ name, inputSchema: { type: "object" } });
const PAGES: [string, Record<string, Params>, unknown[], string[]][] = [
  ["one page", { undefined: { tools: [tool("a")] } }, [undefined], ["a"]],
  ["null for a cursor", { undefined: { tools: [], nextCursor: null } }, [undefined], []],
  [
    "three pages, the cursor of one an empty string",
    {
      undefined: { tools: [tool("a"), tool("b")], nextCursor: "" },
      "": { tools: [], nextCursor: "2" },
      2: { tools: [tool("c")] },
    },
    [undefined, "", "2"],
    ["a", "b", "c"],
  ],
  [
    "a cursor that does not move",
    {
      undefined: { tools: [tool("a")], nextCursor: "1" },
      1: { tools: [tool("b")], nextCursor: "1" },
    },
    [undefined, "1"],
    ["a", "b"],
  ],
  [
    "cursors that go round",
    {
      undefined: { tools: [tool("a")], nextCursor: "1" },
      1: { tools: [tool("b")], nextCursor: "2" },
      2: { tools: [tool("c")], nextCursor: "1" },
    },
    [undefined, "1", "2"],
    ["a", "b", "c"],
  ],
];
const CALLS: [string, Params, Params][] = [
  ["a text", textResult("done"), textResult("done")],
  ["a failure", { ...textResult("x"), isError: true }, { isError: true }],
  ["null for isError", { ...textResult("x"), isError: null }, textResult("x")],
  [
    "null for the content",
    { content: null, structuredContent: { n: 1 } },
    { content: [] },
  ],
  [
    "null for the kind of result",
    { ...textResult("x"), resultType: null },
    textResult("x"),
  ],
  ["no content", { structuredContent: { n: 1 } }, { structuredContent: { n: 1 } }],
  ["content of a new kind", { content: [{ type: "hologram" }] }, {}],
];
const BROKEN: Params[] = [
  { content: "x" },
  { content: [{}] },
  { content: [], isError: 1 },
];

const endless = new Proxy<Record<string, Params>>(
  {},
  {
    get: (_, cursor) => ({ tools: [], nextCursor: `${String(cursor)}1` }),
  },
);
PAGES.push(["pages without end", endless, [], []]);

for (const { era, begin } of SCRIPTED) {
  test(`it lists the tools of all pages, and no page twice (${era})`, async () => {
    for (const [what, pages, cursors, names] of PAGES) {
      const asked: unknown[] = [];
      const { session } = await open(async (wire) => {
        await begin(wire);
        for (;;) {
          const { id, method, params } = await wire.next();
          assert.equal(method, "tools/list");
          asked.push(params["cursor"]);
          wire.send(result(id, pages[String(params["cursor"])]));
        }
      });
      const tools = await listTools(session);
      assert.deepEqual(
        tools.map(({ name }) => name),
        names,
        what,
      );
      if (cursors.length > 0) assert.deepEqual(asked, cursors, what);
      await session.close();
    }
  });

  test(`it refuses a list that is none (${era})`, async () => {
    const { session } = await open(async (wire) => {
      await begin(wire);
      for (const tools of ["all", [{}], undefined])
        wire.send(result((await wire.next()).id, { tools }));
    });
    for (let n = 0; n < 3; n++) {
      await assert.rejects(
        listTools(session),
        /^Error: the result of tools\/list is not/,
      );
    }
  });

  test(`it calls a tool, and takes its result as far as it can be understood (${era})`, async () => {
    const { session } = await open(async (wire) => {
      await begin(wire);
      for (const reply of [...CALLS.map(([, reply]) => reply), ...BROKEN]) {
        const { id, params } = await wire.next();
        const { _meta, ...call } = params;
        assert.deepEqual(call, { name: "t", arguments: { a: null } });
        wire.send(result(id, reply));
      }
    });
    for (const [what, , part] of CALLS) {
      const got = await callTool(session, "t", { a: null });
      assert.deepEqual({ ...got, ...part }, got, what);
    }
    for (const _ of BROKEN) {
      const calling = callTool(session, "t", { a: null });
      await assert.rejects(calling, /^Error: the result of t is not valid: /);
    }
  });
}
