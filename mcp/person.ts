/**
 * The person at the terminal: one question at a time, and three honest ways to answer it.
 * Accept sends what was typed and checked, decline says no, cancel leaves without a choice;
 * both are lines with a slash before them, so no value can be mistaken for them. Whatever a
 * server wrote stands behind a bar, `│`; at the margin stand the client's own words.
 */
import * as readline from "node:readline";
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import type { ReadStream, WriteStream } from "node:tty";
import { describe, expected, parseText, showValue, type Parsed } from "./field.ts";
import type { Content, Field, Value } from "./form.ts";
import type { ElicitResult } from "./schema.ts";
import { columnsOf, inline, PLAIN, printable, quote, shorten, wrap } from "./text.ts";

/** A form to fill in, or a URL to agree to; the second time only to say that it is done. */
export type Question = { message: string } & (
  { fields: Field[]; given?: Content } | { url: URL; again: boolean }
);

/** Who asks: the command that was started, and the name that the server gives itself. */
export type Asker = { command: string; name?: string | undefined };

const WAYS = "/decline refuses, /cancel or Ctrl-D leaves";
const LEAVE = `${WAYS}, /help tells more.`;
const SLASH = "A value that begins with a slash is typed with two.";
const HELP = `${WAYS}, /none leaves out what is optional. ${SLASH}`;

const isSaid = (line: string) => line.trim() !== ""; // an Enter too many is no answer

/** Thrown by a prompt that was left, to end the whole question. */
const DECLINED: ElicitResult = { action: "decline" };
const CANCELLED: ElicitResult = { action: "cancel" };

export class Person {
  /** Called on Ctrl-C; an open question has then been cancelled. */
  onInterrupt: ((wasAsked: boolean) => void) | undefined;
  readonly #output: WriteStream;
  readonly #lines: readline.Interface;
  readonly #paint: typeof PLAIN;
  readonly #restMs: number;
  #typed: string[] = []; // lines typed ahead wait here for the next prompt
  #heard = 0; // chunks of input so far
  #prompt: { resolve(line: string): void; reject(reason: unknown): void } | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #hasLeft = false; // by the end of input or Ctrl-C: nothing is asked any more
  #signal: AbortSignal | undefined; // withdraws the question whose turn it is

  /** @param restMs how long a consent is shown, and the keys rest, before it can be given */
  constructor(input: ReadStream, output: WriteStream, paint = PLAIN, restMs = 500) {
    this.#output = output;
    this.#paint = paint;
    this.#restMs = restMs;
    // One reader for the life of the program: a new one would lose what came in between.
    this.#lines = readline.createInterface({ input, output, historySize: 0, prompt: "" });
    this.#lines.on("line", (line) => {
      const prompt = this.#end(); // the next line of a paste is for the next prompt
      if (prompt) prompt.resolve(line);
      else this.#typed.push(line);
    });
    this.#lines.on("SIGINT", () => this.onInterrupt?.(this.#leave()));
    this.#lines.on("SIGTSTP", () => {
      input.setRawMode(false);
      // The whole job, with npx and tsx: the shell waits until all of it has stopped.
      process.kill(0, "SIGTSTP");
      // Here again after `fg`; or at once, where no shell could take over.
      input.setRawMode(true);
      this.#lines.prompt(true);
    });
    this.#lines.on("close", () => this.#leave());
    this.#lines.on("error", () => this.#leave()); // no terminal any more, as after a hang-up
    input.on("data", () => this.#heard++);
  }

  /** Gives the terminal back, when what is asked has been withdrawn. */
  async close(): Promise<void> {
    await this.#queue;
    this.#lines.close();
  }

  /** Prints a line, above the prompt if one is open. */
  print(line: string): void {
    this.#write(`${line}\n`);
    if (this.#prompt) this.#draw();
  }

  /**
   * Asks when all earlier questions are done with. An accepted form satisfies its schema. The
   * signal takes the question off the screen, and the promise then rejects.
   */
  ask(question: Question, asker: Asker, signal?: AbortSignal): Promise<ElicitResult> {
    const withdraw = () => {
      this.#lift(false); // what is half typed answers no other question
      this.#end()?.reject(signal?.reason);
    };
    const answer = this.#queue.then(async (): Promise<ElicitResult> => {
      await this.#settle(50);
      this.#typed = this.#typed.filter(isSaid);
      signal?.throwIfAborted();
      if (this.#hasLeft) return CANCELLED; // and nothing more is shown
      this.#signal = signal;
      signal?.addEventListener("abort", withdraw);
      try {
        return await this.#askNow(question, asker);
      } catch (error) {
        const left = [DECLINED, CANCELLED].find((one) => one === error);
        if (left) return left;
        this.#say("The question was withdrawn.");
        throw error;
      } finally {
        signal?.removeEventListener("abort", withdraw);
      }
    });
    this.#queue = answer.catch(() => {});
    return answer;
  }

  /** Leaves the open question, and all that are still to come. */
  #leave(): boolean {
    this.#hasLeft = true;
    const prompt = this.#end();
    if (prompt) this.#output.write("\n");
    prompt?.reject(CANCELLED);
    return prompt !== undefined;
  }

  // --- What was typed before a question --------------------------------------------------

  /** Waits until no key comes: a terminal keeps what was typed, and a paste comes in pieces. */
  async #settle(ms: number): Promise<void> {
    for (let heard = -1; heard !== this.#heard && !this.#hasLeft;) {
      heard = this.#heard;
      await sleep(ms);
      await turn(); // a timer that is late runs before the input that waits
    }
  }

  /** Nobody agrees to what was not on the screen, or not long enough to be read. */
  async #forget(): Promise<void> {
    await this.#settle(this.#restMs);
    const count = this.#typed.filter(isSaid).length + (this.#lines.line === "" ? 0 : 1);
    this.#typed = [];
    this.#lift(false);
    if (count === 1) this.#say("A line typed before the question was dropped.");
    if (count > 1) this.#say(`${count} lines typed before the question were dropped.`);
  }

  // --- A question ------------------------------------------------------------------------

  async #askNow(question: Question, { command, name }: Asker): Promise<ElicitResult> {
    const again = "url" in question && question.again;
    if (!again) {
      // Only what the person started stands at the margin; the name is the server's word.
      this.#say("");
      this.#say(`${inline(command, 120)} asks:`, this.#paint.bold);
      if (name !== undefined) this.#quote([`${inline(name, 60)}:`]);
      this.#quote([shorten(question.message, 10_000)]);
    }
    if ("fields" in question) return this.#askForm(question.fields, question.given);
    const { url } = question;
    if (again) this.#say(`The server waits until you are done at ${url.host}.`);
    await (again ? this.#agree("Enter", "goes on") : this.#askUrl(url));
    return { action: "accept" };
  }

  async #askForm(fields: Field[], given: Content = {}): Promise<ElicitResult> {
    const content = new Map(Object.entries(given));
    if (fields.length === 0) await this.#agree();
    const isReviewed = fields.length > 1; // one line is its own review
    if (isReviewed) this.#say(`Nothing is sent before you have seen it all. ${LEAVE}`);
    for (const field of fields.filter(({ name }) => !content.has(name))) {
      await this.#fill(content, field, isReviewed ? "" : `Enter sends. ${LEAVE}`);
    }
    if (isReviewed) await this.#review(content, fields);
    return { action: "accept", content: Object.fromEntries(content) };
  }

  async #fill(content: Map<string, Value>, field: Field, hint = ""): Promise<void> {
    const show = () => {
      this.#quote(["", ...describe(field)]);
      if (hint !== "") this.#say(hint);
    };
    const parse = (text?: string): Parsed<Value | undefined> => {
      if (text) return parseText(field, text);
      if (text === "" && field.default !== undefined) return { value: field.default };
      if (!field.required) return { value: undefined };
      if (text === "" || field.kind !== "choices") return { reason: "needs an answer" };
      return parseText(field, ""); // none of the choices can be an answer
    };
    show();
    // A choice can be a yes or no by other names.
    const isConsent = field.kind === "boolean" || "choices" in field;
    if (isConsent && hint !== "") await this.#forget();
    const value = await this.#read(show, parse, `Expected: ${expected(field)}. `);
    if (value === undefined) content.delete(field.name);
    else content.set(field.name, value);
  }

  /** Shows what is about to be sent; each time, only what is typed then agrees to it. */
  async #review(content: Map<string, Value>, fields: Field[]): Promise<void> {
    const show = () => {
      const rows = fields.map((field, index) => {
        const value = content.get(field.name);
        const shown = value === undefined ? "(left out)" : showValue(field, value);
        return `${index + 1}) ${inline(field.title)}: ${shown}`;
      });
      this.#quote(["", ...rows]);
      this.#say(`Enter sends, a number changes that answer. ${LEAVE}`);
    };
    const reason = `must be a number from 1 to ${fields.length}, or Enter`;
    for (;;) {
      show();
      await this.#forget();
      const field = await this.#read<Field | undefined>(show, (text) => {
        const value = fields[Number(text ?? NaN) - 1];
        return text === "" || value ? { value } : { reason };
      });
      if (!field) return;
      const kept = content.get(field.name) ?? field.default; // by Enter
      await this.#fill(content, { ...field, default: kept });
    }
  }

  /** What has nothing to fill in is a yes or no. */
  async #agree(key = "y", does = "agrees"): Promise<void> {
    const show = () => this.#say(`${key} ${does}. n or ${LEAVE}`);
    show();
    await this.#forget();
    return this.#read(show, (text = "/none") => {
      if (/^no?$/i.test(text.trim())) throw DECLINED;
      const isMeant = key === "y" ? /^y(es)?$/i.test(text.trim()) : text === "";
      return isMeant ? { value: undefined } : { reason: `must be ${key} or n` };
    });
  }

  #askUrl(url: URL): Promise<void> {
    // On a line of its own and not broken, so that it can be copied.
    this.#write(`  ${url.href}\n`);
    this.#say(`Host: ${url.host}`, this.#paint.bold);
    const beware = (text: string) => this.#say(`Beware: ${text}`, this.#paint.yellow);
    const isLocal = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
    if (url.protocol !== "https:" && !isLocal) beware("it is not encrypted (http).");
    if (/(^|\.)xn--/.test(url.host)) beware("its host is not spelled in plain letters.");
    this.#say("It is not opened for you: copy it into your browser, if you trust it.");
    return this.#agree();
  }

  // --- A prompt, and rows of the screen --------------------------------------------------

  /**
   * Reads until there is an answer; `/help` shows again what is asked. `parse` gets "" for a
   * blank line, and nothing for the command to leave a field out.
   */
  async #read<T>(show: () => void, parse: (text?: string) => Parsed<T>, help = "") {
    for (;;) {
      const line = await this.#readLine();
      const command = /^\/(?!\/)/.test(line) ? line.trim() : "";
      if (command === "/decline") throw DECLINED;
      if (command === "/cancel") throw CANCELLED;
      if (command === "" || command === "/none") {
        const text = line.trim() === "" ? "" : line.replace(/^\/\//, "/");
        const parsed = parse(command === "" ? text : undefined);
        if ("value" in parsed) return parsed.value;
        this.#say(`That ${parsed.reason}.`);
      } else {
        if (command === "/help") show();
        this.#say(command === "/help" ? help + HELP : `That is no command. ${SLASH}`);
      }
    }
  }

  async #readLine(): Promise<string> {
    this.#signal?.throwIfAborted();
    const typed = this.#typed.shift();
    if (typed !== undefined) {
      this.#say(`> ${printable(typed)}`);
      return typed;
    }
    if (this.#hasLeft) throw CANCELLED;
    return new Promise<string>((resolve, reject) => {
      this.#prompt = { resolve, reject };
      this.#draw();
    });
  }

  #draw(): void {
    this.#lines.setPrompt("> ");
    this.#lines.prompt(true);
  }

  #end() {
    const prompt = this.#prompt;
    this.#prompt = undefined;
    this.#lines.setPrompt("");
    return prompt;
  }

  get #width(): number {
    return Math.max(columnsOf(this.#output) - 3, 20);
  }

  /** The client's own words. */
  #say(text: string, paint = (row: string) => row): void {
    for (const row of wrap(text, this.#width)) this.#write(`${paint(row)}\n`);
  }

  /** The server's words. */
  #quote(lines: string[]): void {
    this.#write(`${quote(lines, this.#width, this.#paint.cyan)}\n`);
  }

  #write(text: string): void {
    this.#lift();
    this.#output.write(text);
  }

  /** Takes the prompt off the screen, and what is half typed; `#draw` puts back what is kept. */
  #lift(isKept = true): void {
    const { line, cursor } = this.#lines;
    if (this.#hasLeft || (line === "" && !this.#prompt)) return;
    Object.assign(this.#lines, { line: "", cursor: 0 });
    this.#lines.setPrompt("");
    this.#lines.prompt();
    if (isKept) Object.assign(this.#lines, { line, cursor });
  }
}
