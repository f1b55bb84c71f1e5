/** Items in sets of `size`, the last one smaller. */
export function inSets<Item>(items: readonly Item[], size: number): Item[][] {
  const starts = Array.from({ length: Math.ceil(items.length / size) }, (_, n) => n * size);
  return starts.map((start) => items.slice(start, start + size));
}
