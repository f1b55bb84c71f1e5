/** Turns that the event loop makes while `work` is under way: none of those who wait is kept from it for longer than one. */
export async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let next = setImmediate(count);
  function count(): void {
    turns += 1;
    next = setImmediate(count);
  }
  try {
    await work;
  } finally {
    clearImmediate(next);
  }
  return turns;
}
