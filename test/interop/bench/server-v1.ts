/** The tools of the benchmark on version 1 of the SDK. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { Input, NAME_FORM, QUESTION } from "./tools.ts";

const text = (text: string) => ({ content: [{ type: "text" as const, text }] });

const server = new McpServer({ name: "bench", version: "1.0.0" });
server.registerTool("echo", { inputSchema: Input }, async ({ size }) =>
  text("x".repeat(size)),
);
server.registerTool("ask", { inputSchema: Input }, async () => {
  const asked = { message: QUESTION, requestedSchema: NAME_FORM };
  const { content } = await server.server.elicitInput(asked);
  return text(String(content?.["name"]));
});
await server.connect(new StdioServerTransport());
process.stdin.on("end", () => process.exit()); // or it would stay
