/**
 * An MCP client for the terminal: it starts a server over stdio, calls one tool, puts the
 * server's questions to the person at the keyboard, and prints the result.
 *
 * What you see here is the command line alone: options, answers by flag, output, exit codes.
 * mcp/connect.ts finds out the server's era; modern.ts and legacy.ts there converse in it.
 *
 *     npx tsx client.ts --server server.ts --ticker NVDA
 */
import { once } from "node:events";
import { parseArgs } from "node:util";
import type { Answerer } from "./mcp/answer.ts";
import type { Session } from "./mcp/link.ts";
import { isObject, RpcError, type Params } from "./mcp/peer.ts";
import type { Question } from "./mcp/person.ts";
import { startProcess } from "./mcp/process.ts";
import { Screen, withWords } from "./mcp/screen.ts";
import type { CallToolResult, ListedTool } from "./mcp/schema.ts";
import { columnsOf, inline, loadPaint, printable, quote } from "./mcp/text.ts";

const SELF = { name: "stock-price-client", title: "Stock price", version: "1.0.0" };
const STOCK_TOOL = "get_stock_price";
const VERSIONS = "auto 2026-07-28 2025-11-25 2025-06-18 2025-03-26 2024-11-05".split(" ");

const HELP = `\
Calls a tool of an MCP server over stdio, and lets you answer its questions.

npx tsx client.ts --server <script or command> [options] [-- arguments for the server]

--ticker <symbol>       ask for this ticker; left out, the server asks for it
--tool <name>           the tool to call (default get_stock_price, or the only one there is)
--list                  list the server's tools and their arguments, call none
--args <json object>    the tool's arguments
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

/** An end that is not a result: our words for stderr, then the server's, and the exit code. */
class Failure extends Error {
  readonly exitCode: number;
  readonly theirs: string;
  constructor(exitCode: number, message: string, theirs = "") {
    super(message);
    this.exitCode = exitCode;
    this.theirs = theirs;
  }
}

// --- Options -----------------------------------------------------------------------------

const isString = (it: unknown): it is string => typeof it === "string";
type Settings = NonNullable<ReturnType<typeof readSettings>>;

const bad = (reason: string) => new Failure(2, `${reason} (see --help)`);
const wrong = (option: string, rule: string, came: string) =>
  bad(`--${option} must ${rule}, not ${JSON.stringify(inline(came, 100))}`);

function parse(args: string[]) {
  try {
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
  } catch (error) {
    const [reason = ""] = (error as Error).message.replaceAll("\n", " ").split(". To");
    throw bad(reason.replace(/^Un.*/, "$&; the server's own arguments follow --"));
  }
}

/** Reads the command line; undefined if help is wanted. */
function readSettings(argv: string[]) {
  const dashes = argv.includes("--") ? argv.indexOf("--") : argv.length;
  const values = parse(argv.slice(0, dashes));
  const { server, protocol, timeout, help } = values;
  if (help) return undefined;
  const pair = (option: string, text: string) => {
    const at = text.indexOf("=");
    // What follows the name may be secret, and is never shown.
    if (at < 1) throw wrong(option, "be name=value", at < 0 ? text : "");
    return [text.slice(0, at), text.slice(at + 1)] as const;
  };
  if (!server) throw bad("--server is missing");
  const known = `be one of ${VERSIONS.join(", ")}`;
  if (!VERSIONS.includes(protocol)) throw wrong("protocol", known, protocol);
  if (!(Number(timeout) > 0)) throw wrong("timeout", "be above 0 seconds", timeout);
  const timeoutMs = Math.min(Number(timeout) * 1000, 2 ** 31 - 1); // timers end there
  const answers = values.answer.map((text) => pair("answer", text));
  const variables = values.env.map((text) => {
    if (text.includes("=")) return pair("env", text);
    const value = process.env[text];
    if (value === undefined) throw wrong("env", "name a variable that is set", text);
    return [text, value] as const;
  });
  const env = Object.fromEntries(variables);
  const args = parseArguments(values.args);
  const serverArgs = argv.slice(dashes + 1);
  return { ...values, server, serverArgs, args, answers, env, timeoutMs };
}

function parseArguments(text: string): Params {
  try {
    const value: unknown = JSON.parse(text);
    JSON.stringify(value); // it has to travel
    if (isObject(value)) return value;
  } catch (error) {
    if (error instanceof RangeError) throw bad("--args is nested too deep to be sent");
  }
  throw wrong("args", "be a JSON object", text);
}

// --- Answers by flag ---------------------------------------------------------------------

type Ask = (question: Question, signal?: AbortSignal) => ReturnType<Answerer["form"]>;
const loadForms = () => Promise.all([import("./mcp/form.ts"), import("./mcp/field.ts")]);

/** Answers by the flags as far as they go, else by the person; else `ended` ends the call. */
function answererFor(
  { answers, defaults }: Settings,
  person: Ask | undefined,
  ended: AbortController,
): Answerer | undefined {
  if (!person && !defaults && answers.length === 0) return undefined;
  const failing = (reason: string): Failure => {
    const failure = new Failure(2, reason);
    setImmediate(() => ended.abort(failure)); // whoever runs the loop
    return failure;
  };
  const flags = new Set(answers.map(([name]) => name));
  let forms: ReturnType<typeof loadForms> | undefined;
  return {
    async form({ message, fields }, signal) {
      // Once: of two imports the second may be done first, and so would be its question.
      forms ??= loadForms();
      const [{ checkContent, fillDefaults }, { parseText }] = await forms;
      const answered = fields.flatMap((field) => {
        const at = answers.findIndex(([name]) => name === field.name);
        // It serves once: a server that refuses it would be told the same for ever.
        const [answer] = at < 0 ? [] : answers.splice(at, 1);
        if (!answer) return [];
        const parsed = parseText(field, answer[1]);
        if ("value" in parsed) return [[field.name, parsed.value] as const];
        // The answer itself shows in no error, in case it is not for all eyes.
        throw failing(`--answer ${field.name} ${parsed.reason}.`);
      });
      const given = Object.fromEntries(answered);
      // Defaults complete an answer. They are one by themselves only if that was said.
      const isAnswered = fields.length > 0 && (defaults || answered.length > 0);
      const content = isAnswered ? fillDefaults(fields, given) : given;
      const open = checkContent(fields, content);
      if (isAnswered && !open) return { action: "accept", content };
      if (person) return person({ message, fields, given }, signal);
      const isAgain = answered.length === 0 && fields.some(({ name }) => flags.has(name));
      if (isAgain) throw failing(`The server asks again: ${message}`);
      const lack = open ? `${open.field.name} ${open.reason}. ` : "";
      const wanted = fields.map(({ name }) => `--answer ${name}=…`).join(" ");
      const next = wanted ? `Give ${wanted}.` : "Only a person at a terminal can agree.";
      throw failing(`The server asks: ${message} ${lack}${next}`);
    },
    url: person, // a flag is no consent to a page that it has not seen
  };
}

// --- Output ------------------------------------------------------------------------------

/** The quote as one line, where the result is one. */
function quoteLine({ structuredContent: it }: CallToolResult): string | undefined {
  const { symbol, price, source, date } = isObject(it) ? it : {};
  // Whoever writes more than a symbol and a day there could write a prompt.
  const isQuote = /^\["[\w.^-]{1,20}","\d{4}-\d\d-\d\d",[\d.]+\]$/;
  if (!isQuote.test(JSON.stringify([symbol, date, price]))) return undefined;
  const mark = ` (bundled sample of ${date}, not a live price)`;
  return `${symbol} ${price}${source === "sample" ? mark : ""}`;
}

/** All that can be read of a result. */
function textOf({ content, structuredContent }: CallToolResult): string {
  const texts = content.map(({ type, resource, ...item }) => {
    const { text, uri } = isObject(resource) ? resource : item;
    return [text, uri].find(isString) ?? `[${type}]`;
  });
  return texts.join("\n") || (JSON.stringify(structuredContent) ?? "");
}

/** The tools with their arguments, as text. */
function listOf(tools: ListedTool[]): string {
  const row = (...words: unknown[]) => inline(words.filter(isString).join(" "), 1000);
  const rows = tools.flatMap(({ name, description, inputSchema }) => {
    const { properties, required } = isObject(inputSchema) ? inputSchema : {};
    const args = Object.entries(isObject(properties) ? properties : {});
    const needed = Array.isArray(required) ? required : [];
    return [
      row(description ? `${name}: ${description}` : name),
      ...args.map(([arg, schema]) => {
        const { type, description } = isObject(schema) ? schema : {};
        const kinds = [type, needed.includes(arg) ? "required" : "optional"].flat();
        return `  ${row(arg, `(${kinds.filter(isString).join(", ")})`, description)}`;
      }),
    ];
  });
  return rows.join("\n") || "(no tools)";
}

/** A text of the server's for stdout: behind the bar at a terminal, else as it came. */
function fitted(text: string): string {
  const { stdout } = process;
  if (stdout.isTTY) return quote([text], Math.min(columnsOf(stdout), 100) - 2);
  // Less what would control a terminal at the other end of the pipe.
  return text.replace(/\r(?!\n)|(?![\t\n\r])\p{Cc}/gu, printable);
}

/** Writes to stdout. Only a reader that has left, as in `… | head`, is no failure. */
async function write(text: string): Promise<void> {
  const error = await new Promise<any>((done) => process.stdout.write(`${text}\n`, done));
  if (!error || error.code === "EPIPE") return;
  throw new Failure(1, `The result could not be written (${error.code}).`);
}

/** Every error as an end. What the server said of it never begins a row. */
function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (!(error instanceof RpcError)) {
    const { message, name } = error as Error;
    const sentence = message.charAt(0).toUpperCase() + message.slice(1);
    const exitCode = name === "GaveUp" ? 1 : 3;
    return new Failure(exitCode, sentence.replace(/[^.?!…)]$/, "$&."));
  }
  // 2025-11-25 has an error that asks for pages to be opened before another try.
  const { elicitations } = isObject(error.data) ? error.data : {};
  const urls = Array.isArray(elicitations) ? elicitations.map((page) => page?.url) : [];
  const open = urls
    .filter(isString)
    .map((url) => `Open this page, and call again: ${url}`);
  const own = `The server answered with error ${error.code}:`;
  return new Failure(1, own, [error.message, ...open].join("\n"));
}

// --- The call ----------------------------------------------------------------------------

type Client = Awaited<ReturnType<typeof open>>;

/** Starts the server and opens a session with it; the person answers what the flags don't. */
async function open(settings: Settings, screen: Screen, ended: AbortController) {
  const { server, serverArgs, env, verbose } = settings;
  const { signal } = ended;
  const { cyan, yellow, dim } = screen.paint;
  const command = [server, ...serverArgs].join(" ");
  const trace = (line: string, paint: typeof dim) =>
    verbose && screen.say(paint(printable(line)));
  const onNote = (text: string) => {
    for (const line of text.trimEnd().split("\n")) trace(`· ${line}`, dim);
  };
  const start = () =>
    startProcess(server, serverArgs, env, (text) => onNote(`server: ${text}`));
  // The server starts while all that speaks to it is loaded.
  const started = [start()];
  const { connect, ...door } = await import("./mcp/connect.ts").catch(async (error) => {
    await started[0]?.stop();
    throw error;
  });

  let session: Session | undefined;
  const ask: Ask = (question, signal) =>
    screen.ask(question, { command, name: session?.name }, signal);
  const hasPerson = process.stdin.isTTY && process.stderr.isTTY && !settings.defaults;
  const answerer = answererFor(settings, hasPerson ? ask : undefined, ended);
  session = await connect(() => started.pop() ?? start(), {
    self: SELF,
    ...settings, // protocol and timeoutMs
    answerer,
    signal,
    onNote,
    onLine: (direction, line) =>
      direction === "sent" ? trace(`→ ${line}`, cyan) : trace(`← ${line}`, yellow),
    onWait: (method) => screen.wait(`${inline(server, 40)}: ${method}`),
    onProgress: (news) => screen.progress(news),
  });
  return { ...door, session, settings, screen, signal, canAsk: answerer !== undefined };
}

const CHOOSE = "Choose one of its tools with --tool:";
const namesOf = (tools: ListedTool[]) => [...new Set(tools.map(({ name }) => name))];

/** The stock tool, or the only one there is. */
function chooseTool(tools: ListedTool[]): string {
  const names = namesOf(tools);
  const [only, ...others] = names;
  if (names.includes(STOCK_TOOL)) return STOCK_TOOL;
  if (only === undefined) throw new Failure(2, "The server lists no tools (see --tool).");
  if (others.length > 0) throw new Failure(2, CHOOSE, names.join(", "));
  return only;
}

/** Calls the tool, or lists all of them, and prints the result. */
async function call(client: Client): Promise<void> {
  const { session, settings, screen, signal, callTool, listTools } = client;
  const { list, json, ticker, answers } = settings;
  const isListed = list || settings.tool === undefined;
  const tools = isListed ? await listTools(session, signal) : [];
  if (list) return write(json ? printable(JSON.stringify(tools)) : fitted(listOf(tools)));
  const tool = settings.tool ?? chooseTool(tools);
  const args = { ...settings.args, ...(ticker !== undefined && { ticker }) };
  const called = callTool(session, tool, args, signal);
  const result = await called.finally(() => screen.close()); // with what nobody waits for
  const { structuredContent, content, isError } = result;
  const text = textOf(result);
  if (isError) throw new Failure(1, "The tool failed:", text || "(no reason given)");
  const quoted = tool === STOCK_TOOL ? quoteLine(result) : undefined;
  // What `printable` writes out is JSON still.
  if (json) await write(printable(JSON.stringify(structuredContent ?? { content })));
  else if (text !== "") await write(quoted ?? fitted(text));
  else screen.say("The result is empty.");
  // The server may have gone on with a default instead, so it is no small thing.
  const [unused] = answers[0] ?? [];
  if (unused) throw new Failure(2, `--answer ${unused}: no question was left for it.`);
}

/** What may help after a failed call; it may take a look at the server's tools. */
async function hintFor(error: unknown, client: Client) {
  const { session, settings, canAsk, listTools } = client;
  const { tool, protocol } = settings;
  const { code } = error as RpcError;
  const { exitCode, theirs: reason } = failureOf(error);
  if (exitCode !== 1 || reason === "") return undefined;
  if (code === -32603) return "-v shows what the server wrote about it.";
  const cause = /can't be asked|not (support|answer).* elicitation/i;
  if (!canAsk && (code === -32021 || cause.test(reason))) {
    const flags = reason.includes(STOCK_TOOL) ? "--ticker, --answer" : "--answer";
    return `No question could be answered here: use a terminal, or ${flags} or --defaults.`;
  }
  const wasOurChoice = protocol === "auto" && session.version >= "2026-07-28";
  if (wasOurChoice && code !== -32021 && /elicit|2026-07-28/i.test(reason)) {
    return "If the tool asks in the older way, try --protocol 2025-11-25.";
  }
  if (tool === undefined) return code === -32601 ? "Name a tool with --tool." : undefined;
  const listed = await listTools(session, AbortSignal.timeout(2000)).catch(() => []);
  const names = namesOf(listed);
  const isKnown = names.length === 0 || names.includes(tool);
  return isKnown ? undefined : withWords(CHOOSE, names.join(", "));
}

async function main(argv: string[]): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  const screen = new Screen(await loadPaint(process.stderr, process.env));
  const ended = new AbortController(); // every way to end early goes through it
  const interrupt = (code: number) => ended.abort(new Failure(code, "Interrupted."));
  const codes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };
  for (const [it, code] of Object.entries(codes)) process.on(it, () => interrupt(code));
  screen.onInterrupt = (wasAsked) => {
    // The cancelled question may still bring a result; it has two seconds.
    process.exitCode = 130;
    setTimeout(interrupt, wasAsked ? 2000 : 0, 130).unref();
  };
  let client: Client | undefined;
  try {
    const settings = readSettings(argv);
    if (!settings) return await write(HELP.trimEnd());
    client = await open(settings, screen, ended);
    const interrupted = once(client.signal, "abort");
    await Promise.race([call(client), interrupted]);
    client.signal.throwIfAborted();
  } catch (error) {
    const { exitCode, message, theirs } = failureOf(error);
    const words = theirs ? withWords(message, theirs) : withWords("", message);
    screen.say(screen.paint.red(words));
    process.exitCode ??= exitCode;
    const hint = client && (await hintFor(error, client));
    if (hint) screen.say(hint);
  } finally {
    await screen.close();
    await client?.session.close();
  }
  if (ended.signal.aborted) process.exit(); // though nobody may read what was written
}

await main(process.argv.slice(2));
