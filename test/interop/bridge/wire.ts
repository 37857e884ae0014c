/**
 * What both bridges know of the wire: lines, server-sent events, and the few members of a
 * message that Streamable HTTP repeats in headers. Nothing here writes a message anew; text
 * goes from one side to the other as it came, and is parsed only to be looked at.
 */
export type Id = string | number;
export type Message = {
  id?: Id | null;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
};
/** A request: it has a method and waits for the answer with its id. */
export type Request = Message & { id: Id; method: string };

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The message in a piece of JSON, or undefined if it isn't one (nor is a batch). */
export function parse(text: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export const isRequest = (message: Message | undefined): message is Request =>
  typeof message?.method === "string" && message.id !== undefined && message.id !== null;

export const isAnswer = (message: Message | undefined): boolean =>
  message !== undefined && message.method === undefined;

/** 1 and "1" are different ids. */
export const keyOf = (id: unknown): string => JSON.stringify(id) ?? "";

export function metaOf(message: Message | undefined): Record<string, unknown> {
  const meta = isObject(message?.params) ? message.params["_meta"] : undefined;
  return isObject(meta) ? meta : {};
}

/** A modern message declares its protocol version itself; no legacy message does. */
export function modernVersionOf(message: Message | undefined): string | undefined {
  const version = metaOf(message)["io.modelcontextprotocol/protocolVersion"];
  return typeof version === "string" ? version : undefined;
}

function nameOf({ method, params }: Message): string | undefined {
  const member = { "tools/call": "name", "prompts/get": "name", "resources/read": "uri" };
  const value = params?.[member[method as keyof typeof member] ?? ""];
  return typeof value === "string" ? value : undefined;
}

/** The members of a modern message that it repeats in headers, not yet encoded for them. */
export function mirrored(message: Message): [header: string, value: string][] {
  const members: [string, string | undefined][] = [
    ["mcp-protocol-version", modernVersionOf(message)],
    ["mcp-method", message.method],
    ["mcp-name", nameOf(message)],
  ];
  return members.filter((pair): pair is [string, string] => pair[1] !== undefined);
}

const SENTINEL = /^=\?base64\?(.*)\?=$/s;

export function encodeHeader(value: string): string {
  const plain = /^[\x20-\x7e\t]*$/.test(value) && value === value.trim();
  if (plain && value !== "" && !SENTINEL.test(value)) return value;
  return `=?base64?${Buffer.from(value).toString("base64")}?=`;
}

/** The value as the body has it; a broken encoding stays as it is and will match nothing. */
export function decodeHeader(header: string): string {
  const encoded = SENTINEL.exec(header)?.[1];
  if (encoded === undefined) return header;
  const value = Buffer.from(encoded, "base64");
  return value.toString("base64") === encoded ? value.toString() : header;
}

/**
 * JSON on one line. A raw line break can only stand between two tokens, as JSON has none
 * inside a string, so a space in its place changes nothing that a parser sees.
 */
export const oneLine = (json: string): string => json.replace(/[\r\n]/g, " ").trim();

/**
 * The lines of a stream, split at "\n" alone. node:readline would also split at U+2028 and
 * U+2029, which JSON allows inside a string.
 */
export async function* lines(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  for await (const chunk of stream) {
    let start = 0;
    for (let end; (end = chunk.indexOf(0x0a, start)) !== -1; start = end + 1) {
      yield Buffer.concat([...parts, chunk.subarray(start, end)]);
      parts = [];
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
  }
  if (parts.length > 0) yield Buffer.concat(parts);
}

/** Where an event stream was left: what resuming it needs. It outlives the connection. */
export type Cursor = { lastEventId?: string; retry: number };

/**
 * The data of each server-sent event. An event without data, which primes a client to
 * resume, moves the cursor only.
 */
export async function* events(
  body: AsyncIterable<Uint8Array>,
  cursor: Cursor,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pending = "";
  let afterCr = false;
  let data: string[] = [];
  for await (const chunk of body) {
    let text = decoder.decode(chunk, { stream: true });
    if (afterCr && text.startsWith("\n")) text = text.slice(1);
    if (text === "") continue;
    afterCr = text.endsWith("\r");
    pending += text;
    if (!/[\r\n]/.test(text)) continue;
    const complete = pending.split(/\r\n|\r|\n/);
    pending = complete.pop() ?? "";
    for (const line of complete) {
      if (line === "") {
        if (data.join("") !== "") yield data.join("\n");
        data = [];
        continue;
      }
      const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
      if (field === "data") data.push(value);
      else if (field === "id" && !value.includes("\0")) cursor.lastEventId = value;
      else if (field === "retry" && /^\d+$/.test(value)) cursor.retry = Number(value);
    }
  }
}
