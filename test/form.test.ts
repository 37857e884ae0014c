import assert from "node:assert/strict";
import { test } from "node:test";
import {
  checkContent,
  checkValue,
  fillDefaults,
  parseText,
  readAnswer,
  readForm,
  type Field,
} from "../mcp/form.ts";
import { RpcError } from "../mcp/peer.ts";

const form = (properties: object, required: string[] = []) => ({
  type: "object",
  properties,
  required,
});
const field = (property: object, required = true): Field =>
  readForm(form({ x: property }, required ? ["x"] : []))[0] as Field;

const titled = [
  { const: "s", title: "Small" },
  { const: "l", title: "Large" },
];

// --- Typed text to values ----------------------------------------------------------------

const OK: [object, string, unknown][] = [
  [{ type: "string" }, "NVDA", "NVDA"],
  [{ type: "string" }, " a b ", " a b "],
  [{ type: "string", maxLength: 2 }, "🙂🙂", "🙂🙂"],
  [{ type: "string", format: "email" }, "ada@example.com", "ada@example.com"],
  [
    { type: "string", format: "uri" },
    "https://example.com/a?b=c#d",
    "https://example.com/a?b=c#d",
  ],
  [{ type: "string", format: "uri" }, "urn:isbn:0451450523", "urn:isbn:0451450523"],
  [{ type: "string", format: "date" }, "2028-02-29", "2028-02-29"],
  [
    { type: "string", format: "date-time" },
    "2026-02-27T22:00:00Z",
    "2026-02-27T22:00:00Z",
  ],
  [
    { type: "string", format: "date-time" },
    "2026-02-27T22:00:00.5+01:00",
    "2026-02-27T22:00:00.5+01:00",
  ],
  [
    { type: "string", format: "hostname" },
    "anything: not a known format",
    "anything: not a known format",
  ],
  [{ type: "string", pattern: "^a$", "x-hint": "?" }, "b", "b"],
  [{ type: "integer", minimum: 2, maximum: 6 }, "4", 4],
  [{ type: "integer" }, "-3", -3],
  [{ type: "integer" }, "+7.0", 7],
  [{ type: "number" }, "95.5", 95.5],
  [{ type: "number" }, ".5e1", 5],
  [{ type: "number", minimum: 0 }, "0", 0],
  [{ type: "boolean" }, "y", true],
  [{ type: "boolean" }, "No", false],
  [{ type: "boolean" }, " true ", true],
  [{ type: "string", enum: ["us", "uk"] }, "2", "uk"],
  [{ type: "string", enum: ["us", "uk"] }, "us", "us"],
  [{ type: "string", enum: ["us", "uk"], enumNames: ["New York", "London"] }, "2", "uk"],
  [{ type: "string", oneOf: titled }, "2", "l"],
  [{ oneOf: titled }, "2", "l"],
  [{ enum: ["us", "uk"] }, "1", "us"],
  [{ type: "string", enum: ["3", "2", "1"] }, "3", "3"],
  [{ type: "string", enum: ["2024", "2025"] }, "1", "2024"],
  [
    { type: "array", items: { type: "string", enum: ["a", "b", "c"] } },
    "1,3",
    ["a", "c"],
  ],
  [{ type: "array", items: { type: "string", enum: ["a", "b", "c"] } }, "b, b ,2", ["b"]],
  [{ type: "array", items: { anyOf: titled } }, "l", ["l"]],
  [{ type: "array", items: { type: "string", enum: ["a,b", "c"] } }, "a,b", ["a,b"]],
];
for (const [property, text, value] of OK) {
  test(`it reads ${JSON.stringify(text)} for ${JSON.stringify(property)}`, () => {
    assert.deepEqual(parseText(field(property), text), { value });
    assert.equal(checkValue(field(property), value), undefined);
  });
}

const REFUSED: [object, string, RegExp][] = [
  [{ type: "string", minLength: 2 }, "a", /at least 2 characters/],
  [{ type: "string", maxLength: 5 }, "TOOLONG", /at most 5 characters/],
  [{ type: "string", minLength: 3, maxLength: 3 }, "ab", /exactly 3 characters/],
  [{ type: "string", format: "email" }, "x", /email, like ada@example\.com/],
  [{ type: "string", format: "uri" }, "example.com", /uri, like/],
  [{ type: "string", format: "uri" }, "https://example.com/a b", /uri, like/],
  [{ type: "string", format: "date" }, "2026-02-30", /date, like 2026-02-27/],
  ...["T22:00:00", "T22:00Z", "T22:00:00+0100", "T22:00:00+25:00", " 22:00:00Z"].map(
    (time): [object, string, RegExp] => [
      { type: "string", format: "date-time" },
      `2026-02-27${time}`,
      /date-time, like/,
    ],
  ),
  [{ type: "string", format: "email" }, "ada@example-.com", /email, like/],
  [{ type: "integer", minimum: 2, maximum: 6 }, "9", /must be 2 to 6/],
  [{ type: "integer" }, "4.5", /whole number/],
  [{ type: "integer" }, "9007199254740993", /whole number/],
  [{ type: "number" }, "1e999", /must be a number/],
  [{ type: "number" }, "0x10", /must be a number/],
  [{ type: "number" }, "1,5", /must be a number/],
  [{ type: "number" }, "NaN", /must be a number/],
  [{ type: "number" }, "Infinity", /must be a number/],
  [{ type: "boolean" }, "maybe", /yes or no/],
  [
    { type: "string", enum: ["us", "uk"], enumNames: ["New York", "London"] },
    "London",
    /choices/,
  ],
  [{ type: "string", enum: ["us", "uk"] }, "3", /choices/],
  [{ type: "string", enum: ["us", "uk"] }, "0", /choices/],
  [{ type: "string", enum: ["us", "uk"] }, "US", /choices/],
  [{ type: "string", enum: ["3", "2", "b"] }, "1", /choices/],
  [{ type: "array", items: { enum: ["a", "b"] } }, "a,z", /some of the choices/],
  [
    { type: "array", minItems: 2, items: { enum: ["a", "b"] } },
    "a",
    /exactly 2 of the choices/,
  ],
  [
    { type: "array", maxItems: 1, items: { enum: ["a", "b"] } },
    "a,b",
    /at most 1 of the choices/,
  ],
];
for (const [property, text, reason] of REFUSED) {
  test(`it refuses ${JSON.stringify(text)} for ${JSON.stringify(property)}`, () => {
    const parsed = parseText(field(property), text);
    assert.match("reason" in parsed ? parsed.reason : "", reason);
  });
}

// --- Forms -------------------------------------------------------------------------------

const FORBIDDEN: [unknown, RegExp][] = [
  [undefined, /requestedSchema/],
  [[], /requestedSchema/],
  [{ type: "string" }, /type/],
  [{ type: "object" }, /properties/],
  [form({ x: { type: "object", properties: {} } }), /x\.type/],
  [
    form({ x: { type: "array", items: { type: "object" } } }),
    /x is an array of something else/,
  ],
  [form({ x: { type: "array" } }), /x is an array of something else/],
  [form({ x: { type: ["string", "null"] } }), /x\.type/],
  [form({ x: { type: "null" } }), /x\.type/],
  [form({ x: { type: "Call 555" } }), /x\.type: expected one of string, [^5]*$/],
  [
    JSON.parse('{"type":"object","properties":{"x":{"type":"number","minimum":1e999}}}'),
    /x\.minimum/,
  ],
  [form({ x: { type: "string", minLength: -1 } }), /x\.minLength/],
  [form({ x: { $ref: "#/y" } }), /x has no type/],
  [form({ x: { type: "integer", enum: [1, 2] } }), /x\.enum/],
  [form({ x: true }), /x/],
  [form({}, ["x"]), /x is required but not a property/],
  [form({ x: { type: "string", enum: [] } }), /x offers no choice/],
  [form({ x: { type: "integer", minimum: 3, maximum: 2 } }), /at least 3 and at most 2/],
  [
    form({ x: { type: "array", minItems: 3, items: { enum: ["a"] } } }),
    /at least 3 and at most 1/,
  ],
];
for (const [schema, reason] of FORBIDDEN) {
  test(`it refuses the form ${JSON.stringify(schema)}`, () => {
    assert.throws(
      () => readForm(schema),
      (error) =>
        error instanceof RpcError && error.code === -32602 && reason.test(error.message),
    );
  });
}

test("it reads a hostile default of a formatted field in no time", () => {
  for (const format of ["email", "uri", "date", "date-time"]) {
    for (const text of ["@", "a.", "-", "http://a/"]) {
      const value = `${text.repeat(200_000)}-.`;
      const begin = performance.now();
      const [field] = readForm(form({ x: { type: "string", format, default: value } }));
      assert.equal(field?.default, undefined);
      assert.ok(performance.now() - begin < 5000, format);
    }
  }
});

test("it reads titles, and falls back to names and values", () => {
  const [named, bare, short] = readForm(
    form({
      a: { type: "boolean", title: "Alive", description: "or not" },
      b: { type: "boolean" },
      c: { type: "string", enum: ["us", "uk"], enumNames: ["New York"] },
    }),
  );
  assert.equal(named?.title, "Alive");
  assert.equal(named?.description, "or not");
  assert.equal(bare?.title, "b");
  assert.deepEqual(short?.kind === "choice" && short.choices, [
    { value: "us", title: "New York" },
    { value: "uk", title: "uk" },
  ]);
});

const DEFAULTS: [object, unknown][] = [
  [{ type: "string", default: "" }, ""],
  [{ type: "integer", default: 0 }, 0],
  [{ type: "number", default: 95.5 }, 95.5],
  [{ type: "boolean", default: false }, false],
  [{ type: "string", enum: ["a", "b"], default: "b" }, "b"],
  [{ type: "array", items: { enum: ["a", "b"] }, default: ["a"] }, ["a"]],
  [{ type: "array", items: { enum: ["a", "b"] }, default: [] }, []],
];
for (const [property, value] of DEFAULTS) {
  test(`it fills in the default of ${JSON.stringify(property)}`, () => {
    assert.deepEqual(fillDefaults([field(property)], {}), { x: value });
  });
}

for (const property of [
  { type: "string" },
  { type: "string", default: 5 },
  { type: "string", minLength: 1, default: "" },
  { type: "integer", default: 1.5 },
  { type: "boolean", default: "true" },
  { type: "boolean", default: null },
  { type: "string", enum: ["a"], default: "z" },
  { type: "array", items: { enum: ["a"] }, default: ["z"] },
]) {
  test(`it finds no default in ${JSON.stringify(property)}`, () => {
    assert.deepEqual(fillDefaults([field(property)], {}), {});
  });
}

test('it overwrites nothing that was given, false, 0 and "" included', () => {
  const fields = readForm(
    form({
      a: { type: "boolean", default: true },
      b: { type: "integer", default: 5 },
      c: { type: "string", default: "x" },
      d: { type: "string", default: "y" },
    }),
  );
  const given = { a: false, b: 0, c: "" };
  assert.deepEqual(fillDefaults(fields, given), { ...given, d: "y" });
});

test("it says what is missing or wrong in a whole answer", () => {
  const fields = readForm(form({ a: { type: "string" }, b: { type: "integer" } }, ["a"]));
  assert.equal(checkContent(fields, { a: "x" }), undefined);
  assert.equal(checkContent(fields, { a: "x", other: 1 }), undefined);
  assert.match(checkContent(fields, {}) ?? "", /^a is required\.$/);
  assert.match(
    checkContent(fields, { a: "x", b: "2" }) ?? "",
    /^b must be a whole number\.$/,
  );
  assert.match(checkContent(fields, { a: null }) ?? "", /^a must be text\.$/);
});

// --- The server's end --------------------------------------------------------------------

const tickerForm = form({ ticker: { type: "string", minLength: 1 } }, ["ticker"]);

const ANSWERS: [unknown, unknown][] = [
  [undefined, { action: "missing" }],
  [{ action: "decline" }, { action: "decline" }],
  [{ action: "decline", content: {} }, { action: "decline" }],
  [{ action: "cancel", content: null }, { action: "cancel" }],
  [
    { action: "accept", content: { ticker: "A", b: 1 } },
    { action: "accept", content: { ticker: "A" } },
  ],
];
for (const [response, answer] of ANSWERS) {
  test(`it takes ${JSON.stringify(response)} as it is meant`, () => {
    assert.deepEqual(readAnswer(tickerForm, response), answer);
  });
}

for (const response of [
  null,
  "AAPL",
  {},
  { action: "yes" },
  { action: "accept" },
  { action: "accept", content: {} },
  { action: "accept", content: "AAPL" },
  { action: "accept", content: ["AAPL"] },
  { action: "accept", content: { ticker: 42 } },
  { action: "accept", content: { ticker: ["A"] } },
  { action: "accept", content: { ticker: "" } },
]) {
  test(`it takes ${JSON.stringify(response)} for no valid answer`, () => {
    assert.equal(readAnswer(tickerForm, response).action, "invalid");
  });
}
