/**
 * Seals what a server learned in one round into the `requestState` of the next, and opens it
 * again. In between it is in the client's hands: AES-256-GCM keeps it secret and genuine. A
 * seal is good for one request and for 30 minutes. Within that time it can be used twice.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
import * as crypto from "node:crypto";
import { INVALID_PARAMS, isObject, RpcError } from "./peer.ts";

const [LIFETIME_MS, MAX_BYTES] = [30 * 60 * 1000, 64 * 1024];
const [CIPHER, IV_BYTES, TAG_BYTES] = ["aes-256-gcm", 12, 16] as const;
let key: crypto.KeyObject | undefined;
let random = Buffer.alloc(0); // drawn in advance: a draw takes longer than a seal

/**
 * The key: STATE_KEY where several processes serve the same calls, else one of this process.
 * @throws {Error} STATE_KEY is set, but is no key; its value is never shown
 */
export function stateKey(): crypto.KeyObject {
  if (key) return key;
  const shared = process.env["STATE_KEY"] ?? crypto.randomBytes(32).toString("base64");
  const bytes = Buffer.from(shared, "base64");
  const isKey = bytes.length === 32 && bytes.toString("base64") === shared;
  if (isKey) return (key = crypto.createSecretKey(bytes));
  throw new Error("STATE_KEY must be 32 bytes in base64, as of: openssl rand -base64 32");
}

/** The request that a state belongs to. The order of the arguments doesn't matter. */
export type Binding = { method: string; name: string; arguments: unknown };

/**
 * Makes the `requestState` that holds `state`, which must be JSON.
 * @throws {Error} the state is over 64 KiB, which every round would send to and fro
 */
export function seal(state: unknown, binding: Binding, now = Date.now()): string {
  const payload = Buffer.from(JSON.stringify({ state, expires: now + LIFETIME_MS }));
  const size = `${binding.name} has a state of ${payload.length} bytes, over ${MAX_BYTES}`;
  if (payload.length > MAX_BYTES) throw new Error(`${size}: keep large finds elsewhere`);
  if (random.length === 0) random = crypto.randomBytes(IV_BYTES * 256);
  const iv = random.subarray(0, IV_BYTES);
  random = random.subarray(IV_BYTES);
  const cipher = crypto.createCipheriv(CIPHER, stateKey(), iv).setAAD(bytesOf(binding));
  const sealed = [iv, cipher.update(payload), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(sealed).toString("base64url");
}

/**
 * Returns the state that was sealed for this very request.
 * @throws {RpcError} -32602, in the same words whatever is wrong with it
 */
export function open(requestState: unknown, binding: Binding, now = Date.now()): unknown {
  try {
    const sealed = Buffer.from(String(requestState), "base64url");
    const iv = sealed.subarray(0, IV_BYTES);
    const decipher = crypto.createDecipheriv(CIPHER, stateKey(), iv, {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(bytesOf(binding)).setAuthTag(sealed.subarray(-TAG_BYTES));
    const payload = decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES));
    const text = Buffer.concat([payload, decipher.final()]).toString();
    const { state, expires } = JSON.parse(text);
    // base64url has spare bits. A string with a flipped one is not the one that was issued.
    if (now < expires && sealed.toString("base64url") === requestState) return state;
  } catch {} // changed, or sealed for another request or under another key
  const reason = "requestState was not issued for this request, or has expired";
  throw new RpcError(INVALID_PARAMS, `${reason}: call again without it`);
}

function bytesOf({ method, name, arguments: args }: Binding): Buffer {
  const sortKeys = (_key: string, value: unknown) =>
    isObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  return Buffer.from(JSON.stringify([method, name, args], sortKeys));
}
