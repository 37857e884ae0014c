/** The client in a real terminal. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
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
        /server\.ts asks \(it calls itself stock-price-server\):/,
      );
    },
  );

  const ENDS: [string, string, number, RegExp][] = [
    ["declined", "/decline\r", 1, /The user declined the question about the ticker\.\n$/],
    [
      "cancelled",
      "/cancel\r",
      1,
      /The user cancelled the question about the ticker\.\n$/,
    ],
    [
      "cancelled with Ctrl-D",
      "\x04",
      1,
      /The user cancelled the question about the ticker\.\n$/,
    ],
    [
      "cancelled with Ctrl-C",
      "\x03",
      130,
      /The user cancelled the question about the ticker\.\n$/,
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
