/**
 * What a person sees beside the result, on stderr: the questions, the trace, the errors, and
 * what is being waited for. One owner decides what stands on the screen at the same time.
 */
import type { Asker, Person, Question } from "./person.ts";
import type { ElicitResult } from "./schema.ts";
import { columnsOf, inline, wrap, type Paint } from "./text.ts";

/** To the margin, and away with the row. */
const ERASE = "\r\x1b[K";

export class Screen {
  readonly paint: Paint;
  /** Called on Ctrl-C at a prompt; its question has then been cancelled. */
  onInterrupt: (wasAsked: boolean) => void = () => {};
  readonly #closed = new AbortController();
  #person: Person | undefined;
  #news = "";
  #isDrawn = false;

  constructor(paint: Paint) {
    this.paint = paint;
  }

  /** Prints a line, above the prompt if one is open. */
  say(line: string): void {
    this.#erase();
    if (this.#person) this.#person.print(line);
    else process.stderr.write(`${line}\n`);
  }

  async ask(
    question: Question,
    asker: Asker,
    signal?: AbortSignal,
  ): Promise<ElicitResult> {
    // Loaded with the first question: a call without one never needs it.
    const { Person } = await import("./person.ts");
    this.#erase();
    if (!this.#person) {
      this.#person = new Person(process.stdin, process.stderr, this.paint);
      this.#person.onInterrupt = (wasAsked) => this.onInterrupt(wasAsked);
    }
    const signals = [signal, this.#closed.signal].filter((one) => one !== undefined);
    return this.#person.ask(question, asker, AbortSignal.any(signals));
  }

  /** Says what is awaited, from the next second on; the returned function ends that. */
  wait(what: string): () => void {
    const begin = performance.now();
    const timer = setInterval(() => {
      if (this.#person?.isAsking) return;
      const seconds = Math.round((performance.now() - begin) / 1000);
      this.#draw(`Waiting for ${what} … ${seconds} s ${this.#news}`);
    }, 1000);
    return () => {
      clearInterval(timer);
      this.#erase();
      this.#news = "";
    };
  }

  /** How what is awaited gets on, in the server's words. */
  progress(news: string): void {
    this.#news = news;
  }

  /** Takes open questions off the screen. */
  close(): void {
    this.#closed.abort(new Error("the call has ended"));
    this.#erase();
    this.#person?.close();
  }

  /** One row, cut to the width: of two, one would stay. Nothing without a terminal. */
  #draw(text: string): void {
    if (!process.stderr.isTTY || process.env["TERM"] === "dumb") return;
    const [row = ""] = wrap(inline(text), columnsOf(process.stderr) - 1);
    process.stderr.write(`${ERASE}${row}`);
    this.#isDrawn = true;
  }

  #erase(): void {
    if (this.#isDrawn) process.stderr.write(ERASE);
    this.#isDrawn = false;
  }
}
