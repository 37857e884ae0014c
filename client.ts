/**
 * An MCP client for the terminal: it starts a server over stdio, calls one tool, puts the
 * server's questions to the person at the keyboard, and prints the result.
 *
 * What you see here is the command line alone: options, answers by flag, output, exit codes.
 * How the client finds out which era the server belongs to is in mcp/connect.ts; how it
 * answers in each of them, in mcp/modern.ts and mcp/legacy.ts.
 *
 *     npx tsx client.ts --server server.ts --ticker NVDA
 */
import { parseArgs } from "node:util";
import type { Answerer } from "./mcp/answer.ts";
import type { Content } from "./mcp/form.ts";
import type { Session } from "./mcp/link.ts";
import { isObject, RpcError, type Params } from "./mcp/peer.ts";
import type { Question } from "./mcp/person.ts";
import { startProcess } from "./mcp/process.ts";
import { Screen } from "./mcp/screen.ts";
import type { CallToolResult, ElicitResult, ListedTool } from "./mcp/schema.ts";
import { columnsOf, inline, loadPaint, printable, quote, widthOf } from "./mcp/text.ts";

const SELF = { name: "stock-price-client", title: "Stock price", version: "1.0.0" };
const STOCK_TOOL = "get_stock_price";
const VERSIONS = "auto 2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05".split(" ");

/** Timers go no further: some 23 days. */
const MAX_SECONDS = 2_000_000;

const HELP = `\
Calls a tool of an MCP server over stdio, and lets you answer its questions.

npx tsx client.ts --server <script or command> [options] [-- arguments for the server]

--ticker <symbol>       ask for this ticker; left out, the server asks for it
--tool <name>           the tool to call (default get_stock_price, or the only one there is)
--list                  list the server's tools and their arguments, call none
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

// --- Options -----------------------------------------------------------------------------

type Settings = NonNullable<ReturnType<typeof readSettings>>;

function parse(args: string[]) {
  return parseArgs({
    args,
    options: {
      server: { type: "string" },
      ticker: { type: "string" },
      tool: { type: "string" },
      list: { type: "boolean", default: false },
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
}

/** Reads the command line; undefined if help is wanted. */
function readSettings(argv: string[]) {
  const bad = (reason: string) => new Failure(2, `${reason} (see --help)`);
  const dashes = argv.includes("--") ? argv.indexOf("--") : argv.length;
  let values: ReturnType<typeof parse>;
  try {
    values = parse(argv.slice(0, dashes));
  } catch (error) {
    const [reason] = (error as Error).message.split(/\.\s/);
    throw bad(`${reason}; the server's own arguments follow --`);
  }
  if (values.help) return undefined;
  const { server, protocol, timeout } = values;
  const wrong = (option: string, rule: string, came: string) =>
    bad(`--${option} must ${rule}, not ${JSON.stringify(inline(came, 100))}`);
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
    JSON.stringify(value); // it has to travel: some are nested too deep
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

// --- Answers by flag ---------------------------------------------------------------------

/** A server that asks more often in one call would ask for ever. */
const MAX_QUESTIONS = 100;

/**
 * Answers from the command line as far as it goes, and else asks the person, if there is one.
 *
 * @param person answers what the flags don't
 * @param fail ends the call when nobody can answer, whoever runs the loop
 */
function answererFor(
  { answers, defaults }: Settings,
  person:
    ((question: Question, signal?: AbortSignal) => Promise<ElicitResult>) | undefined,
  fail: (reason: Failure) => void,
): Answerer | undefined {
  if (!person && !defaults && answers.length === 0) return undefined;
  let asked = 0;
  const failing = (reason: string, exitCode = 2): Failure => {
    const failure = new Failure(exitCode, reason);
    setImmediate(fail, failure);
    return failure;
  };
  const count = () => {
    if (++asked > MAX_QUESTIONS) throw failing("the server asks again and again", 3);
  };
  return {
    async form(form, signal) {
      count();
      const { checkContent, fillDefaults } = await import("./mcp/form.ts");
      const { parseText } = await import("./mcp/field.ts");
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
      if (isAnswered && !open) return { action: "accept", content };
      if (person && !defaults) return person({ ...form, given }, signal);
      const flags = fields.map(({ name }) => `--answer ${name}=…`).join(" ");
      const next = flags
        ? `Give ${flags}.`
        : "Only a person at a terminal can agree to it.";
      const unused = answers.map(([name]) => `It has no field ${name}.`);
      const reason = ["The server asks:", message, open, ...unused, next];
      throw failing(reason.filter(Boolean).join(" "));
    },
    // A flag is no consent to a page that it has not seen.
    url:
      person && !defaults
        ? async (page, signal) => (count(), person(page, signal))
        : undefined,
  };
}

// --- Output ------------------------------------------------------------------------------

/** The quote as one line, where the result is one. */
function quoteLine({ structuredContent }: CallToolResult): string | undefined {
  if (!isObject(structuredContent)) return undefined;
  const { symbol, price, source, date } = structuredContent;
  if (typeof symbol !== "string" || typeof price !== "number") return undefined;
  const mark = ` (bundled sample of ${String(date)}, not a live price)`;
  return inline(`${symbol} ${price}${source === "sample" ? mark : ""}`);
}

/** All that can be read of a result. */
function textOf({ content, structuredContent }: CallToolResult): string {
  const texts = content.map(({ type, resource, ...item }) => {
    const { text, uri } = isObject(resource) ? resource : item;
    if (typeof text === "string") return text;
    return typeof uri === "string" ? uri : `[${type}]`;
  });
  return texts.join("\n") || (JSON.stringify(structuredContent) ?? "");
}

/** The tools with their arguments, as text. */
function listOf(tools: ListedTool[]): string {
  const lines = tools.flatMap(({ name, description, inputSchema }) => {
    const { properties, required } = isObject(inputSchema) ? inputSchema : {};
    const args = Object.entries(isObject(properties) ? properties : {});
    return [
      [inline(name), description && inline(description, 1000)].filter(Boolean).join(": "),
      ...args.map(([arg, schema]) => {
        const { type, description = "" } = isObject(schema) ? schema : {};
        const isRequired = Array.isArray(required) && required.includes(arg);
        const kind = [type, isRequired ? "required" : "optional"].filter(Boolean);
        return inline(
          `  ${arg} (${kind.join(", ")}) ${String(description)}`.trimEnd(),
          1000,
        );
      }),
    ];
  });
  return lines.join("\n");
}

/** A text of the server's for stdout: behind the bar at a terminal, else as it came. */
function fitted(text: string): string {
  const { stdout } = process;
  if (stdout.isTTY) return quote([text], Math.min(columnsOf(stdout), 100) - 2);
  // Less what would control the terminal at the other end of a pipe.
  return text.replace(/\r(?!\n)|(?![\t\n\r])\p{Cc}/gu, printable);
}

/** Writes to stdout. Only a reader that has left, as in `… | head`, is no failure. */
function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(`${text}\n`, (error) => {
      const { code } = (error ?? {}) as NodeJS.ErrnoException;
      if (!error || code === "EPIPE") resolve();
      else reject(new Failure(1, `the result could not be written (${code})`));
    });
  });
}

/** An error as a sentence for stderr. What the server said of it never begins a row. */
function explain(error: unknown): string {
  const { message } = error as Error;
  if (error instanceof ToolFailure) return withWords("The tool failed:", message);
  if (error instanceof RpcError) {
    // 2025-11-25 has an error that asks for pages to be opened before another try.
    const { elicitations } = isObject(error.data) ? error.data : {};
    const pages = Array.isArray(elicitations)
      ? elicitations.map((page) => page?.url)
      : [];
    const open = pages.map((url) => `Open this page, and call again: ${url}`);
    const own = `The server answered with error ${error.code}:`;
    return withWords(own, [message, ...open].join("\n"));
  }
  const reason = message.charAt(0).toUpperCase() + message.slice(1);
  return withWords("", reason.replace(/[^.?!…)]$/, "$&."));
}

/** On one line if it fits there, else below and behind the bar. */
function withWords(own: string, theirs: string): string {
  const width = columnsOf(process.stderr);
  const line = `${own} ${printable(theirs)}`.trim();
  if (!line.includes("\n") && widthOf(line) <= width) return line;
  return `${own || "Error:"}\n${quote([theirs], Math.min(width, 100) - 2)}`;
}

function exitCodeOf(error: unknown): number {
  if (error instanceof Failure) return error.exitCode;
  const isAnswer = error instanceof RpcError || (error as Error).name === "GaveUp";
  return isAnswer ? 1 : 3;
}

// --- The call ----------------------------------------------------------------------------

/** Starts the server and opens a session with it; the person answers what the flags don't. */
async function open(settings: Settings, screen: Screen, ended: AbortController) {
  const { server, serverArgs, env, verbose, protocol, timeoutMs } = settings;
  const { cyan, yellow, dim } = screen.paint;
  const command = [server, ...serverArgs].join(" ");
  const onNote = (text: string) => {
    if (!verbose) return;
    for (const line of printable(text.trimEnd()).split("\n"))
      screen.say(dim(`· ${line}`));
  };
  const start = () =>
    startProcess(server, serverArgs, env, (text) => onNote(`server: ${text}`));
  // The server starts while all that speaks to it is loaded.
  const started = [start()];
  const { connect } = await import("./mcp/connect.ts");

  let session: Session | undefined;
  const ask = (question: Question, signal?: AbortSignal) =>
    screen.ask(question, { command, name: session?.name }, signal);
  const isTerminal = process.stdin.isTTY && process.stderr.isTTY;
  const end = (failure: Failure) => ended.abort(failure);
  const answerer = answererFor(settings, isTerminal ? ask : undefined, end);
  session = await connect(() => started.pop() ?? start(), {
    self: SELF,
    protocol,
    timeoutMs,
    answerer,
    signal: ended.signal,
    onNote,
    onLine(direction, line) {
      const text = printable(line);
      if (verbose)
        screen.say(direction === "sent" ? cyan(`→ ${text}`) : yellow(`← ${text}`));
    },
    onWait: (method) => screen.wait(`${inline(server, 40)}: ${method}`),
    onProgress: (news) => screen.progress(news),
  });
  return { session, canAsk: answerer !== undefined };
}

/** The stock tool, or the only one there is. */
function chooseTool(tools: ListedTool[]): string {
  const names = tools.map(({ name }) => name);
  const [only, ...others] = names;
  if (names.includes(STOCK_TOOL)) return STOCK_TOOL;
  if (only === undefined) throw new Failure(3, "the server has no tools");
  if (others.length === 0) return only;
  throw new Failure(2, `choose one of its tools with --tool: ${names.join(", ")}`);
}

/** Calls the tool and prints its result. */
async function call(session: Session, settings: Settings, signal: AbortSignal) {
  const { callTool, listTools } = await import("./mcp/connect.ts");
  const { list, json, args, ticker, answers } = settings;
  if (list || settings.tool === undefined) {
    const tools = await listTools(session, signal);
    if (list) return write(json ? JSON.stringify(tools) : fitted(listOf(tools)));
    settings.tool = chooseTool(tools);
  }
  const { tool } = settings;
  const withTicker = { ...args, ...(ticker !== undefined && { ticker }) };
  const result = await callTool(session, tool, withTicker, signal);
  const { structuredContent, content } = result;
  const text = textOf(result);
  if (result.isError) throw new ToolFailure(1, text || "(no reason given)");
  const quoted = tool === STOCK_TOOL ? quoteLine(result) : undefined;
  // What \`printable\` writes out stays JSON.
  if (json) await write(printable(JSON.stringify(structuredContent ?? { content })));
  else if (text !== "") await write(quoted ?? fitted(text));
  else console.error("The result is empty.");
  // The server may have gone on with a default instead, so it is no small thing.
  const [unused] = answers;
  const lost = "no question was left with such a field";
  if (unused) throw new Failure(2, `--answer ${unused[0]}: ${lost}`);
}

/** What may help after a failure; it may take a look at the server's tools. */
async function hintFor(
  error: unknown,
  settings: Settings,
  session: Session,
  canAsk: boolean,
) {
  const { tool, protocol } = settings;
  const { message, code } = error as RpcError;
  if (!(error instanceof ToolFailure || error instanceof RpcError)) return;
  if (!canAsk && (code === -32021 || message.includes("can't be asked"))) {
    const flags = tool === STOCK_TOOL ? "--ticker, --answer" : "--answer";
    return `No question could be answered here: use a terminal, or ${flags} or --defaults.`;
  }
  const isModern = session.version >= "2026-07-28";
  if (protocol === "auto" && isModern && /elicit|2026-07-28/i.test(message)) {
    return "If the tool asks in the older way, try --protocol 2025-11-25.";
  }
  const { listTools } = await import("./mcp/connect.ts");
  const tools = await listTools(session).catch(() => []);
  if (tools.length === 0 || tools.some(({ name }) => name === tool)) return;
  const names = tools.map(({ name }) => name).join(", ");
  return withWords("Choose one of its tools with --tool:", names);
}

async function main(argv: string[]): Promise<void> {
  // A reader that has left is dealt with where something is written, as in `… | head`.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  const screen = new Screen(await loadPaint(process.stderr, process.env));
  const report = (error: unknown) => {
    screen.say(screen.paint.red(explain(error)));
    process.exitCode ??= exitCodeOf(error);
  };
  // Every way to end early goes through this one signal.
  const ended = new AbortController();
  const interrupt = (code: number) => ended.abort(new Failure(code, "Interrupted."));
  process.on("SIGINT", () => interrupt(130));
  process.on("SIGTERM", () => interrupt(143));
  process.on("SIGHUP", () => interrupt(129));
  screen.onInterrupt = (wasAsked) => {
    // The cancelled question may still bring a result; it has two seconds.
    process.exitCode = 130;
    setTimeout(interrupt, wasAsked ? 2000 : 0, 130).unref();
  };
  try {
    const settings = readSettings(argv);
    if (!settings) return void process.stdout.write(HELP);
    const { session, canAsk } = await open(settings, screen, ended);
    try {
      await call(session, settings, ended.signal);
    } catch (error) {
      report(error);
      const hint = await hintFor(error, settings, session, canAsk);
      if (hint) screen.say(hint);
    } finally {
      screen.close();
      await session.close();
    }
  } catch (error) {
    report(error);
  }
}

await main(process.argv.slice(2));
