/**
 * An elicitation form from both ends. A server builds the question and reads the answer; a
 * client reads the question, turns what was typed into values and fills in defaults. Both
 * check with the same function, so an answer that leaves here satisfies the form.
 *
 * The schema of a form is a small part of JSON Schema: a flat object of strings, numbers,
 * booleans and choices. `readForm` turns it into a list of fields, and only fields are used
 * from there on. Nobody is asked here; that is ask.ts.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation
 */
import * as z from "zod/v3";
import { INVALID_PARAMS, RpcError } from "./peer.ts";
import { ElicitResult, object, parseParams, type InputRequest } from "./schema.ts";

export type Value = string | number | boolean | string[];
export type Content = Record<string, Value>;

export type Choice = { value: string; title: string };

type Kind =
  | { kind: "string"; format?: Format; minLength: Bound; maxLength: Bound }
  | { kind: "integer" | "number"; minimum: Bound; maximum: Bound }
  | { kind: "boolean" }
  | { kind: "choice"; choices: Choice[] }
  | { kind: "choices"; choices: Choice[]; minItems: Bound; maxItems: Bound };
type Bound = number | undefined;

export type Field = Kind & {
  name: string;
  title: string;
  description: string | undefined;
  required: boolean;
  /** Set only if it satisfies the field. */
  default: Value | undefined;
};

/** No address is longer, and the patterns of some take time. */
const MAX_FORMATTED = 10_000;

type Format = keyof typeof FORMATS;
const FORMATS = {
  email: {
    check: z
      .string()
      .email()
      .regex(/^[^@]*@(?!.*-\.)/),
    example: "ada@example.com",
  },
  // RFC 3986 has no spaces or other letters in a URI, where the URL parser forgives them.
  uri: {
    check: z
      .string()
      .url()
      .regex(/^([\w.~:/?#[\]@!$&'()*+,;=-]|%[\da-f]{2})+$/i),
    example: "https://example.com/page",
  },
  date: { check: z.string().date(), example: "2026-02-27" },
  // RFC 3339 wants the seconds, and the colon in the offset.
  "date-time": {
    check: z
      .string()
      .datetime({ offset: true })
      .regex(/:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/),
    example: "2026-02-27T22:00:00+01:00",
  },
};

// --- Reading a form ----------------------------------------------------------------------

const Titled = z.array(object({ const: z.string(), title: z.string().optional() }));
const Strings = z.array(z.string());
const Limit = z.number().finite().optional(); // JSON can say 1e999
const Count = z.number().finite().nonnegative().optional();

const Property = object({
  type: z.enum(["string", "integer", "number", "boolean", "array"]).optional(),
  title: z.string().optional(),
  description: z.string().optional(),
  format: z.string().optional(),
  minLength: Count,
  maxLength: Count,
  minimum: Limit,
  maximum: Limit,
  minItems: Count,
  maxItems: Count,
  enum: Strings.optional(),
  enumNames: Strings.optional(),
  oneOf: Titled.optional(),
  items: object({ enum: Strings.optional(), anyOf: Titled.optional() }).optional(),
  default: z.unknown().optional(),
});
type Property = z.infer<typeof Property>;

const RequestedSchema = object({
  type: z.literal("object"),
  properties: z.record(Property),
  required: Strings.default([]),
});

/**
 * Reads the `requestedSchema` of a form. Keywords that the protocol does not know are
 * ignored, and so is a default that breaks its own field.
 *
 * @throws {RpcError} -32602 if the protocol forbids the shape, or no answer could satisfy it
 */
export function readForm(requestedSchema: unknown): Field[] {
  const form = parseParams(RequestedSchema, requestedSchema, "requestedSchema");
  const fields = Object.entries(form.properties).map(([name, property]) =>
    readField(name, property, form.required.includes(name)),
  );
  const unknown = form.required.find((name) => !Object.hasOwn(form.properties, name));
  if (unknown !== undefined) throw unusable(unknown, "is required but not a property");
  return fields;
}

function readField(name: string, property: Property, required: boolean): Field {
  const { title = name, description } = property;
  const base = { name, title, description, required, default: undefined };
  const field: Field = { ...base, ...readKind(name, property) };
  const [low, high] = limits(field);
  if (low > high) throw unusable(name, `no value is at least ${low} and at most ${high}`);
  const fallback = property.default;
  if (fallback !== undefined && checkValue(field, fallback) === undefined) {
    field.default = fallback as Value;
  }
  return field;
}

function readKind(name: string, property: Property): Kind {
  const { minLength, maxLength, minimum, maximum, minItems, maxItems } = property;
  // Some servers leave the type of a choice out; only a string can be one.
  const choices = readChoices(property.oneOf, property.enum, property.enumNames);
  switch (property.type ?? (choices && "string")) {
    case "string": {
      if (choices?.length === 0) throw unusable(name, "offers no choice");
      if (choices) return { kind: "choice", choices };
      const known =
        property.format !== undefined && Object.hasOwn(FORMATS, property.format);
      const format = known ? { format: property.format as Format } : {};
      return { kind: "string", ...format, minLength, maxLength };
    }
    case "integer":
    case "number":
      return {
        kind: property.type === "integer" ? "integer" : "number",
        minimum,
        maximum,
      };
    case "boolean":
      return { kind: "boolean" };
    case "array": {
      const choices = readChoices(property.items?.anyOf, property.items?.enum);
      if (!choices) throw unusable(name, "is an array of something else than choices");
      return { kind: "choices", choices, minItems, maxItems };
    }
    default:
      throw unusable(name, "has no type");
  }
}

function readChoices(
  titled: z.infer<typeof Titled> | undefined,
  values: string[] | undefined,
  titles: string[] = [],
): Choice[] | undefined {
  const choices =
    titled?.map((choice) => ({
      value: choice.const,
      title: choice.title ?? choice.const,
    })) ?? values?.map((value, index) => ({ value, title: titles[index] ?? value }));
  // One that is listed twice is one: the first.
  const seen = new Set<string>();
  return choices?.filter(({ value }) => !seen.has(value) && seen.add(value));
}

function unusable(name: string, reason: string): RpcError {
  return new RpcError(INVALID_PARAMS, `requestedSchema: the field ${name} ${reason}`);
}

// --- Checking values ---------------------------------------------------------------------

/** The least and the most that a field allows, in its own measure. */
export function limits(field: Field): [number, number] {
  switch (field.kind) {
    case "string":
      return [field.minLength ?? -Infinity, field.maxLength ?? Infinity];
    case "integer":
    case "number":
      return [field.minimum ?? -Infinity, field.maximum ?? Infinity];
    case "choices":
      return [
        field.minItems ?? -Infinity,
        Math.min(field.maxItems ?? Infinity, field.choices.length),
      ];
    default:
      return [-Infinity, Infinity];
  }
}

/** Why the value does not satisfy the field, as a clause; undefined if it does. */
export function checkValue(field: Field, value: unknown): string | undefined {
  const [low, high] = limits(field);
  switch (field.kind) {
    case "string": {
      if (typeof value !== "string") return "must be text";
      const length = [...value].length; // JSON Schema counts characters, not UTF-16 units
      if (length < low || length > high) {
        return `must have ${range(low, high)} characters`;
      }
      if (!field.format) return;
      const isShort = length <= MAX_FORMATTED;
      if (isShort && FORMATS[field.format].check.safeParse(value).success) return;
      return `must be a valid ${field.format}, like ${FORMATS[field.format].example}`;
    }
    case "integer":
      if (!Number.isSafeInteger(value)) return "must be a whole number";
      return inRange(value as number);
    case "number":
      if (!Number.isFinite(value)) return "must be a number";
      return inRange(value as number);
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be yes or no";
    case "choice":
      return field.choices.some((choice) => choice.value === value)
        ? undefined
        : "must be one of the choices";
    case "choices": {
      const known = (item: unknown) => field.choices.some(({ value }) => value === item);
      if (!Array.isArray(value) || !value.every(known)) {
        return "must be some of the choices";
      }
      if (value.length >= low && value.length <= high) return;
      return `must be ${range(low, high)} of the choices`;
    }
  }
  function inRange(number: number): string | undefined {
    if (number < low || number > high) return `must be ${range(low, high)}`;
  }
}

/** Says a range: `2 to 6`, `at least 2`, `at most 6`. */
export function range(low: number, high: number): string {
  if (low === high) return `exactly ${low}`;
  if (high === Infinity) return `at least ${low}`;
  if (low === -Infinity) return `at most ${high}`;
  return `${low} to ${high}`;
}

/** Why the content does not satisfy the form, as a sentence; undefined if it does. */
export function checkContent(fields: Field[], content: Record<string, unknown>) {
  for (const field of fields) {
    const value = Object.hasOwn(content, field.name) ? content[field.name] : undefined;
    if (value === undefined && !field.required) continue;
    const reason = value === undefined ? "is required" : checkValue(field, value);
    if (reason) return `${field.name} ${reason}.`;
  }
  return undefined;
}

// --- The client's end --------------------------------------------------------------------

/** The content with the default of every field that it leaves out; nothing overwritten. */
export function fillDefaults(fields: Field[], content: Content): Content {
  const defaults = fields.flatMap((f) =>
    f.default === undefined ? [] : [[f.name, f.default]],
  );
  return { ...Object.fromEntries(defaults), ...content };
}

/** Whether choices can be picked by number: not if a number could also be another's value. */
export function areNumbered(choices: Choice[]): boolean {
  return choices.every(({ value }, index) => {
    const number = Number(value);
    return (
      !(/^\d+$/.test(value) && number >= 1 && number <= choices.length) ||
      number === index + 1
    );
  });
}

/**
 * Turns typed text into a value of the field's own JSON type.
 *
 * @returns the value, or the reason why the text is none, as a clause
 */
export function parseText(
  field: Field,
  text: string,
): { value: Value } | { reason: string } {
  const value = textToValue(field, text);
  const reason = checkValue(field, value);
  return reason === undefined ? { value: value as Value } : { reason };
}

function textToValue(field: Field, text: string): unknown {
  switch (field.kind) {
    case "string":
      return text;
    case "integer":
    case "number":
      return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim())
        ? Number(text)
        : text;
    case "boolean":
      if (/^(y|yes|true)$/i.test(text.trim())) return true;
      return /^(n|no|false)$/i.test(text.trim()) ? false : text;
    case "choice":
      return pick(field.choices, text);
    case "choices": {
      const whole = pick(field.choices, text); // a value may hold a comma
      if (whole !== undefined) return [whole];
      const items = text.split(",").filter((item) => item.trim() !== "");
      return [...new Set(items.map((item) => pick(field.choices, item)))];
    }
  }
}

function pick(choices: Choice[], text: string): string | undefined {
  const exact = choices.find(({ value }) => value === text || value === text.trim());
  if (exact) return exact.value;
  if (!areNumbered(choices) || !/^\s*\d+\s*$/.test(text)) return undefined;
  return choices[Number(text) - 1]?.value;
}

// --- The server's end --------------------------------------------------------------------

/** Builds the question. `requestedSchema` travels as it is written. */
export function formRequest(message: string, requestedSchema: object): InputRequest {
  return {
    method: "elicitation/create",
    params: { mode: "form", message, requestedSchema },
  };
}

export type Answer =
  | { action: "accept"; content: Content }
  | { action: "decline" | "cancel" | "missing" }
  | { action: "invalid"; reason: string };

function readOwnForm(requestedSchema: object): Field[] {
  try {
    return readForm(requestedSchema);
  } catch (error) {
    // No fault of the client's, so it must not be told that its params are invalid.
    throw new Error((error as Error).message);
  }
}

/**
 * Reads what came back for a form: the user's action first, and the content only if it was
 * accepted. Fields that the form does not have are left out.
 *
 * @throws {Error} the server's own form is not one
 */
export function readAnswer(requestedSchema: object, response: unknown): Answer {
  if (response === undefined) return { action: "missing" };
  const result = ElicitResult.safeParse(response);
  if (!result.success) return { action: "invalid", reason: "That was no answer." };
  const { action, content } = result.data;
  if (action !== "accept") return { action };
  const fields = readOwnForm(requestedSchema);
  const reason = checkContent(fields, content ?? {});
  if (reason) return { action: "invalid", reason };
  const declared = Object.entries(content ?? {}).filter(([name]) =>
    fields.some((field) => field.name === name),
  );
  return { action, content: Object.fromEntries(declared) as Content };
}
