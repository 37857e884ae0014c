/** Our end of the connection to a started server. Each era makes its `Session` of one. */
import type { Answerer } from "./answer.ts";
import { Clock } from "./clock.ts";
import { ConnectionError, Peer, type Params } from "./peer.ts";
import type { Server } from "./process.ts";
import { meta, type Implementation, type Result } from "./schema.ts";

/** A connection to a server, in whichever era. */
export type Session = {
  version: string;
  /** The name that the server gives itself: for display, not for trust. */
  name: string | undefined;
  /**
   * Sends a request and has the server's questions answered until the result is complete.
   * @throws {RpcError} the error that the server answered with
   * @throws {ConnectionError} it went away, did not answer in time or broke the protocol
   * @throws {GaveUp} the person left a page; also what the `Answerer` throws
   */
  request(method: string, params?: Params, signal?: AbortSignal): Promise<Result>;
  close(): Promise<void>;
};

export type Options = {
  /** Who this client says it is. */
  self: Implementation;
  /** A version, or auto: 2026-07-28 if the server speaks it, else by handshake. */
  protocol?: string;
  /** Left out, servers are told that nobody can be asked. */
  answerer?: Answerer | undefined;
  /** For a request, less the time in which a person is asked (60 s; 10 s to connect). */
  timeoutMs?: number;
  /** Ends the attempt to connect. */
  signal?: AbortSignal | undefined;
  /** Hears of each request that goes out; returns what is called when it is over. */
  onWait?: (method: string) => () => void;
  /** Hears how a request gets on, in the server's words. */
  onProgress?: (text: string) => void;
  onNote?: (note: string) => void;
  onLine?: Peer["onLine"];
};

export class Link {
  readonly server: Server;
  readonly peer: Peer;
  readonly answerer: Answerer | undefined;
  /** Aborts when the server has gone. */
  readonly gone: AbortSignal;
  readonly #options: Options;
  readonly #clock = new Clock();
  /** By progress token, what starts the time of a request anew. */
  readonly #restarts = new Map<unknown, () => void>();
  #tokens = 0;

  constructor(server: Server, options: Options) {
    const { answerer, onNote = () => {}, onLine, onProgress } = options;
    this.#options = options;
    this.server = server;
    this.answerer = answerer && this.#clock.around(answerer);
    const peer = (this.peer = new Peer(server.output, server.input));
    peer.onNote = onNote;
    peer.onLine = onLine;
    peer.onNotification = (method, { requestId, progressToken, message, data }) => {
      if (method === "notifications/cancelled") peer.drop(requestId);
      if (method === "notifications/progress") this.#restarts.get(progressToken)?.();
      const text = method === "notifications/message" ? data : message;
      if (typeof text === "string") onProgress?.(text);
    };
    const gone = new AbortController();
    this.gone = gone.signal;
    void server.gone.then((cause) => {
      gone.abort(new ConnectionError(cause));
      peer.close(gone.signal.reason);
      void peer.finish(0); // takes the server's questions off the screen
    });
    void peer.listen();
  }

  /**
   * Sends one request under a time limit. Giving up is told to the server, but not of a
   * request that opens a connection (`isFirst`): closing it says the same.
   */
  async send(
    method: string,
    params: Params,
    options: Pick<Options, "signal" | "timeoutMs"> & { isFirst?: boolean } = {},
  ): Promise<unknown> {
    const { signal, isFirst, timeoutMs = this.#options.timeoutMs ?? 60_000 } = options;
    const progressToken = ++this.#tokens;
    const isLong = method === "tools/call";
    const _meta = isLong && { ...meta(params), progressToken };
    const isOver = this.#options.onWait?.(method);
    try {
      return await this.peer.request(method, _meta ? { ...params, _meta } : params, {
        signal,
        limit: (expire) => {
          const { stop, restart } = this.#clock.limit(timeoutMs, () => {
            const late = `the server did not answer ${method} within ${timeoutMs / 1000} s`;
            expire(new ConnectionError(`${late} (see --timeout)`));
          });
          if (isLong) this.#restarts.set(progressToken, restart);
          return stop;
        },
        onAbandon: (requestId) => {
          if (!isFirst) this.peer.notify("notifications/cancelled", { requestId });
        },
      });
    } finally {
      this.#restarts.delete(progressToken);
      isOver?.();
    }
  }
}

export function anySignal(one: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  return one ? AbortSignal.any([one, other]) : other;
}
