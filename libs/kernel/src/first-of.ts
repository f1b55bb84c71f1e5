/** Resolves with the first of some that never reject, or after `waitMs`. */
export async function firstOf(promises: Iterable<Promise<void>>, waitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const wait = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, waitMs);
  });
  await Promise.race([...promises, wait]);
  clearTimeout(timer);
}
