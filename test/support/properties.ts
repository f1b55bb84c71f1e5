import * as fc from 'fast-check';

export * from 'fast-check';

/** The full run (`npm run test:full`) draws anew and more; the everyday one draws the same things each time. */
const IS_FULL = process.env['FULL'] !== undefined;
/** The global set-up draws and prints the one of the full run; `PROPERTY_SEED=…` draws the same things again. */
const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_122);
const TIMES_IN_FULL = 20;
/** What a property may take of the full run, where it says nothing else; the everyday one is bounded by runs alone. */
const PROPERTY_MS = 5_000;

fc.configureGlobal({
  seed: SEED,
  numRuns: runs(100),
  ...(IS_FULL ? { interruptAfterTimeLimit: PROPERTY_MS, markInterruptAsFailure: false } : {}),
});

/** For `numRuns`: as many as given, and many more in the full run. */
export function runs(everyday: number): number {
  return IS_FULL ? everyday * TIMES_IN_FULL : everyday;
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
