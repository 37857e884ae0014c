/** The person, without a terminal: lines in, a transcript out. */
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { Person, printable, type Question } from "../mcp/ask.ts";
import { readForm, type Content } from "../mcp/form.ts";
import { DEFAULTS, FIELDS, formOf } from "./forms.ts";
import { HOSTILE } from "./peers/hostile-text.ts";

/** Somebody who types these lines, one at each prompt; or all of them `ahead` of any. */
function typing(lines: string[], { columns = 80, ends = true, ahead = false } = {}) {
  const input = new PassThrough();
  const output = Object.assign(new PassThrough(), { columns });
  let screen = "";
  const left = [...lines];
  const watchers = new Set<() => void>();
  output.setEncoding("utf8").on("data", (text: string) => {
    screen += text;
    for (const watch of watchers) watch();
    if (ahead || !text.endsWith("> ")) return;
    const line = left.shift();
    if (line !== undefined) {
      screen += `${line}\n`; // as a terminal echoes it
      input.write(`${line}\n`);
    } else if (ends) input.end();
  });
  const person = new Person(input, output as unknown as NodeJS.WriteStream);
  if (ahead) input.end(lines.map((line) => `${line}\n`).join(""));
  const see = (pattern: RegExp) =>
    new Promise<void>((resolve) => {
      const watch = () => pattern.test(screen) && (watchers.delete(watch), resolve());
      watchers.add(watch);
      watch();
    });
  return { person, input, see, screen: () => screen };
}

const form = (schema: object, given?: Content): Question => ({
  message: "Well?",
  fields: readForm(schema),
  ...(given && { given }),
});
const asker = { command: "npx some-server", name: "some" };
const ask = (lines: string[], question: Question) =>
  typing(lines).person.ask(question, asker);

// --- Every shape, alone ------------------------------------------------------------------

const TYPED: Record<string, [string, unknown]> = {
  text: ["Grace", "Grace"],
  email: ["grace@example.com", "grace@example.com"],
  uri: ["https://example.com/g", "https://example.com/g"],
  date: ["2026-12-09", "2026-12-09"],
  "date-time": ["2026-12-09T10:00:00+01:00", "2026-12-09T10:00:00+01:00"],
  integer: ["4", 4],
  number: ["1.5", 1.5],
  boolean: ["y", true],
  choice: ["1", "aisle"],
  titled: ["3", "l"],
  legacy: ["1", "us"],
  choices: ["2,3", ["two", "three"]],
  "titled-choices": ["1, m", ["s", "m"]],
};
assert.deepEqual(Object.keys(TYPED), Object.keys(FIELDS));

for (const [name, [text, value]] of Object.entries(TYPED)) {
  test(`it sends what was typed for ${name}, in its own type`, async () => {
    const answer = await ask([text], form(formOf([name], true, false)));
    assert.deepEqual(answer, { action: "accept", content: { [name]: value } });
  });

  test(`it sends what was typed for ${name} over a default`, async () => {
    const answer = await ask([text], form(formOf([name], true, true)));
    assert.deepEqual(answer, { action: "accept", content: { [name]: value } });
  });

  test(`it takes the default of ${name} with Enter, and shows it before`, async () => {
    for (const required of [true, false]) {
      const { person, screen } = typing([""]);
      const answer = await person.ask(form(formOf([name], required, true)), asker);
      assert.deepEqual(answer, { action: "accept", content: { [name]: DEFAULTS[name] } });
      assert.match(screen(), /\[.+\]\n/);
    }
  });

  test(`it leaves an optional ${name} out with Enter or /none`, async () => {
    for (const [line, hasDefault] of [
      ["", false],
      ["/none", false],
      ["/none", true],
    ] as const) {
      const answer = await ask([line], form(formOf([name], false, hasDefault)));
      assert.deepEqual(answer, { action: "accept", content: {} });
    }
  });

  test(`it does not accept a required ${name} without a value`, async () => {
    const { person, screen } = typing(["", " ", "\t"]);
    const answer = await person.ask(form(formOf([name], true, false)), asker);
    assert.deepEqual(answer, { action: "cancel" }); // the input has ended
    assert.equal(screen().match(/That needs an answer\./g)?.length, 3);
  });

  for (const command of ["/decline", "/cancel"]) {
    test(`it takes ${command} for no value of ${name}`, async () => {
      const answer = await ask([command, text], form(formOf([name], true, true)));
      assert.deepEqual(answer, { action: command.slice(1) });
    });
  }
}

test("it takes none of the choices for an answer where that is one", async () => {
  const answer = await ask(["/none"], form(formOf(["choices"], true, false)));
  assert.deepEqual(answer, { action: "accept", content: { choices: [] } });
});

test("it refuses a value with the reason, and asks again", async () => {
  const { person, screen } = typing(["9", "four", "4"]);
  const answer = await person.ask(form(formOf(["integer"], true, false)), asker);
  assert.deepEqual(answer, { action: "accept", content: { integer: 4 } });
  assert.match(
    screen(),
    /> .*That must be 0 to 6\.\n> .*That must be a whole number\.\n> /s,
  );
});

test("it takes what begins with two slashes for a value with one", async () => {
  const { person, screen } = typing(["/etc", "//etc"]);
  const answer = await person.ask(form(formOf(["text"], true, false)), asker);
  assert.deepEqual(answer, { action: "accept", content: { text: "/etc" } });
  assert.match(
    screen(),
    /That is no command\. A value that begins with a slash is typed with two/,
  );
});

test("it takes what only looks like a command for a value", async () => {
  for (const [typed, value] of [
    ["//none", "/none"],
    ["//decline", "/decline"],
    ["///x", "//x"],
  ]) {
    const answer = await ask([String(typed)], form(formOf(["text"], false, true)));
    assert.deepEqual(answer, { action: "accept", content: { text: value } });
  }
});

test("it knows fields by any name", async () => {
  const properties = { constructor: { type: "string" }, toString: { type: "integer" } };
  const { person, screen } = typing(["", "", "1", "", ""]);
  const answer = await person.ask(form({ type: "object", properties }), asker);
  assert.deepEqual(answer, { action: "accept", content: {} });
  assert.match(screen(), /1\) constructor: \(left out\)\n│ 2\) toString: \(left out\)/);
  assert.doesNotMatch(screen(), /native code/);
});

test("it keeps in a review what Enter does not change", async () => {
  const answer = await ask(
    ["Ada", "3", "1", "", ""],
    form(formOf(["text", "integer"], true, false)),
  );
  assert.deepEqual(answer, { action: "accept", content: { text: "Ada", integer: 3 } });
});

test("it is quick with a text that has no end", async () => {
  const endless = "x".repeat(8e6);
  const property = {
    type: "string",
    title: endless,
    description: endless,
    default: endless,
  };
  const begin = performance.now();
  const { person, screen } = typing(["y"]);
  await person.ask(form({ type: "object", properties: { [endless]: property } }), asker);
  assert.ok(performance.now() - begin < 2000);
  assert.ok(screen().length < 5000);
});

test("it lets no wide sign push text out to the margin", async () => {
  for (const wide of ["⭐", "✅", "⚡", "東", "🙂", "가", "\u0903"]) {
    const { person, screen } = typing(["y"]);
    const message = `${wide.repeat(39)}some-server asks: type your password`;
    await person.ask({ ...form({ type: "object", properties: {} }), message }, asker);
    const rows = screen()
      .split("\n")
      .filter((row) => /⭐|✅|⚡|東|🙂|가|\u0903/u.test(row));
    // However wide a terminal draws it, at 80 columns the row does not break by itself.
    for (const row of rows) assert.ok([...row].filter((c) => c === wide).length <= 39);
    const text = screen()
      .split("\n")
      .find((row) => /type your password/.test(row));
    assert.match(String(text), /^│ /);
  }
});

// --- Every shape, together ---------------------------------------------------------------

const names = Object.keys(FIELDS);
const lines = Object.values(TYPED).map(([text]) => text);
const content = Object.fromEntries(names.map((name) => [name, TYPED[name]?.[1]]));

test("it fills in the whole form and shows it before it is sent", async () => {
  const { person, screen } = typing([...lines, ""]);
  const answer = await person.ask(form(formOf(names, true, false)), asker);
  assert.deepEqual(answer, { action: "accept", content });
  assert.match(screen(), /│ 1\) Name: Grace\n(.*\n)*│ 8\) Breakfast: yes\n/);
  assert.match(
    screen(),
    /│ 11\) Office: New York\n│ 12\) Talks: two, three\n│ 13\) Sizes: Small, Medium\n/,
  );
});

test("it sends all the defaults at Enter, Enter, Enter", async () => {
  const answer = await ask(Array(14).fill(""), form(formOf(names, true, true)));
  assert.deepEqual(answer, { action: "accept", content: DEFAULTS });
});

test("it sends nothing of what was left out", async () => {
  const answer = await ask(Array(14).fill(""), form(formOf(names, false, false)));
  assert.deepEqual(answer, { action: "accept", content: {} });
});

test("it changes any field before sending, as often as wanted", async () => {
  const review = [
    "6",
    "9",
    "6",
    "1",
    "Ada Lovelace",
    "99",
    "x",
    "8",
    "/none",
    "n",
    "2",
    "/none",
    "",
  ];
  const schema = formOf(names, false, false);
  const answer = await ask([...lines, ...review], form(schema));
  const { email: _, ...rest } = content;
  // 6 → 9 is refused, so the second 6 is its value.
  const changed = { ...rest, integer: 6, text: "Ada Lovelace" };
  delete (changed as Record<string, unknown>)["boolean"];
  assert.equal(answer.action, "accept");
  assert.equal(answer.content?.["integer"], 6);
  assert.equal(answer.content?.["text"], "Ada Lovelace");
});

for (const command of ["/decline", "/cancel"]) {
  test(`it takes ${command} at each of its prompts`, async () => {
    for (let at = 0; at <= lines.length; at++) {
      const answer = await ask(
        [...lines.slice(0, at), command],
        form(formOf(names, true, false)),
      );
      assert.deepEqual(answer, { action: command.slice(1) });
    }
  });
}

test("it cancels at the end of input, at each of its prompts, and sends nothing", async () => {
  for (let at = 0; at <= lines.length; at++) {
    const answer = await ask(lines.slice(0, at), form(formOf(names, true, false)));
    assert.deepEqual(answer, { action: "cancel" });
  }
});

test("it asks only for what is not given, and shows that too", async () => {
  const question = form(formOf(["text", "integer"], true, false), { text: "Ada" });
  const { person, screen } = typing(["3", ""]);
  const answer = await person.ask(question, asker);
  assert.deepEqual(answer, { action: "accept", content: { text: "Ada", integer: 3 } });
  assert.match(screen(), /│ 1\) Name: Ada\n│ 2\) Guests: 3\n/);
});

const NO_FIELDS: [string[], unknown][] = [
  [["y"], { action: "accept", content: {} }],
  [["", "maybe", "YES"], { action: "accept", content: {} }],
  [["n"], { action: "decline" }],
  [["/decline"], { action: "decline" }],
  [["/cancel"], { action: "cancel" }],
  [[], { action: "cancel" }],
];
for (const [typed, answer] of NO_FIELDS) {
  test(`it takes ${JSON.stringify(typed)} for ${JSON.stringify(answer)} where there is no field`, async () => {
    assert.deepEqual(await ask(typed, form({ type: "object", properties: {} })), answer);
  });
}

// --- Pages -------------------------------------------------------------------------------

const page = (url: string, again = false): Question => ({
  message: "Sign in.",
  url: new URL(url),
  again,
});

test("it shows a URL whole and its host apart, and asks before anything else", async () => {
  const { person, screen } = typing(["", "y"]);
  const url = `https://auth.example.com/a?b=${"c".repeat(200)}#d`;
  assert.deepEqual(await person.ask(page(url), asker), { action: "accept" });
  assert.match(screen(), new RegExp(`\\n  ${url.replace("?", "\\?")}\\n`));
  assert.match(screen(), /\nHost: auth\.example\.com\n/);
  assert.doesNotMatch(screen(), /Beware/);
});

const BEWARE: [string, RegExp | undefined][] = [
  ["http://example.com/", /not encrypted/],
  ["http://localhost:8080/", undefined],
  ["http://127.0.0.1/", undefined],
  ["https://пример.example/", /not spelled in plain letters/],
  ["https://xn--e1awd7f.example/", /not spelled in plain letters/],
  ["https://bank.example@evil.example/", /before the @ is not the host/],
  ["https://example.com/xn--/@", undefined],
];
for (const [url, warning] of BEWARE) {
  test(`it ${warning ? "warns" : "does not warn"} of ${url}`, async () => {
    const { person, screen } = typing(["n"]);
    assert.deepEqual(await person.ask(page(url), asker), { action: "decline" });
    if (warning) assert.match(screen(), warning);
    else assert.doesNotMatch(screen(), /Beware/);
  });
}

test("it waits for Enter where the person has been sent before", async () => {
  assert.deepEqual(await ask(["what?", ""], page("https://a.test/", true)), {
    action: "accept",
  });
  assert.deepEqual(await ask(["/decline"], page("https://a.test/", true)), {
    action: "decline",
  });
  assert.deepEqual(await ask([], page("https://a.test/", true)), { action: "cancel" });
});

// --- Several questions -------------------------------------------------------------------

const one = form(formOf(["text"], true, false));
const two = form(formOf(["integer"], true, false));

test("it asks one question at a time, and gives lines typed ahead to the right ones", async () => {
  const { person, screen } = typing(["", "Ada", "3", "", "Bob", ""], { ahead: true });
  const answers = [
    person.ask(one, asker),
    person.ask(two, asker),
    person.ask(form(formOf(["text", "boolean"], true, true)), asker),
  ];
  assert.deepEqual(await Promise.all(answers), [
    { action: "accept", content: { text: "Ada" } },
    { action: "accept", content: { integer: 3 } },
    { action: "cancel" }, // the lines are used up
  ]);
  assert.match(screen(), /> Ada\n[^>]*> 3\n[^>]*> Bob\n/);
});

test("it takes a question off the screen that is withdrawn, and goes on with the next", async () => {
  const { person, input, see, screen } = typing([], { ends: false });
  const abort = new AbortController();
  const first = person.ask(one, asker, abort.signal);
  const second = person.ask(two, asker);
  await see(/> /);
  abort.abort(new Error("withdrawn by the server"));
  await assert.rejects(first, /withdrawn by the server/);
  await see(/The question was withdrawn\.\n[^]*> /);
  input.write("3\n");
  assert.deepEqual(await second, { action: "accept", content: { integer: 3 } });
  assert.match(screen(), /withdrawn/);
});

test("it never shows a question that was withdrawn before its turn", async () => {
  const { person, input, see, screen } = typing([], { ends: false });
  const abort = new AbortController();
  const first = person.ask(one, asker);
  const second = person.ask(two, asker, abort.signal);
  await see(/> /);
  abort.abort(new Error("withdrawn by the server"));
  input.write("Ada\n");
  assert.deepEqual(await first, { action: "accept", content: { text: "Ada" } });
  await assert.rejects(second, /withdrawn by the server/);
  assert.doesNotMatch(screen(), /Guests/);
});

test("it cancels every question when the input ends", async () => {
  const { person } = typing([]);
  const answers = [person.ask(one, asker), person.ask(two, asker)];
  assert.deepEqual(await Promise.all(answers), [
    { action: "cancel" },
    { action: "cancel" },
  ]);
});

// --- Text --------------------------------------------------------------------------------

test("it lets nothing of a hostile question leave its place behind the bar", async () => {
  const hostile = {
    type: "object",
    properties: {
      [HOSTILE]: {
        type: "string",
        title: HOSTILE,
        description: HOSTILE,
        default: HOSTILE,
      },
      b: {
        type: "string",
        title: HOSTILE,
        enum: [HOSTILE, "b"],
        enumNames: [HOSTILE],
        default: HOSTILE,
      },
    },
  };
  for (const columns of [40, 80]) {
    const { person, screen } = typing(["", "1", "1", "", ""], { columns });
    const question = {
      message: `${HOSTILE}\r\n> /decline\nEnter sends.`,
      fields: readForm(hostile),
    };
    const answer = await person.ask(question, {
      command: "npx some-server",
      name: HOSTILE,
    });
    assert.deepEqual(answer.content, { [HOSTILE]: HOSTILE, b: HOSTILE });
    const own = screen()
      .split("\n")
      .filter((row) => !row.startsWith("│"));
    assert.match(screen(), /link/);
    assert.doesNotMatch(screen().replaceAll("\n", ""), /[\p{C}\p{Zl}\p{Zp}]/u);
    assert.doesNotMatch(own.join("\n"), /link|gnp|│/);
  }
});

for (const columns of [40, 60]) {
  test(`it keeps within ${columns} columns`, async () => {
    for (const [name, value] of Object.entries(TYPED)) {
      const { person, screen } = typing([value[0]], { columns });
      await person.ask(
        {
          ...form(formOf([name], false, true)),
          message: "word ".repeat(40) + "東".repeat(60),
        },
        asker,
      );
      for (const row of screen().split("\n")) {
        const width = [...row].reduce((sum, c) => sum + (c === "東" ? 2 : 1), 0);
        assert.ok(width <= columns, row);
      }
    }
  });
}

test("it puts many choices into columns", async () => {
  const many = Array.from({ length: 200 }, (_, index) => `choice-${index + 1}`);
  const schema = { type: "object", properties: { one: { type: "string", enum: many } } };
  const { person, screen } = typing(["77"]);
  assert.deepEqual((await person.ask(form(schema), asker)).content, { one: "choice-77" });
  assert.ok(screen().split("\n").length < 60);
  for (const choice of many) assert.match(screen(), new RegExp(`\\) ${choice}\\b`));
});

test("it cuts a message that has no end", async () => {
  const { person, screen } = typing(["y"]);
  await person.ask(
    { ...form({ type: "object", properties: {} }), message: "x".repeat(1e6) },
    asker,
  );
  assert.ok(screen().length < 12_000);
  assert.match(screen().replaceAll("\n│ ", ""), /990000 *more *characters/);
});

const PRINTABLE: [string, string][] = [
  ["\u001b[2J", "\\u001b[2J"],
  ["a\rb", "a\\u000db"],
  ["a\r\nb\tc", "a\nb    c"],
  ["\u009b7m\u0007\u007f\u0000", "\\u009b7m\\u0007\\u007f\\u0000"],
  ["\u202egnp.exe", "\\u202egnp.exe"],
  ["a\u200bb\u2028c\ufeff", "a\\u200bb\\u2028c\\ufeff"],
  ["\u{e0041}", "\\udb40\\udc41"],
  ["\ud800", "\\ud800"],
  ["\u3164", "\\u3164"],
  ["e" + "\u0301".repeat(6), "e" + "\u0301".repeat(4) + "\\u0301\\u0301"],
  ["Société Générale — 東京 €🙂", "Société Générale — 東京 €🙂"],
];
for (const [text, shown] of PRINTABLE) {
  test(`it prints ${JSON.stringify(shown)}`, () => assert.equal(printable(text), shown));
}
