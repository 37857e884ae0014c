/**
 * A tool in one line of thought. Its author writes `run` as if the person were in the room:
 *
 *     const { name } = await ask("name", "What is your name?", z.object({ name: z.string() }));
 *
 * `ask` returns the answer if it is there. If not, the run ends at that point, the question
 * goes out, and the tool runs again from the top with the answer. What was answered, and what
 * `once` found, travels in the sealed `requestState`; nothing is kept on the server.
 *
 * Below lies the primitive that the dispatch in modern.ts knows: a `call` that returns a result
 * or `{ questions, state }`.
 */
import { createHash, randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { formRequest, ownForm, readAnswer } from "./form.ts";
import type { Params } from "./peer.ts";
import { problem, type CallToolResult, type InputRequest } from "./schema.ts";

// --- The primitive -----------------------------------------------------------------------

export type Tools = Record<string, Tool>;

/** Everything but `call` is what `tools/list` says of the tool. */
export type Tool = {
  title?: string | undefined;
  description: string;
  inputSchema: object;
  outputSchema?: object | undefined;
  annotations?: object | undefined;
  /** Runs from the top on every round. */
  call(args: Params, round: Round): Promise<CallToolResult | Questions>;
};

/** What a round knows beside the arguments. */
export type Round = {
  /** What came back for the questions of the last round, by their keys; not yet checked. */
  answers: Params;
  /** What the last round passed on. The client can neither have read nor changed it. */
  state: unknown;
  /** Whether the client has declared what this question takes. Asking another ends the call. */
  canAsk(question: InputRequest): boolean;
  /** Aborts when nobody waits for the result any more. */
  readonly signal: AbortSignal;
};

/** A wish to be called again, with the answers and with this state, which must be JSON. */
export type Questions = { questions?: Record<string, InputRequest>; state?: unknown };

/** The result of a call that failed: text only, as other content would have to fit a schema. */
export function failure(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

// --- What its author sees ----------------------------------------------------------------

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** What a run may do. Keys are names: one use each in a run, so a loop needs one an item. */
export type Run = {
  /** Returns the user's answer as the form parses it, or throws `Refused`. */
  ask<F extends z.ZodObject>(key: string, message: string, form: F): Promise<z.output<F>>;
  /** Does work that must not be done again with every run, and keeps what it returns. */
  once<Value extends Json>(key: string, work: () => Promise<Value>): Promise<Value>;
  /** Whether this client shows forms. If it doesn't, `ask` ends the call. */
  canAsk(): boolean;
  /** Aborts when nobody waits for the result any more. */
  readonly signal: AbortSignal;
  /** The same in every run of a call, and in no other call: makes an effect happen once. */
  callId: string;
};

/** The user declined or cancelled. It fails the call, unless the tool catches it. */
export class Refused extends Error {
  readonly action: "decline" | "cancel";
  constructor(action: "decline" | "cancel", question: string) {
    super(`The user ${action === "decline" ? "declined" : "cancelled"}: "${question}"`);
    this.action = action;
  }
}

/** Fails the call with a sentence for whoever made it. */
export class ToolError extends Error {}

/**
 * Defines a tool. What `run` returns is the text of the result, or, with an `output` schema,
 * its structured content, which must satisfy that schema.
 */
export function tool<
  Input extends z.ZodObject,
  Output extends z.ZodObject | undefined = undefined,
>(definition: {
  title?: string;
  description: string;
  annotations?: object;
  input: Input;
  output?: Output;
  run(
    args: z.output<Input>,
    run: Run,
  ): Promise<Output extends z.ZodObject ? z.input<Output> : string>;
}): Tool {
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
        ([key, value]) => value !== null || !input.shape[key]?.isOptional(),
      );
      const parsed = await input.safeParseAsync(Object.fromEntries(given));
      if (!parsed.success) return failure(`Invalid arguments: ${problem(parsed.error)}.`);
      const replay = new Replay(round);
      const outcome = await run(parsed.data, replay).then(
        (value) => ({ value }),
        (error) => ({ error }),
      );
      const questions = await replay.end();
      if (questions) return questions; // whatever the run then returned or threw
      if ("error" in outcome) {
        const { error } = outcome;
        if (error instanceof Refused || error instanceof ToolError)
          return failure(error.message);
        throw error;
      }
      if (!output) return { content: [{ type: "text", text: String(outcome.value) }] };
      const structuredContent = await output.parseAsync(outcome.value);
      const text = JSON.stringify(structuredContent);
      return { content: [{ type: "text", text }], structuredContent };
    },
  };
}

function jsonSchema(schema: z.ZodObject, io: "input" | "output"): object {
  const { $schema, additionalProperties, ...rest } = z.toJSONSchema(schema, { io });
  return rest;
}

// --- Running again from the top ----------------------------------------------------------

/** What travels in the state. */
type Memory = {
  callId: string;
  /** By key: the digest of the question that was shown, and what came back, as it came. */
  asked: Record<string, { digest: string; answer?: unknown }>;
  found: Record<string, Json>;
};

/** One run: what is known from the earlier ones, and what comes to it. */
class Replay implements Run {
  readonly #round: Round;
  readonly #memory: Memory;
  readonly #keys = new Set<string>();
  readonly #questions: Record<string, InputRequest> = {};
  readonly #begun: Promise<unknown>[] = [];
  /** A mistake of the author's. No question may hide it. */
  #mistake: Error | undefined;

  constructor(round: Round) {
    this.#round = round;
    const first: Memory = { callId: randomUUID(), asked: {}, found: {} };
    this.#memory = (round.state as Memory | undefined) ?? first;
    // An answer counts only for a question that is out, so never in the first round.
    for (const [key, asked] of Object.entries(this.#memory.asked)) {
      asked.answer ??= round.answers[key];
    }
  }

  canAsk = () => this.#round.canAsk(formRequest("", {}));
  get signal() {
    return this.#round.signal;
  }
  get callId() {
    return this.#memory.callId;
  }

  ask: Run["ask"] = (key, message, form) =>
    this.#begin(key, async () => {
      const { requestedSchema, text } = ownForm(form);
      const digest = createHash("sha256")
        .update(message + text)
        .digest("base64url");
      const { asked } = this.#memory;
      const { answer } = asked[key]?.digest === digest ? asked[key] : {};
      const read = answer === undefined ? undefined : await readAnswer(form, answer);
      if (read?.action === "accept") return read.value as z.output<typeof form>;
      if (read && read.action !== "invalid") throw new Refused(read.action, message);
      asked[key] = { digest };
      const again = read ? `${read.reason} ${message}` : message;
      this.#questions[key] = formRequest(again, requestedSchema);
      throw new Error(`${key} has no answer yet`); // ends the run
    });

  once: Run["once"] = (key, work) =>
    this.#begin(key, async () => {
      const { found } = this.#memory;
      if (!Object.hasOwn(found, key)) found[key] = this.#throughJson(key, await work());
      return found[key] as Awaited<ReturnType<typeof work>>;
    });

  #begin<Value>(key: string, work: () => Promise<Value>): Promise<Value> {
    if (this.#keys.has(key)) {
      this.#mistake = new Error(`the key "${key}" is used twice in one run`);
    }
    this.#keys.add(key);
    const begun = work();
    this.#begun.push(begun);
    begun.catch(() => {}); // one that is awaited late is no unhandled rejection
    return begun;
  }

  /** The value as it will come out of the state: a Date would be another thing then. */
  #throughJson(key: string, value: Json): Json {
    const copy = JSON.parse(JSON.stringify(value) ?? "null");
    if (!isDeepStrictEqual(copy, value)) {
      this.#mistake = new Error(`once("${key}") found what JSON can't hold`);
    }
    return copy;
  }

  /** Waits for all that was begun; returns the questions, if there are any. */
  async end(): Promise<Questions | undefined> {
    await Promise.allSettled(this.#begun);
    if (this.#mistake) throw this.#mistake;
    const hasQuestions = Object.keys(this.#questions).length > 0;
    return hasQuestions ? { questions: this.#questions, state: this.#memory } : undefined;
  }
}
