/**
 * A field of a form as text: how a person sees it, and what a person means by what was typed.
 * The rows that come out of here hold a server's words, each on one line and printable;
 * the caller puts them behind the bar. Only what a refusal says is in our own words.
 */
import { checkValue, range, type Choice, type Field, type Value } from "./form.ts";
import { inline, printable, shorten } from "./text.ts";

/** What a text means, or why it means nothing, as a clause in our own words. */
export type Parsed<T = Value> = { value: T } | { reason: string };

/** The rows that introduce a field: title, kind, default; description; choices. */
export function describe(field: Field): string[] {
  const { title, description, required, default: proposed } = field;
  const fallback = proposed === undefined ? "" : ` [${showValue(field, proposed)}]`;
  const optional = fallback ? "optional, /none leaves it out" : "optional";
  return [
    `${inline(title)} (${kindOf(field)}, ${required ? "required" : optional})${fallback}`,
    ...(description === undefined ? [] : [inline(description, 1000)]),
    ...("choices" in field ? listChoices(field.choices) : []),
  ];
}

/** One choice a line, or one after the other if there are many. */
function listChoices(choices: Choice[]): string[] {
  const isNumbered = areNumbered(choices);
  const labels = choices.map(
    (choice, index) => (isNumbered ? `${index + 1}) ` : "- ") + labelOf(choice),
  );
  return labels.length <= 10 ? labels : [labels.join("  ")];
}

const labelOf = ({ value, title }: Choice) =>
  title === value ? inline(value) : `${inline(title)} (${inline(value)})`;

/** What a field takes, in a few words of ours. */
function kindOf(field: Field): string {
  const { low, high } = field;
  const limit = low > -Infinity || high < Infinity ? `, ${range(low, high)}` : "";
  switch (field.kind) {
    case "string":
      return (field.format ?? "text") + (limit && `${limit} characters`);
    case "integer":
    case "number":
      return (field.kind === "integer" ? "whole number" : "number") + limit;
    case "boolean":
      return "y or n";
    case "choice":
      return "one of these";
    case "choices":
      return `${range(low, high)} of these, with commas between`;
  }
}

/** A value as the person knows it: yes or no, choices as listed, text with all its spaces. */
export function showValue(field: Field, value: Value): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  const items = Array.isArray(value) ? value : [String(value)];
  const choices = "choices" in field ? field.choices : [];
  const labels = new Map(choices.map((choice) => [choice.value, labelOf(choice)]));
  const exact = (item: string) => printable(shorten(item, 200)).replace(/\n/g, "\\n");
  return items.map((item) => labels.get(item) ?? exact(item)).join(", ") || "empty";
}

/**
 * Turns typed text into a value of the field's own JSON type. A choice is named by its value,
 * its number, or, where no other has the same, its title in any case.
 */
export function parseText(field: Field, text: string): Parsed {
  const value = textToValue(field, text);
  const isUnknown = value === undefined && "choices" in field;
  const reason = isUnknown ? `must be ${expected(field)}` : checkValue(field, value);
  return reason === undefined ? { value: value as Value } : { reason };
}

/** What may be typed, in words that are true with the list on the screen and without. */
export function expected(field: Field): string {
  if (!("choices" in field)) return kindOf(field);
  const { kind, choices } = field;
  const number = areNumbered(choices) ? `a number from 1 to ${choices.length}, or ` : "";
  const several = kind === "choices" ? ", or several with commas between" : "";
  return `${number}the title or value of a choice${several}`;
}

function textToValue(field: Field, text: string): unknown {
  switch (field.kind) {
    case "string":
      return text;
    case "integer":
    case "number":
      // A blank is 0 to Number, 0x1F is 31, and what has more than 15 digits is rounded.
      return /^\s*[-+]?(\.?\d){1,15}\.?(e[-+]?\d+)?\s*$/i.test(text)
        ? Number(text)
        : text;
    case "boolean":
      if (/^(y|yes|true)$/i.test(text.trim())) return true;
      return /^(n|no|false)$/i.test(text.trim()) ? false : text;
    case "choice":
      return picker(field.choices)(text);
    case "choices": {
      const pick = picker(field.choices);
      const whole = pick(text); // a value may hold a comma
      if (whole !== undefined) return [whole];
      const items = text.split(",").map((item) => item.trim());
      const values = new Set(items.filter(Boolean).map(pick));
      return values.has(undefined) ? undefined : [...values];
    }
  }
}

/** Finds choices by what was typed; made once for all that is looked up, as lists are long. */
function picker(choices: Choice[]): (text: string) => string | undefined {
  const values = new Set(choices.map(({ value }) => value));
  const names = namesOf(choices);
  if (areNumbered(choices)) {
    choices.forEach(({ value }, index) => names.set(String(index + 1), value));
  }
  // An exact value is one, even if another choice has it as its title.
  return (text) => (values.has(text) ? text : names.get(fold(text)));
}

/** The value that each title or value means in any case; none where two choices share it. */
function namesOf(choices: Choice[]): Map<string, string | undefined> {
  const names = new Map<string, string | undefined>();
  for (const { value, title } of choices) {
    for (const name of new Set([fold(title), fold(value)])) {
      names.set(name, names.has(name) ? undefined : value);
    }
  }
  return names;
}

const fold = (text: string) => text.normalize().replace(/\s+/g, " ").trim().toLowerCase();

/** Whether choices have numbers: not if one is the name of another choice. */
function areNumbered(choices: Choice[]): boolean {
  return choices.every(({ value, title }, at) =>
    [value, title].every((name) => Number(name) === at + 1 || !/^\s*\d+\s*$/.test(name)),
  );
}
