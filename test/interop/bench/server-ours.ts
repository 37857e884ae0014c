/**
 * The tools of the benchmark on our own server. With client-ours.ts the only file here that
 * imports what is measured.
 */
import * as z from "zod";
import { formRequest, ownForm, readAnswer } from "../../../mcp/form.ts";
import { serve } from "../../../mcp/serve.ts";
import { tool, type Tool } from "../../../mcp/tool.ts";
import { AskInput, AskOutput, EchoInput, EchoOutput, QUESTION, result } from "./tools.ts";

/** The primitive: `tool()` would send what is structured as text too. */
const echo: Tool = {
  description: "Returns as many characters as are asked for",
  inputSchema: z.toJSONSchema(EchoInput, { io: "input" }),
  outputSchema: z.toJSONSchema(EchoOutput),
  async call(args) {
    const { text, size } = EchoInput.parse(args);
    return result("x".repeat(size), EchoOutput.parse({ received: text.length }));
  },
};

/** As our README writes it: the form once, above the tool. */
const NameForm = z.object({ name: z.string().min(1).max(40).meta({ title: "Name" }) });
const ask = tool({
  description: "Asks for a name",
  input: AskInput,
  output: AskOutput,
  run: async (_args, { ask }) => ask("name", QUESTION, NameForm),
});

/** The same by the primitive: nothing to remember from round to round, so no state. */
const askOnce: Tool = {
  description: "Asks for a name",
  inputSchema: z.toJSONSchema(AskInput, { io: "input" }),
  outputSchema: z.toJSONSchema(AskOutput),
  async call(args, { answers }) {
    AskInput.parse(args);
    const answer = await readAnswer(NameForm, answers["name"]);
    if (answer.action === "accept") {
      const { name } = AskOutput.parse(answer.value);
      return result(name, { name });
    }
    const { requestedSchema } = ownForm(NameForm);
    return { questions: { name: formRequest(QUESTION, requestedSchema) } };
  },
};

const heap = tool({
  description: "Tells how many bytes are in use",
  input: AskInput,
  output: z.object({ heap: z.number() }),
  async run() {
    globalThis.gc?.();
    return { heap: process.memoryUsage().heapUsed };
  },
});

const tools = { echo, ask, askOnce, heap };
await serve(tools, { name: "bench", version: "1.0.0" });
