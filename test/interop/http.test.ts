/**
 * The pair over HTTP, through programs that others wrote: our client reaches a server through
 * mcp-remote, and our server stands behind supergateway. They are run as they are installed:
 * npx would ask the registry. Nothing leaves 127.0.0.1, and what is started here ends here.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as HttpV2,
} from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { startStooq } from "../stooq.ts";
import { run } from "../support.ts";
import { makeServer } from "./servers/v2-tools.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const PACKAGES = here("node_modules");
const SAMPLE = "NVDA 177.19 (bundled sample of 2026-02-27, not a live price)\n";

let isDown = false;
const stooq = await startStooq((_request, response, symbol) => {
  if (isDown) response.writeHead(404).end();
  else response.end(`Symbol,Date,Time,Close\r\n${symbol},2026-08-20,22:00:12,188.5\r\n`);
});
after(() => stooq.close());

/** Starts a program that serves HTTP, on 127.0.0.1 and a port that was free. */
async function serve(args: string[], env: Record<string, string>) {
  const { PATH = "" } = process.env;
  const child = spawn(process.execPath, ["--import", here("loopback.mjs"), ...args], {
    env: { PATH, ...env },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text) => (said += text));
  const ended = once(child, "exit");
  const early = ended.then(() => Promise.reject(new Error(`it ended: ${said}`)));
  const [{ address, port }] = await Promise.race([once(child, "message"), early]);
  assert.equal(address, "127.0.0.1");
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async stop() {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}

const quoted = (word: string) => JSON.stringify(word); // a shell starts the server
const server = [process.execPath, "--import", import.meta.resolve("tsx")];
const gateway = await serve(
  [
    join(PACKAGES, "supergateway/dist/index.js"),
    "--stdio",
    [...server, here("../../server.ts")].map(quoted).join(" "),
    ...["--outputTransport", "streamableHttp", "--stateful", "--port", "0"],
    ...["--logLevel", "none"],
  ],
  { STOOQ_URL: stooq.url },
);
after(() => gateway.stop());

// --- Our client, through mcp-remote ------------------------------------------------------

// mcp-remote keeps a folder in the home.
const HOME = mkdtempSync(join(tmpdir(), "http-"));
after(() => rmSync(HOME, { recursive: true }));

function runClient(url: string, args: string[], remote: string[] = []) {
  const proxy = join(PACKAGES, "mcp-remote/dist/proxy.js");
  const server = ["--server", process.execPath, "--", proxy, url, ...remote];
  return run("client.ts", [...args, ...server], { env: { HOME } });
}

test("our client answers server-everything over HTTP", async () => {
  const script = join(PACKAGES, "@modelcontextprotocol/server-everything/dist/index.js");
  const everything = await serve([script, "streamableHttp"], { PORT: "0" });
  try {
    const tool = ["--tool", "trigger-elicitation-request", "-v"];
    const args = [...tool, "--answer", "name=é 🙂", "--defaults"];
    const { code, stdout, stderr } = await runClient(everything.url, args);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^← .*"result":\{"protocolVersion":"2025-11-25"/m);
    assert.match(stdout, /"action": "accept"/);
    assert.match(stdout, /"name": "é 🙂"/);
    assert.match(stdout, /"integer": 42/);
  } finally {
    await everything.stop();
  }
});

/** A server on SDK v2's HTTP handler, and what it gave, got back and was told on the way. */
async function serveV2(legacy: "stateless" | "reject") {
  const handler = createMcpHandler(makeServer, { legacy });
  const seen = { given: [] as string[], back: [] as string[], tokens: new Set() };
  const server = createServer(async (request, response) => {
    const { method = "GET", headers } = request;
    const body = method === "POST" ? await buffer(request) : null;
    seen.tokens.add(headers["x-token"]);
    const url = new URL(request.url ?? "", "http://127.0.0.1");
    const init = { method, headers: headers as Record<string, string>, body };
    const answer = await handler.fetch(new Request(url, init));
    const text = await answer.text();
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(text);

    const back = body && JSON.parse(body.toString()).params?.requestState;
    if (back) seen.back.push(back);
    const isJson = answer.headers.get("content-type")?.includes("json");
    const given = isJson && JSON.parse(text).result?.requestState;
    if (given) seen.given.push(given);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    seen,
    async stop() {
      await handler.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

// What speaks 2026-07-28 alone refuses the handshake by which mcp-remote tries a server.
for (const [legacy, remote] of [
  ["stateless", []],
  ["reject", ["--protocol", "auto"]],
] as const) {
  test(`our client brings back the state of SDK v2 over HTTP (legacy: ${legacy})`, async () => {
    const v2 = await serveV2(legacy);
    try {
      const text = 'é 🙂 "\\" \u2028 </script>';
      const tool = ["--tool", "twice", "--protocol", "2026-07-28"];
      const answers = ["--answer", `text=${text}`, "--answer", "integer=4"];
      const secret = ["--env", "TOKEN=from the environment"];
      const { code, stdout, stderr } = await runClient(
        v2.url,
        [...tool, ...answers, ...secret],
        [...remote, "--header", "X-Token: ${TOKEN}"],
      );
      assert.equal(code, 0, stderr);
      assert.deepEqual(JSON.parse(stdout), {
        first: { action: "accept", content: { text } },
        second: { action: "accept", content: { integer: 4 } },
      });
      assert.equal(v2.seen.given.length, 2);
      assert.deepEqual(v2.seen.back, v2.seen.given);
      assert.ok(v2.seen.tokens.has("from the environment"));
    } finally {
      await v2.stop();
    }
  });
}

// --- Our server, behind supergateway -----------------------------------------------------

type Elicit = (params: Record<string, any>) => Record<string, any>;
type Theirs = {
  version(): string | undefined;
  call(args: Record<string, unknown>): Promise<Record<string, any>>;
  close(): Promise<void>;
};
const info = { name: "their-client", version: "1.0.0" };
const capabilities = { elicitation: { form: {} } };

async function openV1(elicit: Elicit): Promise<Theirs> {
  const client = new ClientV1(info, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => elicit(params) as never);
  const transport = new HttpV1(new URL(gateway.url));
  await client.connect(transport as never);
  return {
    version: () => transport.protocolVersion,
    call: (args) => client.callTool({ name: "get_stock_price", arguments: args }),
    async close() {
      await transport.terminateSession();
      await client.close();
    },
  };
}

const openV2 =
  (mode: "auto" | "legacy" | { pin: string }) =>
  async (elicit: Elicit): Promise<Theirs> => {
    const client = new ClientV2(info, { capabilities, versionNegotiation: { mode } });
    client.setRequestHandler(
      "elicitation/create",
      ({ params }) => elicit(params) as never,
    );
    const transport = new HttpV2(new URL(gateway.url));
    await client.connect(transport);
    return {
      version: () => client.getNegotiatedProtocolVersion(),
      call: (args) => client.callTool({ name: "get_stock_price", arguments: args }),
      async close() {
        await transport.terminateSession();
        await client.close();
      },
    };
  };

const CLIENTS = [
  ["SDK v1", openV1, "2025-11-25"],
  ["SDK v2, legacy", openV2("legacy"), "2025-11-25"],
  ["SDK v2, auto", openV2("auto"), "2026-07-28"],
  ["SDK v2, 2026-07-28", openV2({ pin: "2026-07-28" }), "2026-07-28"],
] as const;

for (const [name, openTheirs, version] of CLIENTS) {
  test(`${name} answers both questions of our server over HTTP`, async () => {
    const asked: string[] = [];
    const client = await openTheirs(({ requestedSchema }) => {
      const [field = ""] = Object.keys(requestedSchema.properties);
      asked.push(field);
      return {
        action: "accept",
        content: field === "ticker" ? { ticker: "nvda" } : { useSample: true },
      };
    });
    try {
      assert.equal(client.version(), version);
      isDown = false;
      const live = await client.call({});
      assert.deepEqual(
        [live.structuredContent.price, live.structuredContent.source],
        [188.5, "stooq"],
      );
      isDown = true;
      const old = await client.call({});
      assert.deepEqual(
        [old.structuredContent.price, old.structuredContent.source],
        [177.19, "sample"],
      );
      assert.deepEqual(asked, ["ticker", "ticker", "useSample"]);
    } finally {
      await client.close();
    }
  });
}

for (const protocol of ["2026-07-28", "2025-11-25"]) {
  test(`our client reaches our server over HTTP in ${protocol}`, async () => {
    isDown = true;
    const answers = ["--answer", "ticker=nvda", "--answer", "useSample=true"];
    const args = ["--protocol", protocol, ...answers];
    const { code, stdout, stderr } = await runClient(gateway.url, args);
    assert.deepEqual({ code, stdout }, { code: 0, stdout: SAMPLE }, stderr);
  });
}
