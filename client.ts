/**
 * An MCP client for the terminal: it starts a server over stdio, calls one tool, puts the
 * server's questions to the person at the keyboard, and prints the result.
 *
 * `connect` finds out which era the server belongs to and builds a `Session` for it: `modern`
 * runs the loop of questions and retries itself, `legacy` answers the server's requests.
 * Nothing after that can tell which one it has. Sessions know no terminal; `main` does.
 *
 *     npx tsx client.ts --server server.ts --ticker NVDA
 */
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import * as z from "zod/v3";
import {
  inline,
  loadPaint,
  Person,
  printable,
  quote,
  widthOf,
  type Question,
} from "./mcp/ask.ts";
import {
  checkContent,
  fillDefaults,
  parseText,
  readForm,
  type Content,
  type Field,
} from "./mcp/form.ts";
import {
  ConnectionError,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  isObject,
  METHOD_NOT_FOUND,
  Peer,
  RpcError,
  type Params,
} from "./mcp/peer.ts";
import { startProcess, type Server } from "./mcp/process.ts";
import { GaveUp, MAX_ROUNDS, untilComplete } from "./mcp/rounds.ts";
import {
  CallToolResult,
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  DiscoverResult,
  ElicitParams,
  HEADER_MISMATCH,
  InitializeResult,
  LEGACY_VERSIONS,
  ListToolsResult,
  MISSING_CAPABILITY,
  MODERN_VERSIONS,
  PROTOCOL_VERSION,
  parseParams,
  parseResult,
  Result,
  SERVER_INFO,
  UNSUPPORTED_VERSION,
  UnsupportedVersion,
  type ElicitResult,
  type InputRequest,
} from "./mcp/schema.ts";

const SELF = { name: "stock-price-client", title: "Stock price", version: "1.0.0" };

// --- The session -------------------------------------------------------------------------

/** A connection to a server, in whichever era. */
export type Session = {
  version: string;
  /** The name that the server gives itself: for display, not for trust. */
  name: string | undefined;
  /**
   * Sends a request and has the server's questions answered until the result is complete.
   *
   * @throws {RpcError} the error that the server answered with
   * @throws {ConnectionError} it went away, did not answer in time or broke the protocol
   * @throws {GaveUp} the person left; and what the `Answerer` throws, and the signal's reason
   */
  request(method: string, params?: Params, signal?: AbortSignal): Promise<Result>;
  close(): Promise<void>;
};

/** Answers the questions of servers. What it can do is what is declared to them. */
export type Answerer = {
  form(question: Form, signal?: AbortSignal): Promise<ElicitResult>;
  url?: ((question: Page, signal?: AbortSignal) => Promise<ElicitResult>) | undefined;
};
export type Form = { message: string; fields: Field[] };
/** A page to send the person to; `again` if they were sent there in an earlier round. */
export type Page = { message: string; url: URL; again: boolean };

export type Options = {
  /** A version, or auto: 2026-07-28 if the server speaks it, else by handshake. */
  protocol?: string;
  /** Left out, servers are told that nobody can be asked. */
  answerer?: Answerer | undefined;
  /** For each request, less the time in which a person is being asked (60 s). */
  timeoutMs?: number;
  /** For the first answer, from the start of the process (10 s, or less with `timeoutMs`). */
  probeMs?: number;
  /** Ends the attempt to connect. */
  signal?: AbortSignal;
  onNote?: (note: string) => void;
  onLine?: Peer["onLine"];
};

/**
 * Starts a server and finds out how to speak with it. `startServer` may be called twice: some
 * servers of the old era end at the first request of the new one.
 *
 * @throws {ConnectionError} it did not start, went away, or shares no version with us
 * @throws {RpcError} it refuses to be initialized; and the signal's reason
 */
export async function connect(
  startServer: () => Server,
  options: Options,
): Promise<Session> {
  const { protocol = "auto", signal } = options;
  let link = attach(startServer(), options);
  try {
    if (LEGACY_VERSIONS.includes(protocol)) return await legacy(link, protocol, options);
    const found = await probe(link, options);
    signal?.throwIfAborted();
    if (found.era === "modern") return modern(link, found, options);
    if (protocol !== "auto") {
      const hint = "without --protocol its own version is used";
      throw new ConnectionError(
        `the server does not speak ${protocol}: ${found.why}; ${hint}`,
      );
    }
    const newest = String(LEGACY_VERSIONS[0]);
    try {
      return await legacy(link, newest, options);
    } catch (error) {
      if (!link.gone.aborted || signal?.aborted) throw error;
    }
    // It went at the probe, or soon after: once more, without one.
    await link.server.stop();
    link = attach(startServer(), options);
    return await legacy(link, newest, options);
  } catch (error) {
    await link.server.stop();
    throw error;
  }
}

/** A started server and our end of the connection to it. */
type Link = { server: Server; peer: Peer; clock: Clock; gone: AbortSignal };

function attach(server: Server, { onNote = () => {}, onLine }: Options): Link {
  const peer = new Peer(server.output, server.input);
  peer.onNote = onNote;
  peer.onLine = onLine;
  const gone = new AbortController();
  void server.gone.then((cause) => {
    gone.abort(new ConnectionError(cause));
    peer.close(gone.signal.reason);
    void peer.finish(0); // takes the server's questions off the screen
  });
  void peer.listen();
  return { server, peer, clock: new Clock(), gone: gone.signal };
}

/** Sends one request under a time limit. Giving up is told to the server. */
function send(
  { peer, clock }: Link,
  method: string,
  params: Params,
  options: {
    timeoutMs?: number | undefined;
    signal?: AbortSignal | undefined;
    isFirst?: boolean;
  },
): Promise<unknown> {
  const { timeoutMs = 60_000, signal, isFirst = false } = options;
  return peer.request(method, params, {
    signal,
    limit: (expire) =>
      clock.limit(timeoutMs, () => {
        const reason = `the server did not answer ${method} within ${timeoutMs / 1000} s`;
        expire(new ConnectionError(`${reason} (see --timeout)`));
      }),
    // What opens a connection must not be cancelled; closing it says the same.
    onAbandon: (requestId) => {
      if (!isFirst) peer.notify("notifications/cancelled", { requestId });
    },
  });
}

function anyOf(one: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  return one ? AbortSignal.any([one, other]) : other;
}

/** Checks a question, whichever way it came, and has it answered. */
async function answerQuestion(
  { method, params }: InputRequest,
  answerer: Answerer | undefined,
  signal?: AbortSignal,
  again = false,
): Promise<ElicitResult> {
  if (method !== "elicitation/create" || !answerer) {
    throw new RpcError(METHOD_NOT_FOUND, `this client does not answer ${method}`);
  }
  const { mode, message, url, requestedSchema } = parseParams(
    ElicitParams,
    params,
    method,
  );
  if (mode === "form") {
    return answerer.form({ message, fields: readForm(requestedSchema) }, signal);
  }
  if (mode !== "url" || !answerer.url) {
    throw new RpcError(INVALID_PARAMS, `this client declared no elicitation by ${mode}`);
  }
  if (!url || !URL.canParse(url) || !/^https?:/i.test(url)) {
    throw new RpcError(INVALID_PARAMS, `a URL to open must be http or https, not ${url}`);
  }
  return answerer.url({ message, url: new URL(url), again }, signal);
}

/** What is declared of an answerer. Before 2025-11-25 there was one mode, and no name for it. */
function capabilities(answerer: Answerer | undefined, version: string): Params {
  if (!answerer) return {};
  if (version < "2025-11-25") return { elicitation: {} };
  return { elicitation: { form: {}, ...(answerer.url && { url: {} }) } };
}

// --- Probe: which era? -------------------------------------------------------------------

type Found =
  | { era: "modern"; version: string; name?: string | undefined }
  | { era: "legacy"; why: string };

/** Asks the one question that only a modern server answers, and judges by what comes back. */
async function probe(link: Link, options: Options, isRetry = false): Promise<Found> {
  const { timeoutMs = 60_000, probeMs = Math.min(10_000, timeoutMs), signal } = options;
  const preferred = String(MODERN_VERSIONS[0]);
  const params = { _meta: envelope(preferred, options.answerer) };
  const limits = { timeoutMs: probeMs, signal, isFirst: true };
  const reply = await send(link, "server/discover", params, limits).catch(
    (error) => error,
  );

  const discovery = DiscoverResult.safeParse(reply);
  if (discovery.success) {
    const version = choose(discovery.data.supportedVersions);
    return { era: "modern", version, name: discovery.data._meta?.[SERVER_INFO]?.name };
  }
  if (reply instanceof RpcError && reply.code === UNSUPPORTED_VERSION) {
    choose(UnsupportedVersion.safeParse(reply.data).data?.supported ?? []);
    if (!isRetry) return probe(link, options, true);
    throw new ConnectionError("the server refuses the very version that it offers");
  }
  if (reply instanceof RpcError) {
    // Codes that only the new era has: the server is modern, whatever else is wrong.
    const isModern = [MISSING_CAPABILITY, HEADER_MISMATCH].includes(reply.code);
    if (isModern) return { era: "modern", version: preferred };
    return { era: "legacy", why: `it answered server/discover with error ${reply.code}` };
  }
  if (reply instanceof Error) return { era: "legacy", why: reply.message };
  return { era: "legacy", why: "it answered server/discover with no list of versions" };
}

function choose(theirs: string[]): string {
  const version = MODERN_VERSIONS.find((ours) => theirs.includes(ours));
  if (version !== undefined) return version;
  const older = LEGACY_VERSIONS.find((ours) => theirs.includes(ours));
  throw new ConnectionError(
    `no version in common: the server speaks ${theirs.join(", ") || "none that it names"}, ` +
      `this client ${[...MODERN_VERSIONS, ...LEGACY_VERSIONS].join(", ")}` +
      (older ? `; --protocol ${older} tries it with a handshake` : ""),
  );
}

// --- Modern: we run the loop -------------------------------------------------------------

/** The only requests that a server may answer with a question. */
const MAY_ASK = ["tools/call", "prompts/get", "resources/read"];

function modern(
  link: Link,
  { version, name }: { version: string; name?: string | undefined },
  options: Options,
): Session {
  const { answerer, timeoutMs } = options;
  return {
    version,
    name,
    request(method, params = {}, signal) {
      const own = isObject(params["_meta"]) ? params["_meta"] : {};
      const _meta = { ...own, ...envelope(version, answerer) };
      return untilComplete(
        async (retry) => {
          const all = { ...params, ...retry, _meta };
          const result = await send(link, method, all, { timeoutMs, signal });
          if (MAY_ASK.includes(method)) return result;
          const { resultType } = parseResult(Result, result, method);
          if (resultType !== "input_required") return result;
          throw new ConnectionError(`the server may not ask for input during ${method}`);
        },
        // There is no answer that says no such question: what is wrong with it ends the call.
        (question, again) =>
          answerQuestion(question, answerer, anyOf(signal, link.gone), again).catch(
            (error) => {
              if (!(error instanceof RpcError)) throw error;
              throw new ConnectionError(
                `the server asked what it may not: ${error.message}`,
              );
            },
          ),
        { signal },
      );
    },
    close: () => link.server.stop(),
  };
}

/** What every request says about its sender. */
function envelope(version: string, answerer: Answerer | undefined): Params {
  return {
    [PROTOCOL_VERSION]: version,
    [CLIENT_INFO]: SELF,
    [CLIENT_CAPABILITIES]: capabilities(answerer, version),
  };
}

// --- Legacy: the server runs the loop ----------------------------------------------------

async function legacy(link: Link, asked: string, options: Options): Promise<Session> {
  const { peer, clock, server } = link;
  const { timeoutMs, signal, onNote } = options;
  let version = asked;
  peer.onRequest = async (method, params, { signal: withdrawn }) => {
    if (method === "ping") return {};
    try {
      const answerer = asIn(version, options.answerer);
      return await clock.pause(() =>
        answerQuestion({ method, params }, answerer, withdrawn),
      );
    } catch (error) {
      if (error instanceof RpcError) throw error;
      throw new RpcError(INTERNAL_ERROR, "the question could not be answered");
    }
  };
  peer.onNotification = (method, { requestId }) => {
    if (method === "notifications/cancelled") peer.drop(requestId);
  };
  const hello = {
    protocolVersion: asked,
    capabilities: capabilities(options.answerer, asked),
    clientInfo: SELF,
  };
  const limits = { timeoutMs, signal, isFirst: true };
  const reply = await send(link, "initialize", hello, limits);
  const initialized = parseResult(InitializeResult, reply, "initialize");
  const { protocolVersion, serverInfo } = initialized;
  version = protocolVersion;
  if (!LEGACY_VERSIONS.includes(version)) {
    const ours = LEGACY_VERSIONS.join(", ");
    throw new ConnectionError(
      `the server speaks version ${version}, this client ${ours}`,
    );
  }
  if (version !== asked) onNote?.(`the server answers in ${version}, not in ${asked}`);
  peer.notify("notifications/initialized");
  return {
    version,
    name: serverInfo?.name,
    async request(method, params = {}, signal) {
      const result = await send(link, method, params, { timeoutMs, signal });
      return parseResult(Result, result, method);
    },
    close: () => server.stop(),
  };
}

/** Before 2025-11-25 there were no pages and no lists of choices: they are not answered. */
function asIn(version: string, answerer: Answerer | undefined): Answerer | undefined {
  if (!answerer || version >= "2025-11-25") return answerer;
  return {
    form: (form, signal) => {
      const list = form.fields.find(({ kind }) => kind === "choices");
      if (!list) return answerer.form(form, signal);
      const reason = `${version} has no fields like ${list.name}, with several choices`;
      return Promise.reject(new RpcError(INVALID_PARAMS, reason));
    },
  };
}

/** A clock that stands still while a person is being asked. */
class Clock {
  #asking = 0;
  #stoppedAt = 0;
  #stoodStill = 0;

  /** Milliseconds that have counted. */
  #now(): number {
    return (this.#asking > 0 ? this.#stoppedAt : performance.now()) - this.#stoodStill;
  }

  async pause<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#asking++ === 0) this.#stoppedAt = performance.now();
    try {
      return await ask();
    } finally {
      if (--this.#asking === 0) this.#stoodStill += performance.now() - this.#stoppedAt;
    }
  }

  /** Calls `expire` once `ms` have counted; returns what calls it off. */
  limit(ms: number, expire: () => void): () => void {
    const end = this.#now() + ms;
    let timer: NodeJS.Timeout;
    const wait = () => {
      const left = end - this.#now();
      if (left <= 0) expire();
      else timer = setTimeout(wait, Math.max(left, 50));
    };
    wait();
    return () => clearTimeout(timer);
  }
}

// --- Main --------------------------------------------------------------------------------

const HELP = `\
Calls a tool of an MCP server over stdio, and lets you answer its questions.

npx tsx client.ts --server <script or command> [options] [-- arguments for the server]

--ticker <symbol>       ask for this ticker; left out, the server asks for it
--tool <name>           another tool (default get_stock_price)
--args <json object>    its arguments
--answer <field=value>  answer the server's questions from here (repeatable)
--defaults              answer with the defaults of the form, ask nobody
--protocol <version>    auto (default), 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26,
                        2024-11-05
--timeout <seconds>     for one request; the clock stops while a person is being asked (60)
--env <NAME[=VALUE]>    pass a variable on to the server (repeatable)
--json                  print the structured result as one line of JSON
-v, --verbose           show the JSON-RPC lines on stderr: → sent, ← received
-h, --help

exit: 0 a result; 1 the tool failed, or you declined or cancelled; 2 bad usage;
3 the server could not be started, broke the protocol or went away; 130 Ctrl-C
`;

/** An end that is not a result: one sentence for stderr, and the exit code. */
class Failure extends Error {
  readonly exitCode: number;
  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The tool's own word that it failed. */
class ToolFailure extends Failure {}

/** Some 23 days: timers go no further. */
const MAX_SECONDS = 2_000_000;

const STOCK_TOOL = "get_stock_price";
const VERSIONS = ["auto", ...MODERN_VERSIONS, ...LEGACY_VERSIONS];

type Settings = NonNullable<ReturnType<typeof readSettings>>;

/** Reads the command line; undefined if help is wanted. */
function readSettings(argv: string[]) {
  const bad = (reason: string) => new Failure(2, `${reason} (see --help)`);
  const apart = "the server's own arguments follow --";
  const dashes = argv.includes("--") ? argv.indexOf("--") : argv.length;
  const read = () =>
    parseArgs({
      args: argv.slice(0, dashes),
      options: {
        server: { type: "string" },
        ticker: { type: "string" },
        tool: { type: "string", default: STOCK_TOOL },
        args: { type: "string", default: "{}" },
        answer: { type: "string", multiple: true, default: [] },
        defaults: { type: "boolean", default: false },
        protocol: { type: "string", default: "auto" },
        timeout: { type: "string", default: "60" },
        env: { type: "string", multiple: true, default: [] },
        json: { type: "boolean", default: false },
        verbose: { type: "boolean", short: "v", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    }).values;
  let values: ReturnType<typeof read>;
  try {
    values = read();
  } catch (error) {
    throw bad(`${(error as Error).message.split(/\.\s/)[0]}; ${apart}`);
  }
  if (values.help) return undefined;
  const { server, protocol, timeout } = values;
  const wrong = (option: string, rule: string, came: string) =>
    bad(`--${option} must ${rule}, not ${JSON.stringify(came)}`);
  const pair = (option: string, text: string) => {
    const at = text.indexOf("=");
    // What follows the name may be secret, and is never shown.
    if (at < 1) throw wrong(option, "be name=value", at < 0 ? text : "");
    return [text.slice(0, at), text.slice(at + 1)] as const;
  };

  if (!server) throw bad("--server is missing");
  if (!VERSIONS.includes(protocol)) {
    throw wrong("protocol", `be one of ${VERSIONS.join(", ")}`, protocol);
  }
  const args = parseObject(values.args);
  if (!args) throw wrong("args", "be a JSON object", values.args);
  const seconds = timeout.trim() === "" ? NaN : Number(timeout);
  if (!(seconds > 0 && seconds <= MAX_SECONDS)) {
    throw wrong("timeout", `be above 0 seconds, at most ${MAX_SECONDS}`, timeout);
  }
  const answers = values.answer.map((text) => pair("answer", text));
  const env = values.env.map((text) => {
    if (text.includes("=")) return pair("env", text);
    const value = Object.hasOwn(process.env, text) ? process.env[text] : undefined;
    if (value === undefined) throw wrong("env", "name a variable that is set", text);
    return [text, value] as const;
  });
  return {
    ...values,
    server,
    serverArgs: argv.slice(dashes + 1),
    args,
    answers,
    timeoutMs: seconds * 1000,
    env: Object.fromEntries(env),
  };
}

function parseObject(text: string): Params | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** So often the flags may answer in one call; a server that asks on would ask for ever. */
const MAX_ANSWERS = 100;

/**
 * Answers from the command line as far as it goes, and else asks the person, if there is one.
 *
 * @param ask puts a question to the person
 * @param fail ends the call when nobody can answer, whoever runs the loop
 */
function answererFor(
  { answers, defaults }: Settings,
  ask: ((question: Question, signal?: AbortSignal) => Promise<ElicitResult>) | undefined,
  fail: (reason: Failure) => void,
): Answerer | undefined {
  if (!ask && !defaults && answers.length === 0) return undefined;
  let answered = 0;
  const failing = (reason: string, exitCode = 2): Failure => {
    const failure = new Failure(exitCode, reason);
    setImmediate(fail, failure);
    return failure;
  };
  return {
    async form(form, signal) {
      const { message, fields } = form;
      const given: Content = {};
      for (const field of fields) {
        const at = answers.findIndex(([name]) => name === field.name);
        const [, text] = (at >= 0 && answers.splice(at, 1)[0]) || [];
        if (text === undefined) continue;
        const parsed = parseText(field, text);
        // An answer shows in no error, in case it is not for all eyes.
        if ("reason" in parsed) throw failing(`--answer ${field.name} ${parsed.reason}`);
        given[field.name] = parsed.value;
      }
      // Defaults complete an answer. They are one by themselves only if that was said.
      const isAnswered = fields.length > 0 && (defaults || Object.keys(given).length > 0);
      const content = isAnswered ? fillDefaults(fields, given) : given;
      const open = checkContent(fields, content);
      if (isAnswered && !open) {
        if (++answered > MAX_ANSWERS) throw failing("the server asks again and again", 3);
        return { action: "accept", content };
      }
      if (ask && !defaults) return ask({ ...form, given }, signal);
      const flags = fields.map(({ name }) => `--answer ${name}=…`).join(" ");
      const next = flags
        ? `Give ${flags}.`
        : "Only a person at a terminal can agree to it.";
      const unused = answers.map(([name]) => `It has no field ${name}.`);
      const reason = ["The server asks:", message, open, ...unused, next];
      throw failing(reason.filter(Boolean).join(" "));
    },
    // A flag is no consent to a page that it has not seen.
    url: defaults ? undefined : ask,
  };
}

/** What the stock tool returns, as far as it is printed. */
const Quote = z.object({
  symbol: z.string(),
  price: z.number().finite(),
  date: z.string(),
  source: z.string(),
});

/** The result as text for stdout. Nothing in it can control a terminal. */
function show(
  { content, structuredContent }: CallToolResult,
  settings: Settings,
): string {
  // What `printable` writes out stays JSON.
  if (settings.json) return printable(JSON.stringify(structuredContent ?? { content }));
  const quote = Quote.safeParse(structuredContent);
  if (settings.tool !== STOCK_TOOL || !quote.success) return printable(textOf(content));
  const { symbol, price, source, date } = quote.data;
  const isSample = source === "sample";
  const mark = isSample ? ` (bundled sample of ${date}, not a live price)` : "";
  return inline(`${symbol} ${price}${mark}`);
}

function textOf(content: CallToolResult["content"]): string {
  const texts = content.map(({ type, text }) =>
    typeof text === "string" ? text : `[${type}]`,
  );
  return texts.join("\n");
}

/** An error as a sentence for stderr; what the server said of it never begins a line. */
function explain(error: unknown, width: number): string {
  const { message } = error as Error;
  if (error instanceof ToolFailure) return withWords("The tool failed:", message, width);
  if (error instanceof RpcError) {
    // 2025-11-25 has an error that asks for pages to be opened before another try.
    const Pages = z.object({ elicitations: z.array(z.object({ url: z.string() })) });
    const pages = Pages.safeParse(error.data).data?.elicitations ?? [];
    const open = pages.map(({ url }) => `Open this page, and call again: ${url}`);
    const own = `The server answered with error ${error.code}:`;
    return withWords(own, [message, ...open].join("\n"), width);
  }
  const reason = message.charAt(0).toUpperCase() + message.slice(1);
  return withWords("", reason.replace(/[^.?!…)]$/, "$&."), width);
}

/** On one line if it fits there, else below and behind the bar. */
function withWords(own: string, theirs: string, width: number): string {
  const line = `${own} ${printable(theirs)}`.trim();
  if (!line.includes("\n") && widthOf(line) <= width) return line;
  return `${own || "Error:"}\n${quote([theirs], Math.min(width, 100) - 2)}`;
}

/** The names of the server's tools, if it tells. */
async function toolNames(session: Session, signal: AbortSignal) {
  const list = await session.request("tools/list", {}, signal).catch(() => undefined);
  return ListToolsResult.safeParse(list).data?.tools.map(({ name }) => name);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof Failure) return error.exitCode;
  return error instanceof RpcError || error instanceof GaveUp ? 1 : 3;
}

const NOBODY_ASKED =
  "No question could be answered here: use a terminal, or --ticker, --answer or --defaults.";

async function main(argv: string[]): Promise<void> {
  const { stdin, stdout, stderr } = process;
  for (const stream of [stdout, stderr]) stream.on("error", () => {}); // as in `… | head`
  const { NO_COLOR, FORCE_COLOR } = process.env;
  const isColored = !NO_COLOR && (FORCE_COLOR ? FORCE_COLOR !== "0" : stderr.isTTY);
  const paint = await loadPaint(Boolean(isColored));
  const { red, cyan, yellow, dim } = paint;
  let person: Person | undefined;
  const say = (line: string) => (person ? person.print(line) : stderr.write(`${line}\n`));

  // Every way to end early goes through this one signal.
  const ended = new AbortController();
  const end = (failure: Failure) => ended.abort(failure);
  const interrupt = (code: number) => end(new Failure(code, "Interrupted."));
  process.on("SIGINT", () => interrupt(130));
  process.on("SIGTERM", () => interrupt(143));
  process.on("SIGHUP", () => interrupt(129));

  let settings: Settings | undefined;
  let session: Session | undefined;
  let answerer: Answerer | undefined;
  try {
    settings = readSettings(argv);
    if (!settings) return void stdout.write(HELP);
    const { server, serverArgs, env, args } = settings;
    const { tool, ticker, verbose, protocol, timeoutMs } = settings;

    const command = [server, ...serverArgs].join(" ");
    const over = new AbortController(); // takes open questions off the screen
    let unheard = 0;
    const ask = (question: Question, signal?: AbortSignal) => {
      if (!person) {
        person = new Person(stdin, stderr, paint);
        person.onInterrupt = (wasAsked) => {
          // The cancelled question may still bring a result; it has two seconds.
          process.exitCode = 130;
          setTimeout(interrupt, wasAsked ? 2000 : 0, 130).unref();
        };
      }
      if (person.hasLeft && ++unheard > MAX_ROUNDS) {
        end(new Failure(1, "The server asks on."));
      }
      return person.ask(
        question,
        { command, name: session?.name },
        anyOf(signal, over.signal),
      );
    };
    const isTerminal = stdin.isTTY && stderr.isTTY;
    answerer = answererFor(settings, isTerminal ? ask : undefined, end);

    const onNote = (text: string) => {
      if (!verbose) return;
      for (const line of printable(text.trimEnd()).split("\n")) say(dim(`· ${line}`));
    };
    const onLine = (direction: "sent" | "received", line: string) => {
      const text = printable(line);
      if (verbose) say(direction === "sent" ? cyan(`→ ${text}`) : yellow(`← ${text}`));
    };
    const onStderr = (text: string) => onNote(`server: ${text}`);
    const start = () => startProcess(server, serverArgs, env, onStderr);
    const { signal } = ended;
    session = await connect(start, {
      protocol,
      timeoutMs,
      answerer,
      signal,
      onNote,
      onLine,
    });

    const params = {
      name: tool,
      arguments: { ...args, ...(ticker !== undefined && { ticker }) },
    };
    const reply = await session.request("tools/call", params, signal);
    over.abort(new ConnectionError("the call has ended"));
    const result = parseResult(CallToolResult, reply, tool);
    if (result.isError) {
      throw new ToolFailure(1, textOf(result.content) || "(no reason given)");
    }
    stdout.write(`${show(result, settings)}\n`);
    // The server may have gone on with a default instead, so it is no small thing.
    const [unused] = settings.answers;
    if (unused) {
      throw new Failure(
        2,
        `--answer ${unused[0]}: no question was left with such a field`,
      );
    }
  } catch (error) {
    say(red(explain(error, stderr.columns ?? Infinity)));
    if (session && settings && !person && exitCodeOf(error) === 1) {
      const names = await toolNames(session, ended.signal);
      const list = names?.map((name) => inline(name)).join(", ");
      if (names && !names.includes(settings.tool)) {
        say(`Choose one of its tools with --tool: ${list}`);
      }
    }
    const mayHaveAsked =
      error instanceof ToolFailure ||
      (error instanceof RpcError && error.code === MISSING_CAPABILITY);
    if (mayHaveAsked && !answerer) say(NOBODY_ASKED);
    process.exitCode ??= exitCodeOf(error);
  } finally {
    person?.close();
    await session?.close();
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await main(process.argv.slice(2));
}
