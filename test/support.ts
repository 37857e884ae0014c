/** What the tests share: in-memory wires, scripted peers, and real processes. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { PassThrough, type Readable, type Writable } from "node:stream";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { Params, RpcError } from "../mcp/peer.ts";
import type { Server } from "../mcp/process.ts";
import type { CallToolResult, InputRequest } from "../mcp/schema.ts";

// --- Lines -------------------------------------------------------------------------------

/** A message as it was read, with the keys that one of its kind has. */
export type Message = {
  id: unknown;
  method: string;
  params: Params;
  result: Params;
  error: RpcError;
};

/** The far end of a connection, used by hand: lines in, lines out. */
export class Wire {
  static #count = 0;
  readonly #id = ++Wire.#count;
  readonly output: Writable;
  /** Every message that was read, in order. */
  readonly seen: Message[] = [];
  readonly #lines: AsyncIterator<string>;

  constructor(input: Readable, output: Writable) {
    this.output = output;
    this.#lines = linesOf(input);
  }

  /** Writes one message, or a line as it is. */
  send(message: Params | string): void {
    const line = typeof message === "string" ? message : JSON.stringify(message);
    this.#log("theirs", line);
    this.output.write(`${line}\n`);
  }

  /** Keeps what passes in a file, if one is named, so that others can judge it. */
  #log(whose: "ours" | "theirs", line: string): void {
    const file = process.env["WIRE_LOG"];
    if (!file) return;
    appendFileSync(file, `${JSON.stringify([process.pid, this.#id, whose, line])}\n`);
  }

  /** The next message; at the end of the input it fails. */
  async next(): Promise<Message> {
    const { value, done } = await this.#lines.next();
    assert.ok(!done, "the other side has closed");
    this.#log("ours", value);
    const message = JSON.parse(value);
    assert.equal(message.jsonrpc, "2.0");
    this.seen.push(message);
    return message;
  }

  /** Reads until a message has all of these keys and values. */
  async until(want: Partial<Message>): Promise<Message> {
    for (;;) {
      const message = await this.next();
      const keys = Object.keys(want) as (keyof Message)[];
      if (keys.every((key) => message[key] === want[key])) return message;
    }
  }

  /** All messages up to the end of the input. */
  async rest(): Promise<Message[]> {
    const messages: Message[] = [];
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done) return messages;
      this.#log("ours", value);
      messages.push(JSON.parse(value));
    }
  }
}

async function* linesOf(input: Readable): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of input.setEncoding("utf8")) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  assert.equal(rest, "", "the last line has its newline");
}

/** Two streams back to back: what one side writes, the other reads. */
export function pipe(): { here: Wire; input: PassThrough; output: PassThrough } {
  const input = new PassThrough();
  const output = new PassThrough();
  return { here: new Wire(output, input), input, output };
}

/**
 * A server that is a script: it gets the wire and plays its part. It counts as gone when the
 * script has ended and closed it, or when it was stopped.
 */
export function scripted(script: (wire: Wire) => Promise<void>): () => Server {
  return () => {
    const input = new PassThrough();
    const output = new PassThrough();
    let leave = (_cause: string) => {};
    const gone = new Promise<string>((resolve) => (leave = resolve));
    const wire = new Wire(input, output);
    void script(wire).then(
      () => output.end(),
      (error) => {
        leave(`the script failed: ${error.message}`);
        // A script may be left in the middle of its part, but what it asserts must hold.
        if (!/has closed/.test(error.message)) setImmediate(() => assert.ifError(error));
      },
    );
    output.on("end", () => leave("the server ended"));
    return {
      input,
      output,
      gone,
      async stop() {
        input.end();
        leave("the server was stopped");
      },
    };
  };
}

// --- Time --------------------------------------------------------------------------------

/** Lets everything happen in memory that waits for no time. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
}

/** Stops the time for one test; what it returns lets so many milliseconds pass. */
export function stopTime(t: TestContext): (ms: number) => Promise<void> {
  let now = 1000;
  t.mock.timers.enable({ apis: ["setTimeout"] });
  t.mock.method(performance, "now", () => now);
  syncBuiltinESMExports();
  t.after(() => (t.mock.reset(), t.mock.timers.reset(), syncBuiltinESMExports()));
  return async (ms) => {
    await settled();
    now += ms;
    t.mock.timers.tick(ms);
    return settled();
  };
}

// --- Messages ----------------------------------------------------------------------------

const PREFIX = "io.modelcontextprotocol/";
export const MODERN = "2026-07-28";
export const LEGACY = "2025-11-25";

/** The envelope of a modern request. */
export function meta(capabilities: unknown = {}, version: unknown = MODERN): Params {
  return {
    [`${PREFIX}protocolVersion`]: version,
    [`${PREFIX}clientInfo`]: { name: "test", version: "1" },
    [`${PREFIX}clientCapabilities`]: capabilities,
  };
}

export const request = (id: unknown, method: string, params?: unknown): Params => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});

export const notification = (method: string, params?: unknown): Params => ({
  jsonrpc: "2.0",
  method: `notifications/${method}`,
  params,
});

export const result = (id: unknown, result: unknown): Params => ({
  jsonrpc: "2.0",
  id,
  result,
});

export const error = (
  id: unknown,
  code: number,
  message = "no",
  data?: unknown,
): Params => ({
  jsonrpc: "2.0",
  id,
  error: { code, message, data },
});

export const initialize = (
  capabilities: unknown = {},
  protocolVersion: unknown = LEGACY,
) =>
  request("init", "initialize", {
    protocolVersion,
    capabilities,
    clientInfo: { name: "test", version: "1" },
  });

/** A tool result with one text. */
export const textResult = (text: string): CallToolResult => ({
  content: [{ type: "text", text }],
});

export const serverInfo = { name: "scripted", version: "1" };

export const discovery = (supportedVersions: string[] = [MODERN]): Params => ({
  resultType: "complete",
  supportedVersions,
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: "public",
  _meta: { [`${PREFIX}serverInfo`]: serverInfo },
});

export const initialized = (protocolVersion: unknown = LEGACY): Params => ({
  protocolVersion,
  capabilities: { tools: {} },
  serverInfo,
});

/** A question for one required text. */
export const question = (
  properties: unknown = { ticker: { type: "string" } },
): InputRequest => ({
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "Which?",
    requestedSchema: { type: "object", properties, required: ["ticker"] },
  },
});

// --- Processes ---------------------------------------------------------------------------

export const ROOT = fileURLToPath(new URL("..", import.meta.url));
export const LOADER = ["--import", "tsx"];

export type Ended = { code: number | null; stdout: string; stderr: string };

/** Where the programs are, and what loads them: the sources by tsx, if nothing is said. */
export type Place = { cwd?: string; loader?: string[] };

type RunOptions = Place & { input?: string; env?: Record<string, string> };

/** Runs a script of ours to its end. */
export function run(
  script: string,
  args: string[] = [],
  { cwd = ROOT, loader = LOADER, input = "", env }: RunOptions = {},
): Promise<Ended> {
  const { PATH = "", HOME = "" } = process.env;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...loader, script, ...args], {
      cwd,
      env: { PATH, HOME, ...env },
    });
    const out = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text) => (out.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text) => (out.stderr += text));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, ...out }));
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}
