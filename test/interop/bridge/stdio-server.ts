/**
 * The stdio half of http-to-stdio.ts: one process of the stdio server, and the HTTP requests
 * that wait for it. It finds for each line of stdout the HTTP response that it belongs to,
 * and for each answer its HTTP status. What it has no place for it logs and drops; what the
 * server says it neither judges nor changes.
 */
import { spawn } from "node:child_process";
import type { ServerResponse } from "node:http";
import * as wire from "./wire.ts";
import type { Id, Message, Request } from "./wire.ts";

const LATE_ANSWER_MS = 200;
const SHUTDOWN_MS = 700;

export function log(text: string): void {
  console.error(`http-to-stdio: ${text}`);
}

/** A request of an HTTP client, which waits for the server's answer. */
export type Exchange = {
  request: Request;
  line: Buffer;
  res: ServerResponse;
  onAnswer?: (answer: Message) => void;
};

function startStream(res: ServerResponse): void {
  const type = { "content-type": "text/event-stream", "cache-control": "no-cache" };
  res.writeHead(200, { ...type, "x-accel-buffering": "no" }).flushHeaders();
}

function sendEvent(res: ServerResponse, json: string): void {
  if (res.destroyed) return;
  if (!res.headersSent) startStream(res);
  res.write(`event: message\ndata: ${wire.oneLine(json)}\n\n`);
}

function sendJson(res: ServerResponse, status: number, json: string): void {
  if (res.destroyed) return;
  res.writeHead(status, { "content-type": "application/json" }).end(json);
}

export function sendError(
  res: ServerResponse,
  status: number,
  code: number,
  message: string,
  id?: Id,
): void {
  sendJson(res, status, JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }));
}

/** 2026-07-28 ties the HTTP status to the error. */
function statusOf(request: Request, answer: Message): number {
  if (!answer.error) return 200;
  const { code } = answer.error;
  if (code === -32601) return 404;
  const meta = wire.metaOf(request);
  const lacksMeta = ["protocolVersion", "clientCapabilities"].some(
    (name) => !(`io.modelcontextprotocol/${name}` in meta),
  );
  if (code === -32602 && lacksMeta) return 400;
  return [-32700, -32600, -32020, -32021, -32022].includes(code) ? 400 : 200;
}

export class StdioServer {
  readonly #child;
  /** By id; the first of each is in the server's hands, the others wait for its id. */
  readonly #queues = new Map<string, Exchange[]>();
  readonly #inFlight = new Set<Exchange>();
  /** The GET stream of a session, and what was said while there was none. */
  #stream: ServerResponse | undefined;
  #backlog: string[] = [];
  readonly #modern: boolean;
  /** The server has said its last word; later the process is gone, too. */
  readonly finished: Promise<void>;
  readonly exited: Promise<void>;

  constructor(modern: boolean, command: string, args: string[]) {
    this.#modern = modern;
    this.#child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.#child.stdin.on("error", () => {});
    this.#child.on("error", (error) => log(error.message));
    // A command that can't be started has a "close", but no "exit"; one whose own child
    // keeps stdout open has it the other way round.
    this.exited = new Promise((done) => {
      for (const event of ["exit", "close"]) this.#child.once(event, () => done());
    });
    this.finished = this.#readAll();
  }

  async #readAll(): Promise<void> {
    for await (const line of wire.lines(this.#child.stdout))
      this.#receive(line.toString());
    for (const { res, request } of [...this.#queues.values()].flat()) {
      if (res.headersSent) res.end();
      else sendError(res, 500, -32603, "the stdio server has ended", request.id);
    }
    this.#stream?.end();
    void this.end();
  }

  write(line: Buffer | string): void {
    this.#child.stdin.write(line);
    this.#child.stdin.write("\n");
  }

  request(exchange: Exchange): void {
    const key = wire.keyOf(exchange.request.id);
    const queue = this.#queues.get(key) ?? [];
    this.#queues.set(key, queue);
    exchange.res.on("close", () => this.#dropped(exchange));
    if (queue.push(exchange) === 1) this.#submit(exchange);
  }

  #submit(exchange: Exchange): void {
    this.#inFlight.add(exchange);
    this.write(exchange.line);
  }

  /** Nothing more will come for this id, so that the next request may use it. */
  #release({ request }: Exchange): void {
    const key = wire.keyOf(request.id);
    const queue = this.#queues.get(key);
    queue?.shift();
    if (queue?.[0]) this.#submit(queue[0]);
    else this.#queues.delete(key);
  }

  /** The HTTP client hung up. In 2026-07-28 that cancels its request; before, it doesn't. */
  #dropped(exchange: Exchange): void {
    const { id } = exchange.request;
    const queue = this.#queues.get(wire.keyOf(id));
    const place = queue?.indexOf(exchange) ?? -1;
    if (place > 0) queue?.splice(place, 1);
    if (place !== 0) return;
    this.#inFlight.delete(exchange);
    if (!this.#modern) return;
    const method = "notifications/cancelled";
    this.write(JSON.stringify({ jsonrpc: "2.0", method, params: { requestId: id } }));
    // Its answer may be under way, and must not become that of the next one with this id.
    setTimeout(() => {
      if (queue?.[0] === exchange) this.#release(exchange);
    }, LATE_ANSWER_MS);
  }

  #receive(line: string): void {
    if (line.trim() === "") return;
    const message = wire.parse(line);
    if (!message) return log(`not a message on the server's stdout: ${line}`);
    if (wire.isAnswer(message)) this.#answer(line, message);
    else this.#relay(line, message);
  }

  #answer(line: string, answer: Message): void {
    // An error without an id says that a line was unreadable, most likely the last one.
    const exchange =
      (answer.id ?? null) === null
        ? [...this.#inFlight].at(-1)
        : this.#queues.get(wire.keyOf(answer.id))?.[0];
    if (!exchange) return log(`an answer to nothing: ${line}`);
    const { res } = exchange;
    this.#inFlight.delete(exchange);
    this.#release(exchange);
    exchange.onAnswer?.(answer);
    const status = this.#modern ? statusOf(exchange.request, answer) : 200;
    if (!res.headersSent) return sendJson(res, status, line);
    sendEvent(res, line);
    res.end();
  }

  /** What the server says of its own accord goes to the request that it belongs to. */
  #relay(line: string, message: Message): void {
    const target = this.#targetOf(message);
    if (target) sendEvent(target.res, line);
    else if (this.#stream) sendEvent(this.#stream, line);
    else if (this.#modern) log(`no request to send this to: ${line}`);
    else this.#backlog.push(line);
    if (target && this.#modern && message.method === "notifications/cancelled") {
      // The server ends a subscription.
      this.#inFlight.delete(target);
      this.#release(target);
      target.res.end();
    }
  }

  #targetOf(message: Message): Exchange | undefined {
    const inFlight = [...this.#inFlight];
    const withId = (id: unknown) => inFlight.find(({ request }) => request.id === id);
    const token = message.params?.["progressToken"];
    if (token !== undefined)
      return inFlight.find(
        ({ request }) => wire.metaOf(request)["progressToken"] === token,
      );
    const subscription = wire.metaOf(message)["io.modelcontextprotocol/subscriptionId"];
    if (subscription !== undefined) return withId(subscription);
    if (this.#modern && message.method === "notifications/cancelled")
      return withId(message.params?.["requestId"]);
    return inFlight.findLast(({ request }) => request.method !== "subscriptions/listen");
  }

  openStream(res: ServerResponse): void {
    if (this.#stream) return sendError(res, 409, -32000, "the session has its stream");
    this.#stream = res;
    res.on("close", () => (this.#stream = undefined));
    startStream(res);
    for (const line of this.#backlog.splice(0)) sendEvent(res, line);
  }

  async end(): Promise<void> {
    this.#child.stdin.end();
    const kill = setTimeout(() => this.#child.kill("SIGKILL"), SHUTDOWN_MS);
    await this.exited;
    clearTimeout(kill);
  }
}
