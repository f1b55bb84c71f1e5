/** Letters that CaseFolding.txt does not fold by converting to upper and then to lower case. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ['\u0130', '\u0130'], // İ and ı belong to i and I in Turkish alone
  ['\u0131', '\u0131'],
  ['\u1fd3', '\u0390'],
  ['\u1fe3', '\u03b0'],
  ['\ufb05', '\ufb06'],
]);
/** Its capitals came first, so they are what it folds to. */
const CHEROKEE = /\p{Script=Cherokee}/u;

/**
 * Folds text for comparison: Unicode's simple case folding (Unicode §5.18, CaseFolding.txt, status C and S), character
 * by character. So ς and σ are one letter, ẞ and ß too, ß is not ss, accents count, and nothing depends on the
 * neighbours or the language. `audience.folded` is the same in SQL.
 */
export function folded(text: string): string {
  let result = '';
  for (const character of text) result += foldedCharacter(character);
  return result;
}

function foldedCharacter(character: string): string {
  const exception = EXCEPTIONS.get(character);
  if (exception !== undefined) return exception;
  const upper = oneOr(character.toUpperCase(), character);
  return CHEROKEE.test(character) ? upper : oneOr(upper.toLowerCase(), upper);
}

/** A mapping to several characters, such as ß to SS, is not simple: the character stays. */
function oneOr(mapped: string, character: string): string {
  const length = (mapped.codePointAt(0) ?? 0) > 0xffff ? 2 : 1;
  return mapped.length === length ? mapped : character;
}
