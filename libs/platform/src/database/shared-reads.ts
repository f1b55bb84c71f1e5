interface Read {
  readonly underWay: Promise<unknown>;
  /** The same once more, for who has come meanwhile. */
  next: Promise<unknown> | undefined;
}

/**
 * Spares the server to read the same again and again for those who ask at the same time: a client that repeats a slow
 * request, or all copies of a program that refresh one list. Who comes while the same is under way takes part in one
 * read that begins when that has ended, and so sees all that was written before it asked.
 */
export class SharedReads {
  readonly #reads = new Map<string, Read>();

  /** `key` tells what is read, and by whom it may be seen. What comes is not to be changed: others may have it, too. */
  run<Result>(key: string, read: () => Promise<Result>): Promise<Result> {
    const same = this.#reads.get(key);
    if (same === undefined) return this.#begin(key, read);
    const begin = () => this.#begin(key, read);
    same.next ??= same.underWay.then(begin, begin);
    return same.next as Promise<Result>;
  }

  #begin<Result>(key: string, read: () => Promise<Result>): Promise<Result> {
    const one: Read & { underWay: Promise<Result> } = { underWay: read(), next: undefined };
    this.#reads.set(key, one);
    const forget = () => {
      if (one.next === undefined) this.#reads.delete(key);
    };
    one.underWay.then(forget, forget);
    return one.underWay;
  }
}
