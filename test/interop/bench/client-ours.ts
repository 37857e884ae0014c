/**
 * A session of our own client. With server-ours.ts the only file here that imports what is
 * measured.
 */
import * as z from "zod";
import { connect } from "../../../mcp/connect.ts";
import { startProcess } from "../../../mcp/process.ts";
import { CallToolResult } from "../../../mcp/schema.ts";
import type { Open } from "./session.ts";
import { AskOutput, EchoOutput } from "./tools.ts";

/** We check no foreign `outputSchema`: who calls a tool knows what it wants of the result. */
const OUTPUTS: Record<string, z.ZodType<Record<string, unknown>>> = {
  echo: EchoOutput,
  ask: AskOutput,
  askOnce: AskOutput,
  heap: z.object({ heap: z.number() }),
};

export const open: Open = async (server, protocol) => {
  const session = await connect(() => startProcess(server, [], {}, () => {}), {
    self: { name: "bench", version: "1.0.0" },
    protocol,
    answerer: { form: async () => ({ action: "accept", content: { name: "Grace" } }) },
  });
  await session.request("tools/list");
  return {
    async call(name, args) {
      const reply = await session.request("tools/call", { name, arguments: args });
      const { content, structuredContent } = CallToolResult.parse(reply);
      const structured = OUTPUTS[name]?.parse(structuredContent) ?? {};
      return { text: content[0]?.["text"], structured };
    },
    close: () => session.close(),
  };
};
