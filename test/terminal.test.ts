/** The client in a real terminal. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startStooq } from "./stooq.ts";
import { LEGACY, MODERN } from "./support.ts";
import { hasTerminal, openTerminal, type Terminal } from "./terminal.ts";

const skip = hasTerminal ? false : "needs a Linux with script(1)";
const stooq = await startStooq();
after(() => stooq.close());

const open = (...args: string[]): Terminal =>
  openTerminal([
    "client.ts",
    "--server",
    "server.ts",
    "--env",
    `STOOQ_URL=${stooq.url}`,
    ...args,
  ]);

for (const protocol of [MODERN, LEGACY]) {
  test(
    `it asks for the ticker and prints the quote (${protocol})`,
    { skip },
    async () => {
      const terminal = open("--protocol", protocol);
      await terminal.see(/Which stock ticker would you like to look up\?[^]*> /);
      terminal.type("nvda\r");
      await terminal.see(/\nNVDA 188\.5\n/);
      assert.equal(await terminal.ended, 0);
      assert.match(
        terminal.screen(),
        /\nserver\.ts asks:\n│ stock-price-server:\n│ Which/,
      );
    },
  );

  const ENDS: [string, string, number, RegExp][] = [
    [
      "declined",
      "/decline\r",
      1,
      /The tool failed: The user declined the question about the ticker\.\n$/,
    ],
    [
      "cancelled",
      "/cancel\r",
      1,
      /The tool failed: The user cancelled the question about the ticker\.\n$/,
    ],
    [
      "cancelled with Ctrl-D",
      "\x04",
      1,
      /The tool failed: The user cancelled the question about the ticker\.\n$/,
    ],
    [
      "cancelled with Ctrl-C",
      "\x03",
      130,
      /The tool failed: The user cancelled the question about the ticker\.\n$/,
    ],
  ];
  for (const [what, keys, code, text] of ENDS) {
    test(
      `it tells the server the truth when it is ${what} (${protocol})`,
      { skip },
      async () => {
        const terminal = open("--protocol", protocol, "-v");
        await terminal.see(/> /);
        terminal.type(keys);
        assert.equal(await terminal.ended, code);
        const screen = terminal.screen();
        assert.match(screen, text);
        const action = what === "declined" ? "decline" : "cancel";
        assert.match(screen, new RegExp(`→ .*"action":"${action}"`));
      },
    );
  }

  test(
    `it cancels a call at Ctrl-C while nobody is asked (${protocol})`,
    { skip },
    async () => {
      const slow = ["--server", "test/peers/slow.ts", "--tool", "any", "-v"];
      const terminal = openTerminal(["client.ts", ...slow]);
      await terminal.see(/called \d/);
      terminal.type("\x03");
      assert.equal(await terminal.ended, 130);
      assert.match(terminal.screen(), /→ .*"notifications\/cancelled"/);
    },
  );
}

test("it shows on one row what it waits for, and takes it away", { skip }, async () => {
  for (const TERM of ["xterm", "dumb"]) {
    const terminal = openTerminal(["test/peers/waiter.ts"], {
      columns: 30,
      env: { TERM },
    });
    assert.equal(await terminal.ended, 0);
    const rows = terminal.raw().split("\r\x1b[K");
    assert.equal(rows.pop(), TERM === "dumb" ? undefined : "done\r\n");
  }
});

const forms = (...args: string[]): Terminal =>
  openTerminal(["client.ts", "--server", "test/forms.ts", ...args]);

for (const protocol of [MODERN, LEGACY]) {
  test(`it fills in every kind of field (${protocol})`, { skip }, async () => {
    const terminal = forms("--tool", "required", "--protocol", protocol);
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
    const [, answered] = /\n(\{.*\})\n/.exec(terminal.screen()) ?? [];
    assert.deepEqual(JSON.parse(String(answered)), {
      form: {
        action: "accept",
        content: {
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
        },
      },
    });
  });

  test(
    `it gives pasted lines to two questions in order (${protocol})`,
    { skip },
    async () => {
      const terminal = forms("--tool", "two", "--protocol", protocol);
      await terminal.see(/> /);
      terminal.type("Grace\r5\r");
      assert.equal(await terminal.ended, 0);
      assert.match(
        terminal.screen(),
        /"first":\{"action":"accept","content":\{"text":"Grace"\}\}/,
      );
      assert.match(
        terminal.screen(),
        /"second":\{"action":"accept","content":\{"integer":5\}\}/,
      );
    },
  );

  test(`it sends the person to a page and waits (${protocol})`, { skip }, async () => {
    const terminal = forms("--tool", "patient", "--protocol", protocol);
    await terminal.see(
      /https:\/\/auth\.example\.com\/slow\nHost: auth\.example\.com\n[^]*> /,
    );
    terminal.type("y\r");
    for (let visit = 1; visit < 12; visit++) {
      await terminal.see(/> /);
      terminal.type(protocol === MODERN ? "\r" : "y\r");
    }
    assert.equal(await terminal.ended, 0);
    assert.match(terminal.screen(), /\nsigned in\n$/);
  });
}

test("it takes lines that were typed before there was a question", { skip }, async () => {
  const terminal = forms("--tool", "text");
  terminal.type("Grace\r");
  assert.equal(await terminal.ended, 0);
  assert.match(terminal.screen(), /\{"text":"Grace"\}/);
});

test("it ends with what the person gave up on", { skip }, async () => {
  const terminal = forms("--tool", "patient");
  await terminal.see(/> /);
  terminal.type("y\r");
  await terminal.see(/Enter goes on[^]*> /);
  terminal.type("/cancel\r");
  assert.equal(await terminal.ended, 1);
  assert.match(terminal.screen(), /You left before the page was done with\.\n$/);
});

test(
  "it takes a question off the screen when the server withdraws it",
  { skip },
  async () => {
    const terminal = openTerminal([
      "client.ts",
      "--server",
      "test/peers/withdraws.ts",
      "--tool",
      "any",
    ]);
    await terminal.see(/> /);
    terminal.type("half a li");
    assert.equal(await terminal.ended, 0);
    assert.match(terminal.screen(), /The question was withdrawn\.\ndone\n$/);
  },
);

test("it throws away what was half typed, wherever the cursor is", { skip }, async () => {
  const terminal = openTerminal([
    "client.ts",
    "--server",
    "test/peers/withdraws.ts",
    "--tool",
    "any",
    "--",
    "again",
  ]);
  await terminal.see(/First\?[^]*> /);
  terminal.type("secret\x1b[H"); // and Home
  await terminal.see(/The question was withdrawn\.[^]*Second\?[^]*> /);
  terminal.type("\r");
  assert.equal(await terminal.ended, 0);
  assert.match(terminal.screen(), /\nanswered: \{"action":"accept","content":\{\}\}\n$/);
});

test(
  "it leaves no process behind when the terminal is hung up at a prompt",
  { skip },
  async () => {
    const mark = `hangup-${process.pid}`;
    const terminal = openTerminal(["client.ts", "--server", "server.ts", "--", mark]);
    await terminal.see(/> /);
    terminal.hangUp();
    await terminal.ended;
    const isLeft = () => spawnSync("pgrep", ["-f", `server.ts ${mark}`]).status === 0;
    for (let wait = 0; isLeft() && wait < 50; wait++) await sleep(100);
    assert.equal(isLeft(), false);
  },
);

test(
  "it asks the person for what --answer leaves to a first question",
  { skip },
  async () => {
    const down = "STOOQ_URL=http://127.0.0.1:9";
    const terminal = openTerminal([
      "client.ts",
      "--server",
      "server.ts",
      "--env",
      down,
      "--answer",
      "useSample=y",
    ]);
    await terminal.see(/Which stock ticker[^]*> /);
    terminal.type("nvda\r");
    assert.equal(await terminal.ended, 0);
    assert.match(terminal.screen(), /\nNVDA 177\.19 \(bundled sample/);
  },
);

test(
  "it takes a question off the screen when the server has died of it",
  { skip },
  async () => {
    const terminal = openTerminal([
      "client.ts",
      "--server",
      "test/peers/leaves.ts",
      "--tool",
      "any",
      "--",
      "asked",
      "exit",
      "modern",
    ]);
    assert.equal(await terminal.ended, 3);
    assert.match(terminal.screen(), /The server ended with exit code 9\.\n$/);
  },
);

test("it asks one of two questions at a time that come at once", { skip }, async () => {
  const terminal = openTerminal([
    "client.ts",
    "--server",
    "test/peers/asks-two-at-once.ts",
    "--tool",
    "any",
  ]);
  await terminal.see(/First\?[^]*> /);
  assert.doesNotMatch(terminal.screen(), /Second\?/);
  terminal.type("one\r");
  await terminal.see(/Second\?[^]*> /);
  terminal.type("/decline\r");
  assert.equal(await terminal.ended, 0);
  assert.match(terminal.screen(), /q1 accept one, q2 decline/);
});

test("it lets no byte of a hostile question control the terminal", { skip }, async () => {
  const terminal = openTerminal(
    [
      "client.ts",
      "--server",
      "test/peers/hostile.ts",
      "--tool",
      "any",
      "-v",
      "--",
      "question",
    ],
    { columns: 40 },
  );
  await terminal.see(/\n> /);
  terminal.type("\r");
  await terminal.ended;
  // What is left are the sequences of readline itself, for its own prompt.
  const bytes = terminal.raw().replace(/\x1b\[(1G|0J|3G|\?2004[hl]|2K|[0-9]+G)/g, "");
  assert.doesNotMatch(bytes, /[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e\u200b]/);
  assert.match(bytes, /link/);
});

for (const [moment, peer, pattern] of [
  ["before the probe is answered", "silent", /→ .*server\/discover/],
  ["while a call runs", "slow", /called \d/],
] as const) {
  test(`it ends at Ctrl-C ${moment}, and leaves nothing behind`, { skip }, async () => {
    const mark = `ctrl-c-${peer}-${process.pid}`;
    const args = ["--server", `test/peers/${peer}.ts`, "--tool", "any", "-v", "--", mark];
    const terminal = openTerminal(["client.ts", ...args]);
    await terminal.see(pattern);
    terminal.type("\x03");
    assert.equal(await terminal.ended, 130);
    assert.match(terminal.screen(), /Interrupted\.\n/);
    // What opens a connection is not cancelled; a call is, once.
    const cancels = terminal.screen().match(/→ .*notifications\/cancelled/g)?.length ?? 0;
    assert.equal(cancels, peer === "slow" ? 1 : 0);
    assert.notEqual(spawnSync("pgrep", ["-f", mark]).status, 0);
  });
}
