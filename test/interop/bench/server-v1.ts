/** The tools of the benchmark on SDK v1, as its docs/server.md and docs/capabilities.md do it. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  AskInput,
  AskOutput,
  EchoInput,
  EchoOutput,
  FORM,
  MAX_BYTES,
  QUESTION,
  result,
} from "./tools.ts";

const server = new McpServer({ name: "bench", version: "1.0.0" });
server.registerTool(
  "echo",
  {
    description: "Returns as many characters as are asked for",
    inputSchema: EchoInput,
    outputSchema: EchoOutput,
  },
  async ({ text, size }) => result("x".repeat(size), { received: text.length }),
);
const asks = {
  description: "Asks for a name",
  inputSchema: AskInput,
  outputSchema: AskOutput,
};
server.registerTool("ask", asks, async () => {
  const { content } = await server.server.elicitInput({
    mode: "form",
    message: QUESTION,
    requestedSchema: {
      type: "object",
      properties: {
        name: { type: "string", title: "Name", minLength: 1, maxLength: 40 },
      },
      required: ["name"],
    },
  });
  return named(content?.["name"]);
});
server.registerTool("askOnce", asks, async () => {
  const asked = { mode: "form" as const, message: QUESTION, requestedSchema: FORM };
  const { content } = await server.server.elicitInput(asked);
  return named(content?.["name"]);
});

function named(value: unknown) {
  const name = String(value);
  return result(name, { name });
}

const { stdin, stdout } = process;
await server.connect(
  new StdioServerTransport(stdin, stdout, { maxBufferSize: MAX_BYTES }),
);
stdin.on("end", () => process.exit()); // or it would stay
