/**
 * A server's question on its way to whoever answers: checked first, whichever way it came. No
 * terminal is known here; an `Answerer` is a person, a test, or fifteen lines of your own.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation
 */
import { setTimeout as sleep } from "node:timers/promises";
import { readForm, type Field } from "./form.ts";
import { ConnectionError, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError } from "./peer.ts";
import type { Params } from "./peer.ts";
import * as mcp from "./schema.ts";

/** Answers the questions of servers. What it can do is what is declared to them. */
export type Answerer = {
  /** Fills in a form. The signal withdraws the question. */
  form(question: Form, signal?: AbortSignal): Promise<mcp.ElicitResult>;
  /** Sends the person to a page. An accept means that they agreed, not that they are done. */
  url?: ((question: Page, signal?: AbortSignal) => Promise<mcp.ElicitResult>) | undefined;
};
export type Form = { message: string; fields: Field[] };
/** `again` if the person has agreed to this page before, and has only to say when it is done. */
export type Page = { message: string; url: URL; again: boolean };

/** What is declared. Before 2025-11-25 there was one mode, and no name for it. */
export function capabilities(answerer: Answerer | undefined, version: string): Params {
  if (!answerer) return {};
  if (version < "2025-11-25") return { elicitation: {} };
  return { elicitation: { form: {}, ...(answerer.url && { url: {} }) } };
}

/**
 * Checks a question and has it answered.
 * @throws {RpcError} -32602 or -32601 if it is none that this client declared or the protocol
 *   allows; nobody is asked then
 */
export async function answerQuestion(
  { method, params }: mcp.InputRequest,
  answerer: Answerer | undefined,
  again: boolean,
  signal: AbortSignal,
): Promise<mcp.ElicitResult> {
  if (method !== "elicitation/create" || !answerer) {
    throw new RpcError(METHOD_NOT_FOUND, `this client does not answer ${method}`);
  }
  const asked = mcp.parseParams(mcp.ElicitParams, params, method);
  const { mode, message, url, requestedSchema } = asked;
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

type Waiter = { readonly signal: AbortSignal };

/** The person gave up on a page, where there was no question to say so to. */
export class GaveUp extends ConnectionError {}
GaveUp.prototype.name = "GaveUp";

/**
 * Remembers the page that the person was sent to. A second question for the same URL (`again`)
 * and a round without a question then wait for the person, however long a sign-in takes.
 */
export function withPages(
  put: (
    q: mcp.InputRequest,
    again: boolean,
    context: Waiter,
  ) => Promise<mcp.InputResponse>,
) {
  let page: mcp.InputRequest | undefined;
  return {
    async ask(question: mcp.InputRequest, context: Waiter): Promise<mcp.InputResponse> {
      const { mode, url } = question.params;
      const again = page !== undefined && page.params["url"] === url;
      const answer = await put(question, again, context);
      if (mode === "url" && answer["action"] === "accept") page = question;
      return answer;
    },
    async pause({ signal }: Waiter): Promise<void> {
      if (!page) {
        const pause = sleep(200, undefined, { signal });
        return pause.catch(() => signal.throwIfAborted());
      }
      const { action } = await put(page, true, { signal });
      if (action !== "accept") throw new GaveUp("you left before the page was done with");
    },
  };
}
