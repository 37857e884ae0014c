/** Fields as text: what is shown of them, and what is made of what was typed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { describe, expected, parseText, showValue } from "../mcp/field.ts";
import { checkValue, readForm, type Field } from "../mcp/form.ts";

const field = (property: object, required = ["x"]): Field =>
  readForm({ type: "object", properties: { x: property }, required })[0] as Field;

const sizes = [
  { const: "s", title: "Small" },
  { const: "l", title: "Large" },
];
const several = (...values: string[]) => ({
  type: "array",
  items: { type: "string", enum: values },
});
const named = (values: string[], enumNames: string[]) => ({
  type: "string",
  enum: values,
  enumNames,
});

const TIME = "2026-02-27T22:00:00";
const OK: [object, string, unknown][] = [
  [{ type: "string" }, "NVDA", "NVDA"],
  [{ type: "string" }, " a b ", " a b "],
  [{ type: "string", maxLength: 2 }, "🙂🙂", "🙂🙂"],
  [{ type: "string", format: "email" }, "ada@example.com", "ada@example.com"],
  [
    { type: "string", format: "uri" },
    "https://a.example/b?c=d#e",
    "https://a.example/b?c=d#e",
  ],
  [{ type: "string", format: "uri" }, "urn:isbn:0451450523", "urn:isbn:0451450523"],
  [{ type: "string", format: "date" }, "2028-02-29", "2028-02-29"],
  [{ type: "string", format: "date-time" }, `${TIME}Z`, `${TIME}Z`],
  [{ type: "string", format: "date-time" }, `${TIME}.5+01:00`, `${TIME}.5+01:00`],
  [{ type: "string", format: "hostname" }, "no format: any text", "no format: any text"],
  [{ type: "string", pattern: "^a$", "x-hint": "?" }, "b", "b"],
  [{ type: "integer", minimum: 2, maximum: 6 }, "4", 4],
  [{ type: "integer" }, "-3", -3],
  [{ type: "integer" }, "+7.0", 7],
  [{ type: "number" }, "95.5", 95.5],
  [{ type: "number" }, ".5e1", 5],
  [{ type: "number" }, "-12345678.9012345", -12345678.9012345],
  [{ type: "number", minimum: 0 }, "0", 0],
  [{ type: "boolean" }, "y", true],
  [{ type: "boolean" }, "No", false],
  [{ type: "boolean" }, " true ", true],
  [{ type: "string", enum: ["us", "uk"] }, "2", "uk"],
  [{ type: "string", enum: ["us", "uk"] }, "us", "us"],
  [{ enum: ["us", "uk"] }, "1", "us"],
  [{ type: "string", oneOf: sizes }, "2", "l"],
  [{ oneOf: sizes }, "2", "l"],
  [{ type: "string", enum: ["3", "2", "1"] }, "3", "3"],
  [{ type: "string", enum: ["2024", "2025"] }, "2024", "2024"],
  [several("a", "b", "c"), "1,3", ["a", "c"]],
  [several("a", "b", "c"), "b, b ,2", ["b"]],
  [several("a,b", "c"), "a,b", ["a,b"]],
  [{ type: "array", items: { anyOf: sizes } }, "l", ["l"]],
  // By title, in any case.
  [named(["us", "uk"], ["New York", "London"]), "2", "uk"],
  [named(["us", "uk"], ["New York", "London"]), "London", "uk"],
  [named(["us", "uk"], ["New  York", "London"]), " new york", "us"],
  [named(["us", "fr"], ["New York", "Orl\u00e9ans"]), "ORLE\u0301ANS", "fr"],
  [{ type: "string", oneOf: sizes }, "large", "l"],
  [{ type: "string", enum: ["us", "uk"] }, "UK", "uk"],
  [{ type: "array", items: { anyOf: sizes } }, "large, 1", ["l", "s"]],
  // A value is one, even if another choice has it as its title.
  [named(["Large", "l"], ["Small", "Large"]), "Large", "Large"],
  [named(["a", "A"], ["x", "y"]), "A", "A"],
  // No numbers where they are titles, too.
  [named(["a", "b", "c"], ["3", "2", "1"]), "3", "a"],
  [named(["a", "b"], ["1", "2"]), "2", "b"],
];

test("it turns what was typed into a value of the field's own type", () => {
  for (const [property, text, value] of OK) {
    assert.deepEqual(parseText(field(property), text), { value }, `${text} for ${value}`);
    assert.equal(checkValue(field(property), value), undefined);
  }
});

const BY_NUMBER = /^must be a number from 1 to 2, or the title or value of a choice$/;
const BY_NAME = /^must be the title or value of a choice$/;
const REFUSED: [object, string, RegExp][] = [
  [{ type: "string", minLength: 2 }, "a", /at least 2 characters/],
  [{ type: "string", maxLength: 5 }, "TOOLONG", /at most 5 characters/],
  [{ type: "string", minLength: 3, maxLength: 3 }, "ab", /exactly 3 characters/],
  [{ type: "string", format: "email" }, "x", /email, like ada@example\.com/],
  [{ type: "string", format: "uri" }, "example.com", /uri, like/],
  [{ type: "string", format: "uri" }, "https://example.com/a b", /uri, like/],
  [{ type: "string", format: "date" }, "2026-02-30", /date, like 2026-02-27/],
  [{ type: "string", format: "date-time" }, TIME, /date-time, like/],
  [{ type: "string", format: "date-time" }, "2026-02-27T22:00Z", /date-time, like/],
  [{ type: "string", format: "date-time" }, `${TIME}+0100`, /date-time, like/],
  [{ type: "string", format: "date-time" }, `${TIME}+25:00`, /date-time, like/],
  [{ type: "string", format: "date-time" }, "2026-02-27 22:00:00Z", /date-time, like/],
  [{ type: "integer", minimum: 2, maximum: 6 }, "9", /must be 2 to 6/],
  [{ type: "integer" }, "4.5", /whole number/],
  [{ type: "integer" }, "9007199254740993", /whole number/],
  [{ type: "number" }, "1e999", /must be a number/],
  [{ type: "number" }, "9007199254740993", /number of at most 15 digits/],
  [{ type: "number" }, "0.12345678901234567", /number of at most 15 digits/],
  [{ type: "number" }, "0x1F", /must be a number/],
  [{ type: "number" }, "1.2.3", /must be a number/],
  [{ type: "number" }, "", /must be a number/],
  [{ type: "number" }, "1,5", /must be a number/],
  [{ type: "number" }, "NaN", /must be a number/],
  [{ type: "number" }, "Infinity", /must be a number/],
  [{ type: "boolean" }, "maybe", /yes or no/],
  [{ type: "string", enum: ["us", "uk"] }, "3", BY_NUMBER],
  [{ type: "string", enum: ["us", "uk"] }, "0", BY_NUMBER],
  [{ type: "string", enum: ["us", "uk"] }, "u", BY_NUMBER],
  [{ type: "string", enum: ["3", "2", "b"] }, "1", BY_NAME],
  [
    several("a", "b"),
    "a,z",
    /^must be a number from 1 to 2, or the title or value of a choice, or several with commas/,
  ],
  [several("2", "b"), "1", /^must be the title or value of a choice, or several with/],
  [{ ...several("a", "b"), minItems: 2 }, "a", /exactly 2 of the choices/],
  [{ ...several("a", "b"), maxItems: 1 }, "a,b", /at most 1 of the choices/],
  // A name that could mean two choices means none.
  [named(["a", "b"], ["Same", "same"]), "Same", BY_NUMBER],
  [named(["yes", "x"], ["No", "YES"]), "Yes", BY_NUMBER],
];

test("it refuses what is no value, with the reason", () => {
  for (const [property, text, reason] of REFUSED) {
    const parsed = parseText(field(property), text);
    assert.match("reason" in parsed ? parsed.reason : "", reason, `${text}: ${reason}`);
  }
});

test("it lists choices by numbers only where a number can't be another's name", () => {
  const rows = (property: object) => describe(field(property)).slice(1);
  assert.deepEqual(rows({ oneOf: sizes }), ["1) Small (s)", "2) Large (l)"]);
  assert.deepEqual(rows({ enum: ["2", "a"] }), ["- 2", "- a"]);
  assert.deepEqual(rows(named(["a", "b"], ["2", "x"])), ["- 2 (a)", "- x (b)"]);
});

test("it shows choices as they are listed, so that the same title is told apart", () => {
  const same = field(named(["keep", "delete"], ["Yes", "yes"]));
  assert.equal(showValue(same, "delete"), "yes (delete)");
  assert.equal(showValue(field({ oneOf: sizes }), "l"), "Large (l)");
});

test("it shows a text with all its spaces and lines", () => {
  assert.equal(showValue(field({ type: "string" }), "a  b\n/\u202e"), "a  b\\n/\\u202e");
});

test("it says what a field takes", () => {
  const SAID: [object, string][] = [
    [{ type: "string", minLength: 2 }, "text, at least 2 characters"],
    [{ type: "string", format: "email" }, "email"],
    [{ type: "integer", minimum: 2, maximum: 6 }, "whole number, 2 to 6"],
    [{ type: "number" }, "number"],
    [{ type: "boolean" }, "y or n"],
    [{ oneOf: sizes }, "a number from 1 to 2, or the title or value of a choice"],
  ];
  for (const [property, words] of SAID) assert.equal(expected(field(property)), words);
});

test("it reads each of 10,000 choices a few times, however many are named", () => {
  let reads = 0;
  const choices = Array.from({ length: 10_000 }, (_, index) => ({
    get value() {
      reads++;
      return `v${index}`;
    },
    title: `Title ${index}`,
  }));
  const all = choices.map(({ value }) => value);
  const many = { ...field(several("a")), choices, low: 0, high: 10_000, default: all };
  assert.equal(describe(many).length, 2);
  const text = choices.map((_, index) => `title ${index}`).join(",");
  assert.deepEqual(parseText(many, text), { value: all });
  assert.ok(reads < 50 * 10_000, `${reads} reads`);
});
