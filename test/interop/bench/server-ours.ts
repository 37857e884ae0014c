/** The tools of the benchmark on our own server. */
import * as z from "zod";
import { formRequest, readAnswer } from "../../../mcp/form.ts";
import { start } from "../../../server.ts";
import { Input, memory, NAME_FORM, QUESTION } from "./tools.ts";

const text = (text: string) => ({ content: [{ type: "text", text }] });
const inputSchema = z.toJSONSchema(Input, { io: "input" });

await start(
  {
    echo: {
      description: "Returns as many characters as are asked for",
      inputSchema,
      call: async (args) => text("x".repeat(Input.parse(args).size)),
    },
    ask: {
      description: "Asks for a name",
      inputSchema,
      async call(_args, { answers }) {
        const answer = readAnswer(NAME_FORM, answers["name"]);
        return answer.action === "accept"
          ? text(String(answer.content["name"]))
          : { questions: { name: formRequest(QUESTION, NAME_FORM) } };
      },
    },
    memory: {
      description: "Tells what memory is in use",
      inputSchema,
      call: async () => text(JSON.stringify(memory())),
    },
  },
  process.stdin,
  process.stdout,
);
