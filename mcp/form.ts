/**
 * An elicitation form from both ends. A server writes a form as a zod object, which becomes
 * the question, the check and the type of the answer. A client reads the question and checks
 * what it sends back with the same functions as the server.
 *
 * On the wire a form is a small part of JSON Schema: a flat object of strings, numbers,
 * booleans and choices. Both ends turn it into a list of fields, and use only fields from
 * there on. Nobody is asked here, and no text is typed or shown.
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
  /** Limits of the number, or of how many characters or choices; infinite if there is none. */
  low: number;
  high: number;
};

// RFC 3986 has brackets only around an IPv6 address, and no spaces or letters beyond ASCII.
// The URL parser forgives all of them.
const PLAIN = "(?:[\\w.~:/?@!$&'()*+,;=-]|%[\\da-f]{2})*";
const HOST = `\\w+://(${PLAIN}@)?\\[[\\da-f:.]+]`;
const URI = new RegExp(`^(${HOST})?${PLAIN}(#${PLAIN})?$`, "i");

/** A check at least as strict as its RFC and as zod's own, and an example that passes both. */
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

/** No address is longer, and the patterns of some take time. */
const MAX_FORMATTED = 10_000;

// --- Reading a form ----------------------------------------------------------------------

const Text = optional(z.string());
const Texts = optional(z.array(z.string()));
const Titled = optional(z.array(z.object({ const: z.string(), title: Text })));
const Limit = optional(z.number()); // JSON can say 1e999, which is no z.number()
const Count = optional(z.number().nonnegative());

const Property = z.object({
  ...{ title: Text, description: Text, type: z.unknown(), default: z.unknown() },
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

const TYPES = ["string", "integer", "number", "boolean", "array", "object", "null"];
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
  const { data, error } = Property.safeParse(json);
  if (!data) {
    const key = String(error?.issues[0]?.path[0] ?? "shape");
    throw unusable(name, `has an invalid ${key}; ${KNOWN}`);
  }
  const [kind, low = -Infinity, high = Infinity] = readKind(data);
  if (typeof kind === "string")
    throw unusable(name, `${kind || foreignType(json)}; ${KNOWN}`);
  if (low > high) throw unusable(name, `wants at least ${low} and at most ${high}`);
  const { title = name, description, default: proposed } = data;
  const base = { name, title, description, required, default: undefined, low, high };
  const field: Field = { ...base, ...kind };
  if (checkValue(field, proposed) === undefined) field.default = proposed as Value;
  return field;
}

/** What a field is, and its limits; or as a clause why it is none, "" for its type. */
function readKind(property: z.infer<typeof Property>): [Kind | string, number?, number?] {
  const { format, items, minLength, maxLength, minItems, maxItems = Infinity } = property;
  const choices = readChoices(property.oneOf, property.enum, property.enumNames);
  // Some servers leave the type of a choice out; only a string can be one.
  const kind = property.type ?? (choices && "string");
  switch (kind) {
    case "string":
      if (choices)
        return [choices.length ? { kind: "choice", choices } : "offers no choice"];
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
      return [""];
  }
}

type Titled = z.infer<typeof Titled>;
function readChoices(all: Titled, values?: string[], titles: string[] = []) {
  all ??= values?.map((value, at) => ({ const: value, title: titles[at] }));
  const choices = all?.map(({ const: value, title = value }) => ({ value, title }));
  // One that is listed twice is one.
  return (
    choices && [...new Map(choices.map((choice) => [choice.value, choice])).values()]
  );
}

/** Says which types came, as far as they are types, and quotes nothing else. */
function foreignType(json: any): string {
  if ("$ref" in json) return "is a $ref";
  const parts = [json, json.anyOf, json.oneOf, json.allOf].flat().filter(isObject);
  const types = parts.flatMap(({ type }) => type);
  const named = TYPES.filter((type) => types.includes(type)).join(" or ");
  return named ? `has the type ${named}` : "has no known type";
}

function unusable(name: string, reason: string): RpcError {
  return new RpcError(INVALID_PARAMS, `the field ${name} ${reason}`);
}

// --- Checking values ---------------------------------------------------------------------

/** The least and the most that a field allows, in its own measure. */
export const limits = ({ low, high }: Field): [number, number] => [low, high];

/** Says a range: `2 to 6`, `at least 2`, `at most 6`. */
export function range(low: number, high: number): string {
  if (low === high) return `exactly ${low}`;
  if (high === Infinity) return `at least ${low}`;
  return low === -Infinity ? `at most ${high}` : `${low} to ${high}`;
}

/** Why the value does not satisfy the field, as a clause; undefined if it does. */
export function checkValue(field: Field, value: unknown): string | undefined {
  const { kind, low, high } = field;
  const fits = (size: number) => size >= low && size <= high;
  switch (kind) {
    case "string": {
      if (typeof value !== "string") return "must be text";
      const length = [...value].length; // JSON Schema counts characters, not UTF-16 units
      if (!fits(length)) return mustHave(low, high);
      if (!field.format) return undefined;
      const isShort = length <= MAX_FORMATTED;
      const isValid = isShort && FORMATS[field.format][0].safeParse(value).success;
      return isValid ? undefined : mustBe(field.format);
    }
    case "integer":
      if (!Number.isSafeInteger(value)) return "must be a whole number";
      return fits(value as number) ? undefined : `must be ${range(low, high)}`;
    case "number":
      if (!Number.isFinite(value)) return "must be a number";
      return fits(value as number) ? undefined : `must be ${range(low, high)}`;
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be yes or no";
    case "choice":
      if (field.choices.some((choice) => choice.value === value)) return undefined;
      return "must be one of the choices";
    case "choices": {
      const known = new Set<unknown>(field.choices.map((choice) => choice.value));
      const isKnown = Array.isArray(value) && value.every((item) => known.has(item));
      if (!isKnown) return "must be some of the choices";
      return fits(value.length)
        ? undefined
        : `must be ${range(low, high)} of the choices`;
    }
  }
}

const mustHave = (low: number, high: number) =>
  `must have ${range(low, high)} characters`;
const mustBe = (format: Format) =>
  `must be a valid ${format}, like ${FORMATS[format][1]}`;

type Answers = Record<string, unknown>;

/** The first field that the content does not satisfy, and why as a clause. */
export function checkContent(fields: Field[], content: Answers) {
  for (const field of fields) {
    const value = valueOf(field, content);
    if (value === undefined && !field.required) continue;
    const reason = value === undefined ? "is required" : checkValue(field, value);
    if (reason) return { field, reason };
  }
  return undefined;
}

/** What is passed on of an answer: the fields of the form, without those left out by null. */
export function keepContent(fields: Field[], content: Answers): Answers {
  const all = fields.map((field) => [field.name, valueOf(field, content)] as const);
  return Object.fromEntries(all.filter(([, value]) => value !== undefined));
}

function valueOf({ name }: Field, content: Answers): unknown {
  return Object.hasOwn(content, name) ? (content[name] ?? undefined) : undefined;
}

/** The content with the default of every field that it leaves out; nothing overwritten. */
export function fillDefaults(fields: Field[], content: Content): Content {
  const proposed = fields.filter((field) => field.default !== undefined);
  const defaults = proposed.map((field) => [field.name, field.default]);
  return { ...Object.fromEntries(defaults), ...content };
}

// --- The server's end --------------------------------------------------------------------

/** The keywords of a field and of its choices, in the order in which they are written. */
const KEYWORDS =
  `type title description default format minLength maxLength minimum maximum
  minItems maxItems enum oneOf items anyOf const`.split(/\s+/);
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
  if (isOpen)
    throw new Error("the form takes fields that it does not name; use z.object()");
  try {
    const all = Object.entries(form.shape).map(([name, schema]) =>
      writeField(name, schema),
    );
    const properties = Object.fromEntries(all.map(([field, json]) => [field.name, json]));
    const fields = all.map(([field]) => field);
    const required = fields.filter((field) => field.required).map(({ name }) => name);
    const requestedSchema = { type: "object", properties, required };
    const own = { requestedSchema, text: JSON.stringify(requestedSchema), fields };
    ownForms.set(form, own);
    return own;
  } catch (error) {
    throw new Error((error as Error).message);
  }
}

function writeField(name: string, schema: z.core.$ZodType): [Field, Json] {
  // z.object() loses what is answered under this name.
  if (name === "__proto__") throw unusable(name, "needs another name");
  let proposes = false;
  const json = z.toJSONSchema(schema, {
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
  const property = writeProperty(json);
  if (property === undefined) throw unusable(name, "excludes its own limit");
  const field = readField(name, property, proposes || schema._zod.optin === undefined);
  const isBroken = field.default === undefined && (proposes || "default" in property);
  if (isBroken) throw unusable(name, "has a default that is none of its values");
  return [field, property];
}

/** Keeps what the protocol knows; undefined if that would let in an excluded number. */
function writeProperty(json: Json): Json | undefined {
  const { type, format, items, exclusiveMinimum: above, exclusiveMaximum: below } = json;
  if (type === "number" && (above ?? below) !== undefined) return undefined;
  const { minimum = Math.floor(above) + 1, maximum = Math.ceil(below) - 1 } = json;
  const property = {
    ...writeChoices(json, "oneOf"),
    format: isFormat(format) ? format : undefined,
    minimum: minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined,
    maximum: maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined,
    items: items && writeChoices(items, "anyOf"),
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
  const [issue] = parsed.error.issues as [z.core.$ZodRawIssue];
  return invalid(
    fields,
    issue.path?.[0],
    issue.message,
    issue.message === clauseOf(issue),
  );
}

/** Names the field where there are several. What an author wrote is a sentence already. */
function invalid(
  fields: Field[],
  name: unknown,
  text = "",
  isClause: boolean,
): Answer<never> {
  const field = fields.length > 1 && fields.find((field) => field.name === name);
  const start = field ? `${field.title}: ` : isClause ? "That " : "";
  return { action: "invalid", reason: `${start}${text}`.replace(/[^.!?]$/, "$&.") };
}

/** What zod itself minds, and the form had no keyword for, as a clause for the person. */
function clauseOf(issue: z.core.$ZodRawIssue): string {
  const { code, origin, minimum = -Infinity, maximum = Infinity } = issue;
  const format =
    { url: "uri", datetime: "date-time" }[String(issue.format)] ?? issue.format;
  if (isFormat(format)) return mustBe(format);
  if (origin === "string") return mustHave(Number(minimum), Number(maximum));
  if (code === "not_multiple_of") return `must be a multiple of ${issue.divisor}`;
  return "is not valid";
}
