import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

const KEPT_CHARACTERS = 8_000_000;

/** Results that are the same whenever the same is asked; who asks meanwhile waits for the same. */
export class KeptResults {
  readonly #done = new LRUCache<string, { readonly json: string }>({
    maxSize: KEPT_CHARACTERS,
    sizeCalculation: ({ json }) => json.length + 1,
  });
  readonly #running = new Map<string, Promise<unknown>>();

  /** `isLasting` says of a result whether it is to be kept. `key` is any value that names all that the result depends on. */
  async of<Result>(
    key: unknown,
    make: () => Promise<Result>,
    isLasting: (result: Result) => boolean,
  ): Promise<Result> {
    const name = hashOf(key);
    const kept = this.#done.get(name);
    if (kept !== undefined) return JSON.parse(kept.json) as Result;
    const running = this.#running.get(name);
    if (running !== undefined) return (await running) as Result;
    const making = make().finally(() => this.#running.delete(name));
    this.#running.set(name, making);
    const result = await making;
    if (isLasting(result)) this.#done.set(name, { json: JSON.stringify(result) });
    return result;
  }
}

export const hashOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64');
