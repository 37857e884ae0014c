/**
 * The slice of MCP that is spoken here: versions, error codes and the shape of every message,
 * each once, as a zod schema with its type inferred from it.
 *
 * All objects are open: keys that we do not know pass through, as the protocol wants. Shapes
 * are those of revision 2026-07-28; the few that only older revisions have come last.
 *
 * `zod/v3` is zod's older entry, with all that is needed here. The newer one loads its messages
 * in sixty languages, which would be a fifth of the time from the start of the pair to a quote.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/schema
 */
import * as z from "zod/v3";
import { ConnectionError, INVALID_PARAMS, isObject, RpcError } from "./peer.ts";

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
export const LOG_LEVEL = "io.modelcontextprotocol/logLevel";
export const SERVER_INFO = "io.modelcontextprotocol/serverInfo";

// --- Every request and result ------------------------------------------------------------

/** An object with these keys and any others. */
export const object = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.object(shape).passthrough();

export const Implementation = object({ name: z.string(), version: z.string() });
export type Implementation = z.infer<typeof Implementation>;

const Capability = object({});
export const ClientCapabilities = object({
  elicitation: object({
    form: Capability.optional(),
    url: Capability.optional(),
  }).optional(),
  sampling: Capability.optional(),
  roots: Capability.optional(),
});
export type ClientCapabilities = z.infer<typeof ClientCapabilities>;

/** What a request's `_meta` must hold. */
export const Envelope = object({
  [PROTOCOL_VERSION]: z.string(),
  [CLIENT_CAPABILITIES]: ClientCapabilities,
  [CLIENT_INFO]: Implementation.optional(),
});

/** An absent `resultType` is what servers of earlier revisions send, and means complete. */
export const Result = object({ resultType: z.string().default("complete") });
export type Result = z.infer<typeof Result>;

export const DiscoverResult = object({
  supportedVersions: z.array(z.string()),
  // For display only: a strange name is no reason to leave.
  _meta: object({ [SERVER_INFO]: Implementation })
    .optional()
    .catch(undefined),
});

export const UnsupportedVersion = object({ supported: z.array(z.string()) });

// --- Tools -------------------------------------------------------------------------------

/** A question that a server asks: an elicitation, or another kind of request. */
export const InputRequest = object({
  method: z.string(),
  params: object({}).default({}),
});
export type InputRequest = z.infer<typeof InputRequest>;

/** The result that answers a question, under whatever key the question had. */
export type InputResponse = Record<string, unknown>;

export const InputRequired = object({
  resultType: z.literal("input_required"),
  // As it came, whatever its keys are: z.record would lose the key __proto__.
  inputRequests: z
    .custom<Record<string, InputRequest>>(isObject, "must be an object")
    .optional(),
  requestState: z.string().optional(),
});
export type InputRequired = z.infer<typeof InputRequired>;

export const CallToolParams = object({
  name: z.string(),
  // Clients in languages with nulls send null for no arguments.
  arguments: z.record(z.unknown()).nullish(),
  inputResponses: z.record(z.unknown()).optional(),
  requestState: z.unknown().optional(), // checked with its seal
});

export const CallToolResult = object({
  content: z.array(object({ type: z.string() })),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});
export type CallToolResult = z.infer<typeof CallToolResult>;

export const ListToolsResult = object({
  tools: z.array(object({ name: z.string() })),
});

// --- Elicitation -------------------------------------------------------------------------

/** `mode` is absent in older revisions, and absent means form. */
export const ElicitParams = object({
  mode: z.string().default("form"),
  message: z.string(),
  requestedSchema: z.unknown().optional(),
  url: z.string().optional(),
});

export const ElicitResult = object({
  action: z.enum(["accept", "decline", "cancel"]),
  // Checked against the form that was asked; here it is only some object.
  content: object({}).nullish(),
});
export type ElicitResult = z.infer<typeof ElicitResult>;

// --- The handshake of the legacy versions ------------------------------------------------

export const InitializeParams = object({
  protocolVersion: z.string(),
  capabilities: ClientCapabilities,
  clientInfo: Implementation,
});
export type InitializeParams = z.infer<typeof InitializeParams>;

export const InitializeResult = object({
  protocolVersion: z.string(),
  serverInfo: Implementation.optional().catch(undefined),
});

// --- At the edge -------------------------------------------------------------------------

type Shape<T> = z.ZodType<T, z.ZodTypeDef, unknown>;

/**
 * Parses params that came from the other side.
 *
 * @throws {RpcError} -32602, to be sent back, with one sentence on what is wrong and where
 */
export function parseParams<T>(schema: Shape<T>, params: unknown, what: string): T {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  throw new RpcError(INVALID_PARAMS, `${what}: ${problem(parsed.error)}`);
}

/**
 * Parses a result that came from the other side.
 *
 * @throws {ConnectionError} the other side does not keep to the protocol
 */
export function parseResult<T>(schema: Shape<T>, result: unknown, what: string): T {
  const parsed = schema.safeParse(result);
  if (parsed.success) return parsed.data;
  throw new ConnectionError(
    `the result of ${what} is not valid: ${problem(parsed.error)}`,
  );
}

/** The first thing that a schema found wrong, as a clause. No value is quoted in it. */
export function problem({ issues: [issue] }: z.ZodError): string {
  return [issue?.path.join("."), rule()].filter(Boolean).join(": ");

  function rule(): string | undefined {
    switch (issue?.code) {
      case "invalid_type":
        return `expected ${issue.expected}, received ${issue.received}`;
      case "invalid_enum_value":
        return `expected one of ${issue.options.join(", ")}`;
      default:
        return issue?.message;
    }
  }
}
