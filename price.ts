/**
 * The last price of a stock from Stooq: one HTTP request, one line of CSV, no key. Nothing
 * here knows MCP. For another source, replace this file, or point STOOQ_URL at a server that
 * serves the same CSV.
 *
 * Stooq sends status 200 whatever it serves, so the body alone decides. Since June 2026 it often
 * serves programs no quote. So there is a sample, which is used only if the caller asks for it.
 */
import { once } from "node:events";
import type { Agent, IncomingMessage } from "node:http";
import * as z from "zod";

export const Quote = z.object({
  symbol: z.string().describe("Ticker symbol, like NVDA or TSCO.UK"),
  price: z.number().positive().describe("Last price, in the currency of the market"),
  date: z.string().describe("Day of the price, by Stooq's clock (Warsaw)"),
  time: z.string().exactOptional().describe("Time of the price, by the same clock"),
  name: z.string().exactOptional().describe("Name of the company"),
  source: z.enum(["stooq", "sample"]).describe("sample: bundled, not a live price"),
});
export type Quote = z.infer<typeof Quote>;

/** What a look-up found. `reason` is one sentence that says why there is no quote. */
export type Lookup =
  | { found: "quote"; quote: Quote }
  | { found: "unknown symbol" | "nothing"; reason: string };

const DEADLINE_MS = 10_000;
const MAX_BODY_LENGTH = 64 * 1024;

/** Rows that Stooq served on the dates they bear. The time is Warsaw's: New York's close. */
const SAMPLE = `\
Symbol,Date,Time,Open,High,Low,Close,Volume,Name
NVDA.US,2026-02-27,22:00:20,181.25,182.59,176.38,177.19,310416947,NVIDIA
AAPL.US,2026-03-18,21:00:19,252.625,254.94,249,249.94,35757874,APPLE INC
MSFT.US,2026-05-08,22:00:21,417.385,418.63,414,415.12,33383790,MICROSOFT
BRK-B.US,2026-03-18,21:04:21,491.14,491.38,483.8,484.47,4356429,BERKSHIRE HATHAWAY INC
T.US,2024-05-17,22:03:06,17.4,17.41,17.26,17.4,25891151,AT&T
`;

// --- Symbols -----------------------------------------------------------------------------

/** A symbol in the two spellings there are: `BRK-B` for people, `brk-b.us` for Stooq. */
export type StockSymbol = { shown: string; stooq: string };

const MARKETS = [".us", ".uk", ".de", ".jp", ".hk", ".hu", ".pl", ".v", ".f"];

/** Reads what a person typed: `nvda`, `BRK.B`, `^SPX`; undefined if it can't be a symbol. */
export function readSymbol(text: string): StockSymbol | undefined {
  const typed = text.trim().toLowerCase();
  if (typed.length > 20) return undefined;
  if (/^\^[a-z0-9_]+$/.test(typed)) return { shown: typed.toUpperCase(), stooq: typed };
  const market = MARKETS.find((suffix) => typed.endsWith(suffix)) ?? "";
  const stem = typed.slice(0, typed.length - market.length);
  // What follows another dot is the class of a share, which Stooq writes with a dash.
  if (!/^[a-z0-9]+([-./][a-z])?$/.test(stem)) return undefined;
  const base = stem.replace(/[./]/, "-");
  const shown = market === ".us" ? base : base + market;
  return { shown: shown.toUpperCase(), stooq: base + (market || ".us") };
}

// --- The look-up -------------------------------------------------------------------------

/**
 * Looks a symbol up at Stooq, or at STOOQ_URL, by one request. Eight run at once, others wait.
 * @param options.signal gives up, also in the queue; the look-up rejects with its reason
 * @param options.deadlineMs for connection, headers and body together (10 s)
 */
export async function lookUp(
  symbol: StockSymbol,
  options: { signal?: AbortSignal; deadlineMs?: number } = {},
): Promise<Lookup> {
  const { signal, deadlineMs = DEADLINE_MS } = options;
  const server = process.env["STOOQ_URL"] || "https://stooq.com";
  const query = `s=${encodeURIComponent(symbol.stooq)}&f=sd2t2ohlcvn&h&e=csv`;
  const url = `${server.replace(/\/+$/, "")}/q/l/?${query}`;
  if (!URL.canParse(url)) return nothing("STOOQ_URL is not a URL.");
  const late = new AbortController();
  let clock: NodeJS.Timeout | undefined;
  const startClock = () => {
    clock = setTimeout(() => late.abort(), deadlineMs);
  };
  const gaveUp = AbortSignal.any(signal ? [signal, late.signal] : [late.signal]);
  try {
    const { status, body } = await request(url, gaveUp, startClock);
    if (status === 200) return await readBody(body, symbol);
    const hint = [403, 429].includes(status) ? ": it refuses this program" : "";
    return nothing(`Stooq answered with HTTP status ${status}${hint}.`);
  } catch (error) {
    signal?.throwIfAborted();
    if (late.signal.aborted) return nothing("Stooq did not answer in time.");
    // Only the code: the message of a network error may quote the URL, and a key in it.
    const { code } = error as NodeJS.ErrnoException;
    return nothing(`Stooq could not be reached${code ? ` (${code})` : ""}.`);
  } finally {
    clearTimeout(clock);
  }
}

/** The bundled row of a symbol, if there is one. */
export async function sampleQuote(symbol: StockSymbol): Promise<Quote | undefined> {
  const result = readQuote(await readRows(SAMPLE), symbol);
  return result.found === "quote" ? { ...result.quote, source: "sample" } : undefined;
}

function nothing(reason: string): Lookup {
  return { found: "nothing", reason };
}

// --- HTTP --------------------------------------------------------------------------------

/** One for http and one for https. An agent queues what is too much for its sockets. */
const agents: Record<string, Agent> = {};
const AGENT_OPTIONS = {
  maxSockets: 8,
  // By default each address of a host gets 250 ms, too few for a slow line.
  autoSelectFamilyAttemptTimeout: 2500,
  // HTTP_PROXY, HTTPS_PROXY and NO_PROXY. Node before 22.21 and 24.5 ignores them.
  proxyEnv: process.env,
  // Ends the wait for a proxy's tunnel, which a signal does not end.
  timeout: DEADLINE_MS,
};

/** One GET; no redirect is followed. `onTurn` is called when it leaves the queue. */
async function request(url: string, signal: AbortSignal, onTurn: () => void) {
  // Loaded late to start fast. For the same reason not fetch, whose first call is slow.
  const { protocol } = new URL(url);
  const { Agent, get } =
    protocol === "https:" ? await import("node:https") : await import("node:http");
  const agent = (agents[protocol] ??= new Agent(AGENT_OPTIONS));
  // Without "close" the next in the queue gets this connection, which may be dead by then.
  const headers = { "user-agent": "mcp-elicitation-stock-price", connection: "close" };
  const sent = get(url, { agent, headers, signal }).once("socket", onTurn);
  // A body that has no length just ends when its connection breaks. This is what tells.
  let broke: Error | undefined;
  sent.on("error", (error) => (broke = error));
  const [response] = (await once(sent, "response", { signal })) as [IncomingMessage];
  const { statusCode: status = 0 } = response.setEncoding("utf8");
  let body = "";
  // No more than a quote could need: leaving the loop early drops body and connection.
  for await (const chunk of response) if ((body += chunk).length > MAX_BODY_LENGTH) break;
  if (broke) throw broke;
  return { status, body };
}

// --- The body ----------------------------------------------------------------------------

/** What Stooq serves instead of CSV. The first sign counts: notices also come in HTML. */
const NOTICES: [sign: RegExp, reason: string][] = [
  [/^$/, "Stooq sent an empty answer."],
  [/hits limit/i, "Stooq's daily limit for this address is reached: try tomorrow."],
  [/get your apikey|get_apikey/i, "Stooq asks for an API key: set STOOQ_URL instead."],
  [/^</, "Stooq sent a web page instead of a quote: it keeps programs out."],
];

const UNREADABLE = nothing("Stooq's answer is not the CSV that this program knows.");

/** Tells the kinds of answer apart. What Stooq wrote is never passed on. */
async function readBody(body: string, symbol: StockSymbol): Promise<Lookup> {
  const text = body.trim();
  // A price that was cut off is another price.
  const isWhole = body.length <= MAX_BODY_LENGTH;
  const rows = isWhole && (await readRows(text).catch(() => undefined));
  if (rows) return readQuote(rows, symbol);
  if (/^no data\b/i.test(text)) return unknown(symbol);
  const [, reason] = NOTICES.find(([sign]) => sign.test(text)) ?? [];
  return reason ? nothing(reason) : UNREADABLE;
}

function unknown({ shown, stooq }: StockSymbol): Lookup {
  const asked = `Stooq has no price for ${shown} (asked for as ${stooq})`;
  // Stooq tells some programs that of every stock. A bundled row proves that it has a price.
  return SAMPLE.includes(`\n${stooq.toUpperCase()},`)
    ? nothing(`${asked}, but it served one before: it may keep programs out.`)
    : { found: "unknown symbol", reason: `${asked}.` };
}

type Row = Record<string, string | undefined>;

/** The rows of the CSV. Throws if it is not the one we know. */
async function readRows(csv: string): Promise<Row[]> {
  const { parse } = await import("csv-parse/sync");
  // Relaxed, because a name may hold quotes and commas without being quoted.
  const relaxed = { relax_quotes: true, relax_column_count_more: true };
  const options = { ...relaxed, skip_empty_lines: true };
  const [header = [], ...lines]: string[][] = parse(csv, options);
  if (!header.includes("Symbol") || !header.includes("Close"))
    throw new Error("other CSV");
  const last = header.length - 1;
  const valueOf = (cell = "") =>
    /^\s*(N\/[DA]|-)?\s*$/i.test(cell) ? undefined : cell.trim();
  return lines.map((line) => {
    // A name with commas makes more cells than columns. So do numbers with commas (230,1),
    // but they shift the price, and a number stands where the name should begin.
    const isName = header[last] === "Name" && /\p{L}/u.test(valueOf(line[last]) ?? "");
    if (line.length > header.length && !isName) throw new Error("shifted");
    line.push(line.splice(last).join(","));
    return Object.fromEntries(header.map((name, at) => [name, valueOf(line[at])]));
  });
}

function readQuote(rows: Row[], symbol: StockSymbol): Lookup {
  if (rows.length === 0) return unknown(symbol);
  // A row of another symbol must not pass for the one that was asked.
  const row = rows.find((row) => readSymbol(row["Symbol"] ?? "")?.stooq === symbol.stooq);
  if (!row) return UNREADABLE;
  const { Close, Low, High, Time: time = "", Name: name = "" } = row;
  if (Close === undefined) return unknown(symbol);
  const [price = NaN, low = NaN, high = NaN] = [Close, Low, High].map((value = "") =>
    /^\d+(\.\d+)?$/.test(value) ? Number(value) : NaN,
  );
  // Low and high may be missing: no comparison with NaN is true.
  const isPrice = price > 0 && price < Infinity && !(price < low || price > high);
  const { data: date } = z.iso.date().safeParse(row["Date"]);
  if (!isPrice || date === undefined) return UNREADABLE;
  const quote: Quote = { symbol: symbol.shown, price, date, source: "stooq" };
  if (/^\d\d:\d\d(:\d\d)?$/.test(time)) quote.time = time;
  if (/^[^\p{C}\p{Zl}\p{Zp}\ufffd]{1,100}$/u.test(name)) quote.name = name;
  return { found: "quote", quote };
}
