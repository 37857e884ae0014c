/**
 * The conversation of 2024-11-05 to 2025-11-25, both ends of it. It begins with a handshake,
 * `initialize`. A server that needs the user sends `elicitation/create`, a request of its own,
 * while the client's request is still open. So the loop runs at the server's end.
 *
 * The server's end is an interpreter: it turns each request into a modern one, so tools know
 * nothing of this. To drop the era, delete this file, and in serve.ts and connect.ts its import
 * and the one place that uses it.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { answerQuestion, capabilities, withPages } from "./answer.ts";
import type { Link, Options, Session } from "./link.ts";
import { ConnectionError, INTERNAL_ERROR, RpcError } from "./peer.ts";
import type { Context, Handler, Id, Params, Peer } from "./peer.ts";
import { untilComplete } from "./rounds.ts";
import * as mcp from "./schema.ts";
import { failure } from "./tool.ts";

// --- The server's end --------------------------------------------------------------------

/** How long a person may think about a question, and what ends the wait. */
const QUESTION_MS = 10 * 60 * 1000;
const late = () => new ConnectionError("The client did not answer in time");
const limit = (expire: (reason: Error) => void) => {
  const timer = setTimeout(() => expire(late()), QUESTION_MS).unref();
  return () => clearTimeout(timer);
};

/**
 * Serves what belongs to the legacy era, and passes everything else on to `modern`, which also
 * serves what legacy requests are turned into. The questions go out on `peer`.
 */
export function serveLegacy(modern: Handler, peer: Peer): Handler {
  let client: mcp.InitializeParams | undefined;
  const { onNotification } = peer;
  let ready: Promise<void> | undefined = new Promise((resolve) => {
    peer.onNotification = (method, params) => {
      if (method === "notifications/initialized") resolve((ready = undefined));
      onNotification?.(method, params);
    };
  });
  return (method, params, context) => {
    const { [mcp.PROTOCOL_VERSION]: version } = mcp.meta(params);
    const isOurs = mcp.MODERN_VERSIONS.some((ours) => ours === version);
    // With the params of a handshake it is one, whatever its envelope says.
    if (method === "initialize" && (params["protocolVersion"] !== undefined || !isOurs)) {
      client = mcp.parseParams(mcp.InitializeParams, params, method);
      return welcome(client, modern, context);
    }
    // Some hosts stamp other versions and keys, which say nothing after a handshake.
    const isModern = client ? isOurs : method !== "ping" || version !== undefined;
    if (isModern) return modern(method, params, context);
    if (method === "ping" || !client) return {};
    const call = envelop(params, client);
    const pages = withPages((question) => askClient(peer, question, ready, context));
    const result = untilComplete(
      (retry) => modern(method, { ...call, ...retry }, context),
      (question) => pages.ask(question, context),
      () => pages.pause(context),
    );
    return translate(result);
  };
}

/** The answer to `initialize`: what a modern client would discover. */
async function welcome(client: mcp.InitializeParams, modern: Handler, context: Context) {
  const isKnown = mcp.LEGACY_VERSIONS.includes(client.protocolVersion);
  const protocolVersion = isKnown ? client.protocolVersion : mcp.LEGACY_VERSIONS[0];
  const discovery = await modern("server/discover", envelop({}, client), context);
  const { capabilities, ...rest } = discovery as Params;
  return { protocolVersion, capabilities, serverInfo: mcp.meta(rest)[mcp.SERVER_INFO] };
}

/** The params as a modern client would send them. Answers and states are ours to add. */
function envelop(params: Params, client: mcp.InitializeParams): Params {
  const { inputResponses, requestState, ...own } = params;
  const _meta = {
    ...mcp.meta(params),
    [mcp.PROTOCOL_VERSION]: mcp.MODERN_VERSIONS[0],
    [mcp.CLIENT_CAPABILITIES]: client.capabilities,
    [mcp.CLIENT_INFO]: client.clientInfo,
  };
  return { ...own, _meta };
}

/** Takes off a result what older clients don't know. */
async function translate(running: Promise<mcp.Result>): Promise<object> {
  try {
    const { resultType, ttlMs, cacheScope, _meta, ...older } = await running;
    const { [mcp.SERVER_INFO]: self, ...rest } = mcp.meta({ _meta });
    return Object.keys(rest).length > 0 ? { ...older, _meta: rest } : older;
  } catch (error) {
    // To these clients a question that can't be asked or answered is a failed call.
    const cantAsk = error instanceof RpcError && error.code === mcp.MISSING_CAPABILITY;
    if (!cantAsk && !(error instanceof ConnectionError)) throw error;
    return failure(`${error.message}.`);
  }
}

/** Sends a question as a request, once the client is ready. A cancelled call withdraws it. */
async function askClient(
  peer: Peer,
  { method, params }: mcp.InputRequest,
  ready: Promise<void> | undefined,
  context: Context,
): Promise<mcp.InputResponse> {
  if (ready) {
    const tooLong = sleep(QUESTION_MS, late, { signal: context.signal, ref: false });
    if ((await Promise.race([ready, tooLong])) === late) throw late();
  }
  // A question by URL has an id in these versions, by which its end can be told.
  const id = params["mode"] === "url" && { elicitationId: randomUUID() };
  const options = {
    within: context,
    limit,
    onAbandon(requestId: Id) {
      peer.notify("notifications/cancelled", { requestId });
    },
  };
  try {
    const answer = await peer.request(method, { ...params, ...id }, options);
    if (method !== "elicitation/create") return answer as mcp.InputResponse;
    if (mcp.ElicitResult.safeParse(answer).success) return answer as mcp.InputResponse;
    throw new ConnectionError("The client's answer to the question is not valid");
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    const question = JSON.stringify(params["message"] ?? method);
    const reason = `${error.code}: ${error.message}`;
    throw new ConnectionError(`The client answered ${question} with error ${reason}`);
  }
}

// --- The client's end --------------------------------------------------------------------

/**
 * Opens a session by handshake. Some servers end at a probe, or soon after it: they get a
 * handshake without one, on the link that `again` makes.
 *
 * @throws {ConnectionError} the server went away, or shares no version with us
 * @throws {RpcError} it refuses to be initialized
 */
export async function openLegacy(
  link: Link,
  again: () => Link,
  options: Options,
): Promise<Session> {
  const { protocol = "auto", signal } = options;
  try {
    return await handshake(link, options);
  } catch (error) {
    if (protocol !== "auto" || !link.gone.aborted || signal?.aborted) throw error;
  }
  await link.server.stop();
  const second = again();
  return handshake(second, options).catch((error) => {
    return second.server.stop().then(() => Promise.reject(error));
  });
}

async function handshake(link: Link, options: Options): Promise<Session> {
  const { self, protocol = "auto", signal, answerer } = options;
  const asked = protocol === "auto" ? String(mcp.LEGACY_VERSIONS[0]) : protocol;
  const newPages = () =>
    withPages((question, again, { signal }) =>
      answerQuestion(question, link.answerer, again, signal),
    );
  let pages = newPages();
  link.peer.onRequest = async (method, params, context) => {
    if (method === "ping") return {};
    try {
      return await pages.ask({ method, params }, { signal: context.signal });
    } catch (error) {
      if (error instanceof RpcError) throw error;
      throw new RpcError(INTERNAL_ERROR, "the question could not be answered");
    }
  };
  const declared = capabilities(answerer, asked);
  const hello = { protocolVersion: asked, capabilities: declared, clientInfo: self };
  const first = link.send("initialize", hello, { signal, isFirst: true });
  const reply = await first.catch((error) => refuse(error, asked));
  const result = mcp.parseResult(mcp.InitializeResult, reply, "initialize");
  const { protocolVersion: version, serverInfo } = result;
  if (!mcp.LEGACY_VERSIONS.includes(version)) {
    const ours = `this client ${mcp.LEGACY_VERSIONS.join(", ")}`;
    throw new ConnectionError(`the server speaks version ${version}, ${ours}`);
  }
  const note = `the server answers in ${version}, not in ${asked}`;
  if (version !== asked) options.onNote?.(note);
  link.peer.notify("notifications/initialized");
  return {
    version,
    name: mcp.nameOf(serverInfo),
    async request(method, params = {}, signal) {
      pages = newPages();
      const result = await link.send(method, params, { signal });
      return mcp.parseResult(mcp.Result, result, method);
    },
    close: () => link.server.stop(),
  };
}

/** A server of the new era alone says by this error what it speaks. */
function refuse(error: unknown, asked: string): never {
  if (!(error instanceof RpcError) || error.code !== mcp.UNSUPPORTED_VERSION) throw error;
  const { supported = [] } = mcp.UnsupportedVersion.safeParse(error.data).data ?? {};
  const reason = `the server does not speak ${asked}, but ${supported.join(", ") || "others"}`;
  throw new ConnectionError(`${reason}; without --protocol its own version is used`);
}
