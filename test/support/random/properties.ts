import * as fc from 'fast-check';

export * from 'fast-check';

/** The full run (`npm run test:full`) draws anew and more; the everyday one draws the same things each time. */
const IS_FULL = process.env['FULL'] !== undefined;
/** The global set-up draws and prints the one of the full run; `PROPERTY_SEED=…` draws the same things again. */
const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_122);
const TIMES_IN_FULL = Number(process.env['PROPERTY_TIMES'] ?? 5);
/** Time limit of a property in the full run, where it says nothing else; the everyday one is bounded by runs alone. */
const PROPERTY_MS = 500 * TIMES_IN_FULL;

fc.configureGlobal({
  seed: SEED,
  numRuns: runs(100),
  ...(IS_FULL ? { interruptAfterTimeLimit: PROPERTY_MS, markInterruptAsFailure: false } : {}),
});

/** For `numRuns`: as many as given, and many more in the full run. */
export function runs(everyday: number): number {
  return IS_FULL ? everyday * TIMES_IN_FULL : everyday;
}

const SURROGATES_FROM = 0xd800;
const SURROGATES = 0x800;

/** Unit of strings: any code point but surrogates. fast-check's `binary` draws the same, from a map of them all that takes 185 MB. */
export const codePoint = fc
  .nat({ max: 0x10ffff - SURROGATES })
  .map(
    (place) => String.fromCodePoint(place < SURROGATES_FROM ? place : place + SURROGATES),
    placeOfCodePoint,
  );

function placeOfCodePoint(text: unknown): number {
  const [character = '', ...more] = String(text);
  const code = character.codePointAt(0);
  if (code === undefined || more.length > 0) throw new Error('It is not one code point.');
  return code < SURROGATES_FROM ? code : code - SURROGATES;
}

/** fast-check's own, which also waits for the run that was under way when the time was up: it uses what a test closes. */
export function assert<Values>(
  property: fc.IAsyncProperty<Values>,
  params?: fc.Parameters<Values>,
): Promise<void>;
export function assert<Values>(property: fc.IProperty<Values>, params?: fc.Parameters<Values>): void;
export function assert<Values>(
  property: fc.IRawProperty<Values>,
  params?: fc.Parameters<Values>,
): Promise<void> | void {
  let last: unknown;
  const run = property.run.bind(property);
  property.run = (value) => {
    const result = run(value);
    last = result;
    return result;
  };
  return fc.assert(property, params)?.finally(() => last);
}
