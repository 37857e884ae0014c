/** The tools of the benchmark on version 2 of the SDK. */
import { acceptedContent, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";
import { Input, MAX_BYTES, QUESTION } from "./tools.ts";

const text = (text: string) => ({ content: [{ type: "text" as const, text }] });
const Name = z.object({ name: z.string() });

serveStdio(
  () => {
    const server = new McpServer({ name: "bench", version: "1.0.0" });
    server.registerTool("echo", { inputSchema: Input }, async ({ size }) =>
      text("x".repeat(size)),
    );
    server.registerTool("ask", { inputSchema: Input }, async (_args, { mcpReq }) => {
      const content = acceptedContent(mcpReq.inputResponses, "name", Name);
      if (content) return text(content.name);
      const name = inputRequired.elicit({ message: QUESTION, requestedSchema: Name });
      return inputRequired({ inputRequests: { name } });
    });
    return server;
  },
  {
    transport: new StdioServerTransport(process.stdin, process.stdout, {
      maxBufferSize: MAX_BYTES,
    }),
  },
);
