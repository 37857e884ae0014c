/**
 * The smallest server that asks, in the legacy era (2025-11-25). Its tool `greet` needs a
 * name. The server sends its question as a request of its own, `elicitation/create`, and
 * remembers which call waits for the answer. With its client:
 *
 *     npx tsx docs/smallest/legacy-client.ts docs/smallest/legacy-server.ts
 *
 * It writes only what the protocol allows, but it trusts what it reads. Left out on
 * purpose, and found in the real pair:
 *
 * - mcp/peer.ts: lines that are not JSON or not a message, limits, calls that are
 *   cancelled, and U+2028, at which readline ends a line in a newer Node
 * - mcp/form.ts: the check that an answer fits the form
 * - mcp/legacy.ts: older versions, and an end to waiting for an answer
 */
import { createInterface } from "node:readline";

const VERSION = "2025-11-25";
const serverInfo = { name: "legacy-server", version: "1.0.0" };
const capabilities = { tools: {} };
const tool = { name: "greet", description: "Says hi", inputSchema: { type: "object" } };
const name = { type: "string", title: "Name", description: "What your friends call you" };
const requestedSchema = { type: "object", properties: { name }, required: ["name"] };
const form = { mode: "form", message: "What is your name?", requestedSchema };
const question = { method: "elicitation/create", params: form };
const waiting = new Map<unknown, unknown>(); // For each question, the call that waits.
let canAsk = false; // The client declares it once, in `initialize`.
let questions = 0;

function onRequest(id: unknown, method: string, params: any): void {
  if (method === "initialize") {
    canAsk = takesForms(params.capabilities);
    return answer(id, { protocolVersion: VERSION, capabilities, serverInfo });
  }
  if (method === "ping") return answer(id, {});
  if (method === "tools/list") return answer(id, { tools: [tool] });
  if (method !== "tools/call") return deny(id, -32601, `Unknown method: ${method}`);
  if (params.name !== tool.name) return deny(id, -32602, `No tool ${params.name}`);
  if (!canAsk) return answer(id, sorry("This client takes no forms."));
  waiting.set(++questions, id);
  send({ id: questions, ...question });
}

function onResponse(id: unknown, reply: any): void {
  const call = waiting.get(id);
  waiting.delete(id);
  if (call !== undefined) answer(call, greeting(reply));
}

function greeting(reply: any): object {
  if (reply?.action !== "accept") return sorry("Nobody told me a name.");
  return say(`Hello, ${reply.content?.name}!`);
}

const say = (text: string) => ({ content: [{ type: "text", text }] });
const sorry = (text: string) => ({ ...say(text), isError: true });
// An elicitation that names no mode means forms.
const takesForms = ({ elicitation }: any) =>
  elicitation instanceof Object && ("form" in elicitation || !("url" in elicitation));

const answer = (id: unknown, result: object) => send({ id, result });
const deny = (id: unknown, code: number, message: string) =>
  send({ id, error: { code, message } });
function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, result } = JSON.parse(line);
  if (method === undefined) onResponse(id, result);
  else if (id !== undefined) onRequest(id, method, params); // Else it is a notification.
}
