/**
 * The smallest server that asks in both eras. The modern half is modern-server.ts: it
 * returns its question. The legacy half wraps it: it turns a legacy request into a modern
 * one, and it runs the loop that a modern client runs. So the tool is written once. With
 * either client:
 *
 *     npx tsx docs/smallest/modern-client.ts docs/smallest/both-server.ts
 *     npx tsx docs/smallest/legacy-client.ts docs/smallest/both-server.ts
 *
 * Left out is what the other two servers leave out, and also:
 *
 * - mcp/rounds.ts: an end to a loop that goes on for ever
 * - mcp/peer.ts: forgetting a question when it is answered
 */
import { createInterface } from "node:readline";

const MODERN = "2026-07-28";
const LEGACY = "2025-11-25";
const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const serverInfo = { name: "both-server", version: "1.0.0" };
const capabilities = { tools: {} };
const tool = { name: "greet", description: "Says hi", inputSchema: { type: "object" } };
const name = { type: "string", title: "Name", description: "What your friends call you" };
const requestedSchema = { type: "object", properties: { name }, required: ["name"] };
const form = { mode: "form", message: "What is your name?", requestedSchema };
const question = { method: "elicitation/create", params: form };
const cache = { ttlMs: 3_600_000, cacheScope: "public" }; // For an hour, for everybody.
type Reply = { result?: any; error?: any };

// Modern: the server returns its question.
function modern(method: string, params: any): Reply {
  const version = params?._meta?.[VERSION];
  const clientCapabilities = params?._meta?.[CAPABILITIES];
  if (typeof version !== "string" || !clientCapabilities)
    return deny(-32602, `_meta lacks the version (${MODERN}) or capabilities`);
  const versions = { supported: [MODERN], requested: version };
  if (version !== MODERN) return deny(-32022, "Unsupported protocol version", versions);
  if (method === "server/discover")
    return answer({ supportedVersions: [MODERN], capabilities, ...cache });
  if (method === "tools/list") return answer({ tools: [tool], ...cache });
  if (method !== "tools/call") return deny(-32601, `Unknown method: ${method}`);
  if (params.name !== tool.name) return deny(-32602, `No tool ${params.name}`);
  const who = params.inputResponses?.who;
  if (who) return answer(greeting(who));
  if (!takesForms(clientCapabilities)) {
    const data = { requiredCapabilities: { elicitation: { form: {} } } };
    return deny(-32021, "This client takes no forms.", data);
  }
  return answer({ resultType: "input_required", inputRequests: { who: question } });
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

function answer(result: object): Reply {
  const _meta = { "io.modelcontextprotocol/serverInfo": serverInfo };
  return { result: { resultType: "complete", ...result, _meta } };
}
const deny = (code: number, message: string, data?: object): Reply => ({
  error: { code, message, data },
});
const send = (message: object) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

// Legacy: the server sends its question, and runs the loop.
const waiting = new Map<unknown, (reply: unknown) => void>(); // By question.
let clientCapabilities: unknown; // The client declares them once, in `initialize`.
let questions = 0;

async function legacy(method: string, params: any): Promise<Reply> {
  if (method === "initialize") {
    clientCapabilities = params.capabilities;
    return { result: { protocolVersion: LEGACY, capabilities, serverInfo } };
  }
  if (method === "ping") return { result: {} };
  const _meta = { [VERSION]: MODERN, [CAPABILITIES]: clientCapabilities };
  let reply = modern(method, { ...params, _meta });
  while (reply.result?.resultType === "input_required") {
    const { inputRequests, requestState } = reply.result;
    const inputResponses: any = {};
    for (const key in inputRequests) inputResponses[key] = await ask(inputRequests[key]);
    reply = modern(method, { ...params, _meta, inputResponses, requestState });
  }
  if (reply.error?.code === -32021) return { result: sorry(reply.error.message) };
  if (reply.error) return reply;
  const { resultType, ttlMs, cacheScope, _meta: _, ...result } = reply.result;
  return { result };
}

function ask(question: object): Promise<unknown> {
  send({ id: ++questions, ...question });
  return new Promise((resolve) => waiting.set(questions, resolve));
}

async function onRequest(id: unknown, method: string, params: any): Promise<void> {
  const isLegacy = method === "initialize" || params?._meta?.[VERSION] === undefined;
  send({ id, ...(await (isLegacy ? legacy : modern)(method, params)) });
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, result } = JSON.parse(line);
  if (method === undefined) waiting.get(id)?.(result ?? { action: "cancel" });
  else if (id !== undefined) void onRequest(id, method, params);
}
