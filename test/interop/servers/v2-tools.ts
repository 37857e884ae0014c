/** What the servers on SDK v2 do with a request, whichever way it comes. */
import { Server } from "@modelcontextprotocol/server";
import { asks, echo, toolList } from "./questions.ts";

type State = { round: number; answers: Record<string, unknown> };

export function makeServer(): Server {
  const server = new Server(
    { name: "v2", version: "1.0.0" },
    { capabilities: { tools: {} } },
  );
  server.setRequestHandler("tools/list", () => ({ tools: toolList }));
  server.setRequestHandler("tools/call", ({ params }, { mcpReq }) => {
    const given = mcpReq.requestState() as string | undefined;
    const { round, answers } = given
      ? (JSON.parse(given) as State)
      : { round: 0, answers: {} };
    const all = { ...answers, ...mcpReq.inputResponses };
    const inputRequests = asks[params.name]?.[round];
    if (!inputRequests) return echo(all);
    const requestState = JSON.stringify({ round: round + 1, answers: all });
    return { resultType: "input_required", inputRequests, requestState } as never;
  });
  return server;
}
