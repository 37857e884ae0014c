/** The same on SDK v2. */
import { acceptedContent, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";
import { echoed, FORM } from "./job.ts";

serveStdio(() => {
  const server = new McpServer({ name: "v2", version: "1.0.0" });
  const inputSchema = z.object({ text: z.string().optional() });
  server.registerTool("echo", { description: "Echoes", inputSchema }, ({ text }) =>
    echoed(text ?? ""),
  );
  server.registerTool(
    "ask",
    { description: "Asks", inputSchema },
    (_args, { mcpReq }) => {
      const content = acceptedContent(
        mcpReq.inputResponses,
        "q",
        z.object({ n: z.int() }),
      );
      if (content) return echoed(String(content.n));
      const q = inputRequired.elicit({ message: "Which?", requestedSchema: FORM });
      return inputRequired({ inputRequests: { q } });
    },
  );
  return server;
});
