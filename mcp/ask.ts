/**
 * The person at the terminal: one question at a time, and three honest ways to answer it.
 * Accept sends what was typed and checked, decline says no, cancel (also Ctrl-D, Ctrl-C)
 * leaves without a choice. Decline and cancel are lines that begin with a slash, so no value
 * can be mistaken for them.
 *
 * Whatever a server wrote stands behind a bar, `│`, and has passed `printable`; at the margin
 * stand the client's own words. This file knows questions, not connections.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation
 */
import * as readline from "node:readline";
import {
  areNumbered,
  limits,
  parseText,
  range,
  type Content,
  type Field,
  type Value,
} from "./form.ts";
import type { ElicitResult } from "./schema.ts";

/** A form to fill in, or a URL to agree to; the second time only to say that it is done. */
export type Question = { message: string } & (
  { fields: Field[]; given?: Content } | { url: URL; again: boolean }
);

/** Who asks: the command that was started, and the name that the server gives itself. */
export type Asker = { command: string; name?: string | undefined };

const LEAVE = "/decline refuses, /cancel or Ctrl-D leaves.";
const MAX_MESSAGE = 10_000;

export type Paint = Record<
  "bold" | "red" | "cyan" | "yellow" | "dim",
  (text: string) => string
>;
export const PLAIN: Paint = {
  bold: String,
  red: String,
  cyan: String,
  yellow: String,
  dim: String,
};

/** Colours, or none; what makes them is loaded only where they are seen. */
export async function loadPaint(isColored: boolean): Promise<Paint> {
  return isColored ? (await import("picocolors")).default.createColors(true) : PLAIN;
}

/** Thrown by a prompt that was left, to end the whole question. */
class Left {
  readonly action: "decline" | "cancel";
  constructor(action: "decline" | "cancel") {
    this.action = action;
  }
}

// --- One person, one stream of lines -----------------------------------------------------

export class Person {
  /** Called on Ctrl-C; an open question has then been cancelled. */
  onInterrupt: ((wasAsked: boolean) => void) | undefined;

  readonly #output: NodeJS.WriteStream;
  readonly #lines: readline.Interface;
  readonly #paint: Paint;
  /** Lines typed ahead wait here for the next prompt. */
  readonly #typed: string[] = [];
  #prompt: { line(text: string): void; leave(): void } | undefined;
  #hasLeft = false;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(
    input: NodeJS.ReadableStream,
    output: NodeJS.WriteStream,
    paint: Paint = PLAIN,
  ) {
    this.#output = output;
    this.#paint = paint;
    // One reader for the life of the program: a new one would lose what came in between.
    const terminal = output.isTTY === true;
    forgiveHangup(input);
    this.#lines = readline.createInterface({ input, output, terminal, historySize: 0 });
    this.#lines.on("line", (text) => {
      const prompt = this.#prompt;
      this.#prompt = undefined; // the next line of a paste is for the next prompt
      if (prompt) prompt.line(text);
      else this.#typed.push(text);
    });
    this.#lines.on("SIGINT", () => {
      const wasAsked = this.#prompt !== undefined;
      this.#leave();
      this.onInterrupt?.(wasAsked);
    });
    this.#lines.on("close", () => this.#leave());
  }

  /** Whether the input has ended, or Ctrl-C was pressed: nothing is asked any more. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  close(): void {
    this.#lines.close();
  }

  /** Prints a line, above the prompt if one is open. */
  print(line: string): void {
    if (this.#prompt && this.#output.isTTY) {
      readline.cursorTo(this.#output, 0);
      readline.clearLine(this.#output, 0);
    }
    this.#output.write(`${line}\n`);
    if (this.#prompt) this.#lines.prompt(true);
  }

  /**
   * Asks when all earlier questions are done with.
   *
   * @param signal withdraws the question: it leaves the screen, and the promise rejects
   * @returns the answer; an accepted form satisfies its schema
   */
  ask(question: Question, asker: Asker, signal?: AbortSignal): Promise<ElicitResult> {
    const answer = this.#queue.then(async (): Promise<ElicitResult> => {
      signal?.throwIfAborted();
      if (this.#hasLeft) return { action: "cancel" }; // and nothing more is shown
      try {
        // An Enter too many is no answer to a question that was not there yet.
        while (this.#typed[0]?.trim() === "") this.#typed.shift();
        const again = "url" in question && question.again;
        if (!again) this.#introduce(question, asker);
        if ("url" in question) {
          return await this.#askUrl(question.url, question.again, signal);
        }
        return await this.#askForm(question.fields, question.given ?? {}, signal);
      } catch (left) {
        if (left instanceof Left) return { action: left.action };
        throw left;
      }
    });
    this.#queue = answer.catch(() => {});
    return answer;
  }

  /** Leaves the open question, and all that are still to come. */
  #leave(): void {
    this.#hasLeft = true;
    this.#prompt?.leave();
    this.#prompt = undefined;
  }

  /** Reads a line; a blank one is "", and `undefined` the command to leave a field out. */
  async #read(signal?: AbortSignal): Promise<string | undefined> {
    for (;;) {
      const line = await this.#readLine(signal);
      const command = line.trim();
      if (command === "") return "";
      if (!line.startsWith("/")) return line;
      if (line.startsWith("//")) return line.slice(1);
      if (command === "/none") return undefined;
      if (command === "/decline") throw new Left("decline");
      if (command === "/cancel") throw new Left("cancel");
      this.#say(
        "That is no command. A value that begins with a slash is typed with two.",
      );
    }
  }

  #readLine(signal?: AbortSignal): Promise<string> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const typed = this.#typed.shift();
    if (typed !== undefined) {
      this.#say(`> ${printable(typed)}`);
      return Promise.resolve(typed);
    }
    return new Promise<string>((resolve, reject) => {
      if (this.#hasLeft) return reject(new Left("cancel"));
      const withdraw = () => {
        this.#prompt = undefined;
        // What is half typed answers no other question.
        for (const name of this.#lines.terminal ? ["e", "u"] : []) {
          this.#lines.write(null, { ctrl: true, name }); // to the end, and delete all before
        }
        this.#say("\nThe question was withdrawn.");
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", withdraw, { once: true });
      const close = () => signal?.removeEventListener("abort", withdraw);
      this.#prompt = {
        line: (text) => (close(), resolve(text)),
        leave: () => (close(), this.#say(""), reject(new Left("cancel"))),
      };
      this.#lines.setPrompt("> ");
      this.#lines.prompt();
    });
  }

  // --- A form ------------------------------------------------------------------------------

  async #askForm(
    fields: Field[],
    given: Content,
    signal?: AbortSignal,
  ): Promise<ElicitResult> {
    const content: Content = { ...given };
    const open = fields.filter(({ name }) => !Object.hasOwn(given, name));
    const [only] = fields;
    if (!only) return this.#agree(signal);
    if (fields.length === 1) {
      // One line is its own review: it is sent with Enter.
      await this.#fill(content, only, `Enter sends. ${LEAVE}`, signal);
    } else {
      this.#say(`Nothing is sent before you have seen it all. ${LEAVE}`);
      for (const field of open) await this.#fill(content, field, undefined, signal);
      await this.#review(content, fields, signal);
    }
    return { action: "accept", content };
  }

  /** Asks for one field until the answer satisfies it, or leaves it out. */
  async #fill(content: Content, field: Field, hint?: string, signal?: AbortSignal) {
    this.#quote(["", ...describe(field, this.#width)]);
    if (hint !== undefined) this.#say(hint);
    for (;;) {
      const text = await this.#read(signal);
      const parsed =
        text === undefined
          ? leaveOut(field)
          : text === ""
            ? onEnter(field)
            : parseText(field, text);
      if ("value" in parsed) {
        if (parsed.value === undefined) delete content[field.name];
        else content[field.name] = parsed.value;
        return;
      }
      this.#say(`That ${parsed.reason}.`);
    }
  }

  async #review(content: Content, fields: Field[], signal?: AbortSignal): Promise<void> {
    for (;;) {
      this.#quote([
        "",
        ...fields.map((field, index) => {
          const { name } = field;
          const value = Object.hasOwn(content, name) ? content[name] : undefined;
          const shown = value === undefined ? "(left out)" : showValue(field, value);
          return `${index + 1}) ${inline(field.title)}: ${shown}`;
        }),
      ]);
      this.#say(`Enter sends, a number changes that answer. ${LEAVE}`);
      const text = await this.#read(signal);
      if (text === "") return;
      const field = fields[Number(text ?? NaN) - 1];
      // Enter keeps what is there.
      const has = field && Object.hasOwn(content, field.name);
      const keep = has ? { ...field, default: content[field.name] } : field;
      if (keep) await this.#fill(content, keep, undefined, signal);
      else this.#say(`That must be a number from 1 to ${fields.length}, or Enter.`);
    }
  }

  /** What has nothing to fill in is a yes or no. */
  async #agree(signal?: AbortSignal): Promise<ElicitResult> {
    this.#say(`y agrees. n or ${LEAVE}`);
    for (;;) {
      const text = (await this.#read(signal))?.trim() ?? "";
      if (/^y(es)?$/i.test(text)) return { action: "accept", content: {} };
      if (/^no?$/i.test(text)) return { action: "decline" };
      this.#say("That must be y or n.");
    }
  }

  // --- A URL -------------------------------------------------------------------------------

  async #askUrl(url: URL, again: boolean, signal?: AbortSignal): Promise<ElicitResult> {
    if (again) {
      this.#say(
        `The server waits until you are done at ${url.host}. Enter goes on. ${LEAVE}`,
      );
      for (;;) if ((await this.#read(signal)) === "") return { action: "accept" };
    }
    // On a line of its own and not broken, so that it can be copied.
    this.#output.write(`  ${url.href}\n`);
    this.#say(`Host: ${url.host}`, this.#paint.bold);
    for (const warning of warnings(url)) {
      this.#say(`Beware: ${warning}`, this.#paint.yellow);
    }
    this.#say("It is not opened for you: copy it into your browser, if you trust it.");
    const { action } = await this.#agree(signal);
    return { action };
  }

  // --- The screen --------------------------------------------------------------------------

  get #width(): number {
    return Math.max((this.#output.columns || 80) - 3, 20);
  }

  /** Only what the person started stands at the margin; the name is the server's word. */
  #introduce({ message }: Question, { command, name }: Asker): void {
    this.#say("");
    this.#say(`${shorten(inline(command), 120)} asks:`, this.#paint.bold);
    if (name !== undefined) this.#quote([`${shorten(inline(name), 60)}:`]);
    this.#quote([shorten(message, MAX_MESSAGE)]);
  }

  /** The client's own words. */
  #say(text: string, paint = (row: string) => row): void {
    for (const row of wrap(text, this.#width)) this.#output.write(`${paint(row)}\n`);
  }

  /** The server's words. */
  #quote(lines: string[]): void {
    const quoted = quote(lines, this.#width, this.#paint.cyan);
    this.#output.write(`${quoted}\n`);
  }
}

/** Each row of the screen behind the bar, so that no text from elsewhere begins a row. */
export function quote(
  lines: string[],
  width: number,
  paint = (bar: string) => bar,
): string {
  const rows = lines.flatMap((text) =>
    printable(text)
      .split("\n")
      .flatMap((line) => wrap(line, width)),
  );
  return rows.map((row) => (row === "" ? paint("│") : `${paint("│")} ${row}`)).join("\n");
}

/** A terminal that was hung up can't leave raw mode; readline would throw where nobody catches. */
function forgiveHangup(
  input: NodeJS.ReadableStream & { setRawMode?: (mode: boolean) => unknown },
) {
  const { setRawMode } = input;
  if (!setRawMode) return;
  input.setRawMode = (mode) => {
    try {
      setRawMode.call(input, mode);
    } catch {
      // There is no terminal any more.
    }
    return input;
  };
}

function onEnter(field: Field): { value: Value | undefined } | { reason: string } {
  if (field.default !== undefined || !field.required) return { value: field.default };
  return { reason: "needs an answer" };
}

function leaveOut(field: Field): { value: Value | undefined } | { reason: string } {
  if (!field.required) return { value: undefined };
  return field.kind === "choices" ? parseText(field, "") : { reason: "needs an answer" };
}

function warnings({ protocol, hostname, username }: URL): string[] {
  const isPlain =
    protocol !== "https:" && !["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  return [
    ...(isPlain ? ["it is not encrypted (http)."] : []),
    ...(/(^|\.)xn--/.test(hostname) ? ["its host is not spelled in plain letters."] : []),
    ...(username ? ["what stands before the @ is not the host."] : []),
  ];
}

// --- Fields as text ----------------------------------------------------------------------

function describe(field: Field, width: number): string[] {
  const { title, description, required } = field;
  const optional =
    field.default === undefined ? "optional" : "optional, /none leaves it out";
  const fallback =
    field.default === undefined ? "" : ` [${showValue(field, field.default)}]`;
  return [
    `${inline(title)} (${kindOf(field)}, ${required ? "required" : optional})${fallback}`,
    ...(description === undefined ? [] : [inline(description, 1000)]),
    ...("choices" in field ? listChoices(field, width) : []),
  ];
}

/** One choice a line, or in columns if there are many and they fit. */
function listChoices({ choices }: Field & { kind: "choice" | "choices" }, width: number) {
  const isNumbered = areNumbered(choices);
  const labels = choices.map(({ value, title }, index) => {
    const label = title === value ? inline(value) : `${inline(title)} (${inline(value)})`;
    return isNumbered ? `${index + 1}) ${label}` : `- ${label}`;
  });
  const widest = labels.reduce((most, label) => Math.max(most, widthOf(label)), 0) + 2;
  const columns = labels.length <= 10 ? 1 : Math.max(Math.floor(width / widest), 1);
  const rows = Math.ceil(labels.length / columns);
  return labels.slice(0, rows).map((_, row) =>
    Array.from({ length: columns }, (_, column) => labels[column * rows + row] ?? "")
      .map((label) => label + " ".repeat(Math.max(widest - widthOf(label), 0)))
      .join("")
      .trimEnd(),
  );
}

function kindOf(field: Field): string {
  const [low, high] = limits(field);
  const isLimited = low > -Infinity || high < Infinity;
  const limit = isLimited ? `, ${range(low, high)}` : "";
  switch (field.kind) {
    case "string":
      return (field.format ?? "text") + (limit && `${limit} characters`);
    case "integer":
      return `whole number${limit}`;
    case "number":
      return `number${limit}`;
    case "boolean":
      return "y or n";
    case "choice":
      return "one of these";
    case "choices":
      return `${range(low, high)} of these, with commas between`;
  }
}

function showValue(field: Field, value: Value): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  const choices = "choices" in field ? field.choices : [];
  const show = (item: string) =>
    choices.find((choice) => choice.value === item)?.title ?? item;
  const items = Array.isArray(value) ? value : [String(value)];
  return items.map((item) => inline(show(item))).join(", ") || "empty";
}

// --- Text that may reach a screen --------------------------------------------------------

/**
 * Makes text from elsewhere safe to print. What moves the cursor, hides, reorders or looks
 * like nothing is written out, as in `\u001b`; newlines stay, tabs become spaces.
 */
export function printable(text: string): string {
  return text
    .replace(/\r\n/g, "\n")
    .replace(/\t/g, "    ")
    .replace(HIDDEN, writeOut)
    .replace(/(?<=\p{M}{4})\p{M}/gu, writeOut); // a heap of accents covers the rows around it
}

/** Controls, formats, unassigned; separators; fillers and joiners that show as nothing. */
const HIDDEN =
  /[^\P{C}\n]|[\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u{e0100}-\u{e01ef}]/gu;

/** The same, on one line, and cut where it is no longer to be read. */
export function inline(text: string, length = 200): string {
  return printable(shorten(text, length).replace(/\s+/g, " "));
}

function writeOut(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) =>
    character.charCodeAt(at),
  );
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, length)}… (${text.length - length} more characters)`;
}

/** Breaks a line into rows of at most `width` columns, at a space where there is one. */
function wrap(line: string, width: number): string[] {
  const rows: string[] = [];
  let row = "";
  let used = 0;
  for (const character of line) {
    const columns = widthOf(character);
    if (used + columns > width) {
      const space = row.lastIndexOf(" ");
      rows.push(space > 0 ? row.slice(0, space) : row);
      row = space > 0 ? row.slice(space + 1) : "";
      used = widthOf(row);
    }
    row += character;
    used += columns;
  }
  return [...rows, row];
}

/** Scripts and signs of one column. What is not among them is taken for wide, to be safe. */
const NARROW =
  /[\u0000-\u10ff\u1160-\u1aff\u1d00-\u2027\u2030-\u20ff\u2190-\u22ff\u2500-\u259f\ua4d0-\ua95f\ua980-\uabff\ufb00-\ufdff\ufe70-\ufeff\uff61-\uffdc]/;

/** How many columns a text takes at most: none for an accent, two for most of East Asia. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) {
    width += /[\p{Mn}\p{Me}]/u.test(character) ? 0 : NARROW.test(character) ? 1 : 2;
  }
  return width;
}
