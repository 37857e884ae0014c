/**
 * The client's door: starts a server, finds out its era with one question, and opens a session
 * of that era. Whoever has the session can't tell which one it is.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
 */
import { openLegacy } from "./legacy.ts";
import { Link, type Options, type Session } from "./link.ts";
import { envelope, openModern } from "./modern.ts";
import { ConnectionError, RpcError, type Params } from "./peer.ts";
import type { Server } from "./process.ts";
import * as mcp from "./schema.ts";

/**
 * Starts a server and finds out how to speak with it.
 * @param start starts the server; called a second time where it ended at the first request
 * @throws {ConnectionError} it did not start, went away, or shares no version with us
 * @throws {RpcError} it refuses to be initialized; and the signal's reason
 */
export async function connect(start: () => Server, options: Options): Promise<Session> {
  const { protocol = "auto", signal } = options;
  const link = new Link(start(), options);
  try {
    const found = await probe(link, options);
    signal?.throwIfAborted();
    if ("version" in found) return openModern(link, found.version, found.name, options);
    if (protocol !== mcp.MODERN_VERSIONS[0])
      return await openLegacy(link, () => new Link(start(), options), options);
    const advice =
      protocol === "auto" ? "" : "; without --protocol its own version is used";
    throw new ConnectionError(`no version in common: ${found.why}${advice}`);
  } catch (error) {
    await link.server.stop();
    throw error;
  }
}

/** What the probe found: a modern server, or why it is none. */
type Found = { version: string; name?: string | undefined } | { why: string };

/** Asks the one question that only a modern server answers, and judges by what comes back. */
async function probe(link: Link, options: Options, isRetry = false): Promise<Found> {
  const { timeoutMs = 60_000, signal } = options;
  if (mcp.LEGACY_VERSIONS.includes(options.protocol ?? ""))
    return { why: `${options.protocol} begins with a handshake` };
  const preferred = String(mcp.MODERN_VERSIONS[0]);
  const params = { _meta: envelope(preferred, options) };
  const limits = { timeoutMs: Math.min(10_000, timeoutMs), signal, isFirst: true };
  const first = link.send("server/discover", params, limits);
  const reply = await first.catch((error: unknown) => error);

  const discovery = mcp.DiscoverResult.safeParse(reply);
  if (discovery.success) {
    const name = mcp.nameOf(mcp.meta(discovery.data)[mcp.SERVER_INFO]);
    return { version: choose(discovery.data.supportedVersions), name };
  }
  if (reply instanceof ConnectionError) return { why: reply.message };
  const answered = "it answered server/discover with";
  if (!(reply instanceof RpcError)) return { why: `${answered} no list of versions` };
  if (reply.code === mcp.UNSUPPORTED_VERSION) {
    choose(mcp.UnsupportedVersion.safeParse(reply.data).data?.supported ?? []);
    if (!isRetry) return probe(link, options, true);
    throw new ConnectionError("the server refuses the very version that it offers");
  }
  // Codes that only the new era has: the server is modern, whatever else is wrong.
  const isModern = [mcp.MISSING_CAPABILITY, mcp.HEADER_MISMATCH].includes(reply.code);
  return isModern ? { version: preferred } : { why: `${answered} error ${reply.code}` };
}

function choose(theirs: string[]): string {
  const version = mcp.MODERN_VERSIONS.find((ours) => theirs.includes(ours));
  if (version !== undefined) return version;
  const ours = [...mcp.MODERN_VERSIONS, ...mcp.LEGACY_VERSIONS].join(", ");
  const both = `the server speaks ${theirs.join(", ") || "none that it names"}`;
  throw new ConnectionError(`no version in common: ${both}, this client ${ours}`);
}

/** The server's tools, page by page; pages that would never end are cut off. */
export async function listTools(session: Session, signal?: AbortSignal) {
  let tools: mcp.ListedTool[] = [];
  const cursors = new Set<string>();
  for (let params = {}; ;) {
    const result = await session.request("tools/list", params, signal);
    const page = mcp.parseResult(mcp.ListToolsResult, result, "tools/list");
    const cursor = page.nextCursor;
    tools = tools.concat(page.tools);
    const isLast = cursor === undefined || cursors.has(cursor) || cursors.size === 1000;
    if (isLast) return tools;
    cursors.add(cursor);
    params = { cursor };
  }
}

/** Calls a tool, and has its questions answered. */
export async function callTool(
  session: Session,
  name: string,
  args: Params = {},
  signal?: AbortSignal,
): Promise<mcp.CallToolResult> {
  const call = { name, arguments: args };
  const result = await session.request("tools/call", call, signal);
  return mcp.parseResult(mcp.CallToolResult, result, name);
}
