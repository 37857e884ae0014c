/**
 * A server's question on its way to whoever answers: checked first, whichever way it came. No
 * terminal is known here; an `Answerer` is a person, a test, or fifteen lines of your own.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation
 */
import { setTimeout as sleep } from "node:timers/promises";
import { readForm, type Field } from "./form.ts";
import { INVALID_PARAMS, METHOD_NOT_FOUND, RpcError, type Params } from "./peer.ts";
import {
  ElicitParams,
  parseParams,
  type ElicitResult,
  type InputRequest,
  type InputResponse,
} from "./schema.ts";

/** Answers the questions of servers. What it can do is what is declared to them. */
export type Answerer = {
  /** Fills in a form. The signal withdraws the question. */
  form(question: Form, signal?: AbortSignal): Promise<ElicitResult>;
  /** Sends the person to a page. An accept means that they agreed, not that they are done. */
  url?: ((question: Page, signal?: AbortSignal) => Promise<ElicitResult>) | undefined;
};
export type Form = { message: string; fields: Field[] };
/** `again` if the person has agreed to this page before, and has only to say when it is done. */
export type Page = { message: string; url: URL; again: boolean };

/** What is declared of an answerer. Before 2025-11-25 there was one mode, and no name for it. */
export function capabilities(answerer: Answerer | undefined, version: string): Params {
  if (!answerer) return {};
  if (version < "2025-11-25") return { elicitation: {} };
  return { elicitation: { form: {}, ...(answerer.url && { url: {} }) } };
}

/**
 * Checks a question and has it answered.
 *
 * @throws {RpcError} -32602 or -32601 if it is none that this client declared or the protocol
 *   allows; nobody is asked then
 */
export async function answerQuestion(
  { method, params }: InputRequest,
  answerer: Answerer | undefined,
  again: boolean,
  signal: AbortSignal,
): Promise<ElicitResult> {
  if (method !== "elicitation/create" || !answerer) {
    throw new RpcError(METHOD_NOT_FOUND, `this client does not answer ${method}`);
  }
  const question = parseParams(ElicitParams, params, method);
  const { mode, message, url, requestedSchema } = question;
  if (mode === "form") {
    return answerer.form({ message, fields: readForm(requestedSchema) }, signal);
  }
  if (mode !== "url" || !answerer.url) {
    throw new RpcError(INVALID_PARAMS, `this client declared no elicitation by ${mode}`);
  }
  if (!url || !URL.canParse(url) || !/^https?:/i.test(url)) {
    throw new RpcError(INVALID_PARAMS, `a URL to open must be http or https, not ${url}`);
  }
  return answerer.url({ message, url: new URL(url), again }, signal);
}

// --- Pages -------------------------------------------------------------------------------

/** The person gave up on the page at a URL, where there was no question to say so to. */
export class GaveUp extends Error {}

const PAUSE_MS = 200;

/** Where a question belongs: its signal withdraws it. */
type Context = { readonly signal: AbortSignal };

/**
 * Remembers the page that the person was sent to. A second question for the same URL, and a
 * round without a question, then wait for the person: a sign-in takes longer than any number
 * of quick rounds.
 *
 * @param put puts a question; `again` if its page was agreed to before
 */
export function withPages(
  put: (q: InputRequest, again: boolean, context: Context) => Promise<InputResponse>,
) {
  let page: InputRequest | undefined;
  return {
    async ask(question: InputRequest, context: Context): Promise<InputResponse> {
      const { mode, url } = question.params;
      const answer = await put(
        question,
        page !== undefined && page.params["url"] === url,
        context,
      );
      if (mode === "url" && answer["action"] === "accept") page = question;
      return answer;
    },
    async pause(context: Context): Promise<void> {
      if (!page) {
        const { signal } = context;
        const pause = sleep(PAUSE_MS, undefined, { signal });
        return pause.catch(() => signal.throwIfAborted());
      }
      const { action } = await put(page, true, context);
      if (action !== "accept") throw new GaveUp("you left before the page was done with");
    },
  };
}
