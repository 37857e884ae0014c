/**
 * What a person sees beside the result, on stderr: the questions, the trace, the errors, and
 * what is being waited for. One owner decides what stands on the screen at the same time.
 */
import type { Asker, Person, Question } from "./person.ts";
import { columnsOf, inline, printable, quote, shorten, widthOf, wrap } from "./text.ts";
import type { Paint } from "./text.ts";

/** Our words and a server's: on one line if it fits, else the server's behind the bar. */
export function withWords(own: string, theirs: string): string {
  const width = columnsOf(process.stderr);
  const line = `${own} ${printable(shorten(theirs, 1e6))}`.trim();
  if (!line.includes("\n") && widthOf(line) <= width) return line;
  return `${own || "Error:"}\n${quote([theirs], Math.min(width, 100) - 2)}`;
}

export class Screen {
  readonly paint: Paint;
  /** Called on Ctrl-C at a terminal that asks; an open question has then been cancelled. */
  onInterrupt: (wasAsked: boolean) => void = () => {};
  readonly #closed = new AbortController();
  #asked = 0; // questions that are open, or wait for their turn
  #loaded: Promise<typeof import("./person.ts")> | undefined;
  #person: Person | undefined;
  #news = "";
  #status = "";

  constructor(paint: Paint) {
    this.paint = paint;
  }

  /** Prints a line, above the prompt if one is open. */
  say(line: string): void {
    this.#show("");
    if (this.#person) this.#person.print(line);
    else process.stderr.write(`${line}\n`);
  }

  /** Puts a question to the person; the signal, or `close`, withdraws it. */
  async ask(question: Question, asker: Asker, signal = this.#closed.signal) {
    // Not before, as a call without a question never needs it; once, to keep their order.
    this.#loaded ??= import("./person.ts");
    const { Person } = await this.#loaded;
    this.#closed.signal.throwIfAborted();
    if (this.#asked === 100) throw new Error("too many questions are open");
    this.#show("");
    this.#person ??= new Person(process.stdin, process.stderr, this.paint);
    this.#person.onInterrupt = this.onInterrupt;
    const withdrawn = AbortSignal.any([signal, this.#closed.signal]);
    this.#asked++;
    return this.#person.ask(question, asker, withdrawn).finally(() => this.#asked--);
  }

  /** Says what is awaited, from the next second on; the returned function ends that. */
  wait(what: string): () => void {
    this.#news = "";
    let seconds = 0;
    const timer = setInterval(() => {
      // During a question the person is who is waited for.
      seconds = this.#asked > 0 ? 0 : seconds + 1;
      if (seconds > 0) this.#show(`Waiting for ${what} … ${seconds} s ${this.#news}`);
    }, 1000);
    return () => {
      clearInterval(timer);
      this.#show("");
    };
  }

  /** How what is awaited gets on, in the server's words. */
  progress(news: string): void {
    this.#news = news;
  }

  /** Shows one row that comes and goes, cut to the width; "" takes it off. */
  #show(status: string): void {
    const { stderr, env } = process;
    if (!stderr.isTTY || env["TERM"] === "dumb" || status === this.#status) return;
    const [row, ...more] = wrap(inline(status), columnsOf(stderr) - 2);
    stderr.write(`\r\x1b[K${row}${more.length > 0 ? "…" : ""}`);
    this.#status = status;
  }

  /** Takes open questions off the screen, and then the prompt. */
  async close(): Promise<void> {
    this.#closed.abort(new Error("the call has ended"));
    await this.#person?.close();
  }
}
