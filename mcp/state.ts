/**
 * Seals what a server learned in one round into the `requestState` of the next, and opens
 * it again. In between it is in the client's hands, so it is encrypted and authenticated
 * (AES-256-GCM): the client can neither read nor change it.
 *
 * A seal is good for one request (method, tool and arguments) and for 30 minutes. It does
 * not prevent a second use within that time: see `callId` in tool.ts.
 *
 * The key is made up anew by each process. Where several processes serve the same calls, they
 * share one: STATE_KEY, 32 bytes in base64.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { INVALID_PARAMS, RpcError } from "./peer.ts";

const LIFETIME_MS = 30 * 60 * 1000;
const MAX_STATE_BYTES = 64 * 1024;
const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

let key: Buffer | undefined;

/**
 * The key of this process.
 *
 * @throws {Error} STATE_KEY is set, but is no key
 */
export function stateKey(): Buffer {
  const text = process.env["STATE_KEY"];
  if (text === undefined) return (key ??= randomBytes(32));
  const shared = Buffer.from(text, "base64");
  if (shared.length === 32 && shared.toString("base64") === text) return (key ??= shared);
  // Whatever it is, it may be a secret: it is never shown.
  throw new Error("STATE_KEY must be 32 bytes in base64, as of: openssl rand -base64 32");
}

/** The request a state belongs to: its method, its tool and its arguments, in any order. */
export type Binding = { method: string; name: string; arguments: unknown };

/**
 * Makes the `requestState` string that holds `state`.
 *
 * @throws {Error} the state is over 64 KiB: every round sends it to and fro
 */
export function seal(state: unknown, binding: Binding, now = Date.now()): string {
  const payload = Buffer.from(JSON.stringify({ state, expires: now + LIFETIME_MS }));
  if (payload.length > MAX_STATE_BYTES) {
    const size = `the state of ${binding.name} has ${payload.length} bytes`;
    const rule = `over ${MAX_STATE_BYTES}: keep what is large elsewhere`;
    throw new Error(`${size}, ${rule}, and only its name in the state`);
  }
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, stateKey(), iv).setAAD(bytesOf(binding));
  const sealed = [iv, cipher.update(payload), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(sealed).toString("base64url");
}

/**
 * Returns the state that was sealed for this very request.
 *
 * @throws {RpcError} -32602, in the same words whatever is wrong with it
 */
export function open(requestState: unknown, binding: Binding, now = Date.now()): unknown {
  try {
    const bytes = Buffer.from(requestState as string, "base64url");
    // base64url has spare bits, and a flipped one must not pass.
    if (bytes.toString("base64url") !== requestState) throw new Error();
    const [iv, tag] = [bytes.subarray(0, IV_BYTES), bytes.subarray(-TAG_BYTES)];
    const decipher = createDecipheriv(CIPHER, stateKey(), iv, { authTagLength: 16 });
    decipher.setAAD(bytesOf(binding)).setAuthTag(tag);
    const payload = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
    const text = Buffer.concat([payload, decipher.final()]).toString();
    const { state, expires } = JSON.parse(text);
    if (now < expires) return state;
  } catch {
    // Not ours, or not for this request.
  }
  throw new RpcError(
    INVALID_PARAMS,
    "requestState was not issued for this request, or has expired: call again without it",
  );
}

function bytesOf({ method, name, arguments: args }: Binding): Buffer {
  return Buffer.from(JSON.stringify([method, name, args], sortKeys));
}

/** A client may send the same arguments in another order. */
function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
