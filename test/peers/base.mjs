/**
 * What the misbehaving servers have in common: a small, correct server of 2025-11-25 that
 * answers everything at once. Each of the others changes one thing.
 */
import { createInterface } from "node:readline";

export function send(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

export const done = { content: [{ type: "text", text: "done" }] };

/** What a correct server of 2025-11-25 answers. */
export function answer({ id, method, params }) {
  if (id === undefined || method === undefined) return;
  if (method === "initialize") {
    const { protocolVersion } = params ?? {};
    const serverInfo = { name: "peer", version: "1.0.0" };
    send({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } });
  } else if (method === "tools/list") {
    const inputSchema = { type: "object" };
    send({
      id,
      result: { tools: [{ name: "any", description: "Does nothing", inputSchema }] },
    });
  } else if (method === "tools/call") send({ id, result: done });
  else if (method === "ping") send({ id, result: {} });
  else send({ id, error: { code: -32601, message: `no ${method} here` } });
}

/** Reads messages until the input ends; `handle` does with each what it likes. */
export function serve(handle = answer) {
  createInterface({ input: process.stdin }).on("line", (line) =>
    handle(JSON.parse(line)),
  );
}
