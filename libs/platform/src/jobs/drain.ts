/** Takes batches of `size` until one is not full: what comes meanwhile is taken with it, or the next time. */
export async function drain(size: number, takeBatch: () => Promise<number>): Promise<void> {
  while ((await takeBatch()) >= size);
}

/**
 * Does `work` for each item. One that fails does not keep the others: all failures are thrown together at the end, as so many
 * `faults` (`subscriptions were not cancelled`).
 */
export async function forEachApart<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  work: (item: Item) => Promise<unknown>,
  faults: string,
): Promise<void> {
  const failures: unknown[] = [];
  for await (const item of items) {
    try {
      await work(item);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} ${faults}`);
}
