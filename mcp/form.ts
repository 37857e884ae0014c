/**
 * An elicitation form from both ends. A server writes a form as a zod object, which becomes
 * the question, the check and the type of the answer. A client reads the question and checks
 * what it sends back with the same functions as the server.
 *
 * On the wire a form is a small part of JSON Schema: a flat object of strings, numbers,
 * booleans and choices. `readForm` turns it into a list of fields, and both ends use only
 * fields from there on. Nobody is asked here, and no text is typed or shown.
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

/** No address is longer, and the patterns of some take time. */
const MAX_FORMATTED = 10_000;

// RFC 3986 has brackets only around an IPv6 address, and no spaces or letters beyond ASCII.
// The URL parser forgives all of them.
const PLAIN = "(?:[\\w.~:/?@!$&'()*+,;=-]|%[\\da-f]{2})*";
const URI = new RegExp(
  `^(\\w+://(${PLAIN}@)?\\[[\\da-f:.]+])?${PLAIN}(#${PLAIN})?$`,
  "i",
);

/** Each check is at least as strict as its RFC and as zod's own; each example passes both. */
const FORMATS = {
  // In RFC 5321 no label of a domain ends with a hyphen.
  email: { check: z.email().regex(/^[^@]*@(?!.*-\.)/), example: "ada@example.com" },
  // The pattern comes first, because z.url() trims what it checks.
  uri: {
    check: z.string().regex(URI).pipe(z.url()),
    example: "https://example.com/page",
  },
  date: { check: z.iso.date(), example: "2026-02-27" },
  "date-time": {
    check: z.iso.datetime({ offset: true }),
    example: "2026-02-27T22:00:00Z",
  },
};
type Format = keyof typeof FORMATS;
const isFormat = (name: unknown): name is Format => Object.hasOwn(FORMATS, String(name));

// --- Reading a form ----------------------------------------------------------------------

const Strings = z.array(z.string());
const Titled = z.array(z.object({ const: z.string(), title: optional(z.string()) }));
const Low = optional(z.number(), -Infinity); // JSON can say 1e999; z.number() is finite
const High = optional(z.number(), Infinity);
const Least = optional(z.number().nonnegative(), -Infinity);
const Most = optional(z.number().nonnegative(), Infinity);

const Property = z.object({
  type: optional(z.enum(["string", "integer", "number", "boolean", "array"])),
  title: optional(z.string()),
  description: optional(z.string()),
  format: optional(z.string()),
  minLength: Least,
  maxLength: Most,
  minimum: Low,
  maximum: High,
  minItems: Least,
  maxItems: Most,
  enum: optional(Strings),
  enumNames: optional(Strings, []),
  oneOf: optional(Titled),
  items: optional(z.object({ enum: optional(Strings), anyOf: optional(Titled) }), {}),
  default: z.unknown().optional(),
});

const RequestedSchema = z.object({
  type: z.literal("object"),
  // As it came: z.record would lose a field with the name __proto__.
  properties: z.custom<Record<string, unknown>>(isObject, "expected an object"),
  required: optional(Strings, []),
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
  if (!data) throw unusable(name, misfit(json, error?.issues[0]?.path.join(".")));
  const { title = name, description, default: proposed } = data;
  const kind = readKind(data) ?? misfit(json, "type");
  if (typeof kind === "string") throw unusable(name, kind);
  const base = { name, title, description, required, default: undefined };
  const field: Field = { ...base, low: -Infinity, high: Infinity, ...kind };
  const { low, high } = field;
  if (low > high) throw unusable(name, `wants at least ${low} and at most ${high}`);
  if (checkValue(field, proposed) === undefined) field.default = proposed as Value;
  return field;
}

/** What a field is, or why it can be none as a clause; undefined if it has no type. */
function readKind(property: z.infer<typeof Property>) {
  const { type, format, items } = property;
  const one = readChoices(property.oneOf, property.enum, property.enumNames);
  const some = readChoices(items.anyOf, items.enum);
  // Some servers leave the type of a choice out; only a string can be one.
  switch (type ?? (one && "string")) {
    case "string":
      if (one?.length === 0) return "offers no choice";
      if (one) return { kind: "choice", choices: one } as const;
      return {
        kind: "string",
        ...(isFormat(format) && { format }),
        ...{ low: property.minLength, high: property.maxLength },
      } as const;
    case "array":
      if (!some) return `is an array of something else than choices; ${KNOWN}`;
      return {
        ...({ kind: "choices", choices: some, low: property.minItems } as const),
        high: Math.min(property.maxItems, some.length),
      };
    case "integer":
    case "number":
      return { kind: type, low: property.minimum, high: property.maximum };
    default:
      return type && { kind: type };
  }
}

function readChoices(
  titled: z.infer<typeof Titled> | undefined,
  values: string[] | undefined,
  titles: string[] = [],
): Choice[] | undefined {
  const all = titled ?? values?.map((value, at) => ({ const: value, title: titles[at] }));
  const choices = new Map<string, Choice>();
  for (const { const: value, title = value } of all ?? []) {
    // One that is listed twice is one: the first.
    if (!choices.has(value)) choices.set(value, { value, title });
  }
  return all && [...choices.values()];
}

/** Why it is no field, as a clause that quotes keywords and nothing else of what came. */
function misfit(json: unknown, path = ""): string {
  if (!isObject(json)) return "is not an object";
  if (/^(items\.)?(enum|oneOf|anyOf)\b/.test(path)) {
    return `offers choices that are not strings; ${KNOWN}`;
  }
  if (path !== "type") return `has an invalid ${path}`;
  if ("$ref" in json) return `is a $ref; ${KNOWN}`;
  const parts = [json, json["anyOf"], json["oneOf"], json["allOf"]]
    .flat()
    .filter(isObject);
  const types = parts.flatMap((part) => part["type"]);
  const named = TYPES.filter((type) => types.includes(type)).join(" or ");
  return `${named ? `has the type ${named}` : "has no known type"}; ${KNOWN}`;
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
  if (low === -Infinity) return `at most ${high}`;
  return `${low} to ${high}`;
}

const CLAUSES = {
  format: (name: Format) => `must be a valid ${name}, like ${FORMATS[name].example}`,
  string: (low: number, high: number) => `must have ${range(low, high)} characters`,
  number: (low: number, high: number) => `must be ${range(low, high)}`,
  array: (low: number, high: number) => `must be ${range(low, high)} of the choices`,
};

/** Why the value does not satisfy the field, as a clause; undefined if it does. */
export function checkValue(field: Field, value: unknown): string | undefined {
  const { kind, low, high } = field;
  const fits = (size: number) => size >= low && size <= high;
  switch (kind) {
    case "string": {
      if (typeof value !== "string") return "must be text";
      const length = [...value].length; // JSON Schema counts characters, not UTF-16 units
      if (!fits(length)) return CLAUSES.string(low, high);
      if (!field.format) return undefined;
      const isShort = length <= MAX_FORMATTED;
      if (isShort && FORMATS[field.format].check.safeParse(value).success)
        return undefined;
      return CLAUSES.format(field.format);
    }
    case "integer":
      if (!Number.isSafeInteger(value)) return "must be a whole number";
      return fits(value as number) ? undefined : CLAUSES.number(low, high);
    case "number":
      if (!Number.isFinite(value)) return "must be a number";
      return fits(value as number) ? undefined : CLAUSES.number(low, high);
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be yes or no";
    case "choice":
      if (field.choices.some((choice) => choice.value === value)) return undefined;
      return "must be one of the choices";
    case "choices": {
      const known = new Set<unknown>(field.choices.map((choice) => choice.value));
      const isKnown = Array.isArray(value) && value.every((item) => known.has(item));
      if (!isKnown) return "must be some of the choices";
      return fits(value.length) ? undefined : CLAUSES.array(low, high);
    }
  }
}

/** The first field that the content does not satisfy, and why as a clause. */
export function checkContent(
  fields: Field[],
  content: Record<string, unknown>,
): { field: Field; reason: string } | undefined {
  for (const field of fields) {
    const value = valueOf(field, content);
    if (value === undefined && !field.required) continue;
    const reason = value === undefined ? "is required" : checkValue(field, value);
    if (reason) return { field, reason };
  }
  return undefined;
}

/** What is passed on of an answer: the fields of the form, without those left out by null. */
export function keepContent(fields: Field[], content: Record<string, unknown>) {
  const all = fields.map((field) => [field.name, valueOf(field, content)] as const);
  return Object.fromEntries(all.filter(([, value]) => value !== undefined));
}

function valueOf({ name }: Field, content: Record<string, unknown>): unknown {
  return Object.hasOwn(content, name) ? (content[name] ?? undefined) : undefined;
}

/** The content with the default of every field that it leaves out; nothing overwritten. */
export function fillDefaults(fields: Field[], content: Content): Content {
  const defaults = fields.flatMap((field) =>
    field.default === undefined ? [] : [[field.name, field.default]],
  );
  return { ...Object.fromEntries(defaults), ...content };
}

// --- The server's end --------------------------------------------------------------------

/** The keywords of a field and of its choices, in the order in which they are written. */
const KEYWORDS =
  `type title description default format minLength maxLength minimum maximum
  minItems maxItems enum oneOf items anyOf const`.split(/\s+/);
type Json = z.core.JSONSchema.BaseSchema;

/** A form as it travels, as an object and as text, and its fields. */
export type OwnForm = { requestedSchema: object; fields: Field[]; text: string };
const ownForms = new WeakMap<z.ZodObject, OwnForm>();

/**
 * What a zod object becomes on the wire. A default proposes a value and leaves its field
 * required, since nothing that was left out may count as an answer. What the protocol has no
 * keyword for, such as a pattern, only `readAnswer` checks.
 *
 * @throws {Error} a field can't be asked for in a form; the author's mistake
 */
export function ownForm(form: z.ZodObject): OwnForm {
  const own = ownForms.get(form) ?? writeForm(form);
  ownForms.set(form, own);
  return own;
}

function writeForm({ shape, def: { catchall } }: z.ZodObject): OwnForm {
  if (catchall && !(catchall instanceof z.ZodNever)) {
    throw new Error(
      "the form takes fields that it does not name; a form is a z.object()",
    );
  }
  const required: string[] = [];
  const properties = Object.entries(shape).map(([name, schema]) => {
    // Nor could z.object() keep what is answered under this name.
    if (name === "__proto__") throw new Error(`the field ${name} needs another name`);
    const [json, isRequired] = writeField(name, schema);
    if (isRequired) required.push(name);
    return [name, json] as const;
  });
  const requestedSchema = {
    type: "object",
    properties: Object.fromEntries(properties),
    required,
  };
  try {
    const fields = readForm(requestedSchema);
    const broken = fields.find(
      (field, at) =>
        field.default === undefined && "default" in (properties[at]?.[1] ?? {}),
    );
    if (broken) throw unusable(broken.name, "has a default that is none of its values");
    return { requestedSchema, fields, text: JSON.stringify(requestedSchema) };
  } catch (error) {
    // No fault of the client's, so it must not be told that its params are invalid.
    throw new Error((error as Error).message);
  }
}

/** A field as it travels, and whether it is required. */
function writeField(name: string, schema: z.core.$ZodType): [Json, boolean] {
  const refuse = (what: string) => new Error(`the field ${name} ${what}; ${KNOWN}`);
  let proposes = false;
  const form = z.toJSONSchema(z.object({ x: schema }), {
    io: "input",
    unrepresentable: "any",
    override({ zodSchema, jsonSchema }) {
      const { type } = zodSchema._zod.def;
      // A catch turns any answer into one of the author's. A file looks like a string.
      const isNone = /^(catch|file)$/.test(type) || Object.keys(jsonSchema).length === 0;
      if (isNone) throw refuse(`is a z.${type}()`);
      proposes ||= type === "default" || type === "prefault";
    },
  });
  const json = form.properties?.["x"] as Json;
  const { type, items, exclusiveMinimum: above, exclusiveMaximum: below } = json;
  if (type === "number" && (above ?? below) !== undefined) {
    throw refuse("excludes its own limit");
  }
  const low = above === undefined ? json.minimum : Math.floor(above) + 1;
  const high = below === undefined ? json.maximum : Math.ceil(below) - 1;
  const written = {
    // toJSONSchema drops a default before a transform: then it is none of the field's values.
    ...(proposes && { default: null }),
    ...writeChoices(json, "oneOf"),
    format: isFormat(json.format) ? json.format : undefined,
    minimum: low === Number.MIN_SAFE_INTEGER ? undefined : low,
    maximum: high === Number.MAX_SAFE_INTEGER ? undefined : high,
    items: items && writeChoices(items as Json, "anyOf"),
  };
  const isRequired = proposes || form.required?.includes("x") === true;
  return [JSON.parse(JSON.stringify(written, KEYWORDS)), isRequired];
}

/** A choice of literals, for which zod has other keywords than the protocol. */
function writeChoices(json: Json, key: "oneOf" | "anyOf"): Json {
  const { const: only, anyOf = [], oneOf = anyOf, ...rest } = json;
  if (only !== undefined) return { ...rest, enum: [only] };
  const literals = oneOf.filter(isObject).filter((part) => "const" in part);
  if (literals.length === 0 || literals.length < oneOf.length) return json;
  if (literals.every(({ title }) => title === undefined)) {
    return { ...rest, type: "string", enum: literals.map((part) => part.const) };
  }
  const titled = literals.map(({ const: value, title = value }) => ({
    const: value,
    title,
  }));
  return { ...rest, ...(key === "oneOf" && { type: "string" }), [key]: titled };
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
export async function readAnswer<Form extends z.ZodObject>(
  form: Form,
  response: unknown,
): Promise<Answer<z.output<Form>>> {
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
  const [issue] = parsed.error.issues;
  const message = issue?.message ?? "";
  return invalid(fields, issue?.path[0], message, message === clauseOf(issue));
}

/** Names the field where there are several. What an author wrote is a sentence already. */
function invalid(fields: Field[], name: unknown, reason: string, isClause: boolean) {
  const field = fields.length > 1 && fields.find((field) => field.name === name);
  const start = field ? `${field.title}: ` : isClause ? "That " : "";
  return {
    action: "invalid" as const,
    reason: `${start}${reason}`.replace(/[^.!?]$/, "$&."),
  };
}

/** What zod minds by itself, which the form could not say, as a clause for the person. */
function clauseOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "too_small":
    case "too_big": {
      const [low, high] = [
        Number(issue.minimum ?? -Infinity),
        Number(issue.maximum ?? Infinity),
      ];
      if (issue.origin === "string") return CLAUSES.string(low, high);
      return issue.inclusive ? CLAUSES.number(low, high) : "is not valid";
    }
    case "invalid_format": {
      const format = { url: "uri", datetime: "date-time" }[issue.format] ?? issue.format;
      return isFormat(format) ? CLAUSES.format(format) : "is not valid";
    }
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    default:
      return "is not valid";
  }
}
