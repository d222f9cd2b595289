/** When a server that ended by itself is started again: after longer and longer pauses, and not for ever. */

export const MOST_RESTARTS = 5;
const FIRST_PAUSE = 500;
const HEALTHY = 3 * 60_000;

export class Restarts {
  #made = 0;
  #started = 0;

  constructor(private readonly now: () => number = Date.now) {}

  /** A server was started. */
  started(): void {
    this.#started = this.now();
  }

  /** The pause before the next start in milliseconds, or undefined to give up. One that ran for long has earned a clean record. */
  next(): number | undefined {
    if (this.#started > 0 && this.now() - this.#started >= HEALTHY) {
      this.#made = 0;
    }
    if (this.#made >= MOST_RESTARTS) {
      return undefined;
    }
    this.#made += 1;
    return FIRST_PAUSE * 2 ** (this.#made - 1);
  }

  /** The user asked for a start: begin to count anew. */
  forget(): void {
    this.#made = 0;
  }
}
