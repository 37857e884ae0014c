/**
 * What a person sees beside the result, on stderr: the questions, the trace, the errors, and
 * what is being waited for. One owner decides what stands on the screen at the same time.
 */
import type { Asker, Person, Question } from "./person.ts";
import type { ElicitResult } from "./schema.ts";
import { Status, type Paint } from "./text.ts";

export class Screen {
  readonly paint: Paint;
  /** Called on Ctrl-C at a prompt; its question has then been cancelled. */
  onInterrupt: (wasAsked: boolean) => void = () => {};
  readonly #status = new Status(process.stderr);
  readonly #closed = new AbortController();
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

  async ask(
    question: Question,
    asker: Asker,
    signal?: AbortSignal,
  ): Promise<ElicitResult> {
    // Loaded with the first question: a call without one never needs it.
    const { Person } = await import("./person.ts");
    this.#status.clear();
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
      this.#status.show(`Waiting for ${what} … ${seconds} s ${this.#news}`);
    }, 1000);
    return () => {
      clearInterval(timer);
      this.#status.clear();
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
    this.#status.clear();
    this.#person?.close();
  }
}
