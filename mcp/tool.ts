/**
 * A tool in one line of thought. Its author writes `run` as if the person were in the room:
 *
 *     const { name } = await ask("name", "What is your name?", z.object({ name: z.string() }));
 *
 * `ask` returns the answer if it is there. If not, the run ends at that point, the question
 * goes out, and the tool runs again from the top with the answer. What was answered, and what
 * `once` found, travels in the sealed `requestState`; nothing is kept on the server.
 */
import { createHash, randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { formRequest, ownForm, readAnswer } from "./form.ts";
import type { Params } from "./peer.ts";
import { problem, type CallToolResult, type InputRequest } from "./schema.ts";

export type Tools = Record<string, Tool>;

/** The primitive, and what travels. */
export type Tool = {
  title?: string | undefined;
  description: string;
  inputSchema: object;
  outputSchema?: object | undefined;
  annotations?: object | undefined;
  /** Runs from the top on every round. The rest is what `tools/list` says of the tool. */
  call(args: Params, round: Round): Promise<CallToolResult | Questions>;
};

export type Round = {
  /** What came back for the questions of the last round, by their keys; not yet checked. */
  answers: Params;
  /** What the last round passed on. The client can neither have read nor changed it. */
  state: unknown;
  /** Whether the client declares what this question takes. If not, asking it ends the call. */
  canAsk(question: InputRequest): boolean;
  /** Aborts when nobody waits for the result any more. */
  readonly signal: AbortSignal;
};

/** A wish to be called again, with the answers and with this state, which must be JSON. */
export type Questions = { questions?: Record<string, InputRequest>; state?: unknown };

/** A failed call: text only, since other content would have to fit the output schema. */
export function failure(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

// --- What its author sees ----------------------------------------------------------------

type Schema = z.ZodObject;
type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** Keys are names: one use each in a run, so a loop needs one an item. */
export type Run = {
  /** Returns the user's answer as the form parses it, or throws `Refused`. */
  ask<F extends Schema>(key: string, message: string, form: F): Promise<z.output<F>>;
  /** Does work that must not be done again with every run, and keeps what it returns. */
  once<Value extends Json>(key: string, work: () => Promise<Value>): Promise<Value>;
  /** Whether the client shows forms. If not, `ask` ends the call. */
  canAsk(): boolean;
  readonly signal: AbortSignal;
  /** The same in every run of a call, and in no other call: makes an effect happen once. */
  readonly callId: string;
};

/** Fails the call with a sentence for whoever made it. */
export class ToolError extends Error {}

/** The user declined or cancelled: fails the call, unless the tool catches it. */
export class Refused extends ToolError {
  readonly action: "decline" | "cancel";
  constructor(action: "decline" | "cancel", question: string) {
    super(`The user ${action === "decline" ? "declined" : "cancelled"}: "${question}"`);
    this.action = action;
  }
}

/** Defines a tool. `run` returns the text of the result or, by `output`, what is structured. */
export function tool<In extends Schema, Out extends Schema | undefined = undefined>(
  definition: Pick<Tool, "title" | "description" | "annotations"> & {
    input: In;
    output?: Out;
    run(
      args: z.output<In>,
      run: Run,
    ): Promise<Out extends Schema ? z.input<Out> : string>;
  },
): Tool {
  const { input, output, run, ...described } = definition;
  return {
    ...described,
    // Made when they are asked for: a server may serve calls and never list its tools.
    get inputSchema() {
      return jsonSchema(input, "input");
    },
    get outputSchema() {
      return output && jsonSchema(output, "output");
    },
    async call(args, round) {
      // Models write null for an optional argument that they leave out.
      const given = Object.entries(args).filter(
        ([key, value]) => value !== null || !input.shape[key]?.isOptional?.(),
      );
      const parsed = input.safeParse(Object.fromEntries(given));
      if (!parsed.success) return failure(`Invalid arguments: ${problem(parsed.error)}.`);
      const { run: own, end } = replay(round);
      const running = run(parsed.data, own);
      const questions = await end(running);
      if (questions) return questions; // whatever the run then returned or threw
      try {
        const value = await running;
        if (!output) return { content: [{ type: "text", text: String(value) }] };
        const structuredContent = output.parse(value);
        const text = JSON.stringify(structuredContent);
        return { content: [{ type: "text", text }], structuredContent };
      } catch (error) {
        if (error instanceof ToolError) return failure(error.message);
        throw error;
      }
    },
  };
}

function jsonSchema(schema: Schema, io: "input" | "output"): object {
  const { $schema, additionalProperties, ...rest } = z.toJSONSchema(schema, { io });
  return rest;
}

// --- Running again from the top ----------------------------------------------------------

const UNANSWERED = new Error("a question has no answer yet"); // ends a run

/** What travels: the digest of each question that was shown, and what came back, as it came. */
type Memory = {
  callId: string;
  asked: Record<string, { digest: string; answer?: unknown }>;
  found: Record<string, Json>;
};

/** One run, and its `end`: what it has to ask, when all that it began is done. */
function replay(round: Round) {
  const first = { callId: randomUUID(), asked: {}, found: {} };
  const memory = (round.state ?? first) as Memory;
  const { callId, asked, found } = memory;
  // An answer counts only for a question that is out, so never in the first round.
  for (const [key, out] of Object.entries(asked)) out.answer ??= round.answers[key];

  const questions: Record<string, InputRequest> = {};
  const begun = new Map<string, Promise<unknown>>();
  let mistake: Error | undefined; // of the author's: no question may hide it
  const begin = <Value>(key: string, work: () => Promise<Value>): Promise<Value> => {
    if (begun.has(key)) mistake = new Error(`the key "${key}" is used twice in one run`);
    const promise = work();
    promise.catch(() => {}); // one that is awaited late is no unhandled rejection
    begun.set(key, promise);
    return promise;
  };

  const run: Run = {
    ask: (key, message, form) =>
      begin(key, async () => {
        const { requestedSchema, text } = ownForm(form);
        const shown = createHash("sha256").update(`${message}\0${text}`);
        const digest = shown.digest("base64url");
        const { answer } = asked[key]?.digest === digest ? asked[key] : {};
        const read = answer === undefined ? undefined : await readAnswer(form, answer);
        if (read?.action === "accept") return read.value;
        if (read && read.action !== "invalid") throw new Refused(read.action, message);
        asked[key] = { digest };
        const again = read ? `${read.reason} ${message}` : message;
        questions[key] = formRequest(again, requestedSchema);
        throw UNANSWERED;
      }),
    once: (key, work) =>
      begin(key, async () => {
        if (!Object.hasOwn(found, key)) {
          const value = await work();
          // What comes out of the state must not be another thing, as a Date would be.
          found[key] = JSON.parse(JSON.stringify(value) ?? "null");
          const isSame = isDeepStrictEqual(found[key], value);
          if (!isSame) mistake = new Error(`once("${key}") found what is no JSON`);
        }
        return found[key] as Awaited<ReturnType<typeof work>>;
      }),
    canAsk: () => round.canAsk(formRequest("", {})),
    get signal() {
      return round.signal;
    },
    callId,
  };
  const end = async (running: Promise<unknown>): Promise<Questions | undefined> => {
    await Promise.allSettled([running]);
    await Promise.allSettled(begun.values());
    if (mistake) throw mistake;
    return Object.keys(questions).length > 0 ? { questions, state: memory } : undefined;
  };
  return { run, end };
}
