/**
 * An elicitation form from both ends. A server writes a form as a zod object, which becomes
 * the question, the check and the type of the answer. A client reads the question and checks
 * what it sends back. Both turn the schema, a small and flat part of JSON Schema, into fields.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation
 */
import * as z from "zod";
import { INVALID_PARAMS, isObject, RpcError } from "./peer.ts";
import { ElicitResult, optional, parseParams, type InputRequest } from "./schema.ts";

export type Value = string | number | boolean | string[];
export type Content = Record<string, Value>;
export type Choice = { value: string; title: string };

type Kind =
  | { kind: "string"; format?: Format }
  | { kind: "integer" | "number" | "boolean" }
  | { kind: "choice" | "choices"; choices: Choice[] };
type Bound = number | undefined;

export type Field = Kind & {
  name: string;
  title: string;
  description: string | undefined;
  required: boolean;
  /** Set only if it satisfies the field. */
  default: Value | undefined;
  /** The limits of a number, a length or how many choices; infinite if there is none. */
  low: number;
  high: number;
};

/** RFC 3986 has no spaces or other letters in a URI, which the URL parser forgives. */
const URI = /^([\w.~:/?#[\]@!$&'()*+,;=-]|%[\da-f]{2})+$/i;

/** A check, at least as strict as its RFC and as zod's own, and an example. */
const FORMATS = {
  // In RFC 5321 no label of a domain ends with a hyphen.
  email: [z.email().regex(/^[^@]*@(?!.*-\.)/), "ada@example.com"],
  // The pattern comes first, because z.url() trims what it checks.
  uri: [z.string().regex(URI).pipe(z.url()), "https://example.com/page"],
  date: [z.iso.date(), "2026-02-27"],
  "date-time": [z.iso.datetime({ offset: true }), "2026-02-27T22:00:00Z"],
} as const;
type Format = keyof typeof FORMATS;
const isFormat = (name: unknown): name is Format => Object.hasOwn(FORMATS, String(name));

const MAX_FORMATTED = 10_000; // no address is longer, and the patterns of some take time

// --- Reading a form ----------------------------------------------------------------------

const Any = z.unknown().optional();
const Text = optional(z.string());
const Texts = optional(z.array(z.string()));
const Titled = optional(z.array(z.object({ const: z.string(), title: Text })));
const Limit = optional(z.number()); // JSON can say 1e999, which is no z.number()
const Count = optional(z.number().nonnegative());

const Property = z.object({
  ...{ type: Any, title: Text, description: Text, default: Any },
  ...{ format: Text, minLength: Count, maxLength: Count, minimum: Limit, maximum: Limit },
  ...{ enum: Texts, enumNames: Texts, oneOf: Titled, minItems: Count, maxItems: Count },
  items: optional(z.object({ enum: Texts, anyOf: Titled })),
});

const RequestedSchema = z.object({
  type: z.literal("object"),
  // As it came: z.record would lose a field with the name __proto__.
  properties: z.custom<Record<string, unknown>>(isObject, "expected an object"),
  required: Texts,
});

const KNOWN = "a form knows string, number, integer, boolean, enum and array of enum";

/**
 * Reads the `requestedSchema` of a form. Keywords that the protocol does not know are
 * ignored, and so is a default that breaks its own field.
 *
 * @throws {RpcError} -32602 if the protocol forbids the shape, or no answer could satisfy it
 */
export function readForm(requestedSchema: unknown): Field[] {
  const form = parseParams(RequestedSchema, requestedSchema, "requestedSchema");
  const required = new Set(form.required);
  const fields = Object.entries(form.properties).map(([name, property]) =>
    readField(name, property, required.delete(name)),
  );
  for (const name of required) throw unusable(name, "is required but not a property");
  return fields;
}

function readField(name: string, json: unknown, required: boolean): Field {
  const property = parseParams(Property, json, `the field ${name}`);
  const [kind, low = -Infinity, high = Infinity] = readKind(property);
  if (typeof kind === "string") throw unusable(name, `${kind}; ${KNOWN}`);
  if (low > high) throw unusable(name, `wants at least ${low} and at most ${high}`);
  const { title = name, description, default: proposed } = property;
  const base = { name, title, description, required, default: undefined, low, high };
  const field: Field = { ...base, ...kind };
  if (checkValue(field, proposed) === undefined) field.default = proposed as Value;
  return field;
}

/** What a field is, and its limits; or as a clause why it is none. */
function readKind(property: z.infer<typeof Property>): [Kind | string, Bound?, Bound?] {
  const { format, items, minLength, maxLength, minItems, maxItems = Infinity } = property;
  const choices = readChoices(property.oneOf, property.enum, property.enumNames);
  // Some servers leave the type of a choice out; only a string can be one.
  const kind: unknown = property.type ?? (choices && "string");
  switch (kind) {
    case "string":
      if (choices?.length === 0) return ["offers no choice"];
      if (choices) return [{ kind: "choice", choices }];
      return [{ kind, ...(isFormat(format) && { format }) }, minLength, maxLength];
    case "array": {
      const choices = readChoices(items?.anyOf, items?.enum);
      if (!choices) return ["is an array of something else than choices"];
      return [{ kind: "choices", choices }, minItems, Math.min(maxItems, choices.length)];
    }
    case "integer":
    case "number":
      return [{ kind }, property.minimum, property.maximum];
    case "boolean":
      return [{ kind }];
    default:
      return ["has no type that a form has"];
  }
}

type Titled = z.infer<typeof Titled>;
function readChoices(titled: Titled, values?: string[], titles: string[] = []) {
  const all = titled ?? values?.map((value, at) => ({ const: value, title: titles[at] }));
  const choices = all?.map(({ const: value, title = value }) => ({ value, title }));
  const seen = new Set<string>(); // one that is listed twice is one: the first
  return choices?.filter(({ value }) => !seen.has(value) && seen.add(value));
}

function unusable(name: string, reason: string): RpcError {
  return new RpcError(INVALID_PARAMS, `the field ${name} ${reason}`);
}

// --- Checking values ---------------------------------------------------------------------

/** Says a range: `2 to 6`, `at least 2`, `at most 6`. */
export function range(low: number, high: number): string {
  if (low === high) return `exactly ${low}`;
  if (high === Infinity) return `at least ${low}`;
  return low === -Infinity ? `at most ${high}` : `${low} to ${high}`;
}

const mustBe = (name: Format) => `must be a valid ${name}, like ${FORMATS[name][1]}`;

/** Why the value does not satisfy the field, as a clause; undefined if it does. */
export function checkValue(field: Field, value: unknown): string | undefined {
  const { kind, low, high } = field;
  const fits = (size: number) => size >= low && size <= high;
  const span = range(low, high);
  switch (kind) {
    case "string": {
      if (typeof value !== "string") return "must be text";
      const length = [...value].length; // JSON Schema counts characters, not UTF-16 units
      if (!fits(length)) return `must have ${span} characters`;
      if (!field.format) return undefined;
      const isShort = length <= MAX_FORMATTED;
      const isValid = isShort && FORMATS[field.format][0].safeParse(value).success;
      return isValid ? undefined : mustBe(field.format);
    }
    case "integer":
      if (!Number.isSafeInteger(value)) return "must be a whole number";
      return fits(value as number) ? undefined : `must be ${span}`;
    case "number":
      if (!Number.isFinite(value)) return "must be a number";
      return fits(value as number) ? undefined : `must be ${span}`;
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be yes or no";
    case "choice":
      if (field.choices.some((choice) => choice.value === value)) return undefined;
      return "must be one of the choices";
    case "choices": {
      const known = new Set<unknown>(field.choices.map((choice) => choice.value));
      const isKnown = Array.isArray(value) && value.every((item) => known.has(item));
      if (!isKnown) return "must be some of the choices";
      return fits(value.length) ? undefined : `must be ${span} of the choices`;
    }
  }
}

/** The first field that the content does not satisfy, and why as a clause. */
export function checkContent(fields: Field[], content: Record<string, unknown>) {
  const given = new Map(Object.entries(content));
  for (const field of fields) {
    // A null leaves a field out, because programs in many languages write it so.
    const value = given.get(field.name) ?? undefined;
    if (value === undefined && !field.required) continue;
    const reason = value === undefined ? "is required" : checkValue(field, value);
    if (reason) return { field, reason };
  }
  return undefined;
}

/** What is passed on of an answer: the fields of the form, without what null leaves out. */
export function keepContent(fields: Field[], content: Record<string, unknown>) {
  const names = new Set(fields.map(({ name }) => name));
  const given = Object.entries(content).filter(([, value]) => (value ?? null) !== null);
  return Object.fromEntries(given.filter(([name]) => names.has(name)));
}

/** The content with the default of every field that it leaves out; nothing overwritten. */
export function fillDefaults(fields: Field[], content: Content): Content {
  const proposed = fields.filter((field) => field.default !== undefined);
  const defaults = proposed.map((field) => [field.name, field.default]);
  return { ...Object.fromEntries(defaults), ...content };
}

// --- The server's end --------------------------------------------------------------------

/** What the protocol knows of a field and its choices, in the order in which it is written. */
const KEYWORDS = ["const", ...Object.keys(Property.shape), "anyOf", "$ref"];
type Json = Record<string, any>;
type OwnForm = { requestedSchema: object; text: string; fields: Field[] };
const ownForms = new WeakMap<z.ZodObject, OwnForm>();

/**
 * What a zod object becomes on the wire. A default proposes a value and leaves its field
 * required, since nothing that was left out may count as an answer. What the protocol has no
 * keyword for, such as a pattern, only `readAnswer` checks.
 *
 * @throws {Error} no form can ask for this; no RpcError, as it is the author's mistake
 */
export function ownForm(form: z.ZodObject): OwnForm {
  const known = ownForms.get(form);
  if (known) return known;
  const isOpen = form.def.catchall && !(form.def.catchall instanceof z.ZodNever);
  if (isOpen) throw new Error("the form takes unnamed fields; it must be a z.object()");
  try {
    const both = Object.entries(form.shape).map(writeField);
    const fields = both.map(([field]) => field);
    const properties = Object.fromEntries(both.map(([{ name }, json]) => [name, json]));
    const required = fields.filter((field) => field.required).map(({ name }) => name);
    const requestedSchema = { type: "object", properties, required };
    const own = { requestedSchema, text: JSON.stringify(requestedSchema), fields };
    ownForms.set(form, own);
    return own;
  } catch (error) {
    throw new Error((error as Error).message);
  }
}

function writeField([name, schema]: [string, z.core.$ZodType]): [Field, Json] {
  // z.object() loses what is answered under this name.
  if (name === "__proto__") throw unusable(name, "needs another name");
  let proposes = false;
  const written: Json = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override({ zodSchema, jsonSchema }) {
      const { type } = zodSchema._zod.def;
      proposes ||= type === "default" || type === "prefault";
      // A catch makes an answer of anything, and a file looks like a string.
      const isNone = /^(catch|file)$/.test(type) || Object.keys(jsonSchema).length === 0;
      if (isNone) throw unusable(name, `is a z.${type}(); ${KNOWN}`);
    },
  });
  const { format, items, exclusiveMinimum: above, exclusiveMaximum: below } = written;
  const { minimum = Math.floor(above) + 1, maximum = Math.ceil(below) - 1 } = written;
  const excludes = written.type === "number" && (above ?? below) !== undefined;
  if (excludes) throw unusable(name, "excludes its limit; a form has .min() and .max()");
  const property = {
    ...writeChoices(written, "oneOf"),
    items: items && writeChoices(items, "anyOf"),
    format: isFormat(format) ? format : undefined,
    minimum: minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined,
    maximum: maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined,
  };
  const json: Json = JSON.parse(JSON.stringify(property, KEYWORDS));
  const field = readField(name, json, proposes || schema._zod.optin === undefined);
  const isBroken = field.default === undefined && (proposes || "default" in json);
  if (isBroken) throw unusable(name, "has a default that is none of its values");
  return [field, json];
}

/** zod writes a choice of literals with other keywords than the protocol. */
function writeChoices(json: Json, key: "oneOf" | "anyOf"): Json {
  const { const: only, anyOf, oneOf = anyOf, ...rest } = json;
  if (only !== undefined) return { ...rest, enum: [only] };
  if (!oneOf?.every((part: Json) => "const" in part)) return json;
  const titled = oneOf.map(({ const: it, title = it }: Json) => ({ const: it, title }));
  return { ...rest, [key]: titled, type: key === "oneOf" ? "string" : undefined };
}

/** Builds the question. `requestedSchema` travels as it is written. */
export function formRequest(message: string, requestedSchema: object): InputRequest {
  const params = { mode: "form", message, requestedSchema };
  return { method: "elicitation/create", params };
}

export type Answer<T = unknown> =
  | { action: "accept"; value: T }
  | { action: "decline" | "cancel" }
  | { action: "invalid"; reason: string };

/**
 * Reads what came back for a form: the action first, and the content only if it was accepted.
 * The fields check it before zod does, so that no default fills in what was left out. The
 * reason of an invalid answer is a sentence for the person.
 */
export async function readAnswer<T extends z.ZodObject>(
  form: T,
  response: unknown,
): Promise<Answer<z.output<T>>> {
  const result = ElicitResult.safeParse(response);
  if (!result.success) return { action: "invalid", reason: "That was no answer." };
  const { action, content } = result.data;
  if (action !== "accept") return { action };
  const { fields } = ownForm(form);
  const kept = keepContent(fields, content ?? {});
  const problem = checkContent(fields, kept);
  if (problem) return invalid(fields, problem.field.name, problem.reason, true);
  const parsed = await form.safeParseAsync(kept, { error: clauseOf });
  if (parsed.success) return { action, value: parsed.data };
  const [issue] = parsed.error.issues as [z.core.$ZodIssue & z.core.$ZodRawIssue];
  return invalid(fields, issue.path[0], issue.message, issue.message === clauseOf(issue));
}

/** Names the field where there are several. What an author wrote is a sentence already. */
function invalid(fields: Field[], name: unknown, text: string, isClause: boolean) {
  const field = fields.length > 1 && fields.find((field) => field.name === name);
  const start = field ? `${field.title}: ` : isClause ? "That " : "";
  const reason = `${start}${text}`.replace(/[^.!?…]$/, "$&.");
  return { action: "invalid" as const, reason };
}

/** What zod itself minds, and the form had no keyword for, as a clause for the person. */
function clauseOf(issue: z.core.$ZodRawIssue): string {
  const { code, origin, minimum: low = -Infinity, maximum: high = Infinity } = issue;
  const format = String(issue.format).replace("url", "uri").replace("time", "-time");
  if (isFormat(format)) return mustBe(format);
  if (code === "not_multiple_of") return `must be a multiple of ${issue.divisor}`;
  const isLength = code.startsWith("too_") && origin === "string";
  const span = range(Number(low), Number(high));
  return isLength ? `must have ${span} characters` : "is not valid";
}
