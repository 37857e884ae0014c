/** Both ends of the pair, as the tests use them: in memory, under the names of the tests. */
import { PassThrough, type Readable, type Writable } from "node:stream";
import * as door from "../mcp/connect.ts";
import type { Options, Session } from "../mcp/link.ts";
import type { Server } from "../mcp/process.ts";
import { serveStreams } from "../mcp/serve.ts";
import type { Tools } from "../mcp/tool.ts";

export const CLIENT = { name: "test-client", version: "1.0.0" };
export const SERVER = { name: "test-server", title: "Test", version: "1.0.0" };

export function connect(
  start: () => Server,
  options: Partial<Options> = {},
): Promise<Session> {
  return door.connect(start, { self: CLIENT, ...options });
}

export function start(tools: Tools, input: Readable, output: Writable): Promise<void> {
  return serveStreams(tools, SERVER, input, output);
}

/** A server of ours in this process, as `connect` wants to start it. */
export function inMemory(tools: Tools): () => Server {
  return () => {
    const input = new PassThrough();
    const output = new PassThrough();
    void start(tools, input, output).then(() => output.end());
    const gone = new Promise<string>((resolve) =>
      output.on("end", () => resolve("the server ended")),
    );
    return { input, output, gone, stop: async () => void (input.end(), await gone) };
  };
}
