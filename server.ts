/**
 * An MCP server over stdio with one tool, `get_stock_price`. It asks the user for the ticker
 * when it is missing, and for consent before it answers with old data.
 *
 * What you see here is the tool alone, as its author thinks of it. How the questions travel is
 * in mcp/: read tool.ts for what `ask` does, then modern.ts and legacy.ts for the two eras.
 *
 *     npx tsx client.ts --server server.ts
 */
import * as z from "zod";
import { isMain, serve } from "./mcp/serve.ts";
import { tool, ToolError } from "./mcp/tool.ts";
import { lookUp, Quote, readSymbol, sampleQuote } from "./price.ts";

export const SELF = {
  name: "stock-price-server",
  title: "Stock price",
  version: "1.0.0",
};

/** A ticker symbol as people write it, read into what Stooq knows. */
const Ticker = z.string().transform((text, context) => {
  const symbol = readSymbol(text);
  if (symbol) return symbol;
  const typed = JSON.stringify(text.trim().slice(0, 40));
  context.addIssue(`${typed} is not a ticker symbol like NVDA or TSCO.UK.`);
  return z.NEVER;
});

const TickerForm = z.object({
  ticker: z
    .string()
    .min(1)
    .max(20)
    .meta({ title: "Ticker", description: "Ticker symbol like NVDA, AAPL" })
    .pipe(Ticker),
});

const consentForm = (date: string) =>
  z.object({
    useSample: z
      .boolean()
      .default(true)
      .meta({
        title: "Use the bundled sample",
        description: `A price of ${date}, not a live one`,
      }),
  });

const NEXT_STEP =
  "Try again later, or start this server with STOOQ_URL set to another source of the same CSV.";
const UNASKED =
  "There is a bundled price, but this client can't be asked whether it will do.";

const get_stock_price = tool({
  title: "Get stock price",
  description:
    "Looks up the last price of a stock. Asks the user for the ticker if needed.",
  annotations: { readOnlyHint: true, openWorldHint: true },
  input: z.object({
    ticker: z
      .string()
      .optional()
      .describe("Ticker symbol like NVDA; left out, the user is asked"),
  }),
  output: Quote,
  async run({ ticker }, { ask, once, canAsk, signal }) {
    const symbol = ticker?.trim()
      ? given(ticker)
      : (await ask("ticker", "Which stock ticker would you like to look up?", TickerForm))
          .ticker;

    const result = await once("look-up", () => lookUp(symbol, { signal }));
    if (result.found === "quote") return result.quote;
    const { found, reason } = result;
    if (found === "unknown symbol") throw new ToolError(reason);
    const sample = await sampleQuote(symbol);
    if (!sample) throw new ToolError(`${reason} ${NEXT_STEP}`);
    if (!canAsk()) throw new ToolError(`${reason} ${UNASKED}`);

    const { useSample } = await ask(
      "useSample",
      `${reason} Use the bundled price of ${symbol.shown} instead?`,
      consentForm(sample.date),
    );
    if (useSample) return sample;
    throw new ToolError(`${reason} The user did not want the bundled sample.`);
  },
});

/** The ticker that the call came with. */
function given(ticker: string) {
  const read = Ticker.safeParse(ticker);
  if (read.success) return read.data;
  throw new ToolError(String(read.error.issues[0]?.message));
}

export const tools = { get_stock_price };

if (isMain(import.meta.url)) await serve(tools, SELF);
