/**
 * The smallest pairs: with each other, with the real client and a real server, and each alone
 * with lines by hand. All are processes.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { BUILT } from "./built.ts";
import * as support from "./support.ts";
import { meta, request, type Ended } from "./support.ts";

const of = (name: string) => `docs/smallest/${name}.mjs`;
const run = (script: string, args: string[] = [], input = ""): Promise<Ended> =>
  support.run(script, args, { ...BUILT, input });
const folder = mkdtempSync(join(tmpdir(), "smallest-"));
after(() => rmSync(folder, { recursive: true }));

// --- What they are made of ---------------------------------------------------------------

const MOST_LINES: Record<string, number> = {
  "both-server.ts": 100,
  "legacy-client.ts": 60,
  "legacy-server.ts": 60,
  "modern-client.ts": 60,
  "modern-server.ts": 60,
};

test("they are short, and need nothing but Node", () => {
  assert.deepEqual(readdirSync("docs/smallest").sort(), Object.keys(MOST_LINES));
  for (const [file, most] of Object.entries(MOST_LINES)) {
    const source = readFileSync(`docs/smallest/${file}`, "utf8");
    const [, opening = "", code = ""] = /^(\/\*\*\n(?: \*.*\n)+?) \*\/\n([^]*)\n$/.exec(
      source,
    ) as string[];
    const lines = code.split("\n").length;
    assert.ok(lines <= most, `${file} has ${lines} lines below its opening comment`);
    assert.match(opening, new RegExp(`npx tsx .*docs/smallest/${file}`));
    for (const [, module = ""] of code.matchAll(/(?:from|import) ?\(?"(.+?)"/g))
      assert.match(module, /^node:/, file);
  }
});

test("what changed between the eras is a small part of them", () => {
  for (const end of ["server", "client"]) {
    const [legacy = [], modern = []] = ["legacy", "modern"].map((era) =>
      readFileSync(`docs/smallest/${era}-${end}.ts`, "utf8")
        .replace(/^[^]*?\*\/\n/, "")
        .split("\n"),
    );
    const kept = legacy.filter((line) => modern.includes(line));
    assert.ok(kept.length / legacy.length > 0.6, `${end}: ${kept.length} lines stayed`);
  }
});

// --- With each other ---------------------------------------------------------------------

const PAIRS = [
  ["legacy-client", "legacy-server"],
  ["modern-client", "modern-server"],
  ["legacy-client", "both-server"],
  ["modern-client", "both-server"],
] as const;

const ANSWERS = [
  ["y", "Ada\ny\n", "Hello, Ada!\n", 0],
  ["another line", "Ada\nn\n", "Nobody told me a name.\n", 1],
  ["an empty line", "Ada\n\n", "Nobody told me a name.\n", 1],
  ["the end of the input", "Ada\n", "Nobody told me a name.\n", 1],
  ["no line at all", "", "Nobody told me a name.\n", 1],
  ["a last line without its end", "Grace 🙂\ny", "Hello, Grace 🙂!\n", 0],
] as const;

for (const [client, server] of PAIRS) {
  test(`${client} and ${server} greet by the name that was typed`, async () => {
    // The others are the client's business, whichever server it is.
    const rows = server === "both-server" ? ANSWERS.slice(0, 1) : ANSWERS;
    for (const [what, input, stdout, code] of rows) {
      const ended = await run(of(client), [of(server)], input);
      assert.deepEqual([ended.stdout, ended.code], [stdout, code], what);
      assert.equal(
        ended.stderr,
        `docs/smallest/${server}.mjs asks: What is your name?\n` +
          "Name (string): What your friends call you\n" +
          "Type y to send this, anything else to decline, Ctrl-D to cancel:\n",
      );
    }
  });
}

test("they run from their sources, through tsx", async () => {
  for (const client of ["legacy-client", "modern-client"]) {
    const [script, server] = [client, "both-server"].map(
      (name) => `docs/smallest/${name}.ts`,
    ) as [string, string];
    const { stdout, code } = await support.run(script, [server], { input: "Ada\ny\n" });
    assert.deepEqual([stdout, code], ["Hello, Ada!\n", 0]);
  }
});

test("a client ends with its result, not with the end of what is typed", async () => {
  for (const [client, server] of PAIRS) {
    const child = spawn(process.execPath, [of(client), of(server)], {
      cwd: BUILT.cwd,
      stdio: ["pipe", "pipe", "ignore"],
    });
    child.stdin.write("Ada\ny\n"); // And it stays open.
    let stdout = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    const code = await new Promise((resolve) => child.on("close", resolve));
    assert.deepEqual([stdout, code], ["Hello, Ada!\n", 0]);
  }
});

const FAILURES = [
  ["legacy-client", [of("modern-server")], /code: -32602,[^]*2026-07-28/],
  ["modern-client", [of("legacy-server")], /code: -32601,/],
  ["legacy-client", [of("legacy-server"), "dance"], /code: -32602,[^]*No tool dance/],
  ["modern-client", [of("modern-server"), "dance"], /code: -32602,[^]*No tool dance/],
  ["legacy-client", ["nowhere.mjs"], /The server is gone\.\n$/],
  ["modern-client", ["nowhere.mjs"], /The server is gone\.\n$/],
  ["legacy-client", [], /^Which server\? Name its script\.\n$/],
  ["modern-client", [], /^Which server\? Name its script\.\n$/],
] as const;

test("a client says what failed, and nothing on stdout", async () => {
  for (const [client, args, sentence] of FAILURES) {
    const { code, stdout, stderr } = await run(of(client), [...args]);
    assert.deepEqual([code, stdout], [1, ""], `${client} ${args}`);
    assert.match(stderr, sentence, `${client} ${args}`);
  }
});

// --- With the real pair ------------------------------------------------------------------

const PROTOCOLS = [
  ["legacy-server", "auto"],
  ["legacy-server", "2025-11-25"],
  ["modern-server", "auto"],
  ["modern-server", "2026-07-28"],
  ["both-server", "auto"],
  ["both-server", "2025-11-25"],
  ["both-server", "2026-07-28"],
] as const;

for (const [server, protocol] of PROTOCOLS) {
  test(`the real client is asked by ${server} (${protocol})`, async () => {
    const args = ["--server", of(server), "--tool", "greet", "--protocol", protocol];
    const asked = await run("client.mjs", [...args, "--answer", "name=Ada"]);
    assert.deepEqual(asked, { code: 0, stdout: "Hello, Ada!\n", stderr: "" });
    // Without an answer it declares no elicitation, and is not asked.
    const { code, stdout, stderr } = await run("client.mjs", args);
    assert.equal(code, 1);
    assert.match(stdout + stderr, /This client takes no forms\./);
  });
}

const TOOLS = [
  ["text", "Ada\ny\n", { form: { action: "accept", content: { text: "Ada" } } }],
  ["text", "Ada\nn\n", { form: { action: "decline" } }],
  ["confirm", "y\n", { form: { action: "accept", content: {} } }],
  ["confirm", "\n", { form: { action: "decline" } }],
  ["confirm", "", { form: { action: "cancel" } }],
  ["boolean", "false\ny\n", { form: { action: "accept", content: { boolean: false } } }],
  [
    "two",
    "Ada\ny\n4\ny\n",
    {
      first: { action: "accept", content: { text: "Ada" } },
      second: { action: "accept", content: { integer: 4 } },
    },
  ],
  [
    "two",
    "Ada\nn\n4\ny\n",
    {
      first: { action: "decline" },
      second: { action: "accept", content: { integer: 4 } },
    },
  ],
] as const;

for (const client of ["legacy-client", "modern-client"]) {
  test(`${client} is asked by a real server`, async () => {
    for (const [tool, input, answers] of TOOLS) {
      const ended = await run(of(client), ["test/forms.mjs", tool], input);
      assert.deepEqual(JSON.parse(ended.stdout), answers, `${tool} ${input}`);
      assert.equal(ended.code, 0);
    }
  });
}

// --- Servers, by hand --------------------------------------------------------------------

type Message = Record<string, any>;

/** Runs a server on these messages; what it wrote, without what is not looked at here. */
async function talk(server: string, messages: Message[]): Promise<Message[]> {
  const input = messages.map((message) => `${JSON.stringify(message)}\n`).join("");
  const { code, stdout, stderr } = await run(of(server), [], input);
  assert.deepEqual([code, stderr], [0, ""]);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const hello = (elicitation?: unknown) => ({
  ...request(0, "initialize", {
    protocolVersion: "2025-11-25",
    capabilities: { elicitation },
    clientInfo: { name: "test", version: "1" },
  }),
});
const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
const call = (id: unknown, more: object = {}) =>
  request(id, "tools/call", { name: "greet", arguments: {}, ...more });
const reply = (id: unknown, outcome: object) => ({ jsonrpc: "2.0", id, ...outcome });
const accepted = { action: "accept", content: { name: "Ada" } };
const greeted = { content: [{ type: "text", text: "Hello, Ada!" }] };
const sorry = (text: string) => ({ content: [{ type: "text", text }], isError: true });
const none = sorry("Nobody told me a name.");
const TAKES_FORMS = [{}, { form: {} }, { form: {}, url: {} }, { form: {}, other: {} }];
const TAKES_NONE = [undefined, { url: {} }];

for (const server of ["legacy-server", "both-server"]) {
  test(`${server} answers a legacy client, whatever its ids are`, async () => {
    const [welcome, ...rest] = await talk(server, [
      hello({}),
      initialized,
      request("", "ping"),
      request(0, "tools/list"),
      request(-1, "resources/list"),
      call("x", { name: "dance" }),
    ]);
    assert.deepEqual(welcome, {
      jsonrpc: "2.0",
      id: 0,
      result: {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: server, version: "1.0.0" },
      },
    });
    // Of both-server, only a call is answered later than what came behind it.
    const [ping, list, unknown, dance] = rest;
    assert.deepEqual(ping, reply("", { result: {} }));
    assert.equal(list?.["id"], 0);
    assert.deepEqual(Object.keys(list?.["result"]), ["tools"]);
    assert.equal(list?.["result"].tools[0].name, "greet");
    assert.deepEqual([unknown?.["id"], unknown?.["error"].code], [-1, -32601]);
    assert.deepEqual([dance?.["id"], dance?.["error"].code], ["x", -32602]);
    assert.equal(rest.length, 4);
  });

  test(`${server} asks a legacy client by a request`, async () => {
    for (const elicitation of TAKES_FORMS) {
      const [, question, , answer, ...rest] = await talk(server, [
        hello(elicitation),
        initialized,
        call(0),
        request("between", "ping"),
        reply(1, { result: accepted }),
        reply(1, { result: accepted }), // Twice, and once for a question that was not asked.
        reply(7, { result: accepted }),
      ]);
      assert.deepEqual(
        [question?.["id"], question?.["method"]],
        [1, "elicitation/create"],
      );
      assert.deepEqual(answer, reply(0, { result: greeted }));
      assert.deepEqual(rest, []);
    }
  });

  test(`${server} keeps two calls apart`, async () => {
    const grace = { action: "accept", content: { name: "Grace" } };
    const messages = await talk(server, [
      hello({}),
      initialized,
      call("a"),
      call("b"),
      reply(2, { result: grace }),
      reply(1, { result: accepted }),
    ]);
    const texts = messages.slice(3).map(({ id, result }) => [id, result.content[0].text]);
    assert.deepEqual(texts, [
      ["b", "Hello, Grace!"],
      ["a", "Hello, Ada!"],
    ]);
  });

  test(`${server} ends the call of a legacy client that gives no name`, async () => {
    for (const outcome of [
      { result: { action: "decline" } },
      { result: { action: "cancel" } },
      { error: { code: -32603, message: "no idea" } },
    ]) {
      const messages = [hello({}), initialized, call(5), reply(1, outcome)];
      assert.deepEqual((await talk(server, messages))[2], reply(5, { result: none }));
    }
  });

  test(`${server} asks no legacy client that takes no forms`, async () => {
    for (const elicitation of TAKES_NONE) {
      const messages = await talk(server, [hello(elicitation), initialized, call(0)]);
      const result = sorry("This client takes no forms.");
      assert.deepEqual(messages.slice(1), [reply(0, { result })]);
    }
  });
}

for (const server of ["modern-server", "both-server"]) {
  const serverInfo = { name: server, version: "1.0.0" };
  const stamp = {
    resultType: "complete",
    _meta: { "io.modelcontextprotocol/serverInfo": serverInfo },
  };
  const modern = (id: unknown, method: string, params: object = {}) =>
    request(id, method, { _meta: meta({}), ...params });

  test(`${server} answers a modern client, whatever its ids are`, async () => {
    const [discovery, list, unknown, ping, dance] = await talk(server, [
      modern("", "server/discover"),
      modern(0, "tools/list"),
      { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 0 } },
      modern(-1, "resources/list"),
      modern(7, "ping"),
      modern("x", "tools/call", { name: "dance" }),
    ]);
    const { supportedVersions, capabilities, ttlMs, cacheScope, ...rest } =
      discovery?.["result"];
    assert.deepEqual(rest, stamp);
    assert.deepEqual([supportedVersions, capabilities], [["2026-07-28"], { tools: {} }]);
    assert.deepEqual([ttlMs, cacheScope], [3_600_000, "public"]);
    assert.deepEqual(
      [list?.["result"].ttlMs, list?.["result"].cacheScope],
      [ttlMs, cacheScope],
    );
    assert.equal(list?.["result"].tools[0].name, "greet");
    assert.deepEqual([discovery?.["id"], list?.["id"]], ["", 0]);
    assert.deepEqual([unknown?.["id"], unknown?.["error"].code], [-1, -32601]);
    assert.deepEqual([ping?.["id"], ping?.["error"].code], [7, -32601]);
    assert.deepEqual([dance?.["id"], dance?.["error"].code], ["x", -32602]);
  });

  test(`${server} asks a modern client by a result`, async () => {
    for (const elicitation of TAKES_FORMS) {
      const _meta = meta({ elicitation });
      const answers = [accepted, { action: "decline" }, { action: "cancel" }];
      const messages = await talk(server, [
        call(0, { _meta }),
        ...answers.map((who, id) => call(id, { _meta, inputResponses: { who } })),
        call(4, { _meta, inputResponses: { other: accepted } }), // Asked again.
      ]);
      const [question, ...ends] = messages.map(({ result }) => result);
      assert.equal(question.resultType, "input_required");
      assert.equal(question.inputRequests.who.method, "elicitation/create");
      assert.equal("requestState" in question, false);
      assert.equal("ttlMs" in question, false);
      const refused = { ...none, ...stamp };
      assert.deepEqual(ends, [{ ...greeted, ...stamp }, refused, refused, question]);
    }
  });

  test(`${server} asks no modern client that takes no forms`, async () => {
    for (const elicitation of TAKES_NONE) {
      const messages = [call(0, { _meta: meta({ elicitation }) })];
      const [{ id, error } = {}] = await talk(server, messages);
      assert.deepEqual([id, error.code], [0, -32021]);
      const requiredCapabilities = { elicitation: { form: {} } };
      assert.deepEqual(error.data, { requiredCapabilities });
    }
  });

  test(`${server} checks the envelope of each request`, async () => {
    const { "io.modelcontextprotocol/clientCapabilities": _, ...lacking } = meta({});
    const [old, bare, half] = await talk(server, [
      modern(0, "tools/list", { _meta: meta({}, "1900-01-01") }),
      request(1, "tools/list"),
      modern(2, "server/discover", { _meta: lacking }),
    ]);
    assert.deepEqual([old?.["id"], old?.["error"].code], [0, -32022]);
    const versions = { supported: ["2026-07-28"], requested: "1900-01-01" };
    assert.deepEqual(old?.["error"].data, versions);
    assert.deepEqual([bare?.["id"], bare?.["error"].code], [1, -32602]);
    assert.deepEqual([half?.["id"], half?.["error"].code], [2, -32602]);
  });
}

test("both-server takes an initialize for legacy, whatever its _meta holds", async () => {
  const { params, ...rest } = hello({});
  const initialize = { ...rest, params: { ...(params as object), _meta: meta({}) } };
  const [welcome] = await talk("both-server", [initialize]);
  assert.equal(welcome?.["result"].protocolVersion, "2025-11-25");
});

test("both-server serves both eras on one connection", async () => {
  const _meta = meta({});
  const messages = await talk("both-server", [
    hello({ form: {} }),
    initialized,
    call("modern", { _meta }),
    call("legacy"),
    reply(1, { result: accepted }),
  ]);
  const [, modern, question, legacy] = messages;
  // What one client declared says nothing of another.
  assert.deepEqual([modern?.["id"], modern?.["error"].code], ["modern", -32021]);
  assert.equal(question?.["method"], "elicitation/create");
  assert.deepEqual(legacy, reply("legacy", { result: greeted }));
});

// --- Clients, by hand --------------------------------------------------------------------

/** Runs a client on a server that is this script; `read` and `write` are there for it. */
async function play(client: string, script: string, input: string) {
  const file = join(folder, `${client}.mjs`);
  writeFileSync(
    file,
    `import { createInterface } from "node:readline";
    const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
    const read = async () => JSON.parse((await lines.next()).value);
    const write = (message) =>
      process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    const text = (value) => ({ content: [{ type: "text", text: JSON.stringify(value) }] });
    const tools = [{ name: "any", inputSchema: { type: "object" } }];
    const properties = { yes: { type: "boolean" } };
    const requestedSchema = { type: "object", properties };
    const form = { method: "elicitation/create", params: { message: "Ready?", requestedSchema } };
    ${script}`,
  );
  return run(of(client), [file], input);
}

test("legacy-client answers whatever a server asks while it waits", async () => {
  const { code, stdout } = await play(
    "legacy-client",
    `const hello = await read();
    const { protocolVersion } = hello.params;
    write({ method: "notifications/message", params: { level: "info", data: "hi" } });
    write({ id: hello.id, result: { protocolVersion, capabilities: {}, serverInfo: {} } });
    const initialized = await read();
    write({ id: (await read()).id, result: { tools } });
    const call = await read();
    write({ id: "late", result: {} });
    write({ method: "notifications/message", params: { level: "info", data: "hi" } });
    const said = [initialized.method, call.params];
    for (const [id, request] of [
      [0, { method: "ping" }],
      [call.id, { method: "roots/list" }], // Its ids are its own.
      ["u", { method: "elicitation/create", params: { mode: "url", message: "m", url: "u" } }],
      ["", form],
    ]) {
      write({ id, ...request });
      const { jsonrpc, ...answer } = await read();
      said.push(answer.error ? { ...answer, error: answer.error.code } : answer);
    }
    write({ id: call.id, result: text(said) });`,
    "true\ny\n",
  );
  assert.deepEqual(JSON.parse(stdout), [
    "notifications/initialized",
    { name: "any", arguments: {} },
    { id: 0, result: {} },
    { id: 3, error: -32601 },
    { id: "u", error: -32602 },
    { id: "", result: { action: "accept", content: { yes: true } } },
  ]);
  assert.equal(code, 0);
});

test("legacy-client leaves a server of a version that it does not know", async () => {
  const { code, stdout, stderr } = await play(
    "legacy-client",
    `write({ id: (await read()).id, result: { protocolVersion: "2099-01-01" } });`,
    "",
  );
  assert.deepEqual([code, stdout, stderr], [1, "", "It speaks 2099-01-01.\n"]);
});

test("modern-client calls again, with the state that it got and under a new id", async () => {
  const { code, stdout } = await play(
    "modern-client",
    `const result = (fields) => ({ resultType: "complete", ...fields });
    const asked = { resultType: "input_required" };
    write({ id: (await read()).id, result: result({ supportedVersions: ["2026-07-28"] }) });
    write({ id: (await read()).id, result: result({ tools }) });
    const calls = [];
    for (const fields of [
      { inputRequests: { one: form }, requestState: " a\\n " },
      { inputRequests: { two: form, three: form } },
      { requestState: "" },
    ]) {
      const { id, params } = await read();
      calls.push([id, params]);
      write({ method: "notifications/message", params: { level: "info", data: "hi" } });
      write({ id: "late", result: text("late") });
      write({ id, result: { ...asked, ...fields } });
    }
    const { id, params } = await read();
    calls.push([id, params]);
    write({ id, result: text(calls) }); // No resultType means complete.`,
    "true\ny\nfalse\ny\n\nn\n",
  );
  const _meta = {
    ...meta({ elicitation: { form: {} } }),
    "io.modelcontextprotocol/clientInfo": { name: "modern-client", version: "1.0.0" },
  };
  const call = { name: "any", arguments: {}, _meta };
  const yes = (yes: boolean) => ({ action: "accept", content: { yes } });
  assert.deepEqual(JSON.parse(stdout), [
    [3, call],
    [4, { ...call, inputResponses: { one: yes(true) }, requestState: " a\n " }],
    [5, { ...call, inputResponses: { two: yes(false), three: { action: "decline" } } }],
    [6, { ...call, inputResponses: {}, requestState: "" }],
  ]);
  assert.equal(code, 0);
});

test("modern-client answers nothing that it did not declare", async () => {
  for (const [result, sentence] of [
    ['{ resultType: "task", content: [] }', "Unknown kind of result.\n"],
    [
      `{ resultType: "input_required", inputRequests: { u: { method: "elicitation/create",
        params: { mode: "url", message: "m", url: "u" } } } }`,
      "This client takes forms only.\n",
    ],
    [
      `{ resultType: "input_required", inputRequests: { r: { method: "roots/list" } } }`,
      "This client takes forms only.\n",
    ],
  ] as const) {
    const { code, stdout, stderr } = await play(
      "modern-client",
      `write({ id: (await read()).id, result: { supportedVersions: ["2026-07-28"] } });
      write({ id: (await read()).id, result: { tools } });
      write({ id: (await read()).id, result: ${result} });
      if (!(await lines.next()).done) process.stderr.write("It called again.");`,
      "y\n",
    );
    assert.deepEqual([code, stdout, stderr], [1, "", sentence]);
  }
});
