/** A session on version 1 of the SDK. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CallToolResultSchema,
  ElicitRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { Open } from "./session.ts";

export const open: Open = async (server) => {
  const client = new Client(
    { name: "bench", version: "1.0.0" },
    { capabilities: { elicitation: { form: {} } } },
  );
  client.setRequestHandler(ElicitRequestSchema, () => ({
    action: "accept",
    content: { name: "Grace" },
  }));
  const { execPath: command, execArgv } = process;
  await client.connect(
    new StdioClientTransport({ command, args: [...execArgv, server] }),
  );
  return {
    async call(name, args) {
      const result = await client.callTool({ name, arguments: args });
      const [block] = CallToolResultSchema.parse(result).content;
      return block?.type === "text" ? block.text : undefined;
    },
    close: () => client.close(),
  };
};
