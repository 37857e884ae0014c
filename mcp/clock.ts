/** A clock that stands still while a person is being asked: nobody runs out of time to think. */
import type { Answerer } from "./answer.ts";

export class Clock {
  #asking = 0;
  #stoppedAt = 0;
  #stoodStill = 0;

  /** Milliseconds that have counted. */
  #now(): number {
    return (this.#asking > 0 ? this.#stoppedAt : performance.now()) - this.#stoodStill;
  }

  /** The same answerer; the clock stands still while it is busy. */
  around({ form, url }: Answerer): Answerer {
    return {
      form: (question, signal) => this.#during(form(question, signal)),
      url: url && ((page, signal) => this.#during(url(page, signal))),
    };
  }

  #during<Answer>(asking: Promise<Answer>): Promise<Answer> {
    if (this.#asking++ === 0) this.#stoppedAt = performance.now();
    return asking.finally(() => {
      if (--this.#asking === 0) this.#stoodStill += performance.now() - this.#stoppedAt;
    });
  }

  /** Calls `expire` once `ms` have counted since the last restart, or ten times as many. */
  limit(ms: number, expire: () => void): { stop(): void; restart(): void } {
    const last = this.#now() + 10 * ms;
    let end = this.#now() + ms;
    let timer: NodeJS.Timeout;
    const wait = () => {
      const left = end - this.#now();
      if (left <= 0) expire();
      else timer = setTimeout(wait, Math.max(left, 50));
    };
    wait();
    return {
      stop: () => clearTimeout(timer),
      restart: () => (end = Math.min(this.#now() + ms, last)),
    };
  }
}
