/**
 * The stock-price client once more, on the official SDK:
 * `npx tsx test/interop/sdk/client.ts --server server.ts --ticker NVDA`.
 */
import * as readline from "node:readline/promises";
import { parseArgs } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const { values } = parseArgs({
  options: {
    server: { type: "string", default: "server.ts" },
    ticker: { type: "string" },
    defaults: { type: "boolean", default: false },
    protocol: { type: "string", default: "auto" },
    env: { type: "string", multiple: true, default: [] },
  },
});
const isTerminal = process.stdin.isTTY && process.stderr.isTTY;
const canAsk = values.defaults || isTerminal;

const client = new Client(
  { name: "stock-price-client", version: "1.0.0" },
  {
    capabilities: canAsk ? { elicitation: { form: {} } } : {},
    versionNegotiation: {
      mode:
        values.protocol === "auto"
          ? "auto"
          : values.protocol >= "2026-07-28"
            ? { pin: values.protocol }
            : "legacy",
    },
  },
);

if (canAsk) {
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    if (params.mode === "url") return { action: "decline" as const };
    const content: Record<string, string | boolean> = {};
    if (!values.defaults) console.error(`${values.server} asks: ${params.message}`);
    for (const [name, field] of Object.entries(params.requestedSchema.properties)) {
      if (values.defaults) {
        if (field.default !== undefined)
          content[name] = field.default as string | boolean;
        continue;
      }
      const terminal = readline.createInterface(process.stdin, process.stderr);
      const line = await terminal.question(`${name} [${field.default ?? ""}] > `);
      terminal.close();
      const typed =
        line === "" ? field.default : field.type === "boolean" ? line === "y" : line;
      if (typed !== undefined) content[name] = typed as string | boolean;
    }
    return { action: "accept" as const, content };
  });
}

const env = Object.fromEntries(values.env.map((pair) => pair.split("=", 2)));
const { PATH = "" } = process.env;
const args = [...process.execArgv, values.server];
await client.connect(
  new StdioClientTransport({ command: process.execPath, args, env: { PATH, ...env } }),
);
await client.listTools(); // so that the client can check the result
const call = { name: "get_stock_price", arguments: { ticker: values.ticker } };
const { isError, content, structuredContent } = await client.callTool(call);
const [first] = content;
if (isError) {
  console.error(first?.type === "text" ? first.text : "The tool failed.");
  process.exitCode = 1;
} else {
  const { symbol, price, source, date } = structuredContent as Record<string, string>;
  const mark =
    source === "sample" ? ` (bundled sample of ${date}, not a live price)` : "";
  console.log(`${symbol} ${price}${mark}`);
}
await client.close();
