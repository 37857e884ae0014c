/**
 * The smallest server that asks, in the modern era (2026-07-28). Its tool `greet` needs a
 * name. The server returns its question as a result, `input_required`, and forgets the
 * call. The client calls again and brings the answer along. With its client:
 *
 *     npx tsx docs/smallest/modern-client.ts docs/smallest/modern-server.ts
 *
 * It writes only what the protocol allows, but it trusts what it reads. Left out on
 * purpose, and found in the real pair:
 *
 * - mcp/peer.ts: lines that are not JSON or not a message, limits, and U+2028, at which
 *   readline ends a line in a newer Node
 * - mcp/form.ts: the check that an answer fits the form
 * - mcp/state.ts: the `requestState` of a server that has to remember something, sealed.
 *   This one has nothing to remember: the second call says all that the first one said,
 *   and the question is always the same.
 */
import { createInterface } from "node:readline";

const VERSION = "2026-07-28";
const serverInfo = { name: "modern-server", version: "1.0.0" };
const _meta = { "io.modelcontextprotocol/serverInfo": serverInfo };
const capabilities = { tools: {} };
const tool = { name: "greet", description: "Says hi", inputSchema: { type: "object" } };
const name = { type: "string", title: "Name", description: "What your friends call you" };
const requestedSchema = { type: "object", properties: { name }, required: ["name"] };
const form = { mode: "form", message: "What is your name?", requestedSchema };
const question = { method: "elicitation/create", params: form };
const cache = { ttlMs: 3_600_000, cacheScope: "public" }; // For an hour, for everybody.

function onRequest(id: unknown, method: string, params: any): void {
  const version = params?._meta?.["io.modelcontextprotocol/protocolVersion"];
  const clientCapabilities =
    params?._meta?.["io.modelcontextprotocol/clientCapabilities"];
  if (typeof version !== "string" || !clientCapabilities)
    return deny(id, -32602, `_meta lacks the version (${VERSION}) or capabilities`);
  const versions = { supported: [VERSION], requested: version };
  if (version !== VERSION)
    return deny(id, -32022, "Unsupported protocol version", versions);
  if (method === "server/discover")
    return answer(id, { supportedVersions: [VERSION], capabilities, ...cache });
  if (method === "tools/list") return answer(id, { tools: [tool], ...cache });
  if (method !== "tools/call") return deny(id, -32601, `Unknown method: ${method}`);
  if (params.name !== tool.name) return deny(id, -32602, `No tool ${params.name}`);
  const who = params.inputResponses?.who;
  if (who) return answer(id, greeting(who));
  if (!takesForms(clientCapabilities)) {
    const data = { requiredCapabilities: { elicitation: { form: {} } } };
    return deny(id, -32021, "This client takes no forms.", data);
  }
  answer(id, { resultType: "input_required", inputRequests: { who: question } });
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

const answer = (id: unknown, result: object) =>
  send({ id, result: { resultType: "complete", ...result, _meta } });
const deny = (id: unknown, code: number, message: string, data?: object) =>
  send({ id, error: { code, message, data } });
function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method !== undefined && id !== undefined) onRequest(id, method, params);
}
