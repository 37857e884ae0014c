/**
 * The loop that both eras share. A request that needs the user comes back with questions
 * instead of a result. Whoever runs the loop has them answered and makes the request again.
 *
 * From 2026-07-28 on the client runs it: an attempt is a request on the wire, and `ask` puts
 * the question to the person. Before, the server runs it: an attempt is a call of its own
 * handler, and `ask` sends `elicitation/create` to the client. The rules are the same.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
import { ConnectionError } from "./peer.ts";
import { InputRequest, InputRequired, parseResult, Result } from "./schema.ts";
import type { InputResponse } from "./schema.ts";

/** What a retry carries beside the original params. Empty on the first attempt. */
export type Retry = {
  inputResponses?: Record<string, InputResponse>;
  requestState?: string;
};

/** Answers one question. */
export type Ask = (question: InputRequest) => Promise<InputResponse>;

export const MAX_ROUNDS = 20;

/**
 * Attempts a request until its result is complete.
 *
 * @param attempt makes the request with what the retry adds; called once a round
 * @param ask answers one question
 * @param pause waits before a retry that answers nothing
 * @returns the complete result
 * @throws {ConnectionError} an unknown or malformed result, or too many rounds
 * @throws what `attempt`, `ask` and `pause` throw; nothing is attempted after that
 */
export async function untilComplete(
  attempt: (retry: Retry) => unknown,
  ask: Ask,
  pause: () => Promise<unknown>,
): Promise<Result> {
  let retry: Retry = {};
  for (let round = 0; ; round++) {
    const result = parseResult(Result, await attempt(retry), "the request");
    if (result.resultType === "complete") return result;

    const { questions, requestState } = readQuestions(result);
    // Counted after the look at the result: one that ends the last round is not lost.
    if (round === MAX_ROUNDS) {
      throw new ConnectionError(`the server still asks after ${MAX_ROUNDS} rounds`);
    }
    retry = {};
    if (questions.length > 0) {
      const answers: [string, InputResponse][] = [];
      for (const [key, question] of questions) answers.push([key, await ask(question)]);
      // Every answer goes under the key of its question, whatever the key is.
      retry.inputResponses = Object.fromEntries(answers);
    } else await pause();
    // The very string that came. Where none came, none goes out; "" is a string too.
    if (requestState !== undefined) retry.requestState = requestState;
  }
}

function readQuestions(result: Result) {
  const { resultType } = result;
  if (resultType !== "input_required") {
    throw new ConnectionError(`the server answered with resultType "${resultType}"`);
  }
  const { inputRequests = {}, requestState } = parseResult(
    InputRequired,
    result,
    "the request",
  );
  const questions = Object.entries(inputRequests).map(([key, question]) => {
    return [key, parseResult(InputRequest, question, `the request (${key})`)] as const;
  });
  if (questions.length === 0 && requestState === undefined) {
    const lack = "with no question and no state";
    throw new ConnectionError(`the server asks for input, but ${lack}`);
  }
  return { questions, requestState };
}
