/** The server's door: which request belongs to which era, the end of the input, the process. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import type { Params } from "../mcp/peer.ts";
import { isMain } from "../mcp/serve.ts";
import type { Tool, Tools } from "../mcp/tool.ts";
import { BUILT } from "./built.ts";
import {
  asking,
  callLegacy,
  callModern,
  echo,
  FORMS,
  greeted,
  SERVED,
  serving,
  textOf,
} from "./ends.ts";
import {
  initialize,
  LEGACY,
  LOADER,
  meta,
  MODERN,
  notification,
  question,
  request,
  result,
  ROOT,
  run,
  stopTime,
  textResult,
  Wire,
  type Message,
} from "./support.ts";

const PREFIX = "io.modelcontextprotocol/";
const tools: Tools = { echo, asks: asking(question()) };

// --- The two eras ------------------------------------------------------------------------

/** What some hosts stamp on requests of older versions. None of it names a version of ours. */
const STAMPS: Record<string, Params> = {
  "a legacy version": { [`${PREFIX}protocolVersion`]: LEGACY },
  "a legacy envelope": meta(FORMS, LEGACY),
  "an unknown version": meta({}, "1987-10-19"),
  "a version that is none": meta({}, 7),
  "null for a version": meta({}, null),
  "a sender": { [`${PREFIX}clientInfo`]: { name: "host", version: "1" } },
  "a sender without name": { [`${PREFIX}clientInfo`]: {} },
  capabilities: { [`${PREFIX}clientCapabilities`]: {} },
  "null for capabilities": { [`${PREFIX}clientCapabilities`]: null },
  "a log level": { [`${PREFIX}logLevel`]: "info" },
  "a progress token": { progressToken: 1 },
  "a task": { [`${PREFIX}related-task`]: { taskId: "t" } },
};
const broken = { [`${PREFIX}protocolVersion`]: MODERN };

/** What each request gets before `initialize`, and after it. */
type Outcome = "modern" | "legacy" | number;
const DOOR: [string, string, Params | undefined, Outcome, Outcome][] = [
  ["our envelope", "tools/list", meta(), "modern", "modern"],
  ["our envelope", "tools/call", meta(), "modern", "modern"],
  ["our envelope", "ping", meta(), -32601, -32601],
  ["a broken envelope", "tools/list", broken, -32602, -32602],
  ["our envelope alone", "initialize", meta(), -32601, -32601],
  ["nothing", "initialize", undefined, -32602, -32602],
  ["nothing", "tools/list", undefined, -32602, "legacy"],
  ["nothing", "tools/call", undefined, -32602, "legacy"],
  ["nothing", "ping", undefined, "legacy", "legacy"],
  ["nothing", "x/y", undefined, -32601, -32601],
  ["our envelope", "x/y", meta(), -32601, -32601],
  ...Object.entries(STAMPS).flatMap(([what, stamp]): typeof DOOR => {
    const { [`${PREFIX}protocolVersion`]: version } = stamp;
    const isVersion = typeof version === "string";
    const before = isVersion ? -32022 : -32602;
    const ping = version === undefined ? "legacy" : isVersion ? -32022 : -32601;
    return [
      [what, "tools/list", stamp, before, "legacy"],
      [what, "tools/call", stamp, before, "legacy"],
      [what, "ping", stamp, ping, "legacy"],
    ];
  }),
];

function outcomeOf({ error, result }: Message): Outcome {
  if (error) return error.code;
  return result["resultType"] === "complete" ? "modern" : "legacy";
}

for (const when of ["before", "after"] as const) {
  test(`it knows the era of each request ${when} the handshake`, async () => {
    const wire = when === "before" ? serving(tools) : await greeted(tools);
    for (const [what, method, _meta, before, after] of DOOR) {
      wire.send(request(1, method, { name: "echo", _meta }));
      const want = when === "before" ? before : after;
      assert.equal(outcomeOf(await wire.next()), want, `${method} with ${what}`);
    }
  });
}

test("it takes every initialize for a handshake, whatever it is stamped with", async () => {
  for (const [what, _meta] of Object.entries({ ...STAMPS, ours: meta(), broken })) {
    const wire = serving(tools);
    const { params } = initialize(FORMS) as { params: Params };
    for (let time = 1; time <= 2; time++) {
      wire.send(request(time, "initialize", { ...params, _meta }));
      assert.equal((await wire.next()).result?.["protocolVersion"], LEGACY, what);
    }
    wire.send(notification("initialized", { _meta }));
    wire.send(request(3, "tools/list"));
    assert.equal(outcomeOf(await wire.next()), "legacy", what);
  }
});

test("it asks a stamped legacy call by request, by what the handshake declared", async () => {
  const wire = await greeted(tools);
  for (const [what, _meta] of Object.entries(STAMPS)) {
    wire.send(request(2, "tools/call", { name: "asks", _meta }));
    const { id, method } = await wire.next();
    assert.equal(method, "elicitation/create", what);
    wire.send(result(id, { action: "decline" }));
    assert.match(textOf((await wire.next()).result), /decline/);
  }
});

test("it serves both eras on one connection", async () => {
  const wire = serving(tools);
  wire.send(request(1, "server/discover", { _meta: meta() }));
  assert.ok((await wire.next()).result["supportedVersions"]);
  wire.send(initialize({}));
  assert.ok((await wire.next()).result["protocolVersion"]);
  // Each call goes by what was declared in its own way.
  wire.send(callModern(2, "asks"));
  assert.equal((await wire.next()).result["resultType"], "input_required");
  wire.send(callLegacy(3, "asks"));
  assert.equal((await wire.next()).result["isError"], true);
  wire.send(callModern(4, "asks", {}, {}));
  assert.equal((await wire.next()).error.code, -32021);
});

// --- Calls, and their end ----------------------------------------------------------------

/** A tool that waits until it is let go, or its signal aborts. */
function waiting() {
  const its = { running: 0, aborted: 0, release: () => {} };
  const open = new Promise<void>((resolve) => (its.release = resolve));
  const call: Tool["call"] = async (_args, { signal }) => {
    its.running++;
    const abort = once(signal, "abort").then(
      () => (its.aborted++, signal.throwIfAborted()),
    );
    await Promise.race([open, abort]);
    return textResult("done");
  };
  return { its, tools: { wait: { ...echo, call }, ...tools } };
}

const ping = request("p", "ping");
const COUNT = 5_000;

for (const { era, begin, call } of SERVED) {
  const count = era === MODERN ? COUNT : 100;

  test(`it answers an unknown tool with -32602 (${era})`, async () => {
    const wire = await begin(tools);
    for (const name of ["nope", "toString", "constructor", "__proto__", "", 7, null]) {
      wire.send(call(1, name));
      const { error } = await wire.next();
      assert.equal(error?.code, -32602, String(name));
      if (typeof name === "string") assert.equal(error.message, `Unknown tool: ${name}`);
    }
  });

  test(`it stops at a cancelled call and says nothing more about it (${era})`, async () => {
    const { its, tools } = waiting();
    const wire = await begin(tools);
    wire.send(call(5, "wait"));
    wire.send(notification("cancelled", { requestId: 5 }));
    for (const params of [{ requestId: 99 }, { requestId: null }, undefined])
      wire.send(notification("cancelled", params));
    wire.send(call(6, "echo"));
    assert.equal((await wire.next()).id, 6);
    assert.deepEqual([its.running, its.aborted], [1, 1]);
    assert.deepEqual(await wire.end(), []);
  });

  test(`it answers what it has read when the input ends (${era})`, async () => {
    const { its, tools } = waiting();
    const wire = await begin(tools);
    wire.send(call(7, "wait"));
    wire.send(call(8, "echo"));
    const ending = wire.end();
    await once(wire.output, "finish");
    setImmediate(its.release);
    assert.deepEqual((await ending).map(({ id }) => id).sort(), [7, 8]);
    assert.equal(its.aborted, 0);
  });

  test(`it answers ${count} open calls when the input ends, within four seconds (${era})`, async (t) => {
    const pass = stopTime(t);
    const { its, tools } = waiting();
    const wire = await begin(tools);
    for (let id = 1; id <= count; id++) wire.send(call(id, "wait"));
    while (its.running < count) await pass(0);
    const ending = wire.end();
    await pass(3999);
    assert.equal(its.aborted, 0);
    await pass(1);
    const rest = await ending;
    assert.equal(new Set(rest.map(({ id }) => id)).size, count);
    // Older clients are told so in a result.
    const told = new Set(
      rest.map(({ error, result }) => error?.message ?? textOf(result)),
    );
    const stopping = `the server is stopping${era === MODERN ? "" : "."}`;
    assert.deepEqual([...told], [stopping]);
  });
}

test(`it answers ${COUNT} calls with open questions at once when the input ends`, async (t) => {
  stopTime(t); // which stands still
  const wire = await greeted(tools);
  for (let id = 1; id <= COUNT; id++) wire.send(callLegacy(id, "asks"));
  for (let n = 0; n < COUNT; n++)
    assert.equal((await wire.next()).method, "elicitation/create");
  const rest = await wire.end();
  assert.equal(new Set(rest.map(({ id }) => id)).size, COUNT);
  assert.ok(rest.every(({ result }) => result["isError"] === true));
  assert.equal(textOf(rest[0]?.result ?? {}), "The client closed the connection.");
});

// --- The process -------------------------------------------------------------------------

const lines = (...messages: Params[]) =>
  messages.map((message) => JSON.stringify(message) + "\n").join("");
const idsOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).id);

test("it answers piped lines to the last, CRLF included, and exits 0", async () => {
  const modern = [
    request(1, "server/discover", { _meta: meta() }),
    request(2, "tools/list", { _meta: meta() }),
    callModern(3, "get_stock_price", { ticker: "!" }),
  ];
  const legacy = [
    initialize(),
    notification("initialized"),
    request(2, "tools/list"),
    callLegacy(3, "get_stock_price", { ticker: "!" }),
  ];
  const [inModern, inLegacy, empty] = await Promise.all([
    run("server.mjs", [], { ...BUILT, input: lines(...modern) }),
    run("server.mjs", [], { ...BUILT, input: lines(...legacy).replaceAll("\n", "\r\n") }),
    run("server.mjs", [], BUILT),
  ]);
  assert.deepEqual({ ...inModern, stdout: "" }, { code: 0, stdout: "", stderr: "" });
  assert.deepEqual({ ...inLegacy, stdout: "" }, { code: 0, stdout: "", stderr: "" });
  assert.deepEqual(empty, { code: 0, stdout: "", stderr: "" });
  assert.deepEqual(idsOf(inModern.stdout), [1, 2, 3]);
  assert.deepEqual(idsOf(inLegacy.stdout), ["init", 2, 3]);
});

test("it keeps stdout for the protocol, whatever a tool logs", async () => {
  const program = `
    import { serve } from "./mcp/serve.ts";
    const call = async () => (console.log("from the tool"), { content: [] });
    const talks = { description: "talks", inputSchema: { type: "object" }, call };
    await serve({ talks }, { name: "s", version: "1" });`;
  const input = lines(callModern(1, "talks"), callModern(2, "talks"));
  const args = ["-e", program];
  const { code, stdout, stderr } = await run("--input-type=module", args, { input });
  assert.equal(code, 0);
  assert.deepEqual(idsOf(stdout), [1, 2]);
  assert.equal(stderr, "from the tool\nfrom the tool\n");
});

test("it leaves Ctrl-C to the client, and ends with its input", async () => {
  const child = spawn(process.execPath, [...LOADER, "server.ts"], {
    cwd: ROOT,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const wire = new Wire(child.stdout, child.stdin);
  const closed = once(child, "close");
  for (let n = 0; n < 2; n++) {
    wire.send(ping);
    assert.deepEqual(await wire.next(), result("p", {}));
    child.kill("SIGINT");
  }
  wire.output.end();
  assert.deepEqual(await closed, [0, null]);
});

const KEY = Buffer.alloc(32, 7).toString("base64");
const NO_KEYS = [
  "",
  "SECRET",
  Buffer.alloc(31, 7).toString("base64"),
  Buffer.alloc(33, 7).toString("base64"),
  KEY.replace(/=$/, ""),
  ` ${KEY}`,
  Buffer.alloc(32, 255).toString("base64url"),
  KEY.replace(/.=$/, "x="), // spare bits that are set
];
test("it takes no STATE_KEY but 32 bytes in base64, and never shows it", async () => {
  const rule = "STATE_KEY must be 32 bytes in base64, as of: openssl rand -base64 32";
  const { STATE_KEY: before } = process.env;
  try {
    for (const [n, key] of [KEY, ...NO_KEYS].entries()) {
      process.env["STATE_KEY"] = key;
      const fresh = `../mcp/state.ts?${n}`; // a module of its own
      const { stateKey } = await import(fresh);
      if (n === 0) assert.equal(stateKey().export().toString("base64"), KEY);
      else assert.throws(stateKey, new Error(rule), key);
    }
  } finally {
    if (before === undefined) delete process.env["STATE_KEY"];
    else process.env["STATE_KEY"] = before;
  }
  const env = { STATE_KEY: "SECRET" };
  const ended = await run("server.mjs", [], { ...BUILT, env, input: lines(ping) });
  assert.deepEqual(ended, { code: 1, stdout: "", stderr: `${rule}\n` });
});

test("it knows which module is the program, by its name with or without the ending", () => {
  const url = pathToFileURL(`${ROOT}server.ts`).href;
  const { argv } = process;
  try {
    for (const [started, is] of [
      [`${ROOT}server.ts`, true],
      [`${ROOT}server`, true],
      [`${ROOT}client.ts`, false],
      [`${ROOT}serv`, false],
      ["", false],
      [undefined, false],
    ] as const) {
      process.argv = [process.execPath, ...(started === undefined ? [] : [started])];
      assert.equal(isMain(url), is, started);
    }
  } finally {
    process.argv = argv;
  }
});
