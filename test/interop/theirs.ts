/** The clients of both generations of the SDK, and a tap on what passes between two programs. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { illegal, type Tapped } from "./legal.ts";

export const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
export const tsx = ["--import", import.meta.resolve("tsx")];
const folder = mkdtempSync(join(tmpdir(), "tapped-"));
after(() => rmSync(folder, { recursive: true }));

let taps = 0;
/** A file for what passes, and the arguments of Node that put the tap before a server. */
export function tap(script: string): { file: string; args: string[] } {
  const file = join(folder, `${++taps}.jsonl`);
  return { file, args: [here("tap.mjs"), file, process.execPath, ...tsx, script] };
}

/** What passed the tap: each line that one of `ours` wrote is legal. */
export function assertLegal(file: string, ...ours: Tapped["from"][]): void {
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  const tapped = lines.map((line): Tapped => {
    const [from, text] = JSON.parse(line);
    return { from, line: text };
  });
  for (const side of ours) {
    assert.ok(tapped.some(({ from }) => from === side));
    assert.deepEqual(illegal(tapped, side), []);
  }
}

// --- The clients -------------------------------------------------------------------------

export type Elicitation = Record<string, Record<string, never>>;
export type Elicit = (params: Record<string, any>) => Record<string, any>;
type Result = Record<string, any>;
export type Theirs = {
  tools(): Promise<{ name: string }[]>;
  call(name: string): Promise<Result>;
  close(): Promise<void>;
};
type Open = (
  args: string[],
  elicitation: Elicitation | undefined,
  elicit: Elicit,
) => Promise<Theirs>;

const info = { name: "their-client", version: "1.0.0" };

const openV1: Open = async (args, elicitation, elicit) => {
  const capabilities = { ...(elicitation && { elicitation }) };
  const client = new ClientV1(info, { capabilities });
  if (elicitation) {
    const handle = ({ params }: { params: Result }) => elicit(params) as never;
    client.setRequestHandler(ElicitRequestSchema, handle);
  }
  await client.connect(new StdioV1({ command: process.execPath, args }));
  return {
    tools: async () => (await client.listTools()).tools,
    call: (name) => client.callTool({ name, arguments: {} }),
    close: () => client.close(),
  };
};

const openV2 =
  (mode: "auto" | "legacy" | { pin: string }): Open =>
  async (args, elicitation, elicit) => {
    const capabilities = { ...(elicitation && { elicitation }) };
    const client = new ClientV2(info, { capabilities, versionNegotiation: { mode } });
    if (elicitation) {
      const handle = ({ params }: { params: Result }) => elicit(params) as never;
      client.setRequestHandler("elicitation/create", handle);
    }
    await client.connect(new StdioV2({ command: process.execPath, args }));
    return {
      tools: async () => (await client.listTools()).tools,
      call: (name) => client.callTool({ name, arguments: {} }),
      close: () => client.close(),
    };
  };

export const CLIENTS = {
  "SDK v1": openV1,
  "SDK v2, legacy": openV2("legacy"),
  "SDK v2, auto": openV2("auto"),
  "SDK v2, 2026-07-28": openV2({ pin: "2026-07-28" }),
};
