/** The same on SDK v1, which knows the older era only. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import * as z from "zod";
import { echoed, FORM } from "./job.ts";

const server = new McpServer({ name: "v1", version: "1.0.0" });
const inputSchema = { text: z.string().optional() };
server.registerTool("echo", { description: "Echoes", inputSchema }, ({ text }) =>
  echoed(text ?? ""),
);
server.registerTool("ask", { description: "Asks", inputSchema }, async () => {
  const { content } = await server.server.elicitInput({
    message: "Which?",
    requestedSchema: FORM,
  });
  return echoed(String(content?.["n"]));
});
await server.connect(new StdioServerTransport());
