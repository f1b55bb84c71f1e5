import { Clock } from '#kernel';

/** The machine's own time, in UTC. */
export class SystemClock extends Clock {
  override now(): Date {
    return new Date();
  }
}

/** A clock that stands still until a test moves it. */
export class ManualClock extends Clock {
  #now: Date;

  constructor(start: Date) {
    super();
    this.#now = start;
  }

  override now(): Date {
    return new Date(this.#now);
  }

  /** Moves forward by `milliseconds`. */
  advance(milliseconds: number): void {
    this.#now = new Date(this.#now.getTime() + milliseconds);
  }
}
