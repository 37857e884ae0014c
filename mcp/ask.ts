/**
 * The person at the terminal: one question at a time, and three honest ways to answer it.
 * Accept sends what was typed and checked; decline says no; cancel (also Ctrl-D, Ctrl-C)
 * leaves without a choice. Decline and cancel are lines that begin with a slash, so no value
 * can be mistaken for them.
 *
 * Whatever the server wrote stands behind a bar, `│`, and has passed `printable`; what stands
 * at the margin are the client's own words. This file knows forms, not connections.
 */
import * as readline from "node:readline";
import pc from "picocolors";
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

export type Question = {
  /** The command that was started: what the person can trust. */
  from: string;
  /** The name that the server gives itself: what it says. */
  name?: string | undefined;
  message: string;
} & ({ fields: Field[]; given?: Content } | { url: string; again: boolean });

/** Thrown by a prompt that was left, to end the whole question. */
class Left {
  readonly action: "decline" | "cancel";
  constructor(action: "decline" | "cancel") {
    this.action = action;
  }
}

// --- One person, one stream of lines -----------------------------------------------------

export class Person {
  /** Called on Ctrl-C, after an open question has been cancelled. */
  onInterrupt: ((wasAsked: boolean) => void) | undefined;

  readonly #output: NodeJS.WriteStream;
  readonly #lines: readline.Interface;
  readonly #color: ReturnType<typeof pc.createColors>;
  /** Lines typed ahead: they wait for the next prompt. */
  readonly #typed: string[] = [];
  #prompt: { line(text: string): void; leave(): void } | undefined;
  #ended = false;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(input: NodeJS.ReadableStream, output: NodeJS.WriteStream, color = false) {
    this.#output = output;
    this.#color = pc.createColors(color);
    // One reader for the life of the program: a new one would lose what came in between.
    const terminal = output.isTTY === true;
    this.#lines = readline.createInterface({ input, output, terminal, historySize: 0 });
    this.#lines.on("line", (text) =>
      this.#prompt ? this.#prompt.line(text) : this.#typed.push(text),
    );
    this.#lines.on("close", () => ((this.#ended = true), this.#prompt?.leave()));
    this.#lines.on("SIGINT", () => {
      const wasAsked = this.#prompt !== undefined;
      this.#prompt?.leave();
      this.onInterrupt?.(wasAsked);
    });
  }

  close(): void {
    this.#lines.close();
  }

  /**
   * Asks when all earlier questions are done with.
   *
   * @param signal withdraws the question: it leaves the screen and the promise rejects
   * @returns the answer; an accepted form satisfies its schema
   */
  ask(question: Question, signal?: AbortSignal): Promise<ElicitResult> {
    const answer = this.#queue.then(async () => {
      signal?.throwIfAborted();
      try {
        return "url" in question
          ? await this.#askUrl(question, signal)
          : await this.#askForm(question, signal);
      } catch (left) {
        if (left instanceof Left) return { action: left.action };
        this.#say("The server withdrew its question.");
        throw left;
      }
    });
    this.#queue = answer.catch(() => {});
    return answer;
  }

  /** Reads one line; a blank one is "". Takes the commands out: they leave the question. */
  async #read(signal?: AbortSignal): Promise<string> {
    for (;;) {
      const line = await this.#nextLine(signal);
      if (line.trim() === "") return "";
      if (!line.startsWith("/")) return line;
      const command = line.trim();
      if (line.startsWith("//")) return line.slice(1);
      if (command === "/decline") throw new Left("decline");
      if (command === "/cancel") throw new Left("cancel");
      if (command === "/none") return command;
      this.#say(
        "No such command. To enter a value that begins with a slash, write it twice.",
      );
    }
  }

  #nextLine(signal?: AbortSignal): Promise<string> {
    const typed = this.#typed.shift();
    if (typed !== undefined) {
      this.#output.write(`> ${typed}\n`);
      return Promise.resolve(typed);
    }
    if (this.#ended) return Promise.reject(new Left("cancel"));
    return new Promise<string>((resolve, reject) => {
      const withdraw = () => {
        this.#lines.write(null, { ctrl: true, name: "u" }); // half a line is nobody's answer
        this.#output.write("\n");
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", withdraw, { once: true });
      this.#prompt = {
        line: resolve,
        leave: () => (this.#output.write("\n"), reject(new Left("cancel"))),
      };
      this.#lines.setPrompt("> ");
      this.#lines.prompt();
    }).finally(() => (this.#prompt = undefined));
  }

  // --- A form ------------------------------------------------------------------------------

  async #askForm(
    question: Question & { fields: Field[]; given?: Content },
    signal?: AbortSignal,
  ): Promise<ElicitResult> {
    const { fields, given = {} } = question;
    const content: Content = { ...given };
    this.#introduce(question);
    if (fields.length === 0) return this.#confirm(signal);
    const open = fields.filter(({ name }) => !Object.hasOwn(given, name));
    const isWhole = fields.length > 1;
    this.#say(
      isWhole
        ? "Each answer can be changed before they are sent. /decline refuses, /cancel leaves."
        : "Enter sends. /decline refuses, /cancel (or Ctrl-D, Ctrl-C) leaves.",
    );
    for (const field of open) await this.#fill(content, field, signal);
    if (isWhole) await this.#review(content, fields, signal);
    return { action: "accept", content };
  }

  /** Asks for one field until the answer satisfies it, or leaves it out. */
  async #fill(content: Content, field: Field, signal?: AbortSignal): Promise<void> {
    this.#quote(describe(field));
    for (;;) {
      const text = await this.#read(signal);
      delete content[field.name];
      if (text === "/none" || (text === "" && field.default === undefined)) {
        if (!field.required) return;
        this.#say("An answer is required here.");
      } else if (text === "") {
        content[field.name] = field.default as Value;
        return;
      } else {
        const parsed = parseText(field, text);
        if ("value" in parsed) {
          content[field.name] = parsed.value;
          return;
        }
        this.#say(`That ${parsed.reason}.`);
      }
    }
  }

  async #review(content: Content, fields: Field[], signal?: AbortSignal): Promise<void> {
    for (;;) {
      this.#quote(
        fields.map((field, index) => {
          const value = content[field.name];
          const shown = value === undefined ? "(left out)" : showValue(field, value);
          return `${index + 1}) ${inline(field.title)}: ${shown}`;
        }),
      );
      this.#say(
        "Enter sends, a number changes that answer, /decline refuses, /cancel leaves.",
      );
      const text = await this.#read(signal);
      if (text === "") return;
      const field = /^\d+$/.test(text.trim()) ? fields[Number(text) - 1] : undefined;
      if (field) await this.#fill(content, field, signal);
      else this.#say(`That must be a number from 1 to ${fields.length}.`);
    }
  }

  /** A question without fields is a yes or no. */
  async #confirm(signal?: AbortSignal): Promise<ElicitResult> {
    this.#say("y agrees, n (or /decline) refuses, /cancel leaves.");
    for (;;) {
      const text = (await this.#read(signal)).trim();
      if (/^y(es)?$/i.test(text)) return { action: "accept", content: {} };
      if (/^no?$/i.test(text)) return { action: "decline" };
      this.#say("That must be y or n.");
    }
  }

  // --- A URL -------------------------------------------------------------------------------

  async #askUrl(
    question: Question & { url: string; again: boolean },
    signal?: AbortSignal,
  ): Promise<ElicitResult> {
    throw new Error(`not yet: ${question.url} ${signal}`);
  }

  // --- The screen --------------------------------------------------------------------------

  #introduce({ from, name, message }: Question): void {
    const alias = name === undefined ? "" : ` (it calls itself ${inline(name)})`;
    this.#output.write("\n");
    this.#say(this.#color.bold(`${from} asks${alias}:`));
    this.#quote(printable(message).split("\n"));
  }

  /** The client's own words. */
  #say(text: string): void {
    this.#output.write(`${text}\n`);
  }

  /** The server's words, each line behind the bar. */
  #quote(lines: string[]): void {
    const bar = this.#color.cyan("│");
    const width = (this.#output.columns || 80) - 2;
    for (const line of lines.flatMap((line) => wrap(line, width))) {
      this.#output.write(`${bar} ${line}\n`);
    }
  }
}

// --- Fields as text ----------------------------------------------------------------------

function describe(field: Field): string[] {
  const fallback =
    field.default === undefined ? "" : ` [${showValue(field, field.default)}]`;
  const need = field.required ? "required" : "optional";
  return [
    `${inline(field.title)} (${kindOf(field)}, ${need})${fallback}`,
    ...(field.description === undefined ? [] : [inline(field.description)]),
    ...("choices" in field
      ? field.choices.map(({ value, title }, index) => {
          const label =
            title === value ? inline(value) : `${inline(title)} (${inline(value)})`;
          return areNumbered(field.choices) ? `${index + 1}) ${label}` : `- ${label}`;
        })
      : []),
  ];
}

function kindOf(field: Field): string {
  const [low, high] = limits(field);
  const limit = low > (field.kind === "string" ? 0 : -Infinity) || high < Infinity;
  switch (field.kind) {
    case "string":
      return (field.format ?? "text") + (limit ? `, ${range(low, high)} characters` : "");
    case "integer":
      return "whole number" + (limit ? `, ${range(low, high)}` : "");
    case "number":
      return "number" + (limit ? `, ${range(low, high)}` : "");
    case "boolean":
      return "y or n";
    case "choice":
      return "one of these";
    case "choices":
      return `${range(low, high)} of these, with commas`;
  }
}

function showValue(field: Field, value: Value): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  const titleOf = (item: string) =>
    ("choices" in field && field.choices.find((c) => c.value === item)?.title) || item;
  if (Array.isArray(value)) return value.map((item) => inline(titleOf(item))).join(", ");
  return inline(titleOf(String(value)));
}

// --- Text that may reach a screen --------------------------------------------------------

/**
 * Makes text from elsewhere safe to print. What moves the cursor, hides, reorders or pretends
 * to be nothing is written out as `\u001b`; newlines stay, tabs become spaces.
 */
export function printable(text: string): string {
  return text
    .replace(/\r\n/g, "\n")
    .replace(/\t/g, "    ")
    .replace(/[^\P{C}\n]|[\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu, escape)
    .replace(/(\p{M}{4})\p{M}+/gu, "$1"); // a heap of accents covers the lines around it
}

/** The same on one line. */
export function inline(text: string): string {
  return printable(text.replace(/\s+/g, " "));
}

function escape(character: string): string {
  const units = [...character].flatMap((c) => c.split(""));
  return units
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}

/** Breaks a line into pieces of at most `width` columns, at spaces where there are any. */
function wrap(line: string, width: number): string[] {
  const pieces: string[] = [];
  let piece = "";
  let used = 0;
  for (const character of line) {
    const columns = columnsOf(character);
    if (used + columns > width) {
      const space = piece.lastIndexOf(" ");
      const rest = space > 0 ? piece.slice(space + 1) : "";
      pieces.push(space > 0 ? piece.slice(0, space) : piece);
      piece = rest;
      used = [...rest].reduce((sum, c) => sum + columnsOf(c), 0);
    }
    piece += character;
    used += columns;
  }
  return [...pieces, piece];
}

function columnsOf(character: string): number {
  if (/\p{M}/u.test(character)) return 0;
  const isWide =
    /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}]|[\u{20000}-\u{3fffd}]/u;
  return isWide.test(character) ? 2 : 1;
}
