/**
 * JSON-RPC 2.0 over two byte streams, one message a line. Everything here would serve any
 * JSON-RPC protocol; MCP begins in schema.ts.
 *
 * A `Peer` is one end of a connection. It sends requests and notifications, hands what
 * arrives to the handlers assigned to it, and owns everything in flight: the requests it
 * waits for and the requests it serves. It starts no process and sets no time limit.
 */
import type { Readable, Writable } from "node:stream";

export type Id = string | number;
export type Params = Record<string, unknown>;

/**
 * Serves one request: takes its method and params, returns the result (or a promise of it).
 * A thrown `RpcError` is sent as it is, any other error as a bland -32603 (or with the reason
 * of the signal, once that has aborted).
 */
export type Handler = (
  method: string,
  params: Params,
  context: Context,
) => object | Promise<object>;

/** The signal aborts when nobody wants the answer any more. */
export type Context = { readonly signal: AbortSignal };

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;

/** A longer line is refused and skipped, so that no peer can fill the memory. */
export const MAX_LINE_BYTES = 32 * 1024 * 1024;

/** What is written at once, when there is more. */
const BATCH_BYTES = 2048;

/** With more than this unread, the other side counts as gone. */
const MAX_UNREAD_BYTES = 4 * MAX_LINE_BYTES;

/** The error that travels: an `error` response, received or to be sent. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** An error that stays home: the other side has gone, or does not speak the protocol. */
export class ConnectionError extends Error {}

export type RequestOptions = {
  signal?: AbortSignal | undefined;
  limit?: (expire: (reason: Error) => void) => () => void;
  onAbandon?: (id: Id) => void;
};

type Waiting = { resolve(result: unknown): void; reject(reason: unknown): void };

/** A request that is being served. Its signal is made when first asked for: it costs time. */
class Serving implements Context {
  done = Promise.resolve();
  #abort: AbortController | undefined;

  get abort(): AbortController {
    return (this.#abort ??= new AbortController());
  }

  get signal(): AbortSignal {
    return this.abort.signal;
  }
}

export class Peer {
  /** Serves requests. Unset, a request is noted and dropped. */
  onRequest: Handler | undefined;
  onNotification: ((method: string, params: Params) => void) | undefined;
  /** Hears of what is odd but harmless. May hold text from the other side. */
  onNote: (note: string) => void = () => {};
  /** Sees every line that is sent or received. */
  onLine: ((direction: "sent" | "received", line: string) => void) | undefined;
  /** Answer a line that is no message with an error (a server), or note it (a client). */
  answersMalformed = false;

  readonly #input: Readable;
  readonly #output: Writable;
  readonly #waiting = new Map<Id, Waiting>();
  readonly #serving = new Map<Id, Serving>();
  #nextId = 1;
  #closed: Error | undefined;

  constructor(input: Readable, output: Writable) {
    this.#input = input;
    this.#output = output;
    // A broken pipe shows as the end of the input too, and that is where it is handled.
    output.on("error", () => {});
  }

  // --- Sending -------------------------------------------------------------------------

  /**
   * Sends a request and waits for its result, however long that takes.
   *
   * @param options.signal gives up waiting and rejects with the signal's reason
   * @param options.limit starts a clock that may give up too, and returns what stops it
   * @param options.onAbandon called when waiting is given up, to tell the other side
   * @throws {RpcError} the error the other side answered with
   * @throws {ConnectionError} the answer is no response; or the reason given to `close`
   */
  async request(
    method: string,
    params: Params,
    options: RequestOptions = {},
  ): Promise<unknown> {
    const { signal, limit, onAbandon } = options;
    signal?.throwIfAborted();
    if (this.#closed) throw this.#closed;
    const id = this.#nextId++;
    const result = new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ jsonrpc: "2.0", id, method, params });
    });
    const abandon = (reason: unknown) => {
      const waiting = this.#waiting.get(id);
      if (!waiting) return; // the answer has come
      this.#waiting.delete(id);
      waiting.reject(reason);
      onAbandon?.(id);
    };
    const onAbort = () => abandon(signal?.reason);
    signal?.addEventListener("abort", onAbort);
    if (signal?.aborted) onAbort(); // by whoever saw the line that was sent
    const stop = limit?.(abandon);
    try {
      return await result;
    } finally {
      this.#waiting.delete(id);
      stop?.();
      signal?.removeEventListener("abort", onAbort);
    }
  }

  notify(method: string, params?: Params): void {
    this.#send({ jsonrpc: "2.0", method, params });
  }

  #send(message: object): void {
    this.#write(JSON.stringify(message));
  }

  #write(line: string): void {
    if (!this.#output.writable) return;
    this.onLine?.("sent", line);
    const output = this.#output;
    if (output.writableCorked === 0) {
      // What is written in one turn shares its system calls.
      output.cork();
      process.nextTick(() => output.uncork());
    }
    output.write(line + "\n");
    // But the other side need not wait for the last of it.
    if (output.writableLength > BATCH_BYTES) output.uncork();
    // Not by waiting until it reads: if both sides did so, both could wait for ever.
    if (output.writableLength > MAX_UNREAD_BYTES) {
      output.destroy(new ConnectionError("the other side does not read"));
    }
  }

  // --- Receiving -----------------------------------------------------------------------

  /** Reads messages until the input ends, whether in peace or in an error. */
  listen(): Promise<void> {
    const lines = new Lines();
    this.#input.on("data", (chunk: Buffer) => {
      for (const line of lines.split(chunk)) {
        if (line) this.#receiveSafely(line);
        else this.#malformed(PARSE_ERROR, `a line is over ${MAX_LINE_BYTES} bytes`);
      }
    });
    this.#input.on("error", ({ message }) => this.onNote(`the input broke: ${message}`));
    return new Promise((resolve) => {
      const end = () => {
        const { rest } = lines;
        if (rest > 0) this.onNote(`the input ended within a line (${rest} bytes)`);
        resolve();
      };
      // A stream that is destroyed closes without an end.
      this.#input.once("end", end).once("close", resolve);
    });
  }

  /** One message that we fail at must not end the reading of all others. */
  #receiveSafely(line: Buffer): void {
    try {
      this.#receive(line);
    } catch (error) {
      this.onNote(
        `failed to handle a message: ${error instanceof Error ? error.stack : ""}`,
      );
    }
  }

  #receive(line: Buffer): void {
    let text: string;
    let message: unknown;
    try {
      text = UTF8.decode(line);
    } catch {
      return this.#malformed(PARSE_ERROR, "a line is not UTF-8");
    }
    if (!/\S/.test(text)) return;
    this.onLine?.("received", text);
    try {
      message = JSON.parse(text);
    } catch {
      return this.#malformed(PARSE_ERROR, "a line is not JSON");
    }
    if (!isObject(message)) {
      // Arrays too: batches existed in one revision only, 2025-03-26.
      return this.#malformed(INVALID_REQUEST, "a message must be a JSON object");
    }
    if ("method" in message) this.#receiveCall(message);
    else if ("result" in message || "error" in message) this.#receiveResponse(message);
    else this.#malformed(INVALID_REQUEST, "a message must have a method", message["id"]);
  }

  #receiveCall({ jsonrpc, id, method, params = {} }: Params): void {
    if (jsonrpc !== "2.0" || typeof method !== "string") {
      this.#malformed(INVALID_REQUEST, 'a request has jsonrpc "2.0" and a method', id);
    } else if (id === undefined) {
      // Only an absent id makes a notification: null is an error, 0 and "" are ids.
      if (isObject(params)) this.onNotification?.(method, params);
    } else if (!isId(id)) {
      this.#malformed(INVALID_REQUEST, "a request id is a string or an integer");
    } else if (this.#serving.has(id)) {
      // Without the id, which would answer the request that has it.
      this.#malformed(INVALID_REQUEST, "the request id is in use already");
    } else if (!isObject(params)) {
      this.#malformed(INVALID_PARAMS, "params must be an object", id);
    } else if (!this.onRequest) {
      this.onNote(`dropped the request ${method}: this side serves none`);
    } else {
      this.#serve(id, this.onRequest, method, params);
    }
  }

  #receiveResponse({ jsonrpc, id, result, error }: Params): void {
    // 1 and "1" are two ids, and ours are numbers.
    const waiting = isId(id) && this.#waiting.get(id);
    if (!waiting) {
      // Only what is known to be harmless is shown of it.
      const shown = isId(id) ? ` (id ${JSON.stringify(id)})` : "";
      return this.onNote(`ignored a response to no open request${shown}`);
    }
    this.#waiting.delete(id);
    if (jsonrpc === "2.0" && isObject(result) && error === undefined) {
      waiting.resolve(result);
    } else if (isObject(error) && isError(error)) {
      waiting.reject(new RpcError(error.code, error.message, error.data));
    } else {
      waiting.reject(new ConnectionError("the answer is not a JSON-RPC response"));
    }
  }

  /** A response is never answered, whatever is wrong with it: that could go on for ever. */
  #malformed(code: number, reason: string, id?: unknown): void {
    if (!this.answersMalformed) return this.onNote(reason);
    // An id that could not be read is left out: an invented one could hit a real request.
    const error = { code, message: reason };
    this.#send({ jsonrpc: "2.0", ...(isId(id) && { id }), error });
  }

  // --- Serving -------------------------------------------------------------------------

  #serve(id: Id, handler: Handler, method: string, params: Params): void {
    const serving = new Serving();
    this.#serving.set(id, serving);
    serving.done = this.#answer(id, handler, method, params, serving).then((line) => {
      if (this.#serving.get(id) !== serving) return; // dropped: nothing more is sent
      this.#serving.delete(id);
      this.#write(line);
    });
  }

  async #answer(id: Id, handler: Handler, ...call: Parameters<Handler>): Promise<string> {
    try {
      const result = await handler(...call);
      return JSON.stringify({ jsonrpc: "2.0", id, result });
    } catch (failure) {
      if (failure instanceof RpcError) return errorLine(id, failure);
      const [, , { signal }] = call;
      if (signal.aborted) {
        return errorLine(id, new RpcError(INTERNAL_ERROR, signal.reason.message));
      }
      this.onNote(failure instanceof Error ? (failure.stack ?? "") : String(failure));
      return errorLine(id, new RpcError(INTERNAL_ERROR, "internal error"));
    }
  }

  /** Stops serving a request: its signal aborts and nothing is sent. Unknown ids pass. */
  drop(id: unknown): void {
    if (!isId(id)) return;
    const serving = this.#serving.get(id);
    this.#serving.delete(id);
    serving?.abort.abort(new ConnectionError("the request was cancelled"));
  }

  /** Waits until every request is answered; after `graceMs` their signals abort. */
  async finish(graceMs: number): Promise<void> {
    const hurry = setTimeout(() => {
      const reason = new ConnectionError("the server is stopping");
      for (const { abort } of this.#serving.values()) abort.abort(reason);
    }, graceMs);
    while (this.#serving.size > 0) {
      await Promise.all([...this.#serving.values()].map(({ done }) => done));
    }
    clearTimeout(hurry);
  }

  /** Ends every waiting request, now and later, with the cause. What is served goes on. */
  close(cause: Error): void {
    this.#closed ??= cause;
    for (const { reject } of this.#waiting.values()) reject(this.#closed);
    this.#waiting.clear();
  }
}

// --- Bytes and values --------------------------------------------------------------------

/** Drops a byte order mark; throws on bytes that are no UTF-8 rather than guess. */
const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** Splits on the byte 0x0A before decoding, so no character is ever cut in two. */
class Lines {
  #parts: Buffer[] = [];
  #length = 0;

  /** How many bytes wait for their newline. */
  get rest(): number {
    return this.#length;
  }

  /** Yields each line that ends in the chunk, and `undefined` for one over the limit. */
  *split(chunk: Buffer): Generator<Buffer | undefined> {
    let start = 0;
    for (;;) {
      const newline = chunk.indexOf(0x0a, start);
      const part = chunk.subarray(start, newline === -1 ? chunk.length : newline);
      const wasTooLong = this.#length > MAX_LINE_BYTES;
      this.#length += part.length;
      if (this.#length <= MAX_LINE_BYTES) this.#parts.push(part);
      else {
        this.#parts = [];
        if (!wasTooLong) yield undefined;
      }
      if (newline === -1) return;
      // One join a line, not one a chunk: the time stays in step with the bytes.
      const [only] = this.#parts;
      const line = this.#parts.length === 1 ? only : Buffer.concat(this.#parts);
      const complete = this.#length <= MAX_LINE_BYTES;
      this.#parts = [];
      this.#length = 0;
      if (complete) yield line;
      start = newline + 1;
    }
  }
}

function errorLine(id: Id, { code, message, data }: RpcError): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, data } });
}

/** A JSON object: no array, not null. */
export function isObject(value: unknown): value is Params {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isError(
  error: Params,
): error is { code: number; message: string; data?: unknown } {
  return Number.isInteger(error["code"]) && typeof error["message"] === "string";
}

/** Numbers beyond the safe integers would not come back as they came. */
function isId(value: unknown): value is Id {
  return typeof value === "string" || Number.isSafeInteger(value);
}
