/** The candidate that is most similar to `word`; null when none is similar. */
export function nearest<Candidate extends string>(
  word: string,
  candidates: readonly Candidate[],
): Candidate | null {
  let best: { readonly candidate: Candidate; readonly typos: number } | null = null;
  for (const candidate of candidates) {
    const typos = editDistance(word, candidate);
    if (best === null || typos < best.typos) best = { candidate, typos };
  }
  return best !== null && best.typos <= Math.ceil(best.candidate.length / 2) ? best.candidate : null;
}

/** The Levenshtein distance. */
function editDistance(from: string, to: string): number {
  const wantedLetters = Array.from(to);
  let previous = Array.from({ length: wantedLetters.length + 1 }, (_, index) => index);
  for (const [row, letter] of Array.from(from).entries()) {
    const current = [row + 1];
    for (const [column, wanted] of wantedLetters.entries()) {
      const replaced = (previous[column] ?? 0) + (letter === wanted ? 0 : 1);
      current.push(Math.min(replaced, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous.at(-1) ?? 0;
}
