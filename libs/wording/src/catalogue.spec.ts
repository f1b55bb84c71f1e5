import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { SHIPPED_LOCALES } from '#kernel';
import { projectRoot } from '#platform';
import { catalogueOf, wordingKeys } from './catalogue.js';
import { messageFaults } from './message-faults.js';

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
