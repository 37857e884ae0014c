/**
 * What a person sees beside the result, on stderr: the questions, the trace, the errors, and
 * what is being waited for. One owner decides what stands on the screen at the same time.
 */
import type { Asker, Person, Question } from "./person.ts";
import type { ElicitResult } from "./schema.ts";
import { columnsOf, printable, quote, Status, widthOf, type Paint } from "./text.ts";

/** Our words and a server's: on one line if it fits, else the server's behind the bar. */
export function withWords(own: string, theirs: string): string {
  const width = columnsOf(process.stderr);
  const line = `${own} ${printable(theirs)}`.trim();
  if (!line.includes("\n") && widthOf(line) <= width) return line;
  return `${own || "Error:"}\n${quote([theirs], Math.min(width, 100) - 2)}`;
}

export class Screen {
  readonly paint: Paint;
  /** Called on Ctrl-C at a terminal that asks; an open question has then been cancelled. */
  onInterrupt: (wasAsked: boolean) => void = () => {};
  readonly #status = new Status(process.stderr);
  readonly #closed = new AbortController();
  /** Questions that are open, or wait for their turn. */
  readonly #asked = new Set<Promise<ElicitResult>>();
  #person: Person | undefined;
  #news = "";

  constructor(paint: Paint) {
    this.paint = paint;
  }

  /** Prints a line, above the prompt if one is open. */
  say(line: string): void {
    this.#status.clear();
    if (this.#person) this.#person.print(line);
    else process.stderr.write(`${line}\n`);
  }

  /** Puts a question to the person; the signal, or `close`, withdraws it. */
  async ask(question: Question, asker: Asker, signal?: AbortSignal) {
    const { signal: closed } = this.#closed;
    closed.throwIfAborted();
    this.#status.clear();
    const withdrawn = signal ? AbortSignal.any([signal, closed]) : closed;
    const answer = this.#open().then((one) => one.ask(question, asker, withdrawn));
    this.#asked.add(answer);
    return answer.finally(() => this.#asked.delete(answer));
  }

  /** Loaded with the first question: a call without one never needs it. */
  async #open(): Promise<Person> {
    const { Person } = await import("./person.ts");
    if (!this.#person) {
      this.#person = new Person(process.stdin, process.stderr, this.paint);
      this.#person.onInterrupt = (wasAsked) => this.onInterrupt(wasAsked);
    }
    return this.#person;
  }

  /** Says what is awaited, from the next second on; the returned function ends that. */
  wait(what: string): () => void {
    let begin = performance.now();
    this.#news = "";
    const timer = setInterval(() => {
      // Behind a question it begins anew: then the person is who is waited for.
      if (this.#asked.size > 0) begin = performance.now();
      const seconds = Math.round((performance.now() - begin) / 1000);
      const text = `Waiting for ${what} … ${seconds} s ${this.#news}`;
      if (seconds > 0) this.#status.show(text.trimEnd());
    }, 1000);
    return () => {
      clearInterval(timer);
      this.#status.clear();
    };
  }

  /** How what is awaited gets on, in the server's words. */
  progress(news: string): void {
    this.#news = news;
  }

  /** Takes open questions off the screen, and then the prompt. */
  async close(): Promise<void> {
    this.#closed.abort(new Error("the call has ended"));
    await Promise.allSettled(this.#asked);
    this.#status.clear();
    this.#person?.close();
  }
}
