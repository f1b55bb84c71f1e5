import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { projectRoot } from '#platform';
import { authorsNames } from './merge-engine.js';
import { compileMergeTemplate } from './merge-template.js';
import { KNOWN_VARIABLES, SAMPLE_VALUES } from './merge-values.js';
import { trialFault } from './merge-review.js';

const page = readFileSync(join(projectRoot(), 'docs/content.md'), 'utf8');

/** The cells of the page's table that begins with this head. */
function table(head: string): string[][] {
  const [, rest = ''] = page.split(`\n| ${head} |`);
  const lines = rest.split('\n').slice(2);
  return lines
    .slice(
      0,
      lines.findIndex((line) => !line.startsWith('|')),
    )
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim().replaceAll('\\|', '|')));
}

const codesIn = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? '');

/** As the page says: a reader in German, in Berlin. */
const VALUES = {
  ...SAMPLE_VALUES,
  custom: {
    points: 1234.5,
    plan: 'pro',
    tags: ['b', 'a', 'b'],
    born: '1990-05-17',
    until: '2026-11-26T23:30:00Z',
    note: 'One\nTwo',
  },
  reader: { locale: 'de', timeZone: 'Europe/Berlin', now: '2026-11-26T12:00:00Z' },
};

describe('docs/content.md', () => {
  it('names the values that there are, and no others', () => {
    const named = table('Value | What it is').flatMap(([name]) => codesIn(name));
    expect(named.toSorted()).toEqual([...KNOWN_VARIABLES, 'custom.<key>', 'event.…'].toSorted());
  });

  it('names the tags that there are, and no others', () => {
    const named = table('Tag | What it does').flatMap(([name]) => codesIn(name));
    expect(named.toSorted()).toEqual(authorsNames().tags.toSorted());
  });

  it('names the filters that there are, and no others', () => {
    const named = table('Filter | Example | Result').flatMap(([name]) => codesIn(name));
    expect(named.toSorted()).toEqual(authorsNames().filters.toSorted());
  });

  it.each(table('Tag | What it does').map(([name = '', what = '']) => [codesIn(name)[0] ?? '', what]))(
    'has an example of the tag %s that can be filled in',
    (name, what) => {
      const example = codesIn(what).at(-1) ?? '';
      expect(example).toMatch(new RegExp(`\\{%-? ${name}\\b|\\{% #`));
      expect(trialFault(compileMergeTemplate(example, 'html'))).toBeNull();
    },
  );

  it.each(
    table('Filter | Example | Result').map(([name, example, result]) => [name, example, result] as const),
  )('tells what becomes of %s: %s', (name, example, result) => {
    const examples = codesIn(example);
    for (const each of examples) expect(each).toMatch(new RegExp(`\\| ${codesIn(name)[0] ?? ''}\\b`));
    const shown = examples.map((each) => compileMergeTemplate(each, 'none').render(VALUES)).join(', ');
    expect(shown.replaceAll('\n', '⏎').replaceAll('\u00a0', ' ')).toBe(result);
  });
});
