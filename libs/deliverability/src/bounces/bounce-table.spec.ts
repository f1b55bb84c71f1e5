import { describe, expect, it } from '@jest/globals';
import { BOUNCE_TABLE, RULES_OVER_CODES } from './bounce-table.js';
import { classifyRefusal, type Refusal } from './refusal.js';
import * as reportWords from './report-words.js';

/** Maximum number of times that a pattern may look again from one place of a text. */
const MOST_STEPS = 20_000;

/** The bounds of all repetitions of one alternative, multiplied; without a bound there is no end. */
function stepsPerPlace({ source }: RegExp): number {
  const withoutClasses = source.replaceAll(/\[(?:\\.|[^\]])*\]/g, 'x').replaceAll(/\\./g, 'x');
  const steps = withoutClasses.split('|').map((alternative) => {
    if (/[*+]|\{\d+,\}/.test(alternative)) return Number.POSITIVE_INFINITY;
    const bounds = [...alternative.matchAll(/\{\d+,(\d+)\}/g)].map(([, most]) => Number(most) + 1);
    return bounds.reduce((product, most) => product * most, 1);
  });
  return Math.max(...steps);
}

function refusalOf(line: string): Refusal {
  const [, code, enhancedCode, text = ''] = /^(\d{3}) (?:(\d\.\d+\.\d+) )?(.*)$/.exec(line) ?? [];
  return { code: Number(code), enhancedCode: enhancedCode ?? null, text };
}

describe('the bounce table', () => {
  it.each(BOUNCE_TABLE)('reads "$sample" as $class', (rule) => {
    const refusal = refusalOf(rule.sample);
    expect(classifyRefusal(refusal)).toBe(rule.class);
    // The sample is of this very row.
    expect(rule.enhanced?.test(refusal.enhancedCode ?? '') ?? true).toBe(true);
    expect(rule.text?.test(refusal.text) ?? true).toBe(true);
    expect(rule.basic?.test(String(refusal.code)) ?? true).toBe(true);
  });

  it('has a sample for each row', () => {
    expect(new Set(BOUNCE_TABLE.map(({ sample }) => sample)).size).toBe(BOUNCE_TABLE.length);
  });

  it('never takes a temporary refusal for a dead address', () => {
    for (const { sample } of BOUNCE_TABLE) {
      const { enhancedCode, text } = refusalOf(sample);
      const temporary = enhancedCode?.replace(/^5/, '4') ?? null;
      expect(classifyRefusal({ code: 450, enhancedCode: temporary, text })).not.toBe('hard');
      expect(classifyRefusal({ code: 0, enhancedCode: null, text })).not.toBe('hard');
    }
  });

  it('beats a code by words only where these are of no dead address', () => {
    expect(RULES_OVER_CODES.map((rule) => rule.class)).not.toContain('hard');
  });

  it.each(BOUNCE_TABLE.flatMap(({ sample, text }) => (text === undefined ? [] : { sample, text })))(
    'asks of a text at most its length times some when it looks for "$sample"',
    ({ text }) => {
      expect(stepsPerPlace(text)).toBeLessThanOrEqual(MOST_STEPS);
    },
  );

  it.each(Object.entries(reportWords))('asks as little of the text of a report for %s', (_, pattern) => {
    expect(stepsPerPlace(pattern)).toBeLessThanOrEqual(MOST_STEPS);
  });

  it('does not look beyond the first 2 000 characters', () => {
    const filler = '. '.repeat(1_000);
    expect(classifyRefusal({ code: 550, enhancedCode: null, text: `${filler}user unknown` })).toBe('unknown');
  });
});
