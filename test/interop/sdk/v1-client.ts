/** The same client on version 1 of the SDK: the old era only, and defaults for answers. */
import { parseArgs } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  ElicitRequestSchema,
  type CallToolResult,
} from "@modelcontextprotocol/sdk/types.js";

const { server, ticker, env } = parseArgs({
  options: {
    server: { type: "string", default: "v1-server.ts" },
    ticker: { type: "string" },
    env: { type: "string", multiple: true, default: [] },
  },
}).values;

const client = new Client(
  { name: "stock-price-client", version: "1.0.0" },
  { capabilities: { elicitation: { form: { applyDefaults: true } } } },
);
client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: {} }));
await client.connect(
  new StdioClientTransport({
    command: process.execPath,
    args: [...process.execArgv, server],
    env: Object.fromEntries(env.map((pair) => pair.split("=", 2))),
  }),
);
await client.listTools(); // so that the client can check the result
const { content, structuredContent, isError } = (await client.callTool({
  name: "get_stock_price",
  arguments: { ...(ticker !== undefined && { ticker }) },
})) as CallToolResult;
if (isError) throw new Error(JSON.stringify(content));
const { symbol, price, source, date } = structuredContent as Record<string, string>;
const mark = source === "sample" ? ` (bundled sample of ${date}, not a live price)` : "";
console.log(`${symbol} ${price}${mark}`);
await client.close();
