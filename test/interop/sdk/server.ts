/**
 * The stock-price server once more, on the official SDK, for both eras:
 * `npx tsx client.ts --server test/interop/sdk/server.ts --ticker NVDA`.
 */
import { randomBytes } from "node:crypto";
import {
  acceptedContent,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
  McpServer,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";
import { lookUp, readSymbol, sampleQuote, type Quote } from "../../../price.ts";
import { Quote as QuoteSchema } from "./quote.ts";

type Learned = { ticker: string; reason: string };

const codec = createRequestStateCodec<Learned>({
  key: randomBytes(32),
  ttlSeconds: 1800,
  bind: ({ mcpReq }) => mcpReq.method, // it does not see the tool and the arguments
});

const Ticker = z.object({
  ticker: z.string().min(1).max(20).describe("Ticker symbol like NVDA, AAPL"),
});
const Consent = z.object({ useSample: z.boolean().default(true) });

const text = (text: string) => [{ type: "text" as const, text }];
const failure = (reason: string) => ({ content: text(reason), isError: true });
const success = (quote: Quote) => ({
  content: text(JSON.stringify(quote)),
  structuredContent: quote,
});

serveStdio(() => {
  const server = new McpServer(
    { name: "stock-price-server", version: "1.0.0" },
    { requestState: { verify: codec.verify } },
  );
  server.registerTool(
    "get_stock_price",
    {
      title: "Get stock price",
      description: "Looks up the last price of a stock. Asks for the ticker if needed.",
      inputSchema: z.object({ ticker: z.string().optional() }),
      outputSchema: QuoteSchema,
      annotations: { readOnlyHint: true, openWorldHint: true },
    },
    async ({ ticker: given }, ctx) => {
      const { inputResponses, requestState } = ctx.mcpReq;
      const refused = ["ticker", "useSample"].find((key) => {
        const view = inputResponse(inputResponses, key);
        return view.kind === "elicit" && view.action !== "accept";
      });
      if (refused)
        return failure(`The user did not answer the question about ${refused}.`);

      const learned = requestState<Learned>();
      if (learned) {
        const symbol = readSymbol(learned.ticker);
        const sample = symbol && (await sampleQuote(symbol));
        const consent = acceptedContent(inputResponses, "useSample", Consent);
        return sample && consent?.useSample ? success(sample) : failure(learned.reason);
      }
      const ticker =
        given?.trim() || acceptedContent(inputResponses, "ticker", Ticker)?.ticker.trim();
      if (!ticker) {
        const message = "Which stock ticker would you like to look up?";
        const question = inputRequired.elicit({ message, requestedSchema: Ticker });
        return inputRequired({ inputRequests: { ticker: question } });
      }
      const symbol = readSymbol(ticker);
      if (!symbol) return failure(`${JSON.stringify(ticker)} is not a ticker symbol.`);
      const result = await lookUp(symbol, { signal: ctx.mcpReq.signal });
      if (result.found === "quote") return success(result.quote);
      const { reason } = result;
      if (result.found === "unknown symbol" || !(await sampleQuote(symbol)))
        return failure(reason);
      const message = `${reason} Use the bundled price of ${symbol.shown} instead?`;
      const useSample = inputRequired.elicit({ message, requestedSchema: Consent });
      const state = await codec.mint({ ticker, reason }, ctx);
      return inputRequired({ inputRequests: { useSample }, requestState: state });
    },
  );
  return server;
});
