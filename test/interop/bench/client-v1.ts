/** A session on version 1 of the SDK. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  ElicitRequestSchema,
  type CallToolResult,
} from "@modelcontextprotocol/sdk/types.js";
import type { Open } from "./session.ts";
import { MAX_BYTES } from "./tools.ts";

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
  const args = [...execArgv, server];
  await client.connect(
    new StdioClientTransport({ command, args, maxBufferSize: MAX_BYTES }),
  );
  await client.listTools(); // from here on it checks what a tool returns
  return {
    async call(name, args) {
      // It has been parsed; its type still has the result of the first MCP version.
      const reply = (await client.callTool({ name, arguments: args })) as CallToolResult;
      const { content, structuredContent: structured = {} } = reply;
      const [block] = content;
      return { text: block?.type === "text" && block.text, structured };
    },
    close: () => client.close(),
  };
};
