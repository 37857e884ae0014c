/** Text from elsewhere on a screen: what is written out, where rows break, what is coloured. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { WriteStream } from "node:tty";
import {
  columnsOf,
  inline,
  loadPaint,
  PLAIN,
  printable,
  quote,
  widthOf,
  wrap,
} from "../mcp/text.ts";

test("it writes out what moves the cursor, hides or reorders", () => {
  const SHOWN: [string, string][] = [
    ["\u001b[2J", "\\u001b[2J"],
    ["a\rb", "a\\u000db"],
    ["a\r\nb\tc", "a\nb    c"],
    ["\u009b7m\u0007\u007f\u0000", "\\u009b7m\\u0007\\u007f\\u0000"],
    ["\u202egnp.exe", "\\u202egnp.exe"],
    ["a\u200bb\u2028c\ufeff", "a\\u200bb\\u2028c\\ufeff"],
    ["\u{e0041}", "\\udb40\\udc41"],
    ["\ud800", "\\ud800"],
    ["\u3164", "\\u3164"],
    ["o\ufe01k\ufe0f ❤\ufe0f", "o\\ufe01k\\ufe0f ❤\ufe0f"],
    ["e" + "\u0301".repeat(6), "e" + "\u0301".repeat(4) + "\\u0301\\u0301"],
    ["Société Générale — 東京 €🙂", "Société Générale — 東京 €🙂"],
  ];
  for (const [text, shown] of SHOWN) assert.equal(printable(text), shown);
  assert.equal(inline("a\n  b\u001b", 3), "a … (3 more characters)");
});

test("it quotes each row of a text, and breaks rows at spaces", () => {
  assert.equal(quote(["a b\n\nc", ""], 80), "│ a b\n│\n│ c\n│");
  assert.equal(quote(["one two\rthree"], 8), "│ one\n│ two\\u000\n│ dthree");
  assert.equal(
    quote(["a"], 80, (bar) => `<${bar}>`),
    "<│> a",
  );
  assert.deepEqual(wrap("東京の株", 4), ["東京", "の株"]);
  assert.equal(widthOf("e\u0301 東 ⭐"), 7);
});

test("it takes no columns for unknown: 80 of a terminal, no end of a file", () => {
  const stream = (columns: number | undefined, isTTY = true) =>
    ({ columns, isTTY }) as WriteStream;
  assert.equal(columnsOf(stream(40)), 40);
  assert.equal(columnsOf(stream(0)), 80);
  assert.equal(columnsOf(stream(undefined, false)), Infinity);
  assert.deepEqual(wrap("a long text", Infinity), ["a long text"]);
});

test("it colours where the environment and the stream want it", async () => {
  const COLOURED: [Record<string, string>, boolean, boolean][] = [
    [{}, true, true],
    [{}, false, false],
    [{ TERM: "xterm" }, true, true],
    [{ TERM: "dumb" }, true, false],
    [{ NO_COLOR: "1" }, true, false],
    [{ NO_COLOR: "" }, true, true],
    [{ NO_COLOR: "1", FORCE_COLOR: "1" }, true, false],
    [{ FORCE_COLOR: "1" }, false, true],
    [{ FORCE_COLOR: "1", TERM: "dumb" }, false, true],
    [{ FORCE_COLOR: "0" }, true, false],
    [{ FORCE_COLOR: "false" }, true, false],
    [{ FORCE_COLOR: "" }, true, true],
  ];
  for (const [env, isTTY, isColoured] of COLOURED) {
    const { red } = await loadPaint({ isTTY } as WriteStream, env);
    const shown = isColoured ? "\u001b[31mx\u001b[39m" : "x";
    assert.equal(red("x"), shown, JSON.stringify([env, isTTY]));
  }
  assert.equal(await loadPaint({ isTTY: false } as WriteStream, {}), PLAIN);
});
