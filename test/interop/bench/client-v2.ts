/** A session on version 2 of the SDK. */
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { Open } from "./session.ts";
import { MAX_BYTES } from "./tools.ts";

export const open: Open = async (server, protocol) => {
  const client = new Client(
    { name: "bench", version: "1.0.0" },
    {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: {
        mode: protocol === "2025-11-25" ? "legacy" : { pin: protocol },
      },
    },
  );
  client.setRequestHandler("elicitation/create", () => ({
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
      const reply = await client.callTool({ name, arguments: args });
      const [block] = reply.content;
      const structured = reply.structuredContent as Record<string, unknown>;
      return { text: block?.type === "text" && block.text, structured };
    },
    close: () => client.close(),
  };
};
