/**
 * The slice of MCP that is spoken here: versions, error codes and the shape of every message,
 * each once, as a zod schema with its type inferred from it. Shapes are those of revision
 * 2026-07-28; what only the older revisions have comes last.
 *
 * All objects are open: keys that are not known here pass through. A null in an optional key
 * counts as an absent key, as programs in many languages write null for what they leave out.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/schema
 */
import "zod/compile"; // schemas made after this become functions when they first parse
import * as z from "zod";
import { ConnectionError, INVALID_PARAMS, isObject, RpcError } from "./peer.ts";
import type { Params } from "./peer.ts";

// --- Versions and codes ------------------------------------------------------------------

/** Versions without a handshake: every request carries its envelope. Newest first. */
export const MODERN_VERSIONS = ["2026-07-28"];
/** Versions that begin with `initialize`. Newest first. */
export const LEGACY_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

export const HEADER_MISMATCH = -32020;
export const MISSING_CAPABILITY = -32021;
export const UNSUPPORTED_VERSION = -32022;

export const PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion";
export const CLIENT_INFO = "io.modelcontextprotocol/clientInfo";
export const CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
export const SERVER_INFO = "io.modelcontextprotocol/serverInfo";

// --- Every request and result ------------------------------------------------------------

/** A key that null leaves out too; `absent` is what stands for it then. */
export const optional = <S extends z.ZodType, A = undefined>(schema: S, absent?: A) =>
  schema.nullish().transform((value) => value ?? (absent as A));

/** As it came, whatever its keys are: z.record would lose the key __proto__. */
const anyObject = z.custom<Params>(isObject, "expected an object");

export const Implementation = z.looseObject({ name: z.string(), version: z.string() });
export type Implementation = z.infer<typeof Implementation>;

const capability = anyObject.nullish();
export const ClientCapabilities = z.looseObject({
  elicitation: z.looseObject({ form: capability, url: capability }).nullish(),
  sampling: capability,
  roots: capability,
});
export type ClientCapabilities = z.infer<typeof ClientCapabilities>;

/** What a request's `_meta` must hold. */
export const Envelope = z.looseObject({
  [PROTOCOL_VERSION]: z.string(),
  [CLIENT_CAPABILITIES]: ClientCapabilities,
  [CLIENT_INFO]: Implementation.nullish(),
});

/** An absent `resultType` is what servers of earlier revisions send, and means complete. */
export const Result = z.looseObject({ resultType: optional(z.string(), "complete") });
export type Result = z.infer<typeof Result>;

export const DiscoverResult = z.looseObject({ supportedVersions: z.array(z.string()) });
export const UnsupportedVersion = z.looseObject({ supported: z.array(z.string()) });

// --- Tools and their questions -----------------------------------------------------------

/** A question that a server asks: an elicitation, or another kind of request. */
export const InputRequest = z.looseObject({
  method: z.string(),
  params: optional(anyObject, {} as Params),
});
export type InputRequest = z.infer<typeof InputRequest>;

/** The result that answers a question. */
export type InputResponse = Params;

export const InputRequired = z.looseObject({
  inputRequests: optional(anyObject),
  requestState: optional(z.string()),
});

export const CallToolParams = z.looseObject({
  name: z.string(),
  arguments: anyObject.nullish(),
  inputResponses: anyObject.nullish(),
  requestState: optional(z.unknown()), // checked with its seal
});

export const CallToolResult = z.looseObject({
  content: optional(z.array(z.looseObject({ type: z.string() })), []),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().nullish(),
});
export type CallToolResult = z.infer<typeof CallToolResult>;

export const ListedTool = z.looseObject({
  name: z.string(),
  description: optional(z.string()),
  inputSchema: z.unknown().optional(),
});
export type ListedTool = z.infer<typeof ListedTool>;

export const ListToolsResult = z.looseObject({
  tools: z.array(ListedTool),
  nextCursor: optional(z.string()),
});

/** `mode` is absent in older revisions, and absent means form. */
export const ElicitParams = z.looseObject({
  mode: optional(z.string(), "form"),
  message: z.string(),
  requestedSchema: z.unknown().optional(),
  url: optional(z.string()),
});

export const ElicitResult = z.looseObject({
  action: z.enum(["accept", "decline", "cancel"]),
  content: anyObject.nullish(),
});
export type ElicitResult = z.infer<typeof ElicitResult>;

// --- The handshake of the legacy versions ------------------------------------------------

export const InitializeParams = z.looseObject({
  protocolVersion: z.string(),
  capabilities: ClientCapabilities,
  clientInfo: Implementation,
});
export type InitializeParams = z.infer<typeof InitializeParams>;

export const InitializeResult = z.looseObject({ protocolVersion: z.string() });

// --- At the edge -------------------------------------------------------------------------

/** The `_meta` of params or of a result. */
export function meta({ _meta }: Params): Params {
  return isObject(_meta) ? _meta : {};
}

/** The name that a server gives itself: for display only, so a strange one is none. */
export function nameOf(serverInfo: unknown): string | undefined {
  return Implementation.safeParse(serverInfo).data?.name;
}

/**
 * Parses params that came from the other side.
 * @throws {RpcError} -32602, to be sent back, with one sentence on what is wrong and where
 */
export function parseParams<T>(schema: z.ZodType<T>, params: unknown, what: string): T {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  throw new RpcError(INVALID_PARAMS, `${what}: ${problem(parsed.error)}`);
}

/**
 * Parses a result that came from the other side.
 * @throws {ConnectionError} the other side does not keep to the protocol
 */
export function parseResult<T>(schema: z.ZodType<T>, result: unknown, what: string): T {
  const parsed = schema.safeParse(result);
  if (parsed.success) return parsed.data;
  const reason = problem(parsed.error);
  throw new ConnectionError(`the result of ${what} is not valid: ${reason}`);
}

/** The first thing that a schema found wrong, as a clause that quotes no value. */
export function problem({ issues: [issue] }: z.core.$ZodError): string {
  const rule = (issue?.message ?? "").replace(/^Invalid (input|option): /, "");
  return [issue?.path.join("."), rule].filter(Boolean).join(": ");
}
