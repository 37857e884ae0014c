/** A server on SDK v1, for 2025-11-25 and older, that asks in every way there is. */
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  CallToolRequestSchema,
  ElicitResultSchema,
  ListToolsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { asks, echo, toolList, type Asks } from "./questions.ts";

const server = new Server(
  { name: "v1", version: "1.0.0" },
  { capabilities: { tools: {} } },
);
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: toolList }));
server.setRequestHandler(CallToolRequestSchema, async ({ params }, { sendRequest }) => {
  const answers: Record<string, unknown> = {};
  for (const round of asks[params.name] ?? []) await askAll(round);
  return echo(answers);

  async function askAll(round: Asks): Promise<void> {
    const asked = Object.entries(round).map(async ([key, { params }]) => {
      const id = params["mode"] === "url" ? { elicitationId: key } : {};
      const request = {
        method: "elicitation/create" as const,
        params: { ...params, ...id },
      };
      answers[key] = await sendRequest(request, ElicitResultSchema);
    });
    await Promise.all(asked); // at once
  }
});
await server.connect(new StdioServerTransport());
process.stdin.on("end", () => process.exit(0));
