/**
 * The tools of the benchmark on our own server. With client-ours.ts the only file here that
 * imports what is measured.
 */
import * as z from "zod";
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

const nameForm = () =>
  z.object({ name: z.string().min(1).max(40).meta({ title: "Name" }) });
const FORM = nameForm();

const asking = (form: () => typeof FORM) =>
  tool({
    description: "Asks for a name",
    input: AskInput,
    output: AskOutput,
    run: async (_args, { ask }) => ask("name", QUESTION, form()),
  });

const heap = tool({
  description: "Tells how many bytes are in use",
  input: AskInput,
  output: z.object({ heap: z.number() }),
  async run() {
    globalThis.gc?.();
    return { heap: process.memoryUsage().heapUsed };
  },
});

const tools = { echo, ask: asking(nameForm), askOnce: asking(() => FORM), heap };
await serve(tools, { name: "bench", version: "1.0.0" });
