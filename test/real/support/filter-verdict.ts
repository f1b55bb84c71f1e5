/** Verdict of a spam filter on a mail. */
export interface FilterVerdict {
  readonly score: number;
  /** The rules that it met, with what each adds. */
  readonly symbols: ReadonlyMap<string, number>;
}

/** The rules that speak against the mail. */
export function costs({ symbols }: FilterVerdict): string[] {
  return [...symbols]
    .filter(([, points]) => points > 0)
    .map(([name]) => name)
    .toSorted();
}
