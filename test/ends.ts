/** Both ends of the pair, as the tests use them: in memory, under the names of the tests. */
import { PassThrough, type Readable, type Writable } from "node:stream";
import type { Answerer } from "../mcp/answer.ts";
import * as door from "../mcp/connect.ts";
import type { Options, Session } from "../mcp/link.ts";
import type { Params } from "../mcp/peer.ts";
import type { Server } from "../mcp/process.ts";
import type { InputRequest } from "../mcp/schema.ts";
import { serveStreams } from "../mcp/serve.ts";
import type { Tool, Tools } from "../mcp/tool.ts";
import {
  discovery,
  error,
  initialize,
  initialized,
  LEGACY,
  meta,
  MODERN,
  notification,
  pipe,
  request,
  result,
  scripted,
  textResult,
  type Message,
  type Wire,
} from "./support.ts";

export const CLIENT = { name: "test-client", version: "1.0.0" };
export const SERVER = { name: "test-server", title: "Test", version: "1.0.0" };

export function connect(
  start: () => Server,
  options: Partial<Options> = {},
): Promise<Session> {
  return door.connect(start, { self: CLIENT, ...options });
}

export function start(tools: Tools, input: Readable, output: Writable): Promise<void> {
  return serveStreams(tools, SERVER, input, output);
}

/** A server of ours in this process, as `connect` wants to start it. */
export function inMemory(tools: Tools): () => Server {
  return () => {
    const input = new PassThrough();
    const output = new PassThrough();
    void start(tools, input, output).then(() => output.end());
    const gone = new Promise<string>((resolve) =>
      output.on("end", () => resolve("the server ended")),
    );
    return { input, output, gone, stop: async () => void (input.end(), await gone) };
  };
}

/** A tool of the primitive: asks one question, and tells what came back. */
export const asking = (question: InputRequest, more: Partial<Tool> = {}): Tool => ({
  description: "asks",
  inputSchema: { type: "object" },
  async call(_args, { answers, state }) {
    if (state === undefined) return { questions: { q: question }, state: "asked" };
    return textResult(JSON.stringify(answers["q"] ?? "no answer"));
  },
  ...more,
});

/** A tool that tells its arguments. */
export const echo: Tool = {
  description: "echoes",
  inputSchema: { type: "object" },
  call: async (args) => textResult(JSON.stringify(args)),
};

export const textOf = ({ content }: Params): string =>
  (content as { text: string }[])[0]?.text ?? "";

// --- Our server, used by hand ------------------------------------------------------------

export const FORMS = { elicitation: { form: {} } };

export type Served = Wire & { end(): Promise<Message[]> };

/** A server of ours to write lines to. */
export function serving(tools: Tools): Served {
  const { here, input, output } = pipe();
  const done = start(tools, input, output).then(() => output.end());
  const end = async () => {
    here.output.end();
    const [rest] = await Promise.all([here.rest(), done]);
    return rest;
  };
  return Object.assign(here, { end });
}

/** The same, past the handshake. */
export async function greeted(
  tools: Tools,
  capabilities: unknown = FORMS,
  version: unknown = LEGACY,
): Promise<Served> {
  const wire = serving(tools);
  wire.send(initialize(capabilities, version));
  await wire.next();
  wire.send(notification("initialized"));
  return wire;
}

/** A call of a tool in the modern way; `more` adds to its params. */
export const callModern = (
  id: unknown,
  name: unknown,
  args?: unknown,
  capabilities: unknown = FORMS,
  more: Params = {},
) =>
  request(id, "tools/call", {
    name,
    arguments: args,
    _meta: meta(capabilities),
    ...more,
  });

export const callLegacy = (id: unknown, name: unknown, args?: unknown) =>
  request(id, "tools/call", { name, arguments: args });

/** How a server of ours is used in each era. */
export const SERVED = [
  { era: MODERN, begin: async (tools: Tools) => serving(tools), call: callModern },
  { era: LEGACY, begin: (tools: Tools) => greeted(tools), call: callLegacy },
];

// --- Our client, against a script --------------------------------------------------------

/** Accepts every form with NVDA, and remembers what was asked. */
export function answerer(action: "accept" | "decline" | "cancel" = "accept") {
  const asked: string[] = [];
  const form: Answerer["form"] = async ({ message }) => {
    asked.push(message);
    return action === "accept" ? { action, content: { ticker: "NVDA" } } : { action };
  };
  return { asked, form };
}

/** Connects to a scripted server; `notes` is what the client found odd. */
export async function open(
  script: (wire: Wire) => Promise<void>,
  options: Partial<Options> = {},
) {
  const notes: string[] = [];
  const onNote = (note: string) => notes.push(note);
  const session = await connect(scripted(script), { onNote, ...options });
  return { session, notes };
}

/** Answers the probe as a modern server. */
export async function discover(wire: Wire): Promise<void> {
  const { id } = await wire.until({ method: "server/discover" });
  wire.send(result(id, discovery()));
}

/** Refuses the probe, if one comes, and goes through the handshake. */
export async function handshake(wire: Wire, version: unknown = LEGACY): Promise<void> {
  let { id, method } = await wire.next();
  if (method === "server/discover") {
    wire.send(error(id, -32601));
    ({ id } = await wire.until({ method: "initialize" }));
  }
  wire.send(result(id, initialized(version)));
  await wire.until({ method: "notifications/initialized" });
}

/** How a script opens in each era, and how it asks while it has a request to answer. */
export const SCRIPTED = [
  {
    era: MODERN,
    begin: discover,
    /** Returns the client's answer, and the id of the request that is open then. */
    async ask(wire: Wire, id: unknown, question: InputRequest) {
      const inputRequests = { q: question };
      wire.send(result(id, { resultType: "input_required", inputRequests }));
      const retry = await wire.next();
      const { q } = retry.params["inputResponses"] as Record<string, Params>;
      return { answer: q, id: retry.id };
    },
  },
  {
    era: LEGACY,
    begin: (wire: Wire) => handshake(wire),
    async ask(wire: Wire, id: unknown, question: InputRequest) {
      wire.send({ jsonrpc: "2.0", id: "q", ...question });
      const { result: answer } = await wire.until({ id: "q" });
      return { answer, id };
    },
  },
];
