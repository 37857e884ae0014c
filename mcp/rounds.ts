/**
 * The loop that both eras share. A request that needs the user comes back with questions
 * instead of a result; whoever runs the loop has them answered and makes the request again.
 *
 * From 2026-07-28 on the client runs it: an attempt is a request on the wire, and `ask` is
 * the person. Before, the server runs it: an attempt is a call of its own handler, and `ask`
 * is an `elicitation/create` request to the client. The rules are the same.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
import { setTimeout as sleep } from "node:timers/promises";
import { ConnectionError } from "./peer.ts";
import {
  InputRequired,
  parseResult,
  Result,
  InputRequest,
  type InputResponse,
} from "./schema.ts";

/** What a retry carries beside the original params. Empty on the first attempt. */
export type Retry = { inputResponses?: Record<string, unknown>; requestState?: string };

export type Attempt = (retry: Retry) => Promise<unknown>;

/** Answers a question; `again` if it is one for a URL that was agreed to in an earlier round. */
export type Ask = (question: InputRequest, again: boolean) => Promise<InputResponse>;

/** The person gave up on the page at a URL, where there was no question to say so to. */
export class GaveUp extends Error {}

export const MAX_ROUNDS = 10;
const PAUSE_MS = 200;

/** A person may look so often whether a page is done with; a program would look for ever. */
const MAX_LOOKS = 1000;

/**
 * Attempts a request until its result is complete.
 *
 * @param attempt makes the request with what the retry adds; called anew each round
 * @param ask answers one question
 * @param options.signal ends the pause before a retry without questions
 * @returns the complete result
 * @throws {ConnectionError} an unknown or malformed result, or too many rounds
 * @throws {GaveUp} the person left a page that was not done with
 * @throws what `attempt` and `ask` throw, and the signal's reason; nothing is retried then
 */
export async function untilComplete(
  attempt: Attempt,
  ask: Ask,
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Result> {
  let retry: Retry = {};
  let page: InputRequest | undefined; // that the person was sent to
  let looks = 0;
  for (let round = 0; ;) {
    const result = parseResult(Result, await attempt(retry), "the request");
    if (result.resultType === "complete") return result;
    const { inputRequests, requestState } = readQuestions(result);
    // Counted after the look at the result: one that ends the last round is not lost.
    if (round === MAX_ROUNDS) {
      throw new ConnectionError(`the server still asks after ${MAX_ROUNDS} rounds`);
    }
    let isWaiting = false;
    retry = {};
    if (inputRequests) {
      const answers: [string, InputResponse][] = [];
      for (const [key, question] of Object.entries(inputRequests)) {
        const again = page !== undefined && question.params["url"] === page.params["url"];
        const answer = await ask(question, again);
        isWaiting ||= again;
        if (question.params["mode"] === "url" && answer["action"] === "accept") {
          page = question;
        }
        answers.push([key, answer]);
      }
      // Every answer goes under the key of its question, whatever the key is.
      retry.inputResponses = Object.fromEntries(answers);
    } else if (page) {
      isWaiting = true;
      const { action } = await ask(page, true);
      if (action !== "accept") {
        throw new GaveUp("you left before the page was done with");
      }
    } else {
      const { signal } = options;
      const pause = sleep(PAUSE_MS, undefined, { ...(signal && { signal }) });
      await pause.catch(() => signal?.throwIfAborted());
    }
    // The very string that came; where none came, none goes out, and "" is a string.
    if (requestState !== undefined) retry.requestState = requestState;
    // Rounds in which a person waits for a page are theirs to count.
    if (!isWaiting) round++;
    else if (++looks > MAX_LOOKS) {
      throw new ConnectionError(`the page is not done with after ${MAX_LOOKS} looks`);
    }
  }
}

function readQuestions(result: Result): InputRequired {
  if (result.resultType !== "input_required") {
    throw new ConnectionError(
      `the server answered with resultType "${result.resultType}"`,
    );
  }
  const { inputRequests = {}, ...rest } = parseResult(
    InputRequired,
    result,
    "the request",
  );
  const questions = Object.entries(inputRequests).map(([key, question]) => [
    key,
    parseResult(InputRequest, question, `the request (${key})`),
  ]);
  if (questions.length > 0) {
    return { ...rest, inputRequests: Object.fromEntries(questions) };
  }
  if (rest.requestState !== undefined) return rest;
  throw new ConnectionError(
    "the server asks for input, but with no question and no state",
  );
}
