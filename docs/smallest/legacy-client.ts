/**
 * The smallest client that can be asked, in the legacy era (2025-11-25). It starts a
 * server and calls a tool: the one that you name, or the first. While it waits for the
 * result it answers the server's own requests, and for `elicitation/create` it asks you:
 *
 *     npx tsx docs/smallest/legacy-client.ts docs/smallest/legacy-server.ts [tool]
 *
 * An empty line leaves a field out. A value that is not a string is typed as JSON: 4,
 * true, ["a"]. One iterator reads what you type, for the life of the program, because
 * `question()` of readline loses the lines that come before it is called.
 *
 * It writes only what the protocol allows, but it trusts what it reads. Left out on
 * purpose, and found in the real pair:
 *
 * - mcp/peer.ts: lines that are not JSON or not a message, limits, an answer to `ping`
 *   while you think, and U+2028, at which readline ends a line in a newer Node
 * - mcp/form.ts: choices, defaults, and the check that an answer fits the form
 * - mcp/person.ts: changing an answer before it is sent, and text that plays tricks on a
 *   screen
 * - mcp/link.ts: time-outs
 * - mcp/connect.ts: servers of the other era and of older versions
 * - mcp/process.ts: what the server sees of your environment, and a server that does not
 *   end
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const hello = {
  protocolVersion: "2025-11-25",
  clientInfo: { name: "legacy-client", version: "1.0.0" },
  capabilities: { elicitation: { form: {} } },
};
const [script = fail("Which server? Name its script."), tool] = process.argv.slice(2);
const args = [...process.execArgv, script];
const server = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
const typed = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
let lastId = 0;

async function request(method: string, params: object): Promise<any> {
  send({ id: ++lastId, method, params });
  for (;;) {
    const message = JSON.parse((await lines.next()).value ?? fail("The server is gone."));
    if (message.method !== undefined) await onRequest(message);
    else if (message.id === lastId) return message.result ?? fail(message.error);
  }
}

async function onRequest({ id, method, params }: any): Promise<void> {
  const deny = (code: number, message: string) => send({ id, error: { code, message } });
  if (method === "ping") send({ id, result: {} });
  else if (params?.mode === "url") deny(-32602, "This client takes forms only");
  else if (method === "elicitation/create") send({ id, result: await ask(params) });
  else if (id !== undefined) deny(-32601, `Unknown method: ${method}`); // No notification
}

async function ask({ message, requestedSchema }: any): Promise<object> {
  console.error(`${script} asks: ${message}`);
  const content: Record<string, unknown> = {};
  for (const [name, field] of Object.entries<any>(requestedSchema.properties)) {
    console.error(`${field.title ?? name} (${field.type}): ${field.description ?? ""}`);
    const { value: line } = await typed.next();
    if (line) content[name] = field.type === "string" ? line : JSON.parse(line);
  }
  console.error("Type y to send this, anything else to decline, Ctrl-D to cancel:");
  const { value: line } = await typed.next();
  if (line === "y") return { action: "accept", content };
  return { action: line === undefined ? "cancel" : "decline" };
}

const send = (message: object) =>
  server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
function fail(reason: unknown): never {
  console.error(reason);
  process.exit(1);
}

const { protocolVersion } = await request("initialize", hello);
if (protocolVersion !== hello.protocolVersion) fail(`It speaks ${protocolVersion}.`);
send({ method: "notifications/initialized" });
const [first] = (await request("tools/list", {})).tools;
const result = await request("tools/call", { name: tool ?? first.name, arguments: {} });
for (const { type, text } of result.content) console.log(text ?? `(${type})`);
process.exit(result.isError ? 1 : 0);
