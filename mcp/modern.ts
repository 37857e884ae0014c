/**
 * The conversation of 2026-07-28, both ends of it. There is no handshake: every request
 * carries its version and the client's capabilities in an envelope, `_meta`. A server that
 * needs the user returns `input_required` with its questions; the client answers them and
 * makes the request again. So the loop runs at the client's end.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
import { answerQuestion, capabilities, withPages } from "./answer.ts";
import { anySignal, type Link, type Options, type Session } from "./link.ts";
import { ConnectionError, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError } from "./peer.ts";
import type { Context, Handler, Params } from "./peer.ts";
import { untilComplete, type Retry } from "./rounds.ts";
import * as mcp from "./schema.ts";
import { open, seal } from "./state.ts";
import type { Round, Tool, Tools } from "./tool.ts";

// --- The server's end --------------------------------------------------------------------

const CACHE = { ttlMs: 3_600_000, cacheScope: "public" }; // the same for everybody

/**
 * Serves requests that carry their own envelope. It sees nothing but the request, so any
 * process with the same tools and key can serve the next round.
 *
 * @throws {RpcError} -32022 another version, -32601 no such method, -32602 malformed or no
 *   such tool, -32021 the client has not declared what a question takes
 */
export function serveModern(tools: Tools, self: mcp.Implementation): Handler {
  let list: object[] | undefined;
  const methods: Record<string, Handler> = {
    "server/discover": () => ({
      supportedVersions: mcp.MODERN_VERSIONS,
      capabilities: { tools: {} },
      ...CACHE,
    }),
    "tools/list": () => {
      list ??= Object.entries(tools).map(([name, { call, ...tool }]) => ({
        name,
        ...tool,
      }));
      return { tools: list, ...CACHE };
    },
    "tools/call": (_method, params, context) => callTool(tools, params, context),
  };
  return async (method, params, context) => {
    const { [mcp.PROTOCOL_VERSION]: requested } = mcp.meta(params);
    const data = { supported: mcp.MODERN_VERSIONS, requested };
    if (typeof requested === "string" && !data.supported.includes(requested)) {
      throw new RpcError(mcp.UNSUPPORTED_VERSION, "Unsupported protocol version", data);
    }
    const serve = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (!serve) {
      // The client of another era learns from this error alone what is spoken here.
      const spoken = method === "initialize" ? `; it speaks ${mcp.MODERN_VERSIONS}` : "";
      throw new RpcError(METHOD_NOT_FOUND, `This server has no ${method}${spoken}`);
    }
    mcp.parseParams(mcp.Envelope, mcp.meta(params), "_meta");
    const result = await serve(method, params, context);
    const _meta = { ...mcp.meta(result as Params), [mcp.SERVER_INFO]: self };
    return { resultType: "complete", ...result, _meta };
  };
}

/** Runs a tool for one round: its result, or its questions with the sealed state. */
async function callTool(tools: Tools, params: Params, context: Context): Promise<object> {
  const call = mcp.parseParams(mcp.CallToolParams, params, "tools/call");
  const { name, inputResponses, requestState } = call;
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (!tool) throw new RpcError(INVALID_PARAMS, `Unknown tool: ${name}`);

  const client = mcp.meta(params)[mcp.CLIENT_CAPABILITIES] as mcp.ClientCapabilities;
  const args = call.arguments ?? {};
  const binding = { method: "tools/call", name, arguments: args };
  const round: Round = {
    answers: inputResponses ?? {},
    state: requestState === undefined ? undefined : open(requestState, binding),
    canAsk(question) {
      return !missing(question, client);
    },
    get signal() {
      return context.signal;
    },
  };
  const outcome = await tool.call(args, round);
  if ("content" in outcome) return outcome;

  const { questions = {}, state } = outcome;
  for (const [key, question] of Object.entries(questions)) {
    const requiredCapabilities = missing(question, client);
    if (requiredCapabilities) {
      const message = cantAsk(name, tool, key);
      throw new RpcError(mcp.MISSING_CAPABILITY, message, { requiredCapabilities });
    }
  }
  return {
    resultType: "input_required",
    ...(Object.keys(questions).length > 0 && { inputRequests: questions }),
    ...(state !== undefined && { requestState: seal(state, binding) }),
  };
}

function cantAsk(name: string, { inputSchema }: Tool, key: string): string {
  const reason = `${name} has to ask the user for ${key}, and this client can't be asked`;
  const { properties = {} } = inputSchema as { properties?: object };
  return Object.hasOwn(properties, key)
    ? `${reason}: pass ${key} as an argument`
    : reason;
}

/** The capability that a question takes and the client has not declared. */
function missing(
  question: mcp.InputRequest,
  client: mcp.ClientCapabilities,
): object | undefined {
  const { elicitation, sampling, roots } = client;
  switch (question.method) {
    case "elicitation/create":
      if (question.params["mode"] === "url") {
        return elicitation?.url ? undefined : { elicitation: { url: {} } };
      }
      // An elicitation capability that names no mode means forms.
      return elicitation && (elicitation.form || !elicitation.url)
        ? undefined
        : { elicitation: { form: {} } };
    case "sampling/createMessage":
      return sampling ? undefined : { sampling: {} };
    case "roots/list":
      return roots ? undefined : { roots: {} };
    default:
      throw new Error(`a tool asks by ${question.method}, which no client answers`);
  }
}

// --- The client's end --------------------------------------------------------------------

const MAY_ASK = ["tools/call", "prompts/get", "resources/read"]; // no other request may

/** The session with a server that was discovered. */
export function openModern(
  link: Link,
  version: string,
  name: string | undefined,
  options: Options,
): Session {
  return {
    version,
    name,
    async request(method, params = {}, signal) {
      const _meta = { ...mcp.meta(params), ...envelope(version, options) };
      const attempt = (retry: Retry) =>
        link.send(method, { ...params, ...retry, _meta }, { signal });
      if (!MAY_ASK.includes(method)) {
        const result = mcp.parseResult(mcp.Result, await attempt({}), method);
        if (result.resultType === "complete") return result;
        throw new ConnectionError(`the server may not ask for input during ${method}`);
      }
      const context = { signal: anySignal(signal, link.gone) };
      const pages = withPages((question, again, { signal }) =>
        answerQuestion(question, link.answerer, again, signal).catch(endCall),
      );
      return untilComplete(
        attempt,
        (question) => pages.ask(question, context),
        () => pages.pause(context),
      );
    },
    close: () => link.server.stop(),
  };
}

/** There is no answer that says no such question: what is wrong with it ends the call. */
function endCall(error: unknown): never {
  if (!(error instanceof RpcError)) throw error;
  throw new ConnectionError(`the server asked what it may not: ${error.message}`);
}

/** What every request says about its sender. */
export function envelope(version: string, { self, answerer }: Options): Params {
  return {
    [mcp.PROTOCOL_VERSION]: version,
    [mcp.CLIENT_INFO]: self,
    [mcp.CLIENT_CAPABILITIES]: capabilities(answerer, version),
  };
}
