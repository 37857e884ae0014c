/** Our session, as the benchmark uses it. */
import { connect } from "../../../client.ts";
import { startProcess } from "../../../mcp/process.ts";
import { CallToolResult } from "../../../mcp/schema.ts";
import type { Open } from "./session.ts";

export const open: Open = async (server, protocol) => {
  const session = await connect(() => startProcess(server, [], {}, () => {}), {
    protocol,
    answerer: { form: async () => ({ action: "accept", content: { name: "Grace" } }) },
  });
  return {
    async call(name, args) {
      const params = { name, arguments: args };
      const reply = await session.request("tools/call", params);
      return CallToolResult.parse(reply).content[0]?.["text"];
    },
    close: () => session.close(),
  };
};
