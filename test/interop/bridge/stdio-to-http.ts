/**
 * A bridge from stdio to Streamable HTTP: `tsx stdio-to-http.ts <url>` is started as a
 * stdio MCP server and hands everything to the HTTP server at <url>. Each line of stdin
 * becomes the body of one POST, byte for byte; each message that comes back, as JSON or as
 * a server-sent event, becomes one line of stdout. So a test suite that speaks only HTTP
 * can judge a client that speaks only stdio.
 *
 * It does what HTTP asks of a client and stdio doesn't have: headers, sessions, streams
 * and their resumption. It answers nothing itself, with one exception: where HTTP fails
 * without an answer to a request, the bridge writes the error that the client would wait
 * for in vain. It does not mirror tool parameters (`x-mcp-header`), sends no batches, knows
 * no authorization, and doesn't start a lost session again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import * as wire from "./wire.ts";
import type { Cursor, Message, Request } from "./wire.ts";

const STREAM_OPEN_MS = 2000;
const DEFAULT_RETRY_MS = 1000;
// Together they keep the exit within a second of the end of stdin.
const LAST_ANSWERS_MS = 600;
const DELETE_MS = 300;

/** What the answer to `initialize` fixed for everything after it. */
type Session = { version: string; id?: string };
type InFlight = { modern: boolean; abort: AbortController; done: Promise<void> };

const url = process.argv[2] ?? "";
if (!URL.canParse(url)) {
  console.error("usage: stdio-to-http.ts <url>");
  process.exit(2);
}
let session: Session | undefined;
const inFlight = new Map<string, InFlight>();
const shutdown = new AbortController();

function log(text: string): void {
  console.error(`stdio-to-http: ${text}`);
}

function emit(json: string): void {
  process.stdout.write(wire.oneLine(json) + "\n");
}

const reasonOf = (error: unknown): string => {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
};

function headersFor(message?: Message): Record<string, string> {
  if (message && wire.modernVersionOf(message) !== undefined)
    return Object.fromEntries(
      wire.mirrored(message).map(([name, value]) => [name, wire.encodeHeader(value)]),
    );
  if (!session || message?.method === "initialize") return {};
  const { version, id } = session;
  return {
    "mcp-protocol-version": version,
    ...(id !== undefined && { "mcp-session-id": id }),
  };
}

const post = (line: Buffer, message: Message | undefined, signal: AbortSignal) =>
  fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headersFor(message),
    },
    body: line,
    signal,
  });

/** A stream of the session: a new one, or the rest of the one that `cursor` was in. */
const get = (cursor: Cursor, signal: AbortSignal) =>
  fetch(url, {
    headers: {
      accept: "text/event-stream",
      ...headersFor(),
      ...(cursor.lastEventId !== undefined && { "last-event-id": cursor.lastEventId }),
    },
    signal,
  });

const isStream = (response: Response) =>
  response.ok &&
  /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");

const discard = (response: Response) => response.body?.cancel().catch(() => {});

/** Writes what comes on a stream until it ends or the answer to `request` is there. */
async function drain(
  stream: Response,
  cursor: Cursor,
  signal: AbortSignal,
  request?: Request,
): Promise<Message | undefined> {
  try {
    for await (const data of wire.events(stream.body ?? new ReadableStream(), cursor)) {
      emit(data);
      const message = request && wire.parse(data);
      if (wire.isAnswer(message) && message?.id === request?.id) return message;
    }
  } catch (error) {
    // A broken connection can be resumed like one that was closed.
    if (!signal.aborted) log(`a stream broke off: ${reasonOf(error)}`);
  }
  return undefined;
}

/** Sends one request and returns its answer, which has then been written to stdout. */
async function exchange(line: Buffer, request: Request, signal: AbortSignal) {
  const modern = wire.modernVersionOf(request) !== undefined;
  let response = await post(line, request, signal);
  const sessionId = response.headers.get("mcp-session-id");
  let answer: Message | undefined;
  if (isStream(response)) {
    const cursor: Cursor = { retry: DEFAULT_RETRY_MS };
    answer = await drain(response, cursor, signal, request);
    // 2025-11-25: a server may hang up in mid-request and be asked for the rest later.
    while (!answer && !modern && cursor.lastEventId !== undefined) {
      await sleep(cursor.retry, undefined, { signal });
      response = await get(cursor, signal);
      if (!isStream(response)) break;
      answer = await drain(response, cursor, signal, request);
    }
  } else {
    const text = await response.text();
    answer = wire.parse(text);
    if (answer?.error && (answer.id ?? null) === null) {
      // An error about the HTTP request has no id, but stdio has no other way to say whose.
      answer = { ...answer, id: request.id };
      emit(JSON.stringify(answer));
    } else if (wire.isAnswer(answer) && answer?.id === request.id) emit(text);
    else answer = undefined;
  }
  if (!answer)
    throw new Error(`no answer to ${request.method} (HTTP ${response.status})`);
  const version = answer.result?.["protocolVersion"];
  if (request.method === "initialize" && typeof version === "string")
    session = { version, ...(sessionId !== null && { id: sessionId }) };
}

async function forwardRequest(line: Buffer, request: Request): Promise<void> {
  const key = wire.keyOf(request.id);
  const abort = new AbortController();
  const signal = AbortSignal.any([abort.signal, shutdown.signal]);
  const done = exchange(line, request, signal)
    .catch((error: unknown) => {
      if (signal.aborted) return;
      const { id } = request;
      const message = `stdio-to-http: ${reasonOf(error)}`;
      emit(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message } }));
    })
    .finally(() => inFlight.delete(key));
  const modern = wire.modernVersionOf(request) !== undefined;
  inFlight.set(key, { modern, abort, done });
  // All that follows needs the session; other requests may overlap.
  if (request.method === "initialize") await done;
}

/** The session's own stream, kept open, for what the server has to say unasked. */
async function listen(opened: () => void): Promise<void> {
  const cursor: Cursor = { retry: DEFAULT_RETRY_MS };
  for (;;) {
    const stream = await get(cursor, shutdown.signal);
    if (!isStream(stream)) return await discard(stream);
    opened();
    await drain(stream, cursor, shutdown.signal);
    await sleep(cursor.retry, undefined, { signal: shutdown.signal });
  }
}

/**
 * The client's next line waits for this. A server may have a question on its lips, and one
 * without a stream to put it on throws it away.
 */
async function openSessionStream(): Promise<void> {
  const openOrRefused = new Promise<void>((resolve) => {
    listen(resolve)
      .catch((error: unknown) => {
        if (!shutdown.signal.aborted) log(`the session's stream: ${reasonOf(error)}`);
      })
      .finally(resolve);
  });
  await Promise.race([openOrRefused, sleep(STREAM_OPEN_MS, undefined, { ref: false })]);
}

/** Anything that expects no answer. It has arrived before the next line is sent. */
async function forwardOneWay(line: Buffer, message: Message | undefined): Promise<void> {
  const target = inFlight.get(wire.keyOf(message?.params?.["requestId"]));
  const isCancel = message?.method === "notifications/cancelled";
  // 2026-07-28 has no such message over HTTP: to close the stream is to cancel.
  if (isCancel && (target?.modern || !session)) return target?.abort.abort();
  try {
    const response = await post(line, message, shutdown.signal);
    await discard(response);
    if (!response.ok) log(`HTTP ${response.status} for ${message?.method ?? "a line"}`);
    if (isCancel) target?.abort.abort();
    if (response.ok && session && message?.method === "notifications/initialized")
      await openSessionStream();
  } catch (error) {
    if (!shutdown.signal.aborted) log(reasonOf(error));
  }
}

async function end(): Promise<never> {
  shutdown.abort();
  if (session?.id !== undefined) {
    const limit = { signal: AbortSignal.timeout(DELETE_MS) };
    const request = { method: "DELETE", headers: headersFor(), ...limit };
    await fetch(url, request).catch(() => {});
  }
  process.exit(0);
}

process.once("SIGTERM", () => void end());
process.once("SIGINT", () => void end());
process.stdout.on("error", () => void end());

// A queue of its own, so that a line whose turn takes long doesn't hide the end of stdin.
let sent = Promise.resolve();
for await (const line of wire.lines(process.stdin)) {
  const text = line.toString();
  if (text.trim() === "") continue;
  const message = wire.parse(text);
  const forward = () =>
    wire.isRequest(message)
      ? forwardRequest(line, message)
      : forwardOneWay(line, message);
  sent = sent.then(forward);
}
const answered = sent.then(() =>
  Promise.allSettled([...inFlight.values()].map(({ done }) => done)),
);
await Promise.race([answered, sleep(LAST_ANSWERS_MS)]);
await end();
