/**
 * An elicitation form from both ends. A server writes it as a zod object, which becomes the
 * question, the check and the type of the answer. A client reads the question and checks what
 * it sends back. Both turn the schema, a small and flat part of JSON Schema, into a list of
 * fields, and use only those from there on. Nobody is asked here, and nothing typed or shown.
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

// z.url() forgives more than RFC 3986: it trims, and takes letters beyond ASCII.
const URI = /^[\w.~:/?#[\]@!$&'()*+,;=%-]+$/;
const Short = z.string().max(10_000); // the patterns of some formats take time

/** A check, at least as strict as zod's own, and an example. */
const FORMATS = {
  email: [Short.pipe(z.email()), "ada@example.com"],
  uri: [Short.regex(URI).pipe(z.url()), "https://example.com/page"],
  date: [z.iso.date(), "2026-02-27"],
  "date-time": [z.iso.datetime({ offset: true }), "2026-02-27T22:00:00Z"],
} as const;
type Format = keyof typeof FORMATS;
const isFormat = (name: unknown): name is Format => Object.hasOwn(FORMATS, String(name));
const mustBe = (name: Format) => `must be a valid ${name}, like ${FORMATS[name][1]}`;

// --- Reading a form ----------------------------------------------------------------------

const Type = optional(z.enum(["string", "integer", "number", "boolean", "array"]));
const Text = optional(z.string());
const Texts = optional(z.array(z.string()));
const Titled = optional(z.array(z.object({ const: z.string(), title: Text })));
const Limit = optional(z.number()); // JSON can say 1e999, which is no z.number()

const Property = z.object({
  ...{ type: Type, title: Text, description: Text, default: z.unknown().optional() },
  ...{ format: Text, minLength: Limit, maxLength: Limit, minimum: Limit, maximum: Limit },
  ...{ enum: Texts, enumNames: Texts, oneOf: Titled, minItems: Limit, maxItems: Limit },
  items: optional(z.object({ enum: Texts, anyOf: Titled })),
});
type Property = z.infer<typeof Property>;

const RequestedSchema = z.object({
  type: z.literal("object"),
  // As it came: z.record would lose a field with the name __proto__.
  properties: z.custom<Record<string, unknown>>(isObject, "expected an object"),
  required: Texts,
});

/**
 * Reads the `requestedSchema` of a form. A default that breaks its own field is dropped.
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
  const [kind, low = -Infinity, high = Infinity] = readKind(name, property);
  if (low > high) throw unusable(name, `wants at least ${low} and at most ${high}`);
  const { title = name, description, default: proposed } = property;
  const base = { name, title, description, required, default: undefined, low, high };
  const field: Field = { ...base, ...kind };
  if (checkValue(field, proposed) === undefined) field.default = proposed as Value;
  return field;
}

function readKind(name: string, property: Property): [Kind, ...(number | undefined)[]] {
  const { format, items, minLength, maxLength, minItems, maxItems = Infinity } = property;
  const choices = readChoices(property.oneOf, property.enum, property.enumNames);
  // Some servers leave the type of a choice out; only a string can be one.
  const kind = property.type ?? (choices && "string");
  switch (kind) {
    case "string":
      if (choices?.length === 0) throw unusable(name, "offers no choice");
      if (choices) return [{ kind: "choice", choices }];
      return [{ kind, ...(isFormat(format) && { format }) }, minLength, maxLength];
    case "array": {
      const choices = readChoices(items?.anyOf, items?.enum);
      if (!choices) throw unusable(name, "is an array of something else than choices");
      return [{ kind: "choices", choices }, minItems, Math.min(maxItems, choices.length)];
    }
    case "integer":
    case "number":
      return [{ kind }, property.minimum, property.maximum];
    case "boolean":
      return [{ kind }];
    default:
      throw unusable(name, "has no type that a form knows");
  }
}

function readChoices(titled: Property["oneOf"], values?: string[], names?: string[]) {
  const all =
    titled ?? values?.map((value, at) => ({ const: value, title: names?.[at] }));
  return all?.map(({ const: value, title = value }) => ({ value, title }));
}

const unusable = (name: unknown, reason: string) =>
  new RpcError(INVALID_PARAMS, `the field ${name} ${reason}`);

// --- Checking values ---------------------------------------------------------------------

/** Says a range: `2 to 6`, `at least 2`, `at most 6`. */
export function range(low: number, high: number): string {
  if (low === high) return `exactly ${low}`;
  if (high === Infinity) return `at least ${low}`;
  return low === -Infinity ? `at most ${high}` : `${low} to ${high}`;
}

const fits = ({ low, high }: Field, size: number) => size >= low && size <= high;

/** Why the value does not satisfy the field, as a clause; undefined if it does. */
export function checkValue(field: Field, value: unknown): string | undefined {
  const { kind, low, high } = field;
  const span = range(low, high);
  switch (kind) {
    case "string": {
      if (typeof value !== "string") return "must be text";
      const length = [...value].length; // JSON Schema counts characters, not UTF-16 units
      if (!fits(field, length)) return `must have ${span} characters`;
      if (!field.format) return undefined;
      const isValid = FORMATS[field.format][0].safeParse(value).success;
      return isValid ? undefined : mustBe(field.format);
    }
    case "integer":
      if (!Number.isSafeInteger(value)) return "must be a whole number";
      return fits(field, value as number) ? undefined : `must be ${span}`;
    case "number":
      if (!Number.isFinite(value)) return "must be a number of at most 15 digits";
      return fits(field, value as number) ? undefined : `must be ${span}`;
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be yes or no";
    case "choice":
      if (field.choices.some((choice) => choice.value === value)) return undefined;
      return "must be one of the choices";
    case "choices": {
      const known = new Set<unknown>(field.choices.map((choice) => choice.value));
      const isKnown = Array.isArray(value) && value.every((item) => known.has(item));
      if (!isKnown) return "must be some of the choices";
      return fits(field, value.length) ? undefined : `must be ${span} of the choices`;
    }
  }
}

/** The first field that the content does not satisfy, and why as a clause. */
export function checkContent(fields: Field[], content: Record<string, unknown>) {
  const given = new Map(Object.entries(content));
  for (const field of fields) {
    const value = given.get(field.name);
    if (value === undefined && !field.required) continue;
    const reason = value === undefined ? "is required" : checkValue(field, value);
    if (reason) return { field, reason };
  }
  return undefined;
}

/** The content with the default of every field that it leaves out; nothing overwritten. */
export function fillDefaults(fields: Field[], content: Content): Content {
  const proposed = fields.filter((field) => field.default !== undefined);
  const defaults = proposed.map((field) => [field.name, field.default]);
  return { ...Object.fromEntries(defaults), ...content };
}

// --- The server's end --------------------------------------------------------------------

/** What the protocol knows of a field and its choices, in the order in which it is written. */
const KEYWORDS = ["const", ...Object.keys(Property.shape), "anyOf"];
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
  try {
    const requestedSchema = writeForm(form);
    const text = JSON.stringify(requestedSchema);
    const own = { requestedSchema, text, fields: readForm(requestedSchema) };
    ownForms.set(form, own);
    return own;
  } catch (error) {
    throw new Error((error as Error).message);
  }
}

function writeForm(form: z.ZodObject): object {
  const json = z.toJSONSchema(form, {
    io: "input",
    unrepresentable: "any",
    override({ zodSchema, jsonSchema, path: [, name] }) {
      const { type } = zodSchema._zod.def;
      // What zod would fill in, and no form can show.
      const hides =
        type === "catch" || (type === "default" && !("default" in jsonSchema));
      if (hides) throw unusable(name, "has a .catch(), or a default behind a transform");
    },
  });
  const { properties, required = [] } = parseParams(RequestedSchema, json, "the form");
  for (const [name, written] of Object.entries(properties)) {
    const property = writeField(name, written as Json);
    properties[name] = property;
    if ("default" in property && !required.includes(name)) required.push(name);
  }
  return { type: "object", properties, required };
}

function writeField(name: string, written: Json): Json {
  const { items, format, minimum, maximum } = written;
  const excludes = "exclusiveMinimum" in written || "exclusiveMaximum" in written;
  if (excludes) throw unusable(name, "excludes its limit; a form has .min() and .max()");
  const property = {
    ...writeChoices(written, "oneOf"),
    items: items && writeChoices(items, "anyOf"),
    format: isFormat(format) ? format : undefined,
    // zod adds the bounds of safe integers.
    minimum: minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined,
    maximum: maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined,
  };
  return JSON.parse(JSON.stringify(property, KEYWORDS));
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

const INVALID = "is not valid"; // only zod minds, and the author has no words for it
const UNWORDED = { error: () => INVALID };
const invalid = (reason: string) => ({ action: "invalid", reason }) as const;

/**
 * Reads what came back for a form: the action first, and the content only if it was accepted.
 * The fields check it before zod does, so that no default fills in what was left out. The
 * reason of an invalid answer is a sentence for the person.
 */
export async function readAnswer<F extends z.ZodObject>(form: F, response: unknown) {
  const result = ElicitResult.safeParse(response);
  if (!result.success) return invalid("That was no answer.");
  const { action, content } = result.data;
  if (action !== "accept") return { action };
  const { fields } = ownForm(form);
  // A null leaves a field out, because programs in many languages write it so.
  const given = Object.entries(content ?? {}).filter(([, value]) => value !== null);
  const answered = Object.fromEntries(given);
  // One of several fields is named before what is said of it.
  const start = (one?: Field) => (one && fields.length > 1 ? `${one.title}: ` : "");
  const problem = checkContent(fields, answered);
  if (problem) return invalid(`${start(problem.field) || "That "}${problem.reason}.`);
  const parsed = await form.safeParseAsync(answered, UNWORDED);
  if (parsed.success) return { action, value: parsed.data };
  const { path = [], message = INVALID } = parsed.error.issues[0] ?? {};
  const field = fields.find(({ name }) => name === path[0]);
  const sentence = message.replace(/[^.!?…]$/, "$&.");
  if (message !== INVALID) return invalid(start(field) + sentence);
  const format = field?.kind === "string" && field.format;
  return invalid(`${start(field) || "That "}${format ? mustBe(format) : INVALID}.`);
}
