/** The server to measure calls with, on our `start`: one tool that echoes, one that asks. */
import { formRequest, readAnswer } from "../../../mcp/form.ts";
import { start } from "../../../server.ts";
import { echoed, FORM } from "./job.ts";

const inputSchema = { type: "object" };
await start(
  {
    echo: {
      description: "Echoes",
      inputSchema,
      call: async ({ text }) => echoed(String(text)),
    },
    ask: {
      description: "Asks",
      inputSchema,
      async call(_args, { answers }) {
        const answer = readAnswer(FORM, answers["q"]);
        if (answer.action === "accept") return echoed(String(answer.content["n"]));
        return { questions: { q: formRequest("Which?", FORM) } };
      },
    },
  },
  process.stdin,
  process.stdout,
);
