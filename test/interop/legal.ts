/**
 * Is every line legal? Each message is held against the JSON Schema that the specification
 * publishes for its revision. The schemas are those that the conformance suite carries within
 * its bundle, from where they are read: 2025-03-26 (which stands in for 2024-11-05 too, as the
 * suite has no older one), 2025-06-18, 2025-11-25 and 2026-07-28.
 *
 * Three errata are mended on loading. Where a schema means number it says integer in places;
 * elicitation is younger than the two oldest versions, so there it is held against 2025-06-18;
 * and an error without an id is legal, though the older schemas want one.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { runInNewContext } from "node:vm";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

type Json = Record<string, any>;
export type Tapped = { from: "client" | "server"; line: string };

const bundle = readFileSync(
  createRequire(import.meta.url)
    .resolve("@modelcontextprotocol/conformance/package.json")
    .replace(/package\.json$/, "dist/index.js"),
  "utf8",
);

/** The object literals that begin with `$schema` and hold definitions, in their order. */
function schemas(): Json[] {
  const start = /\{\$schema:`[^`]*`,(\$defs|definitions):/g;
  return [...bundle.matchAll(start)].map(({ index }) => {
    let depth = 0;
    let isText = false;
    for (let at = index; ; at++) {
      const character = bundle[at];
      if (character === "\\") at++;
      else if (character === "`") isText = !isText;
      else if (!isText && character === "{") depth++;
      else if (!isText && character === "}" && --depth === 0) {
        const literal = bundle.slice(index, at + 1);
        return JSON.parse(runInNewContext(`JSON.stringify(${literal})`));
      }
    }
  });
}

const VERSIONS = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const MODERN = "2026-07-28";
const ajv = new Ajv2020({ strict: false, allowUnionTypes: true });
addFormats.default(ajv);
const DEFINITIONS: Record<string, Json> = Object.fromEntries(
  schemas().map((schema, index) => {
    const key = schema["$defs"] ? "$defs" : "definitions";
    const definitions: Json = schema[key];
    for (const name of ["minimum", "maximum", "default"]) {
      const property = definitions["NumberSchema"]?.properties[name];
      if (property) property.type = "number";
    }
    const content = definitions["ElicitResult"]?.properties.content?.additionalProperties;
    for (const side of content?.anyOf ?? [content]) {
      if (Array.isArray(side?.type))
        side.type = side.type.map((t: string) => (t === "integer" ? "number" : t));
    }
    const version = String(VERSIONS[index]);
    const { $schema: _, ...rest } = schema;
    ajv.addSchema(rest, version);
    return [version, Object.assign(definitions, { $key: key })];
  }),
);
if (Object.keys(DEFINITIONS).join() !== VERSIONS.join())
  throw new Error("the bundle has other schemas");

function check(version: string, name: string, message: Json): string | undefined {
  const definitions = DEFINITIONS[version];
  if (!definitions?.[name]) return `${name} does not exist in ${version}`;
  const validate = ajv.getSchema(`${version}#/${definitions["$key"]}/${name}`);
  if (!validate) return `${name} of ${version} can't be compiled`;
  if (validate(message)) return undefined;
  return `no ${name} of ${version}: ${ajv.errorsText(validate.errors)}`;
}

/** The definition of the request or notification that has this method. */
function definitionOf(version: string, method: string): string | undefined {
  return Object.entries(DEFINITIONS[version] ?? {}).find(
    ([, definition]) => definition?.properties?.method?.const === method,
  )?.[0];
}

const RESULTS: Record<string, string> = {
  initialize: "InitializeResult",
  ping: "EmptyResult",
  "server/discover": "DiscoverResult",
  "tools/list": "ListToolsResult",
  "tools/call": "CallToolResult",
  "elicitation/create": "ElicitResult",
};

/**
 * What is wrong with the lines that `ours` wrote, each with its reason. The whole conversation
 * is needed, since a response does not say what it answers.
 */
export function illegal(lines: Tapped[], ours: "client" | "server"): string[] {
  let handshake: string | undefined;
  const open = new Map<string, { method: string; version: string }>();
  return lines.flatMap(({ from, line }) => {
    const isOurs = from === ours;
    let message: Json;
    try {
      message = JSON.parse(line);
    } catch {
      return isOurs ? [`not JSON: ${line}`] : [];
    }
    if (typeof message !== "object" || message === null)
      return isOurs ? [`no message: ${line}`] : [];
    const { id, method, params, result, error } = message;
    const meta = params?._meta ?? {};
    const key = `${from} ${JSON.stringify(id)}`;
    if (method !== undefined) {
      const isModern = Object.hasOwn(
        Object(meta),
        "io.modelcontextprotocol/protocolVersion",
      );
      if (method === "initialize") handshake = params?.protocolVersion;
      const version = revision(
        isModern ? MODERN : (handshake ?? (method === "ping" ? "2025-11-25" : MODERN)),
        method,
      );
      if (id !== undefined) open.set(key, { method, version });
      if (!isOurs) return [];
      const members = Object.keys(message).filter(
        (k) => !["jsonrpc", "id", "method", "params"].includes(k),
      );
      if (members.length > 0) return [`members that are none: ${members} in ${line}`];
      if (ours === "server" && !handshake) {
        return [`a modern server neither requests nor cancels: ${line}`];
      }
      const name = definitionOf(version, method);
      const problem = name
        ? check(version, name, message)
        : `${method} is not in ${version}`;
      return problem ? [`${problem} in ${line}`] : [];
    }
    const asked = open.get(
      `${from === "client" ? "server" : "client"} ${JSON.stringify(id)}`,
    );
    if (asked?.method === "initialize" && result) handshake = result.protocolVersion;
    if (!isOurs) return [];
    if (ours === "client" && !handshake)
      return [`a modern client answers nothing: ${line}`];
    if (result !== undefined && error !== undefined)
      return [`both result and error: ${line}`];
    if (!asked) {
      const isAboutALine = id === undefined && Number.isInteger(error?.code);
      return isAboutALine ? [] : [`an answer to nothing: ${line}`];
    }
    const version =
      asked.method === "initialize"
        ? revision(handshake ?? MODERN, "initialize")
        : asked.version;
    if (error !== undefined) {
      const name = DEFINITIONS[version]?.["JSONRPCErrorResponse"]
        ? "JSONRPCErrorResponse"
        : "JSONRPCError";
      const problem = check(version, name, message);
      return problem ? [`${problem} in ${line}`] : [];
    }
    const name =
      result.resultType === "input_required"
        ? "InputRequiredResult"
        : RESULTS[asked.method];
    const problem = name ? check(version, name, result) : undefined;
    return problem ? [`${problem} in ${line}`] : [];
  });
}

/** The revision whose schema judges a method of a version. */
function revision(version: string, method: string): string {
  if (method === "elicitation/create" && version < "2025-06-18") return "2025-06-18";
  return VERSIONS.includes(version)
    ? version
    : version < "2025-03-26"
      ? "2025-03-26"
      : "2025-11-25";
}
