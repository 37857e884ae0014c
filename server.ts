/**
 * An MCP server over stdio with one tool, `get_stock_price`, that asks the user for the ticker
 * when it is missing, and for consent before it answers with old data.
 *
 * The tool and everything about it is written for 2026-07-28: a tool that needs the user
 * returns a question instead of a result, and is called again with the answer. `legacy` is
 * the interpreter for clients of the older versions. Delete it, and what is left is a correct
 * server of 2026-07-28.
 *
 *     npx tsx client.ts --server server.ts --ticker NVDA
 */
import { Console } from "node:console";
import { randomUUID } from "node:crypto";
import { realpathSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import * as z from "zod/v3";
import { formRequest, readAnswer } from "./mcp/form.ts";
import {
  ConnectionError,
  INVALID_PARAMS,
  isObject,
  METHOD_NOT_FOUND,
  Peer,
  RpcError,
  type Context,
  type Handler,
  type Params,
} from "./mcp/peer.ts";
import { GaveUp, untilComplete, type Ask } from "./mcp/rounds.ts";
import {
  CallToolParams,
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  ElicitResult,
  Envelope,
  InitializeParams,
  LEGACY_VERSIONS,
  LOG_LEVEL,
  MISSING_CAPABILITY,
  MODERN_VERSIONS,
  parseParams,
  problem,
  PROTOCOL_VERSION,
  SERVER_INFO,
  UNSUPPORTED_VERSION,
  type CallToolResult,
  type ClientCapabilities,
  type InputRequest,
} from "./mcp/schema.ts";
import { open, seal } from "./mcp/state.ts";
import { lookUp, readSymbol, sampleQuote, type Quote } from "./price.ts";

const SELF = { name: "stock-price-server", title: "Stock price", version: "1.0.0" };
const CAPABILITIES = { tools: {} };

// --- The tool ----------------------------------------------------------------------------

const Input = z.object({ ticker: z.string().optional() });
/** The same as it travels. */
const INPUT_SCHEMA = {
  type: "object",
  properties: {
    ticker: {
      type: "string",
      description: "Ticker symbol like NVDA; left out, the user is asked",
    },
  },
};
/** A `Quote`. */
const OUTPUT_SCHEMA = {
  type: "object",
  properties: {
    symbol: { type: "string", description: "Ticker symbol, like NVDA or TSCO.UK" },
    price: {
      type: "number",
      exclusiveMinimum: 0,
      description: "Last price, in the currency of the market",
    },
    date: { type: "string", description: "Day of the price, by Stooq's clock (Warsaw)" },
    time: { type: "string", description: "Time of the price, by the same clock" },
    name: { type: "string", description: "Name of the company" },
    source: {
      type: "string",
      enum: ["stooq", "sample"],
      description: "sample: bundled, not a live price",
    },
  },
  required: ["symbol", "price", "date", "source"],
};

/** The second round knows these from the first. */
const Learned = z.object({ ticker: z.string(), reason: z.string() });
type Learned = z.infer<typeof Learned>;

const WHICH = "Which stock ticker would you like to look up?";
const TICKER_FORM = {
  type: "object",
  properties: {
    ticker: {
      type: "string",
      title: "Ticker",
      description: "Ticker symbol like NVDA, AAPL",
      minLength: 1,
      maxLength: 20,
    },
  },
  required: ["ticker"],
};

const consentForm = (date: string) => ({
  type: "object",
  properties: {
    useSample: {
      type: "boolean",
      title: "Use the bundled sample",
      description: `A price of ${date}, not a live one`,
      default: true,
    },
  },
  required: ["useSample"],
});

const NEXT_STEP =
  "Try again later, or start this server with STOOQ_URL set to another with the same CSV.";

export const tools: Tools = {
  get_stock_price: {
    title: "Get stock price",
    description:
      "Looks up the last price of a stock. Asks the user for the ticker if needed.",
    inputSchema: INPUT_SCHEMA,
    outputSchema: OUTPUT_SCHEMA,
    annotations: { readOnlyHint: true, openWorldHint: true },
    async call(args, { answers, state, canAsk, signal }) {
      if (state !== undefined) {
        return readConsent(Learned.parse(state), answers["useSample"], canAsk);
      }
      const input = Input.safeParse(args);
      if (!input.success) return failure(`Invalid arguments: ${problem(input.error)}.`);

      let ticker = input.data.ticker?.trim() ?? "";
      const isAsked = ticker === "";
      if (isAsked) {
        const answer = readAnswer(TICKER_FORM, answers["ticker"]);
        if (answer.action === "missing") return askTicker();
        if (answer.action === "invalid") return askTicker(answer.reason);
        if (answer.action !== "accept") return refused(answer.action, "ticker");
        ticker = String(answer.content["ticker"]).trim();
      }
      const symbol = readSymbol(ticker);
      if (!symbol) {
        const typed = JSON.stringify(ticker.slice(0, 40));
        const reason = `${typed} is not a ticker symbol like NVDA or TSCO.UK.`;
        return isAsked ? askTicker(reason) : failure(reason);
      }

      const result = await lookUp(symbol, { signal });
      if (result.found === "quote") return success(result.quote);
      if (result.found === "unknown symbol") return failure(result.reason);
      return offerSample({ ticker, reason: result.reason }, canAsk);
    },
  },
};

function askTicker(reason?: string): Questions {
  const message = reason ? `${reason} ${WHICH}` : WHICH;
  return { questions: { ticker: formRequest(message, TICKER_FORM) } };
}

/** There is no quote: offers the sample, if there is one and the client can be asked. */
function offerSample(
  learned: Learned,
  canAsk: Round["canAsk"],
): CallToolResult | Questions {
  const { reason } = learned;
  const sample = sampleFor(learned);
  if (!sample) return failure(`${reason} ${NEXT_STEP}`);
  const message = `${reason} Use the bundled price of ${sample.symbol} instead?`;
  const useSample = formRequest(message, consentForm(sample.date));
  if (!canAsk(useSample)) return failure(`${reason} ${NEXT_STEP}`);
  return { questions: { useSample }, state: learned };
}

/** The round after that. Only the user's answer decides; nothing is looked up again. */
function readConsent(learned: Learned, response: unknown, canAsk: Round["canAsk"]) {
  const { reason } = learned;
  const sample = sampleFor(learned);
  if (!sample) return failure(reason);
  const answer = readAnswer(consentForm(sample.date), response);
  switch (answer.action) {
    case "accept":
      if (answer.content["useSample"] === true) return success(sample);
      return failure(`${reason} The user did not want the bundled sample.`);
    case "decline":
    case "cancel":
      return refused(answer.action, "use of the bundled sample", reason);
    default:
      return offerSample(learned, canAsk); // no answer, or none that fits
  }
}

function sampleFor({ ticker }: Learned): Quote | undefined {
  const symbol = readSymbol(ticker);
  return symbol && sampleQuote(symbol);
}

function success(quote: Quote): CallToolResult {
  return {
    content: [{ type: "text", text: JSON.stringify(quote) }],
    structuredContent: quote,
  };
}

function refused(
  action: "decline" | "cancel",
  what: string,
  reason = "",
): CallToolResult {
  const verb = action === "decline" ? "declined" : "cancelled";
  return failure(`${reason} The user ${verb} the question about the ${what}.`.trim());
}

// --- Modern: 2026-07-28, no handshake ----------------------------------------------------

export type Tools = Record<string, Tool>;

export type Tool = {
  title?: string;
  description: string;
  inputSchema: object;
  outputSchema?: object;
  annotations?: object;
  /** Runs from the top on every round, so it must do nothing that can't be repeated. */
  call(args: Params, round: Round): Promise<CallToolResult | Questions>;
};

/** What a round knows beside the arguments. */
export type Round = {
  /** What came back for the questions of the last round, by their keys; not yet checked. */
  answers: Record<string, unknown>;
  /** What the last round passed on, if it did. The client can't have changed it. */
  state: unknown;
  /** Whether the client has declared what this question takes. Asking another ends the call. */
  canAsk(question: InputRequest): boolean;
  /** Aborts when nobody waits for the result any more. */
  readonly signal: AbortSignal;
};

/** A tool's wish to be called again, with answers and with what it has learned so far. */
export type Questions = { questions?: Record<string, InputRequest>; state?: unknown };

/**
 * Serves a request that carries its own envelope. It sees nothing but the request: neither
 * the connection nor what came before.
 */
function modern(tools: Tools): Handler {
  const methods: Record<string, Method> = {
    "server/discover": () => ({
      supportedVersions: MODERN_VERSIONS,
      capabilities: CAPABILITIES,
      ...CACHE,
    }),
    "tools/list": () => ({
      tools: Object.entries(tools).map(([name, { call, ...tool }]) => ({
        name,
        ...tool,
      })),
      ...CACHE,
    }),
    "tools/call": (params, client, context) => callTool(tools, params, client, context),
  };
  return async (method, params, context) => {
    const version = meta(params)[PROTOCOL_VERSION];
    if (typeof version === "string" && !MODERN_VERSIONS.includes(version)) {
      throw new RpcError(UNSUPPORTED_VERSION, "Unsupported protocol version", {
        supported: MODERN_VERSIONS,
        requested: version,
      });
    }
    const serve = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (!serve) {
      // A client of an older version may show this to its user, so it names ours.
      const spoken = MODERN_VERSIONS.join(", ");
      throw new RpcError(METHOD_NOT_FOUND, `No method ${method} in MCP ${spoken}`);
    }
    const envelope = parseParams(Envelope, meta(params), "_meta");
    const result = await serve(params, envelope[CLIENT_CAPABILITIES], context);
    const _meta = { ...meta(result), [SERVER_INFO]: SELF };
    return { resultType: "complete", ...result, _meta };
  };
}

type Method = (
  params: Params,
  client: ClientCapabilities,
  context: Context,
) => object | Promise<object>;

/** The answer is the same for everybody, as long as this program is. */
const CACHE = { ttlMs: 3_600_000, cacheScope: "public" };

async function callTool(
  tools: Tools,
  params: Params,
  client: ClientCapabilities,
  context: Context,
): Promise<object> {
  const call = parseParams(CallToolParams, params, "tools/call");
  const { name, inputResponses: answers = {}, requestState } = call;
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (!tool) throw new RpcError(INVALID_PARAMS, `Unknown tool: ${name}`);

  const args = call.arguments ?? {};
  const binding = { method: "tools/call", name, arguments: args };
  const state = requestState === undefined ? undefined : open(requestState, binding);
  const round: Round = {
    answers,
    state,
    canAsk: (question) => missing(question, client) === undefined,
    get signal() {
      return context.signal;
    },
  };
  const outcome = await tool.call(args, round);
  if ("content" in outcome) return outcome;

  const { questions = {}, state: next } = outcome;
  const asks = Object.keys(questions).length > 0;
  if (!asks && next === undefined) throw new Error(`${name} returned nothing`);
  for (const [key, question] of Object.entries(questions)) {
    const requiredCapabilities = missing(question, client);
    if (requiredCapabilities) {
      const reason = `${name} has to ask the user for ${key}, and this client can't be asked`;
      const { properties } = tool.inputSchema as Params;
      const isArgument = isObject(properties) && Object.hasOwn(properties, key);
      throw new RpcError(
        MISSING_CAPABILITY,
        isArgument ? `${reason}: pass ${key} as an argument` : reason,
        { requiredCapabilities },
      );
    }
  }
  return {
    resultType: "input_required",
    ...(asks && { inputRequests: questions }),
    ...(next !== undefined && { requestState: seal(next, binding) }),
  };
}

/** What went wrong, for the model to read. Text only: other content would have to fit a schema. */
function failure(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

/** The capability that a question takes and the client has not declared. */
function missing(question: InputRequest, client: ClientCapabilities): object | undefined {
  const { elicitation, sampling, roots } = client;
  switch (question.method) {
    case "elicitation/create":
      if (question.params["mode"] === "url") {
        return elicitation?.url ? undefined : { elicitation: { url: {} } };
      }
      // An elicitation capability that names no mode means forms.
      return elicitation && (elicitation.form || !elicitation.url)
        ? undefined
        : { elicitation: { form: {} } };
    case "sampling/createMessage":
      return sampling ? undefined : { sampling: {} };
    case "roots/list":
      return roots ? undefined : { roots: {} };
    default:
      throw new Error(`a tool asks by ${question.method}, which no client answers`);
  }
}

/** The `_meta` of params or of a result. */
function meta(of: object): Params {
  const { _meta } = of as Params;
  return isObject(_meta) ? _meta : {};
}

// --- Legacy: 2024-11-05 to 2025-11-25, by handshake --------------------------------------

/** How long a person may think about a question. */
const QUESTION_MS = 10 * 60 * 1000;

/**
 * Serves a request of the older versions by turning it into a modern one. The questions that
 * come back are sent to the client as requests, and the loop runs here.
 */
function legacy(
  serve: Handler,
  peer: Peer,
  session: { client?: InitializeParams },
): Handler {
  return async (method, params, context) => {
    if (method === "ping") return {};
    if (method === "initialize" || !session.client) {
      session.client = parseParams(InitializeParams, params, "initialize");
      const { protocolVersion: asked } = session.client;
      const protocolVersion = LEGACY_VERSIONS.includes(asked)
        ? asked
        : LEGACY_VERSIONS[0];
      return { protocolVersion, capabilities: CAPABILITIES, serverInfo: SELF };
    }
    const { capabilities, clientInfo } = session.client;
    const { inputResponses, requestState, ...own } = params;
    const _meta = {
      ...meta(params),
      [PROTOCOL_VERSION]: MODERN_VERSIONS[0],
      [CLIENT_CAPABILITIES]: capabilities,
      [CLIENT_INFO]: clientInfo,
    };
    try {
      const result = await untilComplete(
        async (retry) => serve(method, { ...own, ...retry, _meta }, context),
        (question) => askClient(peer, question, context.signal),
        context,
      );
      const { resultType, ttlMs, cacheScope, _meta: all, ...older } = result;
      const { [SERVER_INFO]: self, ...rest } = meta(result);
      return Object.keys(rest).length > 0 ? { ...older, _meta: rest } : older;
    } catch (error) {
      // To these clients a question that can't be asked or answered is a failed call.
      const cantAsk = error instanceof RpcError && error.code === MISSING_CAPABILITY;
      const isOver = error instanceof ConnectionError || error instanceof GaveUp;
      if (cantAsk || isOver) return failure(`${error.message}.`);
      throw error;
    }
  };
}

/** Sends a question as a request; a cancelled call withdraws it. */
async function askClient(
  peer: Peer,
  { method, params }: InputRequest,
  signal: AbortSignal,
): ReturnType<Ask> {
  // A question by URL has an id in these versions, by which its end can be told.
  const id = params["mode"] === "url" ? { elicitationId: randomUUID() } : {};
  try {
    const answer = await peer.request(
      method,
      { ...params, ...id },
      {
        signal,
        limit: (expire) => {
          const late = "The client did not answer the question in time";
          const expired = () => expire(new ConnectionError(late));
          const timer = setTimeout(expired, QUESTION_MS).unref();
          return () => clearTimeout(timer);
        },
        onAbandon: (requestId) => peer.notify("notifications/cancelled", { requestId }),
      },
    );
    const isAnswer =
      method !== "elicitation/create" || ElicitResult.safeParse(answer).success;
    if (isAnswer && isObject(answer)) return answer;
    throw new ConnectionError("The client's answer to the question is not valid");
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    const question = JSON.stringify(params["message"] ?? method);
    const reason = `${error.code}: ${error.message}`;
    throw new ConnectionError(`The client answered ${question} with error ${reason}`);
  }
}

// --- The door ----------------------------------------------------------------------------

const ENVELOPE_KEYS = [PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL];

/** Decides, request by request, which era it belongs to. */
function door(tools: Tools, peer: Peer): Handler {
  const serveModern = modern(tools);
  const session: { client?: InitializeParams } = {};
  const serveLegacy = legacy(serveModern, peer, session);
  return (method, params, context) => {
    const _meta = meta(params);
    const hasEnvelope = ENVELOPE_KEYS.some((key) => Object.hasOwn(_meta, key));
    const isLegacy =
      !hasEnvelope && (session.client || method === "initialize" || method === "ping");
    return (isLegacy ? serveLegacy : serveModern)(method, params, context);
  };
}

/** How long a fetch may go on when the client has closed our input. */
const GRACE_MS = 4000;

/**
 * Serves tools over two streams, in both eras, until the input ends and all that was read
 * from it is answered.
 */
export async function start(
  tools: Tools,
  input: Readable,
  output: Writable,
): Promise<void> {
  const peer = new Peer(input, output);
  peer.answersMalformed = true;
  peer.onNote = (note) => console.error(note);
  peer.onRequest = door(tools, peer);
  peer.onNotification = (method, { requestId }) => {
    if (method === "notifications/cancelled") peer.drop(requestId);
  };
  output.on("error", () => input.destroy()); // the client has left
  await peer.listen();
  peer.close(new ConnectionError("The client closed the connection"));
  await peer.finish(GRACE_MS);
}

// --- Main --------------------------------------------------------------------------------

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  // stdout belongs to the protocol: whatever logs, logs to stderr.
  globalThis.console = new Console(process.stderr);
  process.stderr.on("error", () => {}); // who reads it may leave first
  if (process.stdin.isTTY) {
    console.error("An MCP server: it reads one JSON-RPC message a line. Ctrl-D ends it.");
  } else {
    // Ctrl-C in the client's terminal reaches us too. The client decides what it means.
    process.on("SIGINT", () => {});
  }
  // A tool that ignores its signal must not keep the process.
  process.stdin.once("close", () => setTimeout(() => process.exit(), 5000).unref());
  await start(tools, process.stdin, process.stdout);
}
