/**
 * The tools of the benchmark on our own server. With client-ours.ts the only file here that
 * imports what is measured.
 */
import * as z from "zod";
import { formRequest, readAnswer } from "../../../mcp/form.ts";
import { start, type Questions, type Round, type Tools } from "../../../server.ts";
import {
  AskInput,
  AskOutput,
  EchoInput,
  EchoOutput,
  FORM,
  QUESTION,
  result,
} from "./tools.ts";

type Tool = Tools[string];

/** A tool whose input and output are checked by their schemas, as the SDKs do. */
function tool<I, O>(
  description: string,
  input: z.ZodType<I>,
  output: z.ZodType<O>,
  run: (args: I, round: Round) => { text: string; structured: O } | Questions,
): Tool {
  return {
    description,
    inputSchema: z.toJSONSchema(input, { io: "input" }),
    outputSchema: z.toJSONSchema(output),
    async call(args, round) {
      const outcome = run(input.parse(args), round);
      if (!("text" in outcome)) return outcome;
      return result(outcome.text, output.parse(outcome.structured) as object as {});
    },
  };
}

/** The name, or the question for it. */
function askName(form: object, { answers }: Round) {
  const answer = readAnswer(form, answers["name"]);
  if (answer.action !== "accept")
    return { questions: { name: formRequest(QUESTION, form) } };
  const name = String(answer.content["name"]);
  return { text: name, structured: { name } };
}

const Heap = z.object({ heap: z.number() });

const tools: Tools = {
  echo: tool(
    "Returns as many characters as are asked for",
    EchoInput,
    EchoOutput,
    ({ text, size }) => ({
      text: "x".repeat(size),
      structured: { received: text.length },
    }),
  ),
  ask: tool("Asks for a name", AskInput, AskOutput, (_args, round) =>
    askName(
      {
        type: "object",
        properties: {
          name: { type: "string", title: "Name", minLength: 1, maxLength: 40 },
        },
        required: ["name"],
      },
      round,
    ),
  ),
  askOnce: tool("Asks for a name", AskInput, AskOutput, (_args, round) =>
    askName(FORM, round),
  ),
  heap: tool("Tells how many bytes are in use", AskInput, Heap, () => {
    globalThis.gc?.();
    return { text: "", structured: { heap: process.memoryUsage().heapUsed } };
  }),
};

await start(tools, process.stdin, process.stdout);
