import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { SHIPPED_LOCALES } from '#kernel';
import { projectRoot } from '#platform';
import { messageFaults } from './message-faults.js';
import { catalogueOf, Wording, wordingKeys } from './wording.js';

const fileOf = (locale: string) => join(projectRoot(), 'locales', `${locale}.json`);

/** Names in the sources: whole ones, and those of templates such as `report.most.${interval}`. */
function namesIn(source: string): readonly RegExp[] {
  const names = source.matchAll(/'([\w.]+)'|`((?:[\w.]|\$\{\w+\})*[A-Za-z]{2}(?:[\w.]|\$\{\w+\})*)`/g);
  return [...names].map(([, whole, template = '']) => {
    const parts = (whole ?? template).split(/\$\{\w+\}/).map((part) => part.replaceAll('.', '\\.'));
    return new RegExp(`^${parts.join('[\\w.]+')}$`);
  });
}

describe('Every message', () => {
  it('is said somewhere', () => {
    const files = globSync('{apps,libs}/*/src/**/*.ts', {
      cwd: projectRoot(),
      exclude: (file) => file.endsWith('.spec.ts'),
    });
    const sources = files.map((file) => readFileSync(join(projectRoot(), file), 'utf8'));
    const sayers = sources.filter((source) => /#wording|page-view\.js/.test(source));
    const names = sayers.flatMap(namesIn);
    expect(wordingKeys().filter((key) => !names.some((name) => name.test(key)))).toEqual([]);
  });
});

describe.each(SHIPPED_LOCALES)('The messages in %s', (locale) => {
  const catalogue = catalogueOf(locale);

  it('are those of English, in its order, none of them twice', () => {
    expect(Object.keys(catalogue)).toEqual(wordingKeys());
    const keys = [...readFileSync(fileOf(locale), 'utf8').matchAll(/^ {2}"([^"]+)":/gm)];
    expect(keys.map(([, key]) => key)).toEqual(wordingKeys());
  });

  it('have the same placeholders, and the plural forms of the language', () => {
    const faults = wordingKeys().map((key) => [key, messageFaults(key, catalogue[key], locale)]);
    expect(faults.filter(([, fault]) => fault !== null)).toEqual([]);
  });

  it('say something each, without white space at their ends or the apostrophe that ICU takes for a quote', () => {
    expect(
      wordingKeys().filter((key) => !/^\S[^'"]*$/.test(catalogue[key]) || /\s$/.test(catalogue[key])),
    ).toEqual([]);
  });
});

describe('Wording', () => {
  it('puts values into the messages of a language, unescaped, and follows its plurals', () => {
    const wording = new Wording('en');
    expect(wording.text('optIn.subject', { project: '<Tea & Co>' })).toBe(
      'Please confirm your subscription to <Tea & Co>',
    );
    expect(wording.text('optIn.expiry', { hours: 1 })).toBe('The link works for 1 hour.');
    expect(wording.text('optIn.expiry', { hours: 48 })).toBe('The link works for 48 hours.');
  });

  it('takes a message apart where objects stand', () => {
    const project = { html: '<b>Tea</b>' };
    expect(new Wording('en').parts('optIn.subject', { project })).toEqual([
      'Please confirm your subscription to ',
      project,
    ]);
  });

  it("says a project's own texts in place of ours", () => {
    const wording = new Wording('en', { 'optIn.subject': 'One more step, {project}' });
    expect(wording.text('optIn.subject', { project: 'Tea' })).toBe('One more step, Tea');
  });
});

describe('A text for a message', () => {
  it.each([
    ['Only {project}', 'en', null],
    ['Hello', 'en', 'must contain {project}'],
    ['{project} {name}', 'en', 'must not contain {name}: unknown placeholder'],
    ['{project', 'en', 'must be an ICU message: check its braces'],
    ['<b>{project}</b>', 'en', 'must not contain {<b>}: unknown placeholder'],
    ...['number', 'date', 'time', 'plural, one {x} other {y}', 'select, other {y}'].map(
      (format) =>
        [
          `{project, ${format}}`,
          'en',
          'must not format {project} in another way than our text does',
        ] as const,
    ),
  ] as const)('%j: %s', (message, locale, fault) => {
    expect(messageFaults('optIn.subject', message, locale)).toBe(fault);
  });

  it('needs the plural forms of its language', () => {
    const message = '{hours, plural, one {# Stunde} other {# Stunden}}';
    expect(messageFaults('optIn.expiry', message, 'en')).toBeNull();
    expect(messageFaults('optIn.expiry', message, 'pl')).toBe('must have the plural forms few, many');
  });

  it('is one that can be written, whatever its numbers', () => {
    const message = (format: string) => `{hours, plural, one {1 hour} other {{hours, number, ${format}} h}}`;
    expect(messageFaults('optIn.expiry', message('integer'), 'en')).toBeNull();
    expect(messageFaults('optIn.expiry', '{hours} h', 'en')).toBeNull();
    for (const format of ['::currency/XX', `::.${'0'.repeat(200)}`])
      expect(messageFaults('optIn.expiry', message(format), 'en')).not.toBeNull();
  });
});
