/** The person, without a terminal: lines in, a transcript out. */
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { WriteStream } from "node:tty";
import { readForm, type Content } from "../mcp/form.ts";
import { Person, type Question } from "../mcp/person.ts";
import { PLAIN } from "../mcp/text.ts";
import { DEFAULTS, FIELDS, formOf } from "./forms.ts";
import { HOSTILE } from "./peers/hostile-text.ts";
import { hasTerminal, openTerminal } from "./terminal.ts";

type Options = { columns?: number; isTerminal?: boolean; ends?: boolean; early?: string };

/** Somebody who types these lines, one at each prompt; `early` is typed before all of them. */
function typing(lines: string[], options: Options = {}) {
  const { columns = 80, isTerminal = false, ends = true, early = "" } = options;
  const input = new PassThrough();
  const output = new PassThrough();
  Object.assign(output, { columns, isTTY: isTerminal });
  input.write(early);
  let screen = "";
  const left = [...lines];
  const watchers = new Set<() => void>();
  output.setEncoding("utf8").on("data", (text: string) => {
    screen += text;
    for (const watch of watchers) watch();
    if (isTerminal || !text.endsWith("> ")) return;
    const line = left.shift();
    if (line !== undefined) {
      screen += `${line}\n`; // as a terminal echoes it
      input.write(`${line}\n`);
    } else if (ends) input.end();
  });
  const person = new Person(input as never, output as unknown as WriteStream, PLAIN, 50);
  const see = (pattern: RegExp) =>
    new Promise<void>((resolve) => {
      const watch = () => pattern.test(screen) && (watchers.delete(watch), resolve());
      watchers.add(watch);
      watch();
    });
  return { person, input, see, screen: () => screen };
}

const asker = { command: "npx some-server", name: "some" };
const form = (schema: object, given?: Content): Question => ({
  message: "Well?",
  fields: readForm(schema),
  ...(given && { given }),
});
const one = (name: string, isRequired: boolean, hasDefault: boolean) =>
  form(formOf([name], isRequired, hasDefault));
const confirm = form({ type: "object", properties: {} });
const page = (url: string, again = false): Question => ({
  message: "Sign in.",
  url: new URL(url),
  again,
});

const accept = (content: object) => ({ action: "accept", content });
const DECLINE = { action: "decline" };
const CANCEL = { action: "cancel" };

/** What is typed, the question, the answer, and perhaps what the screen shows. */
type Row = [string[], Question, object, ...RegExp[]];

/** The rows side by side: each waits a little before it asks. */
async function check(rows: Row[]): Promise<void> {
  const asked = rows.map(async ([typed, question, answer, ...patterns]) => {
    const { person, screen } = typing(typed);
    const result = await person.ask(question, asker);
    assert.deepEqual(result, answer, `${JSON.stringify(typed)}\n${screen()}`);
    for (const pattern of patterns) assert.match(screen(), pattern);
  });
  await Promise.all(asked);
}

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
  titled: ["large", "l"],
  legacy: ["1", "us"],
  choices: ["2,3", ["two", "three"]],
  "titled-choices": ["1, m", ["s", "m"]],
};
assert.deepEqual(Object.keys(TYPED), Object.keys(FIELDS));
const each = (rows: (name: string, text: string, value: unknown) => Row[]) =>
  check(
    Object.entries(TYPED).flatMap(([name, [text, value]]) => rows(name, text, value)),
  );

test("it sends what was typed, in its own type, whatever the default", () =>
  each((name, text, value) => [
    [[text], one(name, true, false), accept({ [name]: value })],
    [[text], one(name, true, true), accept({ [name]: value })],
  ]));

test("it takes the default with Enter, and shows it before", () =>
  each((name) => [
    [[""], one(name, true, true), accept({ [name]: DEFAULTS[name] }), /\[.+\]\n/],
    [[""], one(name, false, true), accept({ [name]: DEFAULTS[name] }), /\[.+\]\n/],
  ]));

test("it leaves an optional field out with Enter or /none", () =>
  each((name) => [
    [[""], one(name, false, false), accept({})],
    [["/none"], one(name, false, false), accept({})],
    [["/none"], one(name, false, true), accept({})],
  ]));

test("it does not accept a required field without a value", () =>
  each((name) => [
    [["", " ", "\t"], one(name, true, false), CANCEL, /(That needs an answer\.[^]*){3}/],
  ]));

test("it takes a command for no value", () =>
  each((name, text) => [
    [["/decline", text], one(name, true, true), DECLINE],
    [["/cancel", text], one(name, true, true), CANCEL],
  ]));

test("it tells values from commands, and says why it takes none", () =>
  check([
    [["/none"], one("choices", true, false), accept({ choices: [] })],
    [["//none"], one("text", false, true), accept({ text: "/none" })],
    [["//decline"], one("text", false, true), accept({ text: "/decline" })],
    [["///x"], one("text", false, true), accept({ text: "//x" })],
    [
      ["/etc", "//etc"],
      one("text", true, false),
      accept({ text: "/etc" }),
      /That is no command\. A value that begins with a slash is typed with two\./,
    ],
    [
      ["9", "four", "4"],
      one("integer", true, false),
      accept({ integer: 4 }),
      /> .*That must be 0 to 6\.\n> .*That must be a whole number\.\n> /s,
    ],
    [
      ["huge", "l"],
      one("titled", true, false),
      accept({ titled: "l" }),
      /That must be a number from 1 to 3, or the title or value of a choice\.\n/,
    ],
  ]));

test("it shows at /help what may be typed", () => {
  const said = "/decline refuses, /cancel or Ctrl-D leaves, /none leaves out";
  const ways = new RegExp(said.replaceAll(" ", "\\s")); // wherever a row ends
  const again = (words: RegExp) => [new RegExp(`/help\\n[^]*${words.source}`), ways];
  return check([
    [["/help"], one("integer", true, false), CANCEL, ...again(/whole number, 0 to 6/)],
    [["/help"], one("titled", true, false), CANCEL, ...again(/3\) Large \(l\)/)],
    [["/help"], one("titled", true, false), CANCEL, ...again(/number from 1 to 3, or/)],
    [["/help"], one("text", true, false), CANCEL, ...again(/begins with a slash/)],
    [["/help"], confirm, CANCEL, ...again(/y agrees\./)],
    [["/help"], page("https://a.test/", true), CANCEL, ...again(/Enter goes on\./)],
    [
      ["", "", "/help"],
      form(formOf(["text", "integer"], true, true)),
      CANCEL,
      ...again(/│ 1\) Name: Ada\n[^]*Enter sends/),
    ],
  ]);
});

test("it knows fields by any name", () => {
  const [field] = readForm(formOf(["date"], false, false));
  const names = ["constructor", "toString", "__proto__"];
  const fields = names.map((name) => ({ ...field, name, title: name }));
  const content = Object.fromEntries([["__proto__", "2026-01-02"]]);
  return check([
    [
      ["", "", "2026-01-02", ""],
      { message: "Well?", fields } as Question,
      accept(content),
      /1\) constructor: \(left out\)\n│ 2\) toString: \(left out\)/,
    ],
  ]);
});

test("it reads a text that has no end once, and shows little of it", async () => {
  const endless = "x".repeat(8e6);
  const texts = { title: endless, description: endless, default: endless };
  const properties = { [endless]: { type: "string", ...texts } };
  const { person, screen } = typing(["y"]);
  // The processor's time, which other programs don't use up.
  const begin = process.cpuUsage();
  await person.ask(form({ type: "object", properties }), asker);
  const { user } = process.cpuUsage(begin);
  assert.ok(user < 5e6, `${user} µs`);
  assert.ok(screen().length < 5000);
});

test("it lets no wide sign push text out to the margin", async () => {
  for (const wide of ["⭐", "✅", "⚡", "東", "🙂", "가", "\u0903"]) {
    const { person, screen } = typing(["y"]);
    const message = `${wide.repeat(39)}some-server asks: type your password`;
    await person.ask({ ...confirm, message }, asker);
    const rows = screen().split("\n");
    // However wide a terminal draws it, at 80 columns the row does not break by itself.
    for (const row of rows) assert.ok(row.split(wide).length <= 40, row);
    const text = rows.find((row) => /type your password/.test(row));
    assert.match(String(text), /^│ /);
  }
});

// --- Every shape, together ---------------------------------------------------------------

const names = Object.keys(FIELDS);
const lines = Object.values(TYPED).map(([text]) => text);
const content = Object.fromEntries(names.map((name) => [name, TYPED[name]?.[1]]));
const whole = form(formOf(names, true, false));

test("it fills in the whole form and shows it before it is sent", () => {
  const { email: _, boolean: __, ...rest } = content;
  const changed = { ...rest, integer: 6, text: "Ada Lovelace" };
  // The first 6 is the number of a field, and so is the second, as 9 is no value.
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
    "2",
    "/none",
  ];
  return check([
    [
      [...lines, ""],
      whole,
      accept(content),
      /│ 1\) Name: Grace\n(.*\n)*│ 8\) Breakfast: yes\n/,
      /│ 10\) Shirt: Large \(l\)\n│ 11\) Office: New York \(us\)\n│ 12\) Talks: two, three\n│ 13\) Sizes: Small \(s\), Medium \(m\)\n/,
    ],
    [Array(14).fill(""), form(formOf(names, true, true)), accept(DEFAULTS)],
    [Array(14).fill(""), form(formOf(names, false, false)), accept({})],
    [[...lines, ...review, ""], form(formOf(names, false, false)), accept(changed)],
    // Enter keeps in a review what it does not change.
    [
      ["Ada", "3", "1", "", ""],
      form(formOf(["text", "integer"], true, false)),
      accept({ text: "Ada", integer: 3 }),
    ],
    [
      ["3", ""],
      form(formOf(["text", "integer"], true, false), { text: "Ada" }),
      accept({ text: "Ada", integer: 3 }),
      /│ 1\) Name: Ada\n│ 2\) Guests: 3\n/,
    ],
  ]);
});

test("it is left at each prompt by a command or the end of input, and sends nothing", () =>
  check(
    [...lines, ""].flatMap((_, at): Row[] => [
      [[...lines.slice(0, at), "/decline"], whole, DECLINE],
      [[...lines.slice(0, at), "/cancel"], whole, CANCEL],
      [lines.slice(0, at), whole, CANCEL],
    ]),
  ));

test("it takes a yes or a no where there is no field", () =>
  check([
    [["y"], confirm, accept({})],
    [["", "maybe", "YES"], confirm, accept({}), /That must be y or n\./],
    [["n"], confirm, DECLINE],
    [["/decline"], confirm, DECLINE],
    [["/cancel"], confirm, CANCEL],
    [["/none"], confirm, CANCEL, /That must be y or n\./],
    [[], confirm, CANCEL],
  ]));

// --- Pages -------------------------------------------------------------------------------

test("it shows a URL whole and its host apart, and asks before anything else", async () => {
  const { person, screen } = typing(["", "y"]);
  const url = `https://auth.example.com/a?b=${"c".repeat(200)}#d`;
  assert.deepEqual(await person.ask(page(url), asker), { action: "accept" });
  assert.match(screen(), new RegExp(`\\n  ${url.replace("?", "\\?")}\\n`));
  assert.match(screen(), /\nHost: auth\.example\.com\n/);
  assert.doesNotMatch(screen(), /Beware/);
});

test("it warns of what a URL hides", () => {
  const BEWARE: [string, RegExp][] = [
    ["http://example.com/", /not encrypted/],
    ["http://localhost:8080/", /^(?![^]*Beware)/],
    ["http://127.0.0.1/", /^(?![^]*Beware)/],
    ["https://пример.example/", /not spelled in plain letters/],
    ["https://xn--e1awd7f.example/", /not spelled in plain letters/],
    ["https://bank.example@evil.example/", /\nHost: evil\.example\n/],
    ["https://example.com/xn--/@", /^(?![^]*Beware)/],
  ];
  return check(BEWARE.map(([url, warning]) => [["n"], page(url), DECLINE, warning]));
});

test("it waits for Enter where the person has been sent before", () =>
  check([
    [["what?", ""], page("https://a.test/", true), { action: "accept" }],
    [["/decline"], page("https://a.test/", true), DECLINE],
    [["n"], page("https://a.test/", true), DECLINE],
    [[], page("https://a.test/", true), CANCEL],
  ]));

// --- Typed before the question -----------------------------------------------------------

const CONSENTS: Record<string, [Question, string]> = {
  "a page": [page("https://a.test/"), "y"],
  "a page again": [page("https://a.test/", true), ""],
  "no field": [confirm, "y"],
  "a boolean": [one("boolean", true, true), "y"],
  "a choice": [one("choice", true, true), "1"],
  "some choices": [one("choices", true, true), "1"],
};

test("it takes nothing for consent that was typed before it was on the screen", async () => {
  const asked = Object.entries(CONSENTS).map(async ([what, [question, yes]]) => {
    // In the terminal before the person was there; and in one paste with another answer.
    const { person, input, see, screen } = typing([], { early: `${yes}\n`, ends: false });
    const first = person.ask(question, asker);
    await see(/> $/);
    const dropped = /\n[^]*\nA line typed before the question was dropped\.\n> $/;
    if (yes !== "") assert.match(screen(), dropped, what);
    input.write("/decline\n");
    assert.deepEqual(await first, DECLINE, what);

    const text = person.ask(one("text", true, false), asker);
    const consent = person.ask(question, asker);
    await see(/Name[^]*> $/);
    input.write(`Ada\n${yes}\n\nmore\nmore\n`);
    assert.deepEqual(await text, accept({ text: "Ada" }));
    await see(/[23] lines typed before the question were dropped\.\n> $/);
    input.write("/decline\n");
    assert.deepEqual(await consent, DECLINE, what);
  });
  await Promise.all(asked);
});

test("it takes no consent before the question was long enough on the screen", async () => {
  const asked = Object.values(CONSENTS).map(async ([question, yes]) => {
    const { person, input, see, screen } = typing([], { ends: false });
    const answer = person.ask(question, asker);
    await see(/npx some-server asks:|The server waits/);
    assert.doesNotMatch(screen(), /> $/);
    input.write(`${yes}\n`);
    await see(/> $/);
    input.write("/decline\n");
    assert.deepEqual(await answer, DECLINE);
  });
  await Promise.all(asked);
});

test("it sends no review that was not on the screen", async () => {
  const question = form(formOf(["text", "integer"], true, true));
  for (const pieces of [["Ada\n3\n\n\n"], ["Ada\n3\n", "\n", "\n"]]) {
    const { person, input, see, screen } = typing([], { ends: false });
    const answer = person.ask(question, asker);
    await see(/> $/);
    for (const piece of pieces) {
      input.write(piece);
      await turn();
    }
    await see(/2\) Guests: 3\n[^]*> $/);
    input.write("1\nBob\n\n"); // nor is a change of it agreed to in one go
    await see(/1\) Name: Bob\n[^]*> $/);
    input.write("1\nEve\ny\n");
    await see(/1\) Name: Eve\n[^]*A line typed before the question was dropped\.\n> $/);
    input.write("\n");
    assert.deepEqual(await answer, accept({ text: "Eve", integer: 3 }), screen());
  }
});

test("it gives lines typed ahead to the values that are asked for", async () => {
  const early = "\nAda\nx\n\n3\n\nBob\n\n";
  const { person, screen } = typing([], { early });
  const answers = [
    person.ask(one("text", true, true), asker),
    person.ask(one("integer", true, true), asker), // and takes no default for a blank line
    person.ask(form(formOf(["text", "boolean"], true, true)), asker),
  ];
  // The review is not on the screen yet, and then the input ends.
  const expected = [accept({ text: "Ada" }), accept({ integer: 3 }), CANCEL];
  assert.deepEqual(await Promise.all(answers), expected);
  assert.match(screen(), /> Ada\n[^>]*> x\n[^>]*> 3\n[^>]*> Bob\n/);
});

// --- Several questions -------------------------------------------------------------------

test("it asks one question at a time, and takes off the screen what is withdrawn", async () => {
  const { person, input, see, screen } = typing([], { ends: false });
  const [early, late] = [new AbortController(), new AbortController()];
  const first = person.ask(one("text", true, false), asker, early.signal);
  const second = person.ask(one("integer", true, false), asker);
  const third = person.ask(one("email", true, false), asker, late.signal);
  await see(/Name[^]*> $/);
  assert.doesNotMatch(screen(), /Guests/);
  early.abort(new Error("withdrawn by the server"));
  await assert.rejects(first, /withdrawn by the server/);
  await see(/The question was withdrawn\.\n[^]*Guests[^]*> $/);
  late.abort(new Error("never shown"));
  input.write("3\n");
  assert.deepEqual(await second, accept({ integer: 3 }));
  await assert.rejects(third, /never shown/);
  assert.doesNotMatch(screen(), /E-mail/);
});

test("it cancels every question when the input ends", async () => {
  const { person } = typing([]);
  const answers = [person.ask(confirm, asker), person.ask(whole, asker)];
  assert.deepEqual(await Promise.all(answers), [CANCEL, CANCEL]);
});

// --- On a terminal -----------------------------------------------------------------------

const skip = hasTerminal ? false : "needs a Linux with script(1)";

test("it keeps what is half typed for a value, and drops it before a consent", async () => {
  const { person, input, see, screen } = typing([], { isTerminal: true, early: "Gra" });
  const text = person.ask(one("text", true, false), asker);
  await see(/> [^]*Gra/);
  person.print("a line above");
  await see(/a line above\n[^]*> [^]*Gra/);
  input.write("ce\ry");
  const consent = person.ask(confirm, asker);
  assert.deepEqual(await text, accept({ text: "Grace" }));
  await see(/y agrees[^]*A line typed before the question was dropped\.\n[^]*> /);
  input.write("\r"); // agrees to nothing: the y is gone
  await see(/That must be y or n\.\n[^]*> /);
  input.write("n\r");
  assert.deepEqual(await consent, DECLINE, screen());
  person.close();
});

test(
  "it takes no consent that the terminal kept from before it was there",
  { skip },
  async () => {
    const { type, see, ended } = openTerminal([
      "client.ts",
      "--server",
      "test/forms.ts",
      "--tool",
      "confirm",
    ]);
    type("y\ry");
    await see(/y agrees[^]*2 lines typed before the question were dropped\.\n[^]*> $/);
    type("\r");
    await see(/That must be y or n\.\n[^]*> $/);
    type("y\r");
    await see(/"action":"accept"/);
    assert.equal(await ended, 0);
  },
);

test("it writes whole rows where the terminal says that it has no columns", async () => {
  const { person, see, screen } = typing([], { isTerminal: true, columns: 0 });
  void person.ask({ ...confirm, message: "word ".repeat(40) }, asker);
  await see(/> /);
  const quoted = screen().match(/(?<=│ )word.*/g) ?? [];
  assert.deepEqual(quoted.length, 3);
  person.close();
});

test("it sends no escape sequence to a dumb terminal", async () => {
  const { TERM } = process.env;
  process.env["TERM"] = "dumb";
  try {
    const { person, input, see, screen } = typing([], { isTerminal: true, early: "y" });
    const consent = person.ask(confirm, asker);
    await see(/was dropped[^]*> /);
    person.print("a line above");
    input.write("\rn\r");
    assert.deepEqual(await consent, DECLINE);
    assert.match(screen(), /must be y or n/);
    assert.doesNotMatch(screen(), /\x1b/);
    person.close();
  } finally {
    process.env["TERM"] = TERM ?? "";
  }
});

// --- Text --------------------------------------------------------------------------------

test("it lets nothing of a hostile question leave its place behind the bar", async () => {
  const words = { title: HOSTILE, default: HOSTILE };
  const properties = {
    [HOSTILE]: { type: "string", ...words, description: HOSTILE },
    b: { type: "string", ...words, enum: [HOSTILE, "b"], enumNames: [HOSTILE] },
  };
  const message = `${HOSTILE}\r\n> /decline\nEnter sends.`;
  const question = { ...form({ type: "object", properties }), message };
  for (const columns of [40, 80]) {
    const { person, screen } = typing(["", "1", "1", "", ""], { columns });
    const answer = await person.ask(question, { ...asker, name: HOSTILE });
    assert.deepEqual(answer.content, { [HOSTILE]: HOSTILE, b: HOSTILE });
    const own = screen()
      .split("\n")
      .filter((row) => !row.startsWith("│"));
    assert.match(screen(), /link/);
    assert.doesNotMatch(screen().replaceAll("\n", ""), /[\p{C}\p{Zl}\p{Zp}]/u);
    assert.doesNotMatch(own.join("\n"), /link|gnp|│/);
  }
});

test("it keeps within the columns that there are", async () => {
  const message = "word ".repeat(40) + "東".repeat(60);
  const asked = [40, 60].flatMap((columns) =>
    Object.entries(TYPED).map(async ([name, [text]]) => {
      const { person, screen } = typing([text], { columns });
      await person.ask({ ...one(name, false, true), message }, asker);
      for (const row of screen().split("\n")) {
        const width = row.length + row.split("東").length - 1;
        assert.ok(width <= columns, row);
      }
    }),
  );
  await Promise.all(asked);
});

test("it puts many choices into few rows", async () => {
  const many = Array.from({ length: 200 }, (_, index) => `choice-${index + 1}`);
  const properties = { one: { type: "string", enum: many } };
  const { person, screen } = typing(["77"]);
  const answer = await person.ask(form({ type: "object", properties }), asker);
  assert.deepEqual(answer, accept({ one: "choice-77" }));
  assert.ok(screen().split("\n").length < 60);
  for (const choice of many)
    assert.match(screen(), new RegExp(`\\)\\s[│ ]*${choice}\\b`));
});

test("it cuts a message that has no end", async () => {
  const { person, screen } = typing(["y"]);
  await person.ask({ ...confirm, message: "x".repeat(1e6) }, asker);
  assert.ok(screen().length < 12_000);
  assert.match(screen().replaceAll("\n│ ", ""), /990000 *more *characters/);
});
