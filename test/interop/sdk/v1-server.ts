/** The same server on version 1 of the SDK, which speaks the old era only. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import * as z from "zod";
import { lookUp, readSymbol, sampleQuote, type Quote } from "../../../price.ts";
import { Quote as QuoteSchema } from "./quote.ts";

const Input = z.object({ ticker: z.string().optional() });
const field = (type: "string" | "boolean", title: string, more: object = {}) =>
  ({ type, title, ...more }) as { type: "string"; title: string };

const server = new McpServer({ name: "stock-price-server", version: "1.0.0" });
server.registerTool(
  "get_stock_price",
  {
    title: "Get stock price",
    description: "Looks up the last price of a stock. Asks for the ticker if needed.",
    inputSchema: Input,
    outputSchema: QuoteSchema,
    annotations: { readOnlyHint: true, openWorldHint: true },
  },
  async ({ ticker = "" }, { signal }) => {
    if (ticker === "") {
      const answer = await ask(
        "Which stock ticker?",
        "ticker",
        field("string", "Ticker"),
      );
      if (answer === undefined) return failure("The user did not name a ticker.");
      ticker = String(answer);
    }
    const symbol = readSymbol(ticker);
    if (!symbol) return failure(`${JSON.stringify(ticker)} is not a ticker symbol.`);
    const result = await lookUp(symbol, { signal });
    if (result.found === "quote") return success(result.quote);
    const sample = result.found === "nothing" && (await sampleQuote(symbol));
    if (!sample) return failure(result.reason);
    const message = `${result.reason} Use the bundled price instead?`;
    const useSample = field("boolean", "Use the sample", { default: true });
    const isAgreed = await ask(message, "useSample", useSample);
    return isAgreed === true ? success(sample) : failure(result.reason);
  },
);

async function ask(message: string, name: string, field: { type: "string" }) {
  const requestedSchema = {
    type: "object" as const,
    properties: { [name]: field },
    required: [name],
  };
  const { action, content } = await server.server.elicitInput({
    message,
    requestedSchema,
  });
  return action === "accept" ? content?.[name] : undefined;
}

function success(quote: Quote) {
  const text = JSON.stringify(quote);
  return { content: [{ type: "text" as const, text }], structuredContent: quote };
}

function failure(text: string) {
  return { content: [{ type: "text" as const, text }], isError: true };
}

await server.connect(new StdioServerTransport());
process.stdin.on("end", () => process.exit()); // or it would stay
