/**
 * The last price of a stock from Stooq: one HTTP request, one line of CSV, no key.
 *
 * Stooq says status 200 whatever it serves, so the body alone decides: a quote, an unknown
 * symbol, or one of the many pages that are neither. Since June 2026 it often serves programs
 * no quote at all. For that case a few rows that it really served are kept here, as a sample
 * that is never used unless somebody asks for it by name. To use another source, replace this
 * file, or point STOOQ_URL at a server that speaks the same CSV. Nothing here knows of MCP.
 */
import { once } from "node:events";
import * as http from "node:http";
import * as https from "node:https";
import { parse } from "csv-parse/sync";
import * as z from "zod/v3";

export type Quote = {
  /** As the user knows it, like NVDA or TSCO.UK. */
  symbol: string;
  /** The last one, in the currency of the market. */
  price: number;
  /** Day and time of the price, by Stooq's clock (Warsaw): 2026-02-27 and 22:00:20. */
  date: string;
  time?: string;
  /** Name of the company. */
  name?: string;
  /** A sample is bundled, not a live price. */
  source: "stooq" | "sample";
};

/** What a look-up found. `reason` is one sentence that says why there is no quote. */
export type Lookup =
  | { found: "quote"; quote: Quote }
  | { found: "unknown symbol"; reason: string }
  | { found: "nothing"; reason: string };

const STOOQ = "https://stooq.com";
const DEADLINE_MS = 10_000;
const MAX_BODY_BYTES = 64 * 1024;
const MAX_REQUESTS = 8;

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

/**
 * Reads what a person typed: `nvda`, `BRK.B`, `TSCO.UK`, `^SPX`.
 *
 * @returns the symbol, or undefined if the text can't be one
 */
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

// --- The quote ---------------------------------------------------------------------------

/**
 * Looks a symbol up at Stooq, with one request and no retry.
 *
 * @param options.signal gives up; the look-up rejects with its reason
 * @param options.server where to ask (STOOQ_URL, else https://stooq.com)
 * @param options.deadlineMs for connection, headers and body together (10 s)
 */
export async function lookUp(
  symbol: StockSymbol,
  options: { signal?: AbortSignal; server?: string; deadlineMs?: number } = {},
): Promise<Lookup> {
  const { signal, server = process.env["STOOQ_URL"] || STOOQ } = options;
  const query = `s=${encodeURIComponent(symbol.stooq)}&f=sd2t2ohlcvn&h&e=csv`;
  const url = `${server.replace(/\/+$/, "")}/q/l/?${query}`;
  if (!URL.canParse(url)) return nothing("STOOQ_URL is not a URL.");
  const leave = await enter(signal);
  const deadline = AbortSignal.timeout(options.deadlineMs ?? DEADLINE_MS);
  try {
    return await ask(
      url,
      symbol,
      signal ? AbortSignal.any([signal, deadline]) : deadline,
    );
  } catch (error) {
    signal?.throwIfAborted();
    if (deadline.aborted) return nothing("Stooq did not answer in time.");
    // Only the code: the message of a network error may quote the URL, and a key in it.
    const { code } = error as NodeJS.ErrnoException;
    return nothing(`Stooq could not be reached${code ? ` (${code})` : ""}.`);
  } finally {
    leave();
  }
}

/** The bundled row of a symbol, if there is one. */
export function sampleQuote(symbol: StockSymbol): Quote | undefined {
  const result = readQuote(readRows(SAMPLE) ?? [], symbol);
  return result.found === "quote" ? { ...result.quote, source: "sample" } : undefined;
}

function nothing(reason: string): Lookup {
  return { found: "nothing", reason };
}

/** One request, and what its answer says; a redirect would be another, and is not followed. */
async function ask(
  url: string,
  symbol: StockSymbol,
  signal: AbortSignal,
): Promise<Lookup> {
  const headers = {
    "user-agent": "mcp-elicitation-stock-price/1.0",
    accept: "text/csv",
    "accept-encoding": "identity",
  };
  // Not by fetch: its first call alone takes a twentieth of the time from start to quote.
  const { get } = new URL(url).protocol === "https:" ? https : http;
  const request = get(url, { headers, signal });
  // A body that has no length just ends when its connection breaks. This is what tells.
  let broke: Error | undefined;
  request.on("error", (error) => (broke = error));
  const responded = once(request, "response", { signal });
  const [response] = (await responded) as [http.IncomingMessage];
  const { statusCode: status = 0 } = response;
  const chunks: Uint8Array[] = [];
  let length = 0;
  // No more than a quote could need: leaving the loop early drops body and connection.
  for await (const chunk of response) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_BODY_BYTES) break;
  }
  signal.throwIfAborted();
  if (broke) throw broke;
  if (status !== 200) {
    const hint = [403, 429].includes(status) ? ": it refuses this program" : "";
    return nothing(`Stooq answered with HTTP status ${status}${hint}.`);
  }
  const body = Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES);
  const result = readBody(new TextDecoder().decode(body), symbol);
  // A price that was cut off is another price.
  return length > MAX_BODY_BYTES && result.found !== "nothing" ? UNREADABLE : result;
}

const UNREADABLE = nothing("Stooq's answer is not the CSV that this program knows.");

/** Tells the kinds of answer apart. What Stooq wrote is never passed on. */
function readBody(body: string, symbol: StockSymbol): Lookup {
  const text = body.trim();
  if (text === "") return nothing("Stooq sent an empty answer.");
  const rows = readRows(text);
  if (rows) return readQuote(rows, symbol);
  // Before the look for HTML, which this sentence sometimes comes in.
  if (/exceeded the daily hits limit/i.test(text)) {
    return nothing(
      "Stooq's daily limit for this address is reached: try again tomorrow.",
    );
  }
  if (/get your apikey|get_apikey/i.test(text)) {
    return nothing(
      "Stooq asks for an API key here, which this program has none of: " +
        "set STOOQ_URL to a server that serves the same CSV without one.",
    );
  }
  if (text.startsWith("<")) {
    return nothing("Stooq sent a web page instead of a quote: it keeps programs out.");
  }
  return /^no data\b/i.test(text) ? unknown(symbol) : UNREADABLE;
}

function unknown({ shown, stooq }: StockSymbol): Lookup {
  return {
    found: "unknown symbol",
    reason: `Stooq has no price for ${shown} (asked for as ${stooq}).`,
  };
}

type Row = (column: string) => string | undefined;

/** The rows of the CSV, if it is the one we know. By name, not by position; N/D is no value. */
function readRows(csv: string): Row[] | undefined {
  try {
    const options = {
      bom: true,
      trim: true,
      relax_column_count_more: true,
      skip_empty_lines: true,
    };
    const [header = [], ...lines]: string[][] = parse(csv, options);
    if (!header.includes("Symbol") || !header.includes("Close")) return undefined;
    return lines.map((line) => (column) => {
      const value = line[header.indexOf(column)] ?? "";
      return /^(N\/[DA]|-|)$/i.test(value) ? undefined : value;
    });
  } catch {
    return undefined;
  }
}

function readQuote(rows: Row[], symbol: StockSymbol): Lookup {
  if (rows.length === 0) return unknown(symbol);
  // A row of another symbol must not pass for the one that was asked; of several days the
  // last counts, and ISO dates sort as text.
  const [row] = rows
    .filter((row) => readSymbol(row("Symbol") ?? "")?.stooq === symbol.stooq)
    .sort((a, b) => String(b("Date")).localeCompare(String(a("Date"))));
  if (!row) return UNREADABLE;
  const [close, date, time, name] = ["Close", "Date", "Time", "Name"].map(row);
  if (close === undefined) return unknown(symbol);
  const price = /^\d+(\.\d+)?$/.test(close) ? Number(close) : 0;
  if (!(price > 0 && price < Infinity)) return UNREADABLE;
  if (date === undefined || !z.string().date().safeParse(date).success) return UNREADABLE;
  return {
    found: "quote",
    quote: {
      symbol: symbol.shown,
      price,
      date,
      ...(time !== undefined && /^\d\d:\d\d(:\d\d)?$/.test(time) && { time }),
      ...(name !== undefined && /^\P{C}{1,100}$/u.test(name) && { name }),
      source: "stooq",
    },
  };
}

// --- The queue ---------------------------------------------------------------------------

let running = 0;
const queue: (() => void)[] = [];

/** Waits for one of the few places for requests; returns the function that leaves it. */
async function enter(signal?: AbortSignal): Promise<() => void> {
  signal?.throwIfAborted();
  if (running === MAX_REQUESTS) {
    await new Promise<void>((resolve, reject) => {
      const turn = () => (signal?.removeEventListener("abort", give), resolve());
      const give = () => (queue.splice(queue.indexOf(turn), 1), reject(signal?.reason));
      signal?.addEventListener("abort", give, { once: true });
      queue.push(turn);
    });
  } else running++;
  return () => {
    // The place passes on to the next in the queue, or becomes free.
    const next = queue.shift();
    if (next) next();
    else running--;
  };
}
