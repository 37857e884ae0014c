/**
 * Seals what a server learned in one round into the `requestState` of the next, and opens
 * it again. In between it was in the client's hands, so it is trusted only if the seal holds:
 * an HMAC under a key that this process made up and never tells. The content is signed, not
 * secret; do not put secrets in it.
 *
 * A seal is good for one request (method, tool and arguments) and for 30 minutes. It does
 * not prevent a second use within that time, so a tool must do nothing that can't be repeated.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { INVALID_PARAMS, RpcError } from "./peer.ts";

const KEY = randomBytes(32);
const LIFETIME_MS = 30 * 60 * 1000;

/** The request a state belongs to: its method, its tool and its arguments, in any order. */
export type Binding = { method: string; name: string; arguments: unknown };

/** Makes the `requestState` string that holds `state`, which must be JSON. */
export function seal(state: unknown, binding: Binding, now = Date.now()): string {
  const payload = JSON.stringify({ state, expires: now + LIFETIME_MS });
  const body = Buffer.from(payload).toString("base64url");
  return `${body}.${mac(body, binding).toString("base64url")}`;
}

/**
 * Returns the state that was sealed for this very request.
 *
 * @throws {RpcError} -32602, in the same words whatever is wrong with it
 */
export function open(requestState: unknown, binding: Binding, now = Date.now()): unknown {
  const text = typeof requestState === "string" ? requestState : "";
  const [body = "", seal = "", ...more] = text.split(".");
  const given = Buffer.from(seal, "base64url");
  const right = mac(body, binding);
  // Compared as text too: base64url has spare bits, and a flipped one must not pass.
  const isGenuine =
    more.length === 0 &&
    given.length === right.length &&
    timingSafeEqual(given, right) &&
    right.toString("base64url") === seal;
  if (isGenuine) {
    const { state, expires } = JSON.parse(Buffer.from(body, "base64url").toString());
    if (now < expires) return state;
  }
  throw new RpcError(
    INVALID_PARAMS,
    "requestState was not issued for this request, or has expired: call again without it",
  );
}

function mac(body: string, { method, name, arguments: args }: Binding): Buffer {
  const bound = JSON.stringify([method, name, args, body], sortKeys);
  return createHmac("sha256", KEY).update(bound).digest();
}

/** A client may send the same arguments in another order. */
function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
