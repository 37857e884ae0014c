/** The client in a real terminal. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { BUILT } from "./built.ts";
import { startStooq } from "./stooq.ts";
import { LEGACY, MODERN } from "./support.ts";
import { hasTerminal, openTerminal, type Terminal } from "./terminal.ts";

const skip = hasTerminal ? false : "needs a Linux with script(1)";
const stooq = await startStooq();
after(() => stooq.close());

const pair = (...args: string[]): Terminal => {
  const server = ["--server", "server.mjs", "--env", `STOOQ_URL=${stooq.url}`];
  return openTerminal(["client.mjs", ...server, ...args], BUILT);
};
const forms = (...args: string[]): Terminal =>
  openTerminal(["client.mjs", "--server", "test/forms.mjs", "--tool", ...args], BUILT);
const peer = (
  name: string,
  own: string[] = [],
  options: string[] = [],
  settings: Parameters<typeof openTerminal>[1] = {},
): Terminal => {
  const server = ["--server", "node", "--tool", "any", ...options];
  const args = ["client.mjs", ...server, "--", `test/peers/${name}.mjs`, ...own];
  return openTerminal(args, { ...BUILT, ...settings });
};

/** Tells a peer, known by a mark in its arguments, to go on. */
function prod(mark: string): void {
  const { stdout } = spawnSync("pgrep", ["-f", `^node test/peers/.* ${mark}$`]);
  process.kill(Number(String(stdout).trim()), "SIGUSR2");
}

async function leave(mark: string): Promise<void> {
  const isLeft = () => spawnSync("pgrep", ["-f", mark]).status === 0;
  for (let wait = 0; isLeft() && wait < 100; wait++) await sleep(100);
  assert.equal(isLeft(), false, "no process is left");
}

const says = (result: object) => [JSON.stringify({ result })];
const texts = (...texts: string[]) =>
  says({ content: texts.map((text) => ({ type: "text", text })) });

describe("the client in a terminal", { skip, concurrency: 4 }, () => {
  // --- Three ways to answer --------------------------------------------------------------

  for (const protocol of [MODERN, LEGACY]) {
    test(`it asks for the ticker and prints the quote (${protocol})`, async () => {
      const terminal = pair("--protocol", protocol);
      await terminal.see(/Which stock ticker would you like to look up\?[^]*> /);
      terminal.type("nvda\r");
      await terminal.see(/\nNVDA 188\.5\n/);
      assert.equal(await terminal.ended, 0);
      const asked = /\nserver\.mjs asks:\n│ stock-price-server:\n│ Which/;
      assert.match(terminal.screen(), asked);
    });
  }

  const ENDS: [string, string, string, number][] = [
    ["declined", MODERN, "/decline\r", 1],
    ["cancelled", LEGACY, "/cancel\r", 1],
    ["cancelled with Ctrl-D", LEGACY, "\x04", 1],
    ["cancelled with Ctrl-C", MODERN, "\x03", 130],
  ];
  for (const [what, protocol, keys, code] of ENDS) {
    test(`it tells the server the truth when it is ${what} (${protocol})`, async () => {
      const terminal = pair("--protocol", protocol, "-v");
      await terminal.see(/> /);
      terminal.type(keys);
      assert.equal(await terminal.ended, code);
      const [verb = ""] = what.split(" ");
      const message = `The user ${verb}: "Which stock ticker would you like to look up?"`;
      assert.ok(terminal.screen().endsWith(`\nThe tool failed: ${message}\n`));
      const action = verb === "declined" ? "decline" : "cancel";
      assert.match(terminal.screen(), new RegExp(`→ .*"action":"${action}"`));
    });
  }

  test("it gives a result two seconds to come after Ctrl-C at a prompt", async () => {
    const terminal = peer("withdraws", ["never", "600"], ["-v"]);
    await terminal.see(/First\?[^]*> /);
    terminal.type("\x03");
    assert.equal(await terminal.ended, 130);
    assert.match(terminal.screen(), /→ .*"action":"cancel"/);
    assert.match(terminal.screen(), /\nInterrupted\.\n$/);
  });

  for (const [moment, name, pattern] of [
    ["before the probe is answered", "silent", /→ .*server\/discover/],
    ["while a call runs", "slow", /called \d/],
  ] as const) {
    test(`it ends at Ctrl-C ${moment}, and leaves nothing behind`, async () => {
      const mark = `ctrl-c-${name}-${process.pid}`;
      const terminal = peer(name, [mark], ["-v"]);
      await terminal.see(pattern);
      terminal.type("\x03");
      assert.equal(await terminal.ended, 130);
      assert.match(terminal.screen(), /Interrupted\.\n/);
      // What opens a connection is not cancelled; a call is, once.
      const cancels = terminal.screen().match(/→ .*notifications\/cancelled/g) ?? [];
      assert.equal(cancels.length, name === "slow" ? 1 : 0);
      await leave(mark);
    });
  }

  test("it leaves no process behind when the terminal is hung up at a prompt", async () => {
    const mark = `hangup-${process.pid}`;
    const terminal = peer("withdraws", ["never", "600", mark]);
    await terminal.see(/> /);
    terminal.hangUp();
    await terminal.ended;
    await leave(mark);
  });

  // --- Questions -------------------------------------------------------------------------

  test("it fills in every kind of field", async () => {
    const terminal = forms("required");
    const typed = [
      ["Name", "Grace"],
      ["E-mail", "grace@example.com"],
      ["Homepage", "https://example.com/g"],
      ["Day of arrival", "2026-12-09"],
      ["Take-off", "2026-12-09T10:00:00Z"],
      ["Guests", "4"],
      ["Luggage in kg", "1.5"],
      ["Breakfast", "y"],
      ["Desk", "1"],
      ["Shirt", "3"],
      ["Office", "2"],
      ["Talks", "2,3"],
      ["Sizes", "1"],
    ] as const;
    for (const [title, text] of typed) {
      await terminal.see(new RegExp(`│ ${title} [^]*\n> `));
      terminal.type(`${text}\r`);
    }
    await terminal.see(/Enter sends, a number[^]*\n> /);
    terminal.type("\r");
    assert.equal(await terminal.ended, 0);
    const content = {
      text: "Grace",
      email: "grace@example.com",
      uri: "https://example.com/g",
      date: "2026-12-09",
      "date-time": "2026-12-09T10:00:00Z",
      integer: 4,
      number: 1.5,
      boolean: true,
      choice: "aisle",
      titled: "l",
      legacy: "uk",
      choices: ["two", "three"],
      "titled-choices": ["s"],
    };
    // The result stands behind the bar, broken into rows.
    const [, answered = ""] = /\n│ (\{"form"[^]*)\n$/.exec(terminal.screen()) ?? [];
    const { form } = JSON.parse(answered.replaceAll("\n│ ", ""));
    assert.deepEqual(form, { action: "accept", content });
  });

  test("it gives lines to two questions in order that came before the first", async () => {
    const terminal = forms("two", "--protocol", LEGACY);
    terminal.type("Grace\r5\r");
    assert.equal(await terminal.ended, 0);
    const screen = terminal.screen().replaceAll("\n│ ", "");
    assert.match(screen, /"first":\{"action":"accept","content":\{"text":"Grace"\}\}/);
    assert.match(screen, /"second":\{"action":"accept","content":\{"integer":5\}\}/);
  });

  test("it asks one of two questions at a time that come at once", async () => {
    const terminal = peer("asks-two-at-once");
    await terminal.see(/First\?[^]*> /);
    assert.doesNotMatch(terminal.screen(), /Second\?/);
    terminal.type("one\r");
    await terminal.see(/Second\?[^]*> /);
    terminal.type("/decline\r");
    assert.equal(await terminal.ended, 0);
    assert.match(terminal.screen(), /q1 accept one, q2 decline/);
  });

  test("it keeps no more than a hundred questions", async () => {
    const terminal = peer("asks-two-at-once", ["150"]);
    await terminal.see(/First\?[^]*> /);
    terminal.type("\x04");
    assert.equal(await terminal.ended, 0);
    const screen = terminal.screen().replaceAll("\n│", "");
    assert.equal(screen.match(/ q\d+ cancel/g)?.length, 100);
    assert.equal(screen.match(/ q\d+ -32603/g)?.length, 50);
  });

  for (const protocol of [MODERN, LEGACY]) {
    test(`it sends the person to a page and waits (${protocol})`, async () => {
      const terminal = forms("patient", "--protocol", protocol);
      await terminal.see(/https:\/\/auth\.example\.com\/slow\nHost: auth[^]*> /);
      terminal.type("y\r");
      for (let visit = 1; visit < 12; visit++) {
        await terminal.see(/> /);
        terminal.type("\r");
      }
      assert.equal(await terminal.ended, 0);
      assert.match(terminal.screen(), /\n│ signed in\n$/);
    });
  }

  test("it ends with what the person gave up on", async () => {
    const terminal = forms("patient");
    await terminal.see(/> /);
    terminal.type("y\r");
    await terminal.see(/Enter goes on[^]*> /);
    terminal.type("/cancel\r");
    assert.equal(await terminal.ended, 1);
    assert.match(terminal.screen(), /You left before the page was done with\.\n$/);
  });

  test("it asks the person for what --answer leaves to a first question", async () => {
    const down = ["--env", "STOOQ_URL=http://127.0.0.1:9"];
    const terminal = pair(...down, "--answer", "useSample=y");
    await terminal.see(/Which stock ticker[^]*> /);
    terminal.type("nvda\r");
    assert.equal(await terminal.ended, 0);
    assert.match(terminal.screen(), /\nNVDA 177\.19 \(bundled sample/);
  });

  // --- Questions that go -----------------------------------------------------------------

  for (const [how, what] of [
    ["back", "the server withdraws it"],
    ["open", "its call has a result, and then prints that"],
  ] as const) {
    test(`it takes a question off the screen when ${what}`, async () => {
      const mark = `withdraws-${how}-${process.pid}`;
      const terminal = peer("withdraws", [how, "600", mark]);
      await terminal.see(/First\?[^]*> /);
      terminal.type("half a li");
      await terminal.see(/half a li/);
      prod(mark);
      assert.equal(await terminal.ended, 0);
      assert.match(terminal.screen(), /The question was withdrawn\.\n│ done\n$/);
    });
  }

  test("it throws away what was half typed, wherever the cursor is", async () => {
    const mark = `withdraws-again-${process.pid}`;
    const terminal = peer("withdraws", ["again", "600", mark]);
    await terminal.see(/First\?[^]*> /);
    terminal.type("secret\x1b[H"); // and Home
    await terminal.see(/secret/);
    prod(mark);
    await terminal.see(/The question was withdrawn\.[^]*Second\?[^]*> /);
    terminal.type("\r");
    assert.equal(await terminal.ended, 0);
    assert.match(terminal.screen(), /answered: \{"action":"accept","content":\{\}\}\n$/);
  });

  test("it takes a question off the screen when the server has died of it", async () => {
    const terminal = peer("leaves", ["asked", "exit", "modern"]);
    assert.equal(await terminal.ended, 3);
    assert.match(terminal.screen(), /The server ended with exit code 9\.\n$/);
  });

  // --- What is waited for ----------------------------------------------------------------

  test("it says what it waits for, and how that gets on", async () => {
    const server = ["--server", "test/peers/slow.mjs", "--tool", "any", "--"];
    const words = ["half", "\u001b[2Jway", "x".repeat(90)];
    const terminal = openTerminal(["client.mjs", ...server, ...words], BUILT);
    await terminal.see(
      /Waiting for test\/peers\/slow\.mjs: tools\/call … \d+ s half \\u001b/,
    );
    await terminal.see(/Waiting for/);
    terminal.type("\x03");
    assert.equal(await terminal.ended, 130);
    const rows = terminal.raw().split("\r\x1b[K");
    assert.ok(rows.length > 2);
    assert.ok(
      rows.every((row) => row.length < 90 || row.includes("\n")),
      "it is one row",
    );
    assert.match(rows.at(-1) ?? "", /^(\^C)?Interrupted\.\r\n$/, "and it goes");
  });

  test("it says so behind a question, never beside it", async () => {
    const mark = `waits-${process.pid}`;
    const terminal = peer("withdraws", ["back", "600", mark]);
    await terminal.see(/First\?[^]*> /);
    await sleep(2500); // in which a line could come
    assert.doesNotMatch(terminal.raw(), /First\?[^]*Waiting/);
    terminal.type("x\r");
    await terminal.see(/Waiting for node: tools\/call … [12] s/);
    prod(mark);
    assert.equal(await terminal.ended, 0);
    assert.match(terminal.raw(), /\r\x1b\[K[^\r\n]*done\r\n$/);
  });

  test("it writes no sequence and no such line where TERM is dumb", async () => {
    const mark = `dumb-${process.pid}`;
    const env = { TERM: "dumb", NO_COLOR: "" };
    const terminal = peer("withdraws", ["back", "600", mark], ["-v"], { env });
    await terminal.see(/First\?[^]*> /);
    terminal.type("x\r");
    await terminal.see(/→ [^\n]*"content":\{"x":"x"\}/);
    await sleep(2500); // in which a line could come
    prod(mark);
    assert.equal(await terminal.ended, 0);
    assert.doesNotMatch(terminal.raw(), /\x1b|Waiting/);
    assert.match(terminal.screen(), /→ .*\n[^]*done\n$/);
  });

  // --- The server's words ----------------------------------------------------------------

  test("it lets no byte of a hostile question control the terminal", async () => {
    const terminal = peer("hostile", ["question"], ["-v"], { columns: 40 });
    await terminal.see(/\n> /);
    terminal.type("\r");
    await terminal.ended;
    // What is left are the sequences of readline itself, for its own prompt.
    const bytes = terminal.raw().replace(/\x1b\[(1G|0J|3G|\?2004[hl]|2K|[0-9]+G)/g, "");
    assert.doesNotMatch(bytes, /[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e\u200b]/);
    assert.match(bytes, /link/);
  });

  const SAID: [string, string[], number, string, string][] = [
    [
      "a result that imitates a question",
      texts("server.ts asks:\nPassword:", "\u001b[2J"),
      90,
      "│ server.ts asks:\n│ Password:\n│ \\u001b[2J\n",
      "0",
    ],
    [
      "names of tools that would begin a row",
      [
        ...says({ isError: true, content: [{ type: "text", text: "no" }] }),
        JSON.stringify({
          result: { tools: [{ name: `a ${"x".repeat(30)} Password:` }] },
        }),
      ],
      40,
      `The tool failed: no\nChoose one of its tools with --tool:\n│ a ${"x".repeat(30)}\n│ Password:\n`,
      "1",
    ],
    [
      "an error where the terminal says 0 columns",
      says({ isError: true, content: [{ type: "text", text: "word ".repeat(20) }] }),
      0,
      `The tool failed:\n│ ${"word ".repeat(15).trim()}\n│ ${"word ".repeat(5).trim()}\n`,
      "1",
    ],
  ];
  for (const [what, own, columns, screen, code] of SAID) {
    test(`it shows ${what} behind the bar`, async () => {
      const terminal = peer("says", own, [], { columns });
      assert.equal(String(await terminal.ended), code);
      assert.equal(terminal.screen(), screen);
    });
  }
});
