/**
 * Our server with the clients of others, and our client with their servers. Whatever our side
 * writes on the way is held against the schema of the revision spoken.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { Answerer } from "../../mcp/answer.ts";
import { connect } from "../../mcp/connect.ts";
import { fillDefaults } from "../../mcp/form.ts";
import { RpcError } from "../../mcp/peer.ts";
import { startProcess } from "../../mcp/process.ts";
import { DEFAULTS } from "../forms.ts";
import { startStooq } from "../stooq.ts";
import { illegal, type Tapped } from "./legal.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const tsx = ["--import", import.meta.resolve("tsx")];
const self = { name: "interop", version: "1.0.0" };
const folder = mkdtempSync(join(tmpdir(), "interop-"));
let isDown = false;
const stooq = await startStooq((_request, response, symbol) => {
  if (isDown) response.writeHead(404).end();
  else response.end(`Symbol,Date,Time,Close\r\n${symbol},2026-08-20,22:00:12,188.5\r\n`);
});
after(async () => {
  await stooq.close();
  rmSync(folder, { recursive: true });
});

let taps = 0;
/** A file for what passes, and the arguments of Node that put the tap before a server. */
function tap(script: string): { file: string; args: string[] } {
  const file = join(folder, `${++taps}.jsonl`);
  return { file, args: [here("tap.mjs"), file, process.execPath, ...tsx, script] };
}

function assertLegal(file: string, ours: "client" | "server"): void {
  if (!existsSync(file)) return;
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  const tapped = lines.map((line): Tapped => {
    const [from, text] = JSON.parse(line);
    return { from, line: text };
  });
  assert.ok(tapped.some(({ from }) => from === ours));
  assert.deepEqual(illegal(tapped, ours), []);
}

// --- Our server, their clients -----------------------------------------------------------

type Elicit = (params: Record<string, any>) => Record<string, any>;
type Theirs = {
  tools(): Promise<{ name: string }[]>;
  call(args: Record<string, unknown>): Promise<Record<string, any>>;
  close(): Promise<void>;
};

type Elicitation = Record<string, Record<string, never>>;
const info = { name: "their-client", version: "1.0.0" };
const env = { PATH: process.env["PATH"] ?? "", STOOQ_URL: stooq.url };

async function openV1(
  args: string[],
  elicitation: Elicitation | undefined,
  elicit: Elicit,
): Promise<Theirs> {
  const client = new ClientV1(info, {
    capabilities: { ...(elicitation && { elicitation }) },
  });
  if (elicitation) {
    client.setRequestHandler(
      ElicitRequestSchema,
      ({ params }) => elicit(params) as never,
    );
  }
  await client.connect(new StdioV1({ command: process.execPath, args, env }));
  return {
    tools: async () => (await client.listTools()).tools,
    call: (args) => client.callTool({ name: "get_stock_price", arguments: args }),
    close: () => client.close(),
  };
}

const openV2 =
  (mode: "auto" | "legacy" | { pin: string }) =>
  async (
    args: string[],
    elicitation: Elicitation | undefined,
    elicit: Elicit,
  ): Promise<Theirs> => {
    const client = new ClientV2(info, {
      capabilities: { ...(elicitation && { elicitation }) },
      versionNegotiation: { mode },
    });
    if (elicitation) {
      client.setRequestHandler(
        "elicitation/create",
        ({ params }) => elicit(params) as never,
      );
    }
    await client.connect(new StdioV2({ command: process.execPath, args, env }));
    return {
      tools: async () => (await client.listTools()).tools,
      call: (args) => client.callTool({ name: "get_stock_price", arguments: args }),
      close: () => client.close(),
    };
  };

const CLIENTS = {
  "SDK v1": openV1,
  "SDK v2, legacy": openV2("legacy"),
  "SDK v2, auto": openV2("auto"),
  "SDK v2, 2026-07-28": openV2({ pin: "2026-07-28" }),
};

const fill: Elicit = ({ requestedSchema }) => ({
  action: "accept",
  content:
    "ticker" in requestedSchema.properties ? { ticker: "nvda" } : { useSample: true },
});

for (const [name, openTheirs] of Object.entries(CLIENTS)) {
  const using = async (
    elicitation: Elicitation | undefined,
    elicit: Elicit,
    use: (client: Theirs) => Promise<void>,
  ) => {
    const { file, args } = tap(here("../../server.ts"));
    const client = await openTheirs(args, elicitation, elicit);
    try {
      await use(client);
    } finally {
      await client.close();
    }
    assertLegal(file, "server");
  };

  test(`${name} lists our tool and calls it`, async () => {
    await using(undefined, fill, async (client) => {
      assert.deepEqual(
        (await client.tools()).map(({ name }) => name),
        ["get_stock_price"],
      );
      // Their client checks this against the output schema that it has just read.
      const { structuredContent, content } = await client.call({ ticker: "NVDA" });
      assert.equal(structuredContent.price, 188.5);
      assert.deepEqual(JSON.parse(content[0].text), structuredContent);
    });
  });

  for (const elicitation of [{}, { form: {} }, { form: {}, url: {} }] as Elicitation[]) {
    test(`${name} answers our questions with elicitation ${JSON.stringify(elicitation)}`, async () => {
      await using(elicitation, fill, async (client) => {
        const live = await client.call({});
        assert.deepEqual(
          [live.structuredContent.symbol, live.structuredContent.source],
          ["NVDA", "stooq"],
        );
        isDown = true;
        const old = await client.call({});
        isDown = false;
        assert.deepEqual(
          [old.structuredContent.price, old.structuredContent.source],
          [177.19, "sample"],
        );
      });
    });
  }

  for (const action of ["decline", "cancel"]) {
    test(`${name} answers our question with ${action}`, async () => {
      await using(
        { form: {} },
        () => ({ action }),
        async (client) => {
          const { isError, content } = await client.call({});
          assert.equal(isError, true);
          assert.match(content[0].text, action === "decline" ? /declined/ : /cancelled/);
        },
      );
    });
  }

  test(`${name} fails to answer our question, and goes on`, async () => {
    const fail = () => {
      throw new Error("no idea");
    };
    await using({ form: {} }, fail, async (client) => {
      // Where the client runs the loop it fails by itself; where we run it, the call does.
      const failed = await client.call({}).then(
        ({ isError }) => isError,
        () => true,
      );
      assert.equal(failed, true);
      assert.equal(
        (await client.call({ ticker: "NVDA" })).structuredContent.price,
        188.5,
      );
    });
  });

  for (const elicitation of [undefined, { url: {} }] as (Elicitation | undefined)[]) {
    test(`${name} is not asked with elicitation ${JSON.stringify(elicitation)}`, async () => {
      let asked = 0;
      await using(
        elicitation,
        (params) => (asked++, fill(params)),
        async (client) => {
          const said = await client.call({}).then(JSON.stringify, String);
          assert.match(said, /ticker/);
          isDown = true;
          const { isError, content } = await client.call({ ticker: "NVDA" });
          isDown = false;
          assert.equal(isError, true);
          assert.match(content[0].text, /404/);
        },
      );
      assert.equal(asked, 0);
    });
  }
}

test("mcp-cli calls our tool", async () => {
  const { file, args } = tap(here("../../server.ts"));
  const config = join(folder, "mcp-cli.json");
  writeFileSync(
    config,
    JSON.stringify({ mcpServers: { stock: { command: process.execPath, args, env } } }),
  );
  const cli = here("node_modules/@wong2/mcp-cli/src/cli.js");
  const call = ["call-tool", "stock:get_stock_price", "--args", '{"ticker":"NVDA"}'];
  const { stdout } = await promisify(execFile)(process.execPath, [
    cli,
    "--config",
    config,
    ...call,
  ]);
  assert.match(stdout, /188\.5/);
  assertLegal(file, "server");
});

// --- Our client, their servers -----------------------------------------------------------

const answered: Record<string, unknown> = { text: "Grace", integer: 4 };
const answerer = (seen: string[]): Answerer => ({
  form: async ({ fields }) => {
    seen.push(fields.map(({ name }) => name).join());
    const content = fillDefaults(fields, {});
    const all = fields.map(({ name }) => [name, content[name] ?? answered[name]]);
    return { action: "accept", content: Object.fromEntries(all) };
  },
  url: async ({ url }) => (seen.push(url.href), { action: "accept" }),
});

const SERVERS = [
  ["SDK v1", "servers/v1.ts", "auto", "2025-11-25"],
  ["SDK v1", "servers/v1.ts", "2025-06-18", "2025-06-18"],
  ["SDK v1", "servers/v1.ts", "2024-11-05", "2024-11-05"],
  ["SDK v2", "servers/v2.ts", "auto", "2026-07-28"],
  ["SDK v2", "servers/v2.ts", "2025-11-25", "2025-11-25"],
] as const;

for (const [name, script, protocol, version] of SERVERS) {
  test(`our client has the questions of ${name} answered in ${version}`, async () => {
    const { file, args } = tap(here(script));
    const seen: string[] = [];
    const session = await connect(
      () => startProcess(process.execPath, args, {}, () => {}),
      { self, protocol, answerer: answerer(seen) },
    );
    assert.equal(session.version, version);
    const call = async (name: string) => {
      const { content } = (await session.request("tools/call", {
        name,
        arguments: {},
      })) as any;
      return JSON.parse(content[0].text);
    };
    const { tools } = await session.request("tools/list");
    assert.equal((tools as unknown[]).length, 5);
    assert.deepEqual(await call("nothing"), {});
    const both = {
      first: { action: "accept", content: { text: "Grace" } },
      second: { action: "accept", content: { integer: 4 } },
    };
    assert.deepEqual(await call("twice"), both);
    assert.deepEqual(await call("together"), both);
    if (version >= "2025-11-25") {
      const all = { action: "accept", content: DEFAULTS };
      assert.deepEqual(await call("everything"), { all });
      assert.deepEqual(await call("page"), { page: { action: "accept" } });
      assert.equal(seen.at(-1), "https://auth.example.com/in");
    }
    const tenAtOnce = await Promise.all(Array.from({ length: 10 }, () => call("twice")));
    for (const answers of tenAtOnce) assert.deepEqual(answers, both);
    await session.close();
    assertLegal(file, "client");
  });
}

test("our client gets along with server-everything", async () => {
  const { file, args } = tap(
    here("node_modules/@modelcontextprotocol/server-everything/dist/index.js"),
  );
  const seen: string[] = [];
  const me = answerer(seen);
  const form: Answerer["form"] = async (question) => {
    const { fields } = question;
    seen.push(fields.map(({ name }) => name).join());
    const content = fillDefaults(fields, { name: "Grace" });
    return { action: "accept", content };
  };
  const session = await connect(
    () => startProcess(process.execPath, args, {}, () => {}),
    { self, answerer: { ...me, form } },
  );
  const call = async (name: string, args: object = {}) =>
    (await session.request("tools/call", { name, arguments: args })) as Record<
      string,
      any
    >;
  assert.match((await call("echo", { message: "é 🙂" })).content[0].text, /é 🙂/);
  assert.match((await call("get-sum", { a: 5, b: 3 })).content[0].text, /8/);
  assert.ok(
    (await call("get-structured-content", { location: "Chicago" })).structuredContent,
  );
  assert.match(JSON.stringify(await call("get-tiny-image")), /image\/png/);

  const { content } = await call("trigger-elicitation-request");
  assert.match(JSON.stringify(content), /Grace/);
  assert.equal(seen.length, 1);

  const url = "https://auth.example.com/everything";
  await call("trigger-url-elicitation", { url });
  assert.equal(seen.at(-1), url);
  // The same by the error of 2025-11-25, which is an error like any other to a session.
  await assert.rejects(
    call("trigger-url-elicitation", { url: `${url}/2`, errorPath: true }),
    (error) => {
      return error instanceof RpcError && error.code === -32042;
    },
  );
  await session.close();
  assertLegal(file, "client");
});
