import { expect } from '@jest/globals';
import {
  type FeedbackFormat,
  type FeedbackProof,
  type FeedbackRequest,
  UnreadableFeedbackError,
} from '../../../libs/deliverability/src/relays/kinds/kind.js';
import { damaged } from '../random/damaged-reports.js';
import * as fc from '../random/properties.js';

const RUNS = fc.runs(1_000);
const MAX_ID = 255;
const MAX_EXCERPT = 500;

/** Checks that anything posted to the address, of `samples` or not, is either read, within its bounds, or refused as it should be. */
export async function withstandsAnything(
  format: FeedbackFormat,
  proof: FeedbackProof,
  samples: readonly FeedbackRequest[],
): Promise<void> {
  const bodies = fc.oneof(
    { weight: 6, arbitrary: damaged(samples.map(({ body }) => body)) },
    { weight: 2, arbitrary: changedJson(samples).map((text) => Buffer.from(text)) },
    { weight: 1, arbitrary: fc.json().map((text) => Buffer.from(text)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)) },
  );
  // A changed address leads to no certificate.
  const fetchText = (url: string) => proof.fetchText(url).catch(() => '');
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...samples), bodies, async (sample, body) => {
      const request = { ...sample, body };
      expect(typeof (await format.isGenuine(request, { ...proof, fetchText }))).toBe('boolean');
      expectBounded(format, request);
    }),
    { numRuns: RUNS },
  );
}

/** One of the samples with another value for one of its fields, at any depth, and in the JSON in its texts. */
function changedJson(samples: readonly FeedbackRequest[]): fc.Arbitrary<string> {
  const value = fc.oneof(
    fc.constantFrom(
      '',
      '\u0000',
      '\ud800',
      'x'.repeat(70_000),
      -1,
      Number.MAX_VALUE,
      [],
      {},
      [[]],
      null,
      true,
    ),
    fc.jsonValue({ maxDepth: 2 }),
  );
  return fc
    .tuple(fc.constantFrom(...samples), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), value)
    .map(([{ body }, at, other]) => changed(body.toString(), at, other));
}

function changed(json: string, at: number, other: unknown): string {
  const paths = (text: string): number => {
    let count = 0;
    JSON.parse(text, (_key, each: unknown) => {
      count += isJson(each) ? paths(each) : 1;
      return each;
    });
    return count;
  };
  let left = Math.floor(at * paths(json));
  const change = (text: string): string =>
    JSON.stringify(
      JSON.parse(text, (_key, each: unknown) => {
        if (isJson(each)) return change(each);
        return left-- === 0 ? other : each;
      }),
    );
  return change(json);
}

function isJson(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith('{') && value.endsWith('}');
}

function expectBounded(format: FeedbackFormat, request: FeedbackRequest): void {
  try {
    for (const event of format.read(request).events) {
      for (const id of [event.token, event.providerMessageId, event.address])
        expect(isStorable(id, MAX_ID)).toBe(true);
      if (event.kind !== 'bounce') continue;
      expect(isStorable(event.excerpt, MAX_EXCERPT)).toBe(true);
      expect(event.basicCode === null || (event.basicCode >= 400 && event.basicCode < 600)).toBe(true);
      expect(event.enhancedCode ?? '4.0.0').toMatch(/^[245]\.\d{1,3}\.\d{1,3}$/);
    }
  } catch (error) {
    if (!(error instanceof UnreadableFeedbackError)) throw error;
  }
}

function isStorable(text: string | null, longest: number): boolean {
  return (
    text === null ||
    (text !== '' && text.length <= longest && text.isWellFormed() && !text.includes('\u0000'))
  );
}
