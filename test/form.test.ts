import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import {
  checkContent,
  checkValue,
  fillDefaults,
  formRequest,
  ownForm,
  range,
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
const show = (value: unknown) =>
  JSON.stringify(value, (_, part) => (part === undefined ? "undefined" : part)).slice(
    0,
    120,
  );

const titled = [
  { const: "s", title: "Small" },
  { const: "l", title: "Large" },
];
const string = { type: "string" };
const email = { type: "string", format: "email" };
const uri = { type: "string", format: "uri" };
const date = { type: "string", format: "date" };
const dateTime = { type: "string", format: "date-time" };
const desk = { type: "string", enum: ["us", "uk"], enumNames: ["New York", "London"] };
const letters = { type: "array", items: { type: "string", enum: ["a", "b", "c"] } };

// --- Checking values ---------------------------------------------------------------------

const ACCEPTED: [object, unknown][] = [
  [string, "NVDA"],
  [string, " a b "],
  [string, ""],
  [{ type: "string", maxLength: 2 }, "🙂🙂"],
  [email, "ada@example.com"],
  [email, "a.b+c@mail.example-site.org"],
  [uri, "https://example.com/a?b=c#d"],
  [uri, "https://ada@[2001:db8::1]:8080/a%20b"],
  [uri, "git+ssh://[::1]/a#b?c"],
  [uri, "urn:isbn:0451450523"],
  [uri, "mailto:ada@example.com"],
  [date, "2028-02-29"],
  [dateTime, "2026-02-27T22:00:00Z"],
  [dateTime, "2026-02-27T22:00:00.5+01:00"],
  [{ type: "string", format: "hostname" }, "anything: not a known format"],
  [{ type: "string", pattern: "^a$", "x-hint": "?" }, "b"],
  [{ type: "integer", minimum: 2, maximum: 6 }, 4],
  [{ type: "integer" }, -3],
  [{ type: "number" }, 95.5],
  [{ type: "number", minimum: 0 }, 0],
  [{ type: "boolean" }, false],
  [desk, "uk"],
  [{ type: "string", oneOf: titled }, "l"],
  [{ oneOf: titled }, "l"],
  [{ enum: ["us", "uk"] }, "us"],
  [letters, ["a", "c"]],
  [letters, []],
  [{ type: "array", items: { anyOf: titled } }, ["l"]],
  [{ type: "array", maxItems: 1, items: { enum: ["a,b", "c"] } }, ["a,b"]],
  [{ type: "string", enum: ["__proto__", "constructor"] }, "__proto__"],
];

test("it accepts what satisfies a field", () => {
  for (const [property, value] of ACCEPTED) {
    assert.equal(checkValue(field(property), value), undefined, show([property, value]));
  }
});

const MISFITS: [object, unknown, RegExp][] = [
  [string, 5, /^must be text$/],
  [string, ["a"], /^must be text$/],
  [{ type: "string", minLength: 2 }, "a", /^must have at least 2 characters$/],
  [{ type: "string", maxLength: 5 }, "TOOLONG", /^must have at most 5 characters$/],
  [{ type: "string", minLength: 3, maxLength: 3 }, "ab", /exactly 3 characters$/],
  [{ type: "string", minLength: 3 }, "🙂🙂", /at least 3 characters$/],
  [email, "x", /^must be a valid email, like ada@example\.com$/],
  [email, "a..b@example.com", /email, like/],
  [uri, "example.com", /^must be a valid uri, like https:\/\/example\.com\/page$/],
  ...[
    "https://example.com/a b",
    " https://example.com",
    "https://example.com/\n",
    "http://é.fr",
  ]
    .concat("http://[::1", "https://")
    .map((text): [object, unknown, RegExp] => [uri, text, /uri, like/]),
  [uri, `https://example.com/${"a".repeat(10_000)}`, /uri, like/],
  [date, "2026-02-30", /^must be a valid date, like 2026-02-27$/],
  [date, "2026-2-3", /date, like/],
  ...["T22:00:00", "T22:00Z", "T22:00:00+0100", "T22:00:00+25:00", " 22:00:00Z"].map(
    (time): [object, unknown, RegExp] => [
      dateTime,
      `2026-02-27${time}`,
      /date-time, like/,
    ],
  ),
  [{ type: "integer", minimum: 2, maximum: 6 }, 9, /^must be 2 to 6$/],
  [{ type: "integer" }, 4.5, /^must be a whole number$/],
  [{ type: "integer" }, 9007199254740993, /^must be a whole number$/],
  [{ type: "integer" }, "4", /^must be a whole number$/],
  [{ type: "number" }, 1e999, /^must be a number of at most 15 digits$/],
  [{ type: "number" }, NaN, /^must be a number of at most 15 digits$/],
  [{ type: "number" }, "1", /^must be a number of at most 15 digits$/],
  [{ type: "number", minimum: 0 }, -0.1, /^must be at least 0$/],
  [{ type: "boolean" }, "true", /^must be yes or no$/],
  [{ type: "boolean" }, null, /^must be yes or no$/],
  [desk, "London", /^must be one of the choices$/],
  [desk, "US", /^must be one of the choices$/],
  [{ type: "string", oneOf: titled }, "Large", /^must be one of the choices$/],
  [letters, ["a", "z"], /^must be some of the choices$/],
  [letters, "a", /^must be some of the choices$/],
  [{ ...letters, minItems: 3 }, ["a"], /^must be exactly 3 of the choices$/],
  [{ ...letters, maxItems: 1 }, ["a", "b"], /^must be at most 1 of the choices$/],
];

test("it says why a value does not satisfy a field", () => {
  for (const [property, value, reason] of MISFITS) {
    assert.match(
      checkValue(field(property), value) ?? "",
      reason,
      show([property, value]),
    );
  }
});

test("it agrees with JSON Schema as zod reads it", () => {
  const values = [...ACCEPTED, ...MISFITS].map(([, value]) => value);
  for (const [property] of [...ACCEPTED, ...MISFITS]) {
    // Formats are stricter here, and a pattern is not looked at.
    if ("format" in property || "pattern" in property || !("type" in property)) continue;
    const theirs = z.fromJSONSchema(property as z.core.JSONSchema.JSONSchema);
    const ours = field(property);
    for (const value of values) {
      const isOurs = checkValue(ours, value) === undefined;
      assert.equal(isOurs, theirs.safeParse(value).success, show([property, value]));
    }
  }
});

test("it accepts no format that JSON Schema refuses", () => {
  for (const property of [email, uri, date, dateTime]) {
    const theirs = z.fromJSONSchema(property as z.core.JSONSchema.JSONSchema);
    for (const [, value] of [...ACCEPTED, ...MISFITS]) {
      if (checkValue(field(property), value) !== undefined) continue;
      assert.ok(theirs.safeParse(value).success, show([property, value]));
    }
  }
});

test("it says the limits of a field in its own measure", () => {
  const LIMITS: [object, number, number, string][] = [
    [{ type: "string", minLength: 1, maxLength: 20 }, 1, 20, "1 to 20"],
    [{ type: "number", minimum: 0 }, 0, Infinity, "at least 0"],
    [{ type: "integer", maximum: 6 }, -Infinity, 6, "at most 6"],
    [{ ...letters, minItems: 3 }, 3, 3, "exactly 3"],
    [{ ...letters, minItems: 1, maxItems: 9 }, 1, 3, "1 to 3"],
  ];
  for (const [property, low, high, text] of LIMITS) {
    const { low: least, high: most } = field(property);
    assert.deepEqual([least, most], [low, high]);
    assert.equal(range(low, high), text);
  }
});

// --- Forms -------------------------------------------------------------------------------

const nothing = { type: "null" };
const FORBIDDEN_FIELDS: [unknown, RegExp][] = [
  [{ type: "object", properties: {} }, /: type: expected one of "string"\|/],
  [{ type: ["string", "null"] }, /: type: expected one of /],
  [nothing, /: type: expected one of /],
  [{ type: "Call 555" }, /: type: expected one of [^5]*$/],
  [{ anyOf: [string, nothing], default: null }, / has no type that a form knows$/],
  [{ anyOf: "Call 555" }, / has no type that a form knows$/],
  [{}, / has no type that a form knows$/],
  [{ $ref: "#/y" }, / has no type that a form knows$/],
  [{ type: "array" }, / is an array of something else than choices$/],
  [{ type: "array", items: { type: "object" } }, / is an array of something else/],
  [{ type: "array", items: { enum: [1] } }, /: items\.enum\.0: expected string/],
  [{ type: "integer", enum: [1, 2] }, /: enum\.0: expected string, received number$/],
  [{ type: "string", oneOf: [{ const: 1 }] }, /: oneOf\.0\.const: expected string/],
  [{ type: "string", enum: [] }, / offers no choice/],
  [JSON.parse('{"type":"number","minimum":1e999}'), /: minimum: expected number/],
  [{ type: "string", title: 5 }, /: title: expected string/],
  [true, /: expected object/],
  [null, /: expected object/],
  [{ type: "integer", minimum: 3, maximum: 2 }, / wants at least 3 and at most 2$/],
  [{ type: "string", minLength: 3, maxLength: 2 }, / wants at least 3 and at most 2$/],
  [{ ...letters, minItems: 4 }, / wants at least 4 and at most 3$/],
];
const FORBIDDEN: [unknown, RegExp][] = [
  [undefined, /^requestedSchema: expected object/],
  [[], /^requestedSchema: expected object/],
  [{ type: "string" }, /^requestedSchema: type: /],
  [{ type: "object" }, /^requestedSchema: properties: /],
  [{ type: "object", properties: null }, /^requestedSchema: properties: /],
  [{ type: "object", properties: [] }, /^requestedSchema: properties: /],
  [form({}, ["x"]), /^the field x is required but not a property$/],
  [form({}, ["__proto__"]), /^the field __proto__ is required but not a property$/],
  [form({}, ["toString"]), /^the field toString is required but not a property$/],
  ...FORBIDDEN_FIELDS.map(([x, reason]): [unknown, RegExp] => [
    form({ x }),
    new RegExp(`^the field x${reason.source}`),
  ]),
];

test("it refuses a form that the protocol forbids, and names the field", () => {
  for (const [schema, reason] of FORBIDDEN) {
    assert.throws(
      () => readForm(schema),
      (error) => {
        assert.ok(error instanceof RpcError, String(error));
        assert.equal(error.code, -32602);
        assert.match(error.message, reason, show(schema));
        return true;
      },
      show(schema),
    );
  }
});

test("it takes null in an optional key for an absent key", () => {
  const optional = (keys: string[]) => Object.fromEntries(keys.map((key) => [key, null]));
  const about = [
    "title",
    "description",
    "default",
    "format",
    "minLength",
    "maxLength",
  ].concat(
    "minimum",
    "maximum",
    "enum",
    "enumNames",
    "oneOf",
    "items",
    "minItems",
    "maxItems",
  );
  for (const type of ["string", "integer", "number", "boolean"]) {
    const plain = form({ x: { type } });
    const nulls = { ...form({ x: { ...optional(about), type } }), required: null };
    assert.deepEqual(readForm(nulls), readForm(plain), type);
  }
  assert.deepEqual(
    readForm(
      form({ x: { type: null, oneOf: [{ const: "a", title: null }], enum: null } }),
    ),
    readForm(form({ x: { enum: ["a"] } })),
  );
  assert.deepEqual(
    readForm(
      form({ x: { type: "array", items: { anyOf: null, enum: ["a"] }, maxItems: null } }),
    ),
    readForm(form({ x: { type: "array", items: { enum: ["a"] } } })),
  );
});

test("it keeps a field whose name is one of the language", () => {
  for (const name of ["__proto__", "constructor", "hasOwnProperty"]) {
    const key = JSON.stringify(name);
    const fields = readForm(
      JSON.parse(
        `{"type":"object","required":[${key}],"properties":{${key}:{"type":"string","default":"a"}}}`,
      ),
    );
    assert.deepEqual(
      fields.map((field) => [field.name, field.title, field.required]),
      [[name, name, true]],
    );
    assert.equal(
      checkContent(fields, {})?.reason,
      "is required",
      "not what is inherited",
    );
    const filled = fillDefaults(fields, {});
    assert.equal(JSON.stringify(filled), `{${key}:"a"}`);
    assert.equal(checkContent(fields, filled), undefined);
    const given = JSON.parse(`{${key}:"b","other":1}`);
    assert.equal(JSON.stringify(fillDefaults(fields, given)), `{${key}:"b","other":1}`);
    assert.equal(checkContent(fields, JSON.parse(`{${key}:5}`))?.reason, "must be text");
  }
});

test("it reads and checks 30,000 choices in no time", () => {
  const choices = Array.from({ length: 30_000 }, (_, index) => `choice ${index}`);
  const anyOf = choices.map((choice) => ({ const: choice, title: choice }));
  const begin = performance.now();
  for (const items of [{ enum: choices }, { anyOf }]) {
    const fields = readForm(
      form({ x: { type: "array", items, default: choices } }, ["x"]),
    );
    assert.equal(checkContent(fields, fillDefaults(fields, {})), undefined);
  }
  const wide = readForm({
    type: "object",
    properties: Object.fromEntries(choices.map((name) => [name, { type: "string" }])),
    required: choices,
  });
  assert.equal(checkContent(wide, {})?.field.name, "choice 0");
  assert.ok(performance.now() - begin < 10_000, `${performance.now() - begin} ms`);
});

test("it reads a hostile default of a formatted field in no time", () => {
  for (const format of ["email", "uri", "date", "date-time"]) {
    for (const text of ["@", "a.", "-", "http://a/", "#", "a://"]) {
      for (const times of [200_000, 900]) {
        const value = `${text.repeat(times)}-. `;
        const begin = performance.now();
        const [field] = readForm(form({ x: { type: "string", format, default: value } }));
        assert.equal(field?.default, undefined);
        assert.ok(performance.now() - begin < 5000, format);
      }
    }
  }
});

test("it reads titles, and falls back to names and values", () => {
  const [named, bare, short, several] = readForm(
    form({
      a: { type: "boolean", title: "Alive", description: "or not" },
      b: { type: "boolean" },
      c: { type: "string", enum: ["us", "uk"], enumNames: ["New York"] },
      d: {
        type: "array",
        items: { anyOf: [{ const: "s", title: "Small" }, { const: "l" }] },
      },
    }),
  );
  assert.equal(named?.title, "Alive");
  assert.equal(named?.description, "or not");
  assert.equal(bare?.title, "b");
  assert.deepEqual(short?.kind === "choice" && short.choices, [
    { value: "us", title: "New York" },
    { value: "uk", title: "uk" },
  ]);
  assert.deepEqual(several?.kind === "choices" && several.choices, [
    { value: "s", title: "Small" },
    { value: "l", title: "l" },
  ]);
});

// --- Defaults and answers ----------------------------------------------------------------

const DEFAULTS: [object, object][] = [
  [{ type: "string", default: "" }, { x: "" }],
  [{ type: "integer", default: 0 }, { x: 0 }],
  [{ type: "number", default: 95.5 }, { x: 95.5 }],
  [{ type: "boolean", default: false }, { x: false }],
  [{ type: "string", enum: ["a", "b"], default: "b" }, { x: "b" }],
  [{ ...letters, default: ["a"] }, { x: ["a"] }],
  [{ ...letters, default: [] }, { x: [] }],
  [{ type: "string" }, {}],
  [{ type: "string", default: 5 }, {}],
  [{ type: "string", minLength: 1, default: "" }, {}],
  [{ type: "integer", default: 1.5 }, {}],
  [{ type: "boolean", default: "true" }, {}],
  [{ type: "boolean", default: null }, {}],
  [{ type: "string", enum: ["a"], default: "z" }, {}],
  [{ ...letters, default: ["z"] }, {}],
  [{ ...email, default: "x" }, {}],
];

test("it fills in a default that satisfies its field, and no other", () => {
  for (const [property, filled] of DEFAULTS) {
    assert.deepEqual(fillDefaults([field(property)], {}), filled, show(property));
  }
});

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

test("it finds the first field that is missing or wrong in a whole answer", () => {
  const fields = readForm(form({ a: { type: "string" }, b: { type: "integer" } }, ["a"]));
  const CONTENTS: [Record<string, unknown>, string?, string?][] = [
    [{ a: "x" }],
    [{ a: "x", other: 1 }],
    [{}, "a", "is required"],
    [{ a: "x", b: "2" }, "b", "must be a whole number"],
    [{ a: 1, b: "2" }, "a", "must be text"],
  ];
  for (const [content, name, reason] of CONTENTS) {
    const problem = checkContent(fields, content);
    assert.deepEqual(
      [problem?.field.name, problem?.reason],
      [name, reason],
      show(content),
    );
  }
});

// --- The server's end: what a form becomes -----------------------------------------------

const size = z.union([
  z.literal("s").meta({ title: "Small" }),
  z.literal("l").meta({ title: "Large" }),
]);
const ab = z.enum(["a", "b"]);

/** A field, what travels, and whether it is required, as most are. */
const WRITTEN: [z.ZodType, object, boolean?][] = [
  [z.string(), { type: "string" }],
  [z.string().optional(), { type: "string" }, false],
  [z.string().default("a"), { type: "string", default: "a" }],
  [z.string().prefault("a"), { type: "string", default: "a" }],
  [z.string().optional().default("a"), { type: "string", default: "a" }],
  [z.string().default("a").optional(), { type: "string", default: "a" }],
  [z.string().optional().meta({ default: "a" }), { type: "string", default: "a" }],
  [z.boolean().default(true), { type: "boolean", default: true }],
  [
    z.string().min(1).max(20).meta({ title: "Ticker", description: "Like NVDA" }),
    {
      type: "string",
      title: "Ticker",
      description: "Like NVDA",
      minLength: 1,
      maxLength: 20,
    },
  ],
  [
    z.string().describe("d").length(3),
    { type: "string", description: "d", minLength: 3, maxLength: 3 },
  ],
  [
    z
      .string()
      .regex(/^a/)
      .trim()
      .meta({ examples: ["a"] }),
    { type: "string" },
  ],
  [z.string().startsWith("a"), { type: "string" }],
  [z.email(), { type: "string", format: "email" }],
  [z.url(), { type: "string", format: "uri" }],
  [z.iso.date(), { type: "string", format: "date" }],
  [z.iso.datetime(), { type: "string", format: "date-time" }],
  [z.uuid(), { type: "string" }],
  [z.int(), { type: "integer" }],
  [z.int().min(1).max(8), { type: "integer", minimum: 1, maximum: 8 }],
  [z.int32(), { type: "integer", minimum: -2147483648, maximum: 2147483647 }],
  [z.number().min(0).max(0.5), { type: "number", minimum: 0, maximum: 0.5 }],
  [z.number().multipleOf(5), { type: "number" }],
  [z.boolean(), { type: "boolean" }],
  [ab, { type: "string", enum: ["a", "b"] }],
  [ab.default("b"), { type: "string", default: "b", enum: ["a", "b"] }],
  [z.literal(["a", "b"]), { type: "string", enum: ["a", "b"] }],
  [z.literal("a"), { type: "string", enum: ["a"] }],
  [size, { type: "string", oneOf: titled }],
  [
    size.default("s").meta({ title: "Size" }),
    { type: "string", title: "Size", default: "s", oneOf: titled },
  ],
  [
    z.union([z.literal("a"), z.literal("b").meta({ title: "B", description: "x" })]),
    {
      type: "string",
      oneOf: [
        { title: "a", const: "a" },
        { title: "B", const: "b" },
      ],
    },
  ],
  [
    z.array(ab).min(1).max(2).default(["a"]),
    {
      ...{ type: "array", default: ["a"], minItems: 1, maxItems: 2 },
      items: { type: "string", enum: ["a", "b"] },
    },
  ],
  [z.array(size), { type: "array", items: { anyOf: titled } }],
  [z.array(z.literal("a")), { type: "array", items: { type: "string", enum: ["a"] } }],
  [z.string().transform(Number), { type: "string" }],
  [z.string().refine((text) => text !== "b"), { type: "string" }],
  [
    z
      .string()
      .transform((text) => text.trim())
      .pipe(z.string().min(1)),
    { type: "string" },
  ],
  [z.coerce.number(), { type: "number" }],
  [z.string().readonly().brand("x"), { type: "string" }],
  [z.lazy(() => z.string()), { type: "string" }],
];

test("it writes a form with the keywords of the protocol", () => {
  for (const [x, property, isRequired = true] of WRITTEN) {
    const { requestedSchema, fields, text } = ownForm(z.object({ x }));
    assert.deepEqual(requestedSchema, form({ x: property }, isRequired ? ["x"] : []));
    assert.equal(text, JSON.stringify(requestedSchema));
    assert.deepEqual(fields, readForm(JSON.parse(text)), "as the client reads it");
  }
});

test("it writes the whole of a form, in its order and without its own title", () => {
  const shared = z.string().default("x");
  const whole = z
    .strictObject({ b: shared, a: shared, c: z.boolean().optional() })
    .refine(() => true)
    .meta({ title: "A form" });
  assert.equal(
    ownForm(whole).text,
    JSON.stringify({
      type: "object",
      properties: {
        b: { type: "string", default: "x" },
        a: { type: "string", default: "x" },
        c: { type: "boolean" },
      },
      required: ["b", "a"],
    }),
  );
  assert.equal(
    ownForm(z.object({})).text,
    '{"type":"object","properties":{},"required":[]}',
  );
});

test("it reads a form once", () => {
  const once = z.object({ x: z.string() });
  assert.equal(ownForm(once), ownForm(once));
});

const Direction = { Up: 1, Down: 2 } as const;
const ids = z.string().meta({ id: "ids" });
/** A field, and why no form can have it. */
const REFUSED: [z.ZodType, RegExp][] = [
  [z.string().nullable(), /: type: expected one of "string"\|"integer"/],
  [z.string().nullish(), /: type: expected one of /],
  [ab.nullable(), / has no type that a form knows$/],
  [z.literal(null), /: type: expected one of /],
  [z.object({ y: z.string() }), /: type: expected one of /],
  [z.record(z.string(), z.string()), /: type: expected one of /],
  [
    z.discriminatedUnion("k", [z.object({ k: ab })]),
    /: oneOf\.0\.const: expected string/,
  ],
  [z.union([z.string(), z.number()]), /: type: expected one of /],
  [z.union([z.literal("a"), z.string()]), / has no type/],
  [z.intersection(z.string().min(1), z.string().max(3)), / has no type/],
  [z.enum(Direction), /: enum\.0: expected string/],
  [z.literal([1, 2]), /: enum\.0: expected string/],
  [z.literal(true), /: enum\.0: expected string/],
  [z.union([z.literal(1), z.literal(2)]), /: oneOf\.0\.const: expected string/],
  [z.array(z.string()), / is an array of something else than choices$/],
  [z.array(z.literal([1, 2])), /: items\.enum\.0: expected string/],
  [z.array(z.object({})), /is an array of something else/],
  [z.tuple([ab]), /: items: expected object/],
  [z.date(), / has no type/],
  [z.set(ab), / has no type/],
  [z.bigint().optional(), / has no type/],
  [z.any(), / has no type/],
  [z.undefined(), / has no type/],
  [z.custom<string>(() => true), / has no type/],
  [z.json(), / has no type/],
  [z.boolean().catch(true), / has a \.catch\(\), or a default behind a transform$/],
  [z.boolean().catch(true).optional(), / has a \.catch\(\)/],
  [z.array(ab.catch("a")), / has a \.catch\(\)/],
  [z.string().transform(Number).default(5), / a default behind a transform$/],
  [ids, / has no type/],
  [z.int().meta({ id: "int" }).max(3).default(1), / has no type/],
  [z.array(ab.meta({ id: "ab" })), / is an array of something else/],
  [z.number().gt(0), / excludes its limit; a form has/],
  [z.int().lt(1), / excludes its limit; a form has/],
  [z.string().min(3).max(2), / wants at least 3 and at most 2/],
  [z.array(ab).min(3), / wants at least 3 and at most 2/],
];

test("it refuses a form that the protocol does not know, and names the field", () => {
  const forms: [z.ZodObject, RegExp][] = REFUSED.map(([x, reason]) => [
    z.object({ ok: z.string(), x }),
    new RegExp(`^the field x.*${reason.source}`),
  ]);
  forms.push([z.object({}).meta({ id: "whole" }), /^the form: type: /]);
  for (const [refused, reason] of forms) {
    assert.throws(
      () => ownForm(refused),
      (error) => {
        assert.ok(error instanceof Error, String(error));
        assert.equal(error.constructor, Error, String(error));
        assert.match(error.message, reason);
        return true;
      },
      String(reason),
    );
  }
});

test("it builds a question with the form as it is written", () => {
  const { requestedSchema } = ownForm(z.object({ x: ab }));
  assert.deepEqual(formRequest("Which?", requestedSchema), {
    method: "elicitation/create",
    params: { mode: "form", message: "Which?", requestedSchema },
  });
});

// --- The server's end: what came back ----------------------------------------------------

const symbolOf = (text: string, context: z.RefinementCtx<string>) => {
  if (/^[a-z]+$/i.test(text.trim())) return text.trim().toUpperCase();
  context.addIssue(`${JSON.stringify(text)} is not a ticker symbol like NVDA`);
  return z.NEVER;
};
const Ticker = z.object({
  ticker: z.string().min(1).max(20).meta({ title: "Ticker" }).transform(symbolOf),
});
const Booking = z
  .object({
    size: z.int().min(1).max(8).meta({ title: "Party size" }),
    day: z.iso.date().meta({ title: "Day" }),
    note: z.string().trim().min(2).optional().meta({ title: "Note" }),
    late: z.boolean().default(true),
  })
  .refine(({ size, late }) => !late || size < 5, "A large party comes early")
  .refine(({ note }) => note !== "no", { message: "Say yes!", path: ["note"] });
const booking = { size: 2, day: "2026-02-27", late: false };
const accept = (content?: unknown) => ({ action: "accept", content });

const ANSWERS: [z.ZodObject, unknown, unknown][] = [
  [Ticker, { action: "decline" }, { action: "decline" }],
  [Ticker, { action: "decline", content: {} }, { action: "decline" }],
  [Ticker, { action: "cancel", content: null }, { action: "cancel" }],
  [Ticker, accept({ ticker: " a ", b: 1 }), { action: "accept", value: { ticker: "A" } }],
  [z.object({}), accept(), { action: "accept", value: {} }],
  [z.object({}), accept({ b: 1 }), { action: "accept", value: {} }],
  [Booking, accept({ ...booking, note: null }), { action: "accept", value: booking }],
  [
    Booking,
    accept({ ...booking, note: " ok " }),
    { action: "accept", value: { ...booking, note: "ok" } },
  ],
];

test("it takes an answer as it is meant, and as the form transforms it", async () => {
  for (const [asked, response, answer] of ANSWERS) {
    assert.deepEqual(await readAnswer(asked, response), answer, show(response));
  }
});

const one = (x: z.ZodType) => z.object({ x });
const INVALID: [z.ZodObject, unknown, string][] = [
  ...[
    undefined,
    null,
    "AAPL",
    [],
    {},
    { action: "yes" },
    accept("AAPL"),
    accept(["AAPL"]),
  ].map((response): [z.ZodObject, unknown, string] => [
    Ticker,
    response,
    "That was no answer.",
  ]),
  [Ticker, accept(), "That is required."],
  [Ticker, accept({}), "That is required."],
  [Ticker, accept({ ticker: null }), "That is required."],
  [Ticker, accept(JSON.parse('{"__proto__":{"ticker":"A"}}')), "That is required."],
  [Ticker, accept({ ticker: 42 }), "That must be text."],
  [Ticker, accept({ ticker: ["A"] }), "That must be text."],
  [Ticker, accept({ ticker: "" }), "That must have 1 to 20 characters."],
  [Ticker, accept({ ticker: "x1" }), '"x1" is not a ticker symbol like NVDA.'],
  [Booking, accept({ ...booking, size: 9 }), "Party size: must be 1 to 8."],
  [Booking, accept({ ...booking, late: undefined }), "late: is required."],
  [Booking, accept({ ...booking, late: null }), "late: is required."],
  [
    Booking,
    accept({ ...booking, day: "now" }),
    "Day: must be a valid date, like 2026-02-27.",
  ],
  [Booking, accept({ ...booking, note: " a" }), "Note: is not valid."],
  [Booking, accept({ ...booking, size: 6, late: true }), "A large party comes early."],
  [Booking, accept({ ...booking, note: "no" }), "Note: Say yes!"],
  // What the form had no keyword for, zod minds.
  [one(z.string().regex(/^a/)), accept({ x: "b" }), "That is not valid."],
  [
    one(z.string().regex(/^a/, "Begin with an a")),
    accept({ x: "b" }),
    "Begin with an a.",
  ],
  [one(z.string().refine((x) => x === "a")), accept({ x: "b" }), "That is not valid."],
  [one(z.uuid()), accept({ x: "b" }), "That is not valid."],
  [one(z.number().multipleOf(5)), accept({ x: 4 }), "That is not valid."],
  [
    one(z.iso.datetime()),
    accept({ x: "2026-02-27T22:00:00+01:00" }),
    "That must be a valid date-time, like 2026-02-27T22:00:00Z.",
  ],
  [
    one(z.url({ protocol: /^https$/ })),
    accept({ x: "urn:isbn:0451450523" }),
    "That must be a valid uri, like https://example.com/page.",
  ],
  [
    one(z.string().transform(Number).pipe(z.number().gt(0))),
    accept({ x: "-1" }),
    "That is not valid.",
  ],
];

test("it says in a sentence for the person why an answer is none", async () => {
  for (const [asked, response, reason] of INVALID) {
    const answer = await readAnswer(asked, response);
    assert.deepEqual(answer, { action: "invalid", reason }, show(response));
  }
});

test("it lets no technical message of zod through", async () => {
  const sentence =
    /^That (must (be|have) [^:]*(:\/\/example.com\/page|:00:00Z)?|is (not valid|required))\.$/;
  const values = [...ACCEPTED, ...MISFITS].map(([, value]) => value);
  for (const [x] of WRITTEN) {
    for (const value of values) {
      const answer = await readAnswer(one(x), accept({ x: value }));
      if (answer.action !== "invalid") continue;
      assert.match(answer.reason, sentence);
    }
  }
});

test("it lets no default of zod stand for an answer", async () => {
  const consents = [z.boolean().default(true), z.boolean().prefault(true)];
  for (const consent of [...consents, z.boolean().default(true).optional()]) {
    for (const content of [{}, { x: null }, undefined]) {
      assert.equal((await readAnswer(one(consent), accept(content))).action, "invalid");
    }
  }
});

test("it types an answer by its form, and waits for a check that takes time", async () => {
  const timed = z.object({
    name: z.string().refine(async (name) => name !== "x", "Taken"),
    sizes: z.array(z.enum(["s", "l"])).transform((sizes) => sizes.length),
  });
  const answer = await readAnswer(timed, accept({ name: "y", sizes: ["s"] }));
  assert.ok(answer.action === "accept", answer.action);
  const name: string = answer.value.name;
  const count: number = answer.value.sizes;
  assert.deepEqual([name, count], ["y", 1]);
  const refused = await readAnswer(timed, accept({ name: "x", sizes: [] }));
  assert.deepEqual(refused, { action: "invalid", reason: "name: Taken." });
});
