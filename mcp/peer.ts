/**
 * JSON-RPC 2.0 over two byte streams, one message a line; MCP begins in schema.ts. A `Peer` is
 * one end of a connection. It owns everything in flight: the requests it waits for and those it
 * serves. It starts no process and sets no time limit.
 */
import { isUtf8 } from "node:buffer";
import type { Readable, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { inspect } from "node:util";

export type Id = string | number;
export type Params = Record<string, unknown>;
type Result = object | Promise<object>;

/** A request that is served. It aborts when nobody wants the answer any more. */
export class Context extends AbortController {
  done: Promise<void> | undefined;
  cause: Error | undefined;
  /** Gives up the requests `within` this one; making a signal and listening to it is slow. */
  readonly giveUp = new Set<() => void>();
  override abort(cause: Error): void {
    super.abort((this.cause = cause));
    for (const giveUp of this.giveUp) giveUp();
  }
}
/** An `RpcError` that is thrown is sent as it is, any other error as a bland -32603. */
export type Handler = (method: string, params: Params, context: Context) => Result;

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;

export const MAX_LINE_BYTES = 32 * 1024 * 1024; // a longer line is refused and skipped
const BATCH_BYTES = 2048; // what is written at once, when there is more
const LINES_A_TURN = 1000; // then timers and Ctrl-C get their turn
const FULL_CHUNK_BYTES = 64 * 1024; // after one, Node reads on in the same turn

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
  within?: Context | undefined;
  limit?: (expire: (reason: Error) => void) => () => void;
  onAbandon?: ((id: Id) => void) | undefined;
};
type Waiting = Omit<RequestOptions, "limit"> & {
  resolve(result: unknown): void;
  reject(reason: unknown): void;
  stop: (() => void) | undefined;
  onAbort: () => void;
};

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
  readonly #lines = new Lines();
  readonly #waiting = new Map<unknown, Waiting>();
  readonly #serving = new Map<unknown, Context>();
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
   * @param options.signal gives up waiting and rejects with the signal's reason
   * @param options.within gives up when that request, which is served, is not wanted any more
   * @param options.limit starts a clock that may give up too, and returns what stops it
   * @param options.onAbandon called when waiting is given up, to tell the other side
   * @throws {RpcError} the error the other side answered with
   * @throws {ConnectionError} the answer is no response; or the reason given to `close`
   */
  request(method: string, params: Params, options: RequestOptions = {}) {
    const { signal, within, limit, onAbandon } = options;
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (within?.cause) throw within.cause;
      if (this.#closed) throw this.#closed;
      const id = this.#nextId++;
      const line = JSON.stringify({ jsonrpc: "2.0", id, method, params });
      const stop = limit?.((reason) => this.#abandon(id, reason));
      const onAbort = () => this.#abandon(id, within?.cause ?? signal?.reason);
      signal?.addEventListener("abort", onAbort);
      within?.giveUp.add(onAbort);
      const waiting = { resolve, reject, signal, within, onAbandon, stop, onAbort };
      this.#waiting.set(id, waiting);
      this.#write(line);
    });
  }

  notify(method: string, params?: Params): void {
    this.#write(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  #abandon(id: Id, reason: unknown): void {
    const waiting = this.#settle(id);
    waiting?.reject(reason);
    waiting?.onAbandon?.(id);
  }

  #settle(id: unknown): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.stop?.();
    waiting?.signal?.removeEventListener("abort", waiting.onAbort);
    waiting?.within?.giveUp.delete(waiting.onAbort);
    return waiting;
  }

  #write(line: string): void {
    const output = this.#output;
    if (!output.writable) return;
    // A turn shares its system calls, but the other side need not wait for the last line.
    if (output.writableCorked === 0) {
      output.cork();
      process.nextTick(() => output.uncork());
    }
    output.write(line + "\n");
    this.onLine?.("sent", line); // which may send another
    if (output.writableLength > BATCH_BYTES) output.uncork();
    // A side that reads nothing counts as gone: two that wait for each other never end.
    if (output.writableLength > 4 * MAX_LINE_BYTES) output.destroy(new Error("unread"));
  }

  // --- Receiving -----------------------------------------------------------------------

  /** Reads messages until the input ends, whether in peace or in an error. */
  async listen(): Promise<void> {
    this.#input.on("data", (chunk: Buffer) => {
      this.#lines.chunk = chunk;
      this.#read(chunk.length < FULL_CHUNK_BYTES ? LINES_A_TURN : 0);
    });
    await finished(this.#input, { writable: false }).catch(() => {});
    // The end comes while lines still wait for their turn.
    while (this.#lines.chunk.length > 0) await new Promise((next) => setImmediate(next));
    if (this.#lines.length > 0) this.onNote("the input ended within a line");
  }

  #read(most: number): void {
    for (; most > 0; most--) {
      const line = this.#lines.next();
      if (line === undefined) return void this.#input.resume();
      if (line === "too long") this.#receiveTooLong();
      else this.#receive(line);
    }
    this.#input.pause();
    setImmediate(() => this.#read(LINES_A_TURN));
  }

  #receive(line: Buffer): void {
    const text = UTF8.decode(line).trim();
    if (text === "") return;
    this.onLine?.("received", text);
    if (!isUtf8(line)) return this.#malformed(PARSE_ERROR, "a line is not UTF-8");
    if (!text.startsWith("{")) {
      // Judged by its looks: a parse that fails takes longer than all the rest. Arrays are
      // none either: batches existed in one revision only, 2025-03-26.
      const isJson = /^(\[.*\]|".*"|-?\d[\d.eE+-]*|true|false|null)$/s.test(text);
      const code = isJson ? INVALID_REQUEST : PARSE_ERROR;
      return this.#malformed(code, "a message must be a JSON object");
    }
    let message: Params;
    try {
      message = JSON.parse(text);
    } catch {
      return this.#malformed(PARSE_ERROR, "a line is not JSON");
    }
    if ("method" in message) this.#receiveCall(message);
    else if ("result" in message || "error" in message) this.#receiveResponse(message);
    else this.#malformed(INVALID_REQUEST, "a message must have a method", message["id"]);
  }

  #receiveCall({ jsonrpc, id, method, params: given }: Params): void {
    const params = given ?? {}; // some write null for none
    if (jsonrpc !== "2.0" || typeof method !== "string") {
      this.#malformed(INVALID_REQUEST, 'a request has jsonrpc "2.0" and a method', id);
    } else if (id === undefined) {
      // Only an absent id makes a notification: null is an error, 0 and "" are ids.
      if (isObject(params)) this.onNotification?.(method, params);
    } else if (!isId(id) || this.#serving.has(id)) {
      // Without the id, which would answer the request that has it.
      this.#malformed(INVALID_REQUEST, "a request id is a new string or integer");
    } else if (!isObject(params)) {
      this.#malformed(INVALID_PARAMS, "params must be an object", id);
    } else if (!this.onRequest) {
      this.onNote(`dropped the request ${method}: this side serves none`);
    } else {
      const serving = new Context();
      this.#serving.set(id, serving);
      serving.done = this.#serve(id, serving, this.onRequest, method, params);
    }
  }

  #receiveResponse({ jsonrpc, id, result, error }: Params): void {
    const waiting = this.#settle(id); // 1 and "1" are two ids, and ours are numbers
    const { code, message, data } = isObject(error) ? error : {};
    if (!waiting) {
      this.onNote(`ignored a response to no open request (id ${isId(id) ? id : "?"})`);
    } else if (jsonrpc === "2.0" && isObject(result) && error === undefined) {
      waiting.resolve(result);
    } else if (Number.isInteger(code) && typeof message === "string") {
      waiting.reject(new RpcError(Number(code), message, data));
    } else {
      waiting.reject(new ConnectionError("the answer is not a JSON-RPC response"));
    }
  }

  /** A line over the limit, of which nothing is left: it may answer any open request. */
  #receiveTooLong(): void {
    const reason = `is longer than ${MAX_LINE_BYTES / 2 ** 20} MiB`;
    if (!this.answersMalformed) this.#end(new ConnectionError(`the answer ${reason}`));
    this.#malformed(PARSE_ERROR, `a line ${reason}`);
  }

  /** A response is never answered, whatever is wrong with it: that could go on for ever. */
  #malformed(code: number, reason: string, id?: unknown): void {
    if (!this.answersMalformed) return this.onNote(reason);
    // An id that could not be read is left out: an invented one could hit a real request.
    // Nobody waits for such an answer: it is not kept for a side that does not read.
    if (!isId(id) && this.#output.writableLength > MAX_LINE_BYTES) return;
    const error = { code, message: reason };
    this.#write(JSON.stringify({ jsonrpc: "2.0", ...(isId(id) && { id }), error }));
  }

  // --- Serving -------------------------------------------------------------------------

  async #serve(id: Id, serving: Context, handler: Handler, ...call: [string, Params]) {
    let line: string;
    try {
      let result = handler(...call, serving);
      if (result instanceof Promise) result = await result; // a plain value goes at once
      line = JSON.stringify({ jsonrpc: "2.0", id, result });
    } catch (failure) {
      const { code, message, data } = this.#toRpcError(failure, serving);
      line = JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, data } });
    }
    if (this.#serving.get(id) !== serving) return; // dropped: nothing more is sent
    this.#serving.delete(id);
    this.#write(line);
  }

  #toRpcError(failure: unknown, { cause }: Context): RpcError {
    if (failure instanceof RpcError) return failure;
    if (cause) return new RpcError(INTERNAL_ERROR, cause.message);
    this.onNote(inspect(failure));
    return new RpcError(INTERNAL_ERROR, "internal error");
  }

  /** Stops serving a request: its signal aborts and nothing is sent. Unknown ids pass. */
  drop(id: unknown): void {
    const serving = this.#serving.get(id);
    this.#serving.delete(id);
    serving?.abort(new ConnectionError("the request was cancelled"));
  }

  /** Waits until every request is answered; after `graceMs` their signals abort. */
  async finish(graceMs: number): Promise<void> {
    const hurry = setTimeout(() => {
      const reason = new ConnectionError("the server is stopping");
      for (const serving of this.#serving.values()) serving.abort(reason);
    }, graceMs);
    // One after the other, in a map that changes meanwhile: its new ones come last.
    for (const { done } of this.#serving.values()) await done;
    clearTimeout(hurry);
  }

  /** Ends every waiting request, now and later, with the cause. What is served goes on. */
  close(cause: Error): void {
    this.#closed ??= cause;
    this.#end(this.#closed);
  }

  #end(cause: Error): void {
    for (const id of this.#waiting.keys()) this.#settle(id)?.reject(cause);
  }
}

// --- Bytes and values --------------------------------------------------------------------

const UTF8 = new TextDecoder(); // drops a byte order mark
/** Splits on the byte 0x0A before decoding, so no character is ever cut in two. */
class Lines {
  chunk: Buffer = Buffer.alloc(0); // still to be split
  length = 0; // of the line that has begun
  #parts: Buffer[] = [];
  /** The next line, if it has ended. Of one over the limit nothing is kept. */
  next(): Buffer | "too long" | undefined {
    const newline = this.chunk.indexOf(0x0a);
    const part = newline === -1 ? this.chunk : this.chunk.subarray(0, newline);
    this.chunk = this.chunk.subarray(part.length + 1);
    this.length += part.length;
    const isTooLong = this.length > MAX_LINE_BYTES;
    if (isTooLong) this.#parts = [];
    else if (part.length > 0) this.#parts.push(part);
    if (newline === -1) return undefined;
    // One join a line, not one a chunk: the time stays in step with the bytes.
    const line = this.#parts[0] === part ? part : Buffer.concat(this.#parts);
    this.#parts = [];
    this.length = 0;
    return isTooLong ? "too long" : line;
  }
}

export function isObject(value: unknown): value is Params {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Numbers beyond the safe integers would not come back as they came. */
function isId(value: unknown): value is Id {
  return typeof value === "string" || Number.isSafeInteger(value);
}
