/**
 * A bridge from Streamable HTTP to stdio: `tsx http-to-stdio.ts --port 0 -- <command> …`
 * is an HTTP server at the URL that it prints, and <command> is the stdio MCP server that
 * answers. Each POST body becomes one line of that server's stdin; each line of its stdout
 * becomes a JSON body or a server-sent event. So a test suite that speaks only HTTP can
 * judge a server that speaks only stdio.
 *
 * The two eras share the URL. Legacy: `initialize` starts a process, and that process is
 * the session. Modern: one process serves every request, as one stdio client's, so two
 * requests with one id take turns. What HTTP demands of a server beyond the messages is
 * done here: sessions, streams, status codes, mirrored headers (but for `x-mcp-header`),
 * and Host and Origin. It does not resume streams, nor does it judge what the server says.
 */
import { randomUUID } from "node:crypto";
import { fstatSync } from "node:fs";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { parseArgs } from "node:util";
import * as wire from "./wire.ts";
import { StdioServer, log, sendError } from "./stdio-server.ts";
import type { Message, Request } from "./wire.ts";

const LEGACY_VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

const { values, positionals } = parseArgs({
  options: { port: { type: "string", default: "0" } },
  allowPositionals: true,
});
const [command, ...args] = positionals;
if (command === undefined) {
  console.error("usage: http-to-stdio.ts [--port <port>] -- <command> [args]");
  process.exit(2);
}

const sessions = new Map<string, StdioServer>();
let shared: StdioServer | undefined;
const running = new Set<StdioServer>();

function start(modern: boolean, whenFinished: () => void): StdioServer {
  const started = new StdioServer(modern, command as string, args);
  running.add(started);
  void started.finished.then(whenFinished);
  void started.exited.then(() => running.delete(started));
  return started;
}

/** A page on the web can reach this server, but not with these names in its headers. */
function isLocal({ headers: { host, origin } }: IncomingMessage): boolean {
  const urls = [`http://${host}`, ...(origin === undefined ? [] : [origin])];
  return urls.every(
    (url) =>
      URL.canParse(url) &&
      ["localhost", "127.0.0.1", "[::1]"].includes(new URL(url).hostname),
  );
}

/** What is wrong with the headers that repeat members of a modern request. */
function headerMismatch(req: IncomingMessage, request: Request): string | undefined {
  for (const [name, value] of wire.mirrored(request)) {
    const header = req.headers[name];
    if (typeof header !== "string") return `the header ${name} is missing`;
    if (wire.decodeHeader(header) !== value)
      return `the header ${name} is "${header}", but the body has "${value}"`;
  }
  return undefined;
}

/** An HTTP request, its body as a line, and the message in it. */
type Post = { req: IncomingMessage; res: ServerResponse; line: Buffer; message: Message };

function postModern({ req, res, line, message }: Post) {
  if (wire.isAnswer(message))
    return sendError(res, 400, -32600, "a client sends no responses in this revision");
  shared ??= start(true, () => (shared = undefined));
  if (wire.isRequest(message)) {
    const mismatch = headerMismatch(req, message);
    if (mismatch !== undefined) return sendError(res, 400, -32020, mismatch, message.id);
    return shared.request({ request: message, line, res });
  }
  // Over HTTP nobody cancels by a message, and the id could be another client's.
  if (message.method !== "notifications/cancelled") shared.write(line);
  res.writeHead(202).end();
}

function postInitialize({ res, line }: Post, request: Request) {
  const id = randomUUID();
  const session = start(false, () => sessions.delete(id));
  const onAnswer = (answer: Message) => {
    if (!answer.result) return void session.end();
    sessions.set(id, session);
    res.setHeader("mcp-session-id", id);
  };
  session.request({ request, line, res, onAnswer });
}

function postLegacy({ req, res, line, message }: Post) {
  const id = req.headers["mcp-session-id"];
  if (id === undefined) return sendError(res, 400, -32000, "mcp-session-id is missing");
  if (!isLegacy(req)) return sendError(res, 400, -32000, "not a version of a session");
  const session = sessions.get(String(id));
  if (!session) return sendError(res, 404, -32001, "no such session");
  if (wire.isRequest(message)) return session.request({ request: message, line, res });
  session.write(line);
  res.writeHead(202).end();
}

/** By its header; a request without one is older than the header. */
function isLegacy({ headers }: IncomingMessage): boolean {
  const version = headers["mcp-protocol-version"];
  return version === undefined || LEGACY_VERSIONS.includes(String(version));
}

async function post(req: IncomingMessage, res: ServerResponse) {
  const body = await buffer(req);
  const message = wire.parse(body.toString());
  if (!message) return sendError(res, 400, -32700, "the body is not one message");
  // Breaks between tokens; JSON has none inside a string, UTF-8 no such byte elsewhere.
  const isBreak = (byte: number) => byte === 0x0a || byte === 0x0d;
  const line = Buffer.from(body.map((byte) => (isBreak(byte) ? 0x20 : byte)));
  const given = { req, res, line, message };
  const inSession = req.headers["mcp-session-id"] !== undefined;
  if (wire.modernVersionOf(message) !== undefined) return postModern(given);
  if (wire.isRequest(message) && message.method === "initialize" && !inSession)
    return postInitialize(given, message);
  // Modern by its header alone: what its _meta lacks is for the stdio server to say.
  return inSession || isLegacy(req) ? postLegacy(given) : postModern(given);
}

async function handle(req: IncomingMessage, res: ServerResponse) {
  if (!isLocal(req)) return sendError(res, 403, -32000, "not from this machine");
  if (req.url !== "/mcp") return sendError(res, 404, -32000, "the endpoint is /mcp");
  if (req.method === "POST") return await post(req, res);
  const sessionId = req.headers["mcp-session-id"];
  // 2026-07-28 has nothing but POST.
  if (sessionId === undefined || !["GET", "DELETE"].includes(req.method ?? ""))
    return void res.writeHead(405, { allow: "POST" }).end();
  const session = sessions.get(String(sessionId));
  if (!session) return sendError(res, 404, -32001, "no such session");
  if (req.method === "GET") return session.openStream(res);
  sessions.delete(String(sessionId));
  res.writeHead(200).end();
  await session.end();
}

const front = createServer((req, res) => {
  handle(req, res).catch((error: unknown) => {
    log(String(error));
    res.destroy();
  });
});

async function end(): Promise<never> {
  front.close();
  await Promise.all([...running].map((each) => each.end()));
  process.exit(0);
}

process.once("SIGTERM", () => void end());
process.once("SIGINT", () => void end());
// Whoever holds a pipe to stdin owns this process, and takes it along even if killed.
const stdin = fstatSync(0);
if (stdin.isFIFO() || stdin.isSocket())
  process.stdin.resume().once("end", () => void end());

front.listen(Number(values.port), "127.0.0.1", () => {
  const { port } = front.address() as AddressInfo;
  console.log(`http://127.0.0.1:${port}/mcp`);
});
