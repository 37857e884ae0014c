/**
 * Text from elsewhere, made safe and fitted to a screen. Whatever a peer wrote passes `quote`
 * on its way to a person, or at least `printable`: questions, errors, the server's stderr.
 */
import type { WriteStream } from "node:tty";

/**
 * Makes text from elsewhere safe to print. What moves the cursor, hides, reorders or looks
 * like nothing is written out, as in `\u001b`; newlines stay, tabs become spaces.
 */
export function printable(text: string): string {
  const plain = text.replace(/\r\n/g, "\n").replace(/\t/g, "    ");
  // A heap of accents would cover the rows around it.
  return plain.replace(HIDDEN, writeOut).replace(/(?<=\p{M}{4})\p{M}/gu, writeOut);
}

/** Controls, formats, unassigned; separators; fillers, joiners and variants that show as nothing. */
const HIDDEN =
  /[^\P{C}\n]|[\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\u{e0100}-\u{e01ef}]|(?<!\p{Extended_Pictographic})[\ufe0e\ufe0f]/gu;

function writeOut(character: string): string {
  const units = character.split("").map((unit) => unit.charCodeAt(0).toString(16));
  return units.map((unit) => `\\u${unit.padStart(4, "0")}`).join("");
}

/** The same on one line, cut where nobody reads on. */
export function inline(text: string, length = 200): string {
  return printable(shorten(text, length).replace(/\s+/g, " "));
}

export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, length)}… (${text.length - length} more characters)`;
}

/** How many columns a stream has: 80 where a terminal says 0, no end where it is a file. */
export function columnsOf({ columns, isTTY }: WriteStream) {
  return columns || (isTTY ? 80 : Infinity);
}

/** Each row of the screen behind the bar, so that no text from elsewhere begins a row. */
export function quote(lines: string[], width: number, paint = PLAIN.cyan): string {
  const rows = lines.flatMap((text) => printable(shorten(text, 1e6)).split("\n"));
  const wrapped = rows.flatMap((row) => wrap(row, width));
  return wrapped.map((row) => `${paint("│")} ${row}`.trimEnd()).join("\n");
}

/** Breaks a line into rows of at most `width` columns, at a space where there is one. */
export function wrap(line: string, width: number): string[] {
  const rows: string[] = [];
  let row = "";
  let room = width;
  for (const character of line) {
    room -= widthOf(character);
    if (room < 0) {
      const space = row.lastIndexOf(" ");
      rows.push(space > 0 ? row.slice(0, space) : row);
      row = space > 0 ? row.slice(space + 1) : "";
      room = width - widthOf(row + character);
    }
    row += character;
  }
  return [...rows, row];
}

/** Scripts and signs of one column. What is not among them is taken for wide, to be safe. */
const NARROW =
  /[\u0000-\u10ff\u1160-\u1aff\u1d00-\u2027\u2030-\u20ff\u2190-\u22ff\u2500-\u259f\ua4d0-\ua95f\ua980-\uabff\ufb00-\ufdff\ufe70-\ufeff\uff61-\uffdc]/g;

/** How many columns a text takes at most: none for an accent, two for most of East Asia. */
export function widthOf(text: string): number {
  const shown = text.replace(/[\p{Mn}\p{Me}]/gu, "");
  return [...shown].length * 2 - (shown.match(NARROW)?.length ?? 0);
}

const same = (text: string) => text;
export const PLAIN = { bold: same, red: same, cyan: same, yellow: same, dim: same };
export type Paint = typeof PLAIN;

/** Colours for this very stream, or none; what makes them is loaded only where they are seen. */
export async function loadPaint({ isTTY }: WriteStream, env: NodeJS.ProcessEnv) {
  const { NO_COLOR, FORCE_COLOR, TERM } = env;
  const isForced = FORCE_COLOR ? !/^(0|false)$/.test(FORCE_COLOR) : undefined;
  const isColored = !NO_COLOR && (isForced ?? (isTTY && TERM !== "dumb"));
  return isColored ? (await import("picocolors")).default.createColors(true) : PLAIN;
}
