interface Waiting<Item, Result> extends Pick<PromiseWithResolvers<Result>, 'resolve' | 'reject'> {
  readonly item: Item;
}

/**
 * Does work on the items of a key one set after the other: what comes meanwhile waits and is the next set, in the order of arrival.
 * `work` returns a result for each item; when it fails, it fails for all of the set.
 */
export class Gathered<Key, Item, Result> {
  /** The items that wait, of each key with work under way. */
  readonly #waiting = new Map<Key, Waiting<Item, Result>[]>();

  constructor(
    private readonly work: (key: Key, items: readonly Item[]) => Promise<readonly Result[]>,
    private readonly most = Number.POSITIVE_INFINITY,
  ) {}

  add(key: Key, item: Item): Promise<Result> {
    const { promise, ...settle } = Promise.withResolvers<Result>();
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) {
      this.#waiting.set(key, []);
      void this.#doAll(key, [{ item, ...settle }]);
    } else waiting.push({ item, ...settle });
    return promise;
  }

  async #doAll(key: Key, first: readonly Waiting<Item, Result>[]): Promise<void> {
    let set = first;
    while (set.length > 0) {
      await this.#do(key, set);
      set = this.#waiting.get(key)?.splice(0, this.most) ?? [];
    }
    this.#waiting.delete(key);
  }

  async #do(key: Key, set: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const items = set.map(({ item }) => item);
      const results = await this.work(key, items);
      for (const [index, { resolve }] of set.entries()) resolve(results[index]!);
    } catch (error) {
      for (const { reject } of set) reject(error);
    }
  }
}
