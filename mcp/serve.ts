/**
 * The server's door: a peer on stdin and stdout. legacy.ts takes its own of the requests, and
 * passes on the rest.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
 */
import { Console } from "node:console";
import { existsSync, realpathSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { serveLegacy } from "./legacy.ts";
import { serveModern } from "./modern.ts";
import { ConnectionError, Peer } from "./peer.ts";
import type { Implementation } from "./schema.ts";
import { stateKey } from "./state.ts";
import type { Tools } from "./tool.ts";

/** How long a call, and the process, may go on when the client has closed our input. */
const [GRACE_MS, END_MS] = [4000, 5000];

/**
 * Serves tools on stdin and stdout until the input ends and all that was read is answered;
 * then the process ends. `console` writes to stderr from here on.
 */
export async function serve(tools: Tools, self: Implementation): Promise<void> {
  const { stdin, stdout, stderr } = process;
  globalThis.console = new Console(stderr); // stdout belongs to the protocol
  stderr.on("error", () => {}); // who reads it may leave first
  try {
    stateKey();
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
  if (stdin.isTTY)
    console.error("An MCP server: it reads JSON-RPC lines. Ctrl-D ends it.");
  // Ctrl-C in the client's terminal reaches us too. The client decides what it means.
  else process.on("SIGINT", () => {});
  // A tool that ignores its signal must not keep the process.
  stdin.once("close", () => setTimeout(() => process.exit(), END_MS).unref());
  await serveStreams(tools, self, stdin, stdout);
}

/** The same on any two streams. */
export async function serveStreams(
  tools: Tools,
  self: Implementation,
  input: Readable,
  output: Writable,
) {
  const peer = new Peer(input, output);
  peer.answersMalformed = true;
  peer.onNote = (note) => console.error(note);
  peer.onNotification = (method, { requestId }) => {
    if (method === "notifications/cancelled") peer.drop(requestId);
  };
  peer.onRequest = serveLegacy(serveModern(tools, self), peer);
  output.on("error", () => input.destroy()); // the client has left
  await peer.listen();
  peer.close(new ConnectionError("The client closed the connection"));
  // A question that waits until the client is ready ends now too.
  peer.onNotification("notifications/initialized", {});
  await peer.finish(GRACE_MS);
}

/** Whether a module, by its `import.meta.url`, is the program that was started. */
export function isMain(url: string): boolean {
  const [, started = ""] = process.argv;
  const file = fileURLToPath(url); // which may be started without its extension
  return file === (existsSync(started) ? realpathSync(started) : `${started}.ts`);
}
