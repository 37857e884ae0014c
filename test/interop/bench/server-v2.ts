/**
 * The tools of the benchmark on SDK v2. Its documents have two ways to ask: docs/servers/
 * input-required.md for both eras (`ask`), docs/servers/elicitation.md for the legacy era
 * alone (`push`). Both are measured.
 */
import { acceptedContent, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";
import {
  AskInput,
  AskOutput,
  EchoInput,
  EchoOutput,
  FORM,
  Form,
  MAX_BYTES,
  QUESTION,
  result,
} from "./tools.ts";

const asks = {
  description: "Asks for a name",
  inputSchema: AskInput,
  outputSchema: AskOutput,
};

const named = (name: string) => result(name, { name });

function create(): McpServer {
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
  server.registerTool("ask", asks, async (_args, { mcpReq }) => {
    const answer = acceptedContent(
      mcpReq.inputResponses,
      "name",
      z.object({ name: z.string().min(1).max(40) }),
    );
    if (answer) return named(answer.name);
    return inputRequired({
      inputRequests: {
        name: inputRequired.elicit({
          message: QUESTION,
          requestedSchema: {
            type: "object",
            properties: {
              name: { type: "string", title: "Name", minLength: 1, maxLength: 40 },
            },
            required: ["name"],
          },
        }),
      },
    });
  });
  server.registerTool("askOnce", asks, async (_args, { mcpReq }) => {
    const answer = acceptedContent(mcpReq.inputResponses, "name", Form);
    if (answer) return named(answer.name);
    const name = inputRequired.elicit({ message: QUESTION, requestedSchema: FORM });
    return inputRequired({ inputRequests: { name } });
  });
  server.registerTool("push", asks, async (_args, { mcpReq }) => {
    const { content } = await mcpReq.elicitInput({
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
    return named(String(content?.["name"]));
  });
  server.registerTool("pushOnce", asks, async (_args, { mcpReq }) => {
    const asked = { mode: "form" as const, message: QUESTION, requestedSchema: FORM };
    const { content } = await mcpReq.elicitInput(asked);
    return named(String(content?.["name"]));
  });
  return server;
}

const transport = new StdioServerTransport(process.stdin, process.stdout, {
  maxBufferSize: MAX_BYTES,
});
serveStdio(create, { transport });
