import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SHIPPED_LOCALES } from '#kernel';
import { projectRoot } from '#platform';
import type english from '../../../locales/en.json';

/** The messages of a language by key: ICU MessageFormat, as in locales/en.json, which says which keys there are. */
export type Catalogue = Readonly<Record<WordingKey, string>>;
export type WordingKey = keyof typeof english;
export type ShippedLocale = (typeof SHIPPED_LOCALES)[number];

const catalogues = new Map<ShippedLocale, Catalogue>();

/** What locales/<locale>.json says. It is read once a process. */
export function catalogueOf(locale: ShippedLocale): Catalogue {
  const known = catalogues.get(locale);
  if (known !== undefined) return known;
  const file = join(projectRoot(), 'locales', `${locale}.json`);
  const catalogue = JSON.parse(readFileSync(file, 'utf8')) as Catalogue;
  catalogues.set(locale, catalogue);
  return catalogue;
}

/** All keys, in the order of locales/en.json. */
export const wordingKeys = (): readonly WordingKey[] => Object.keys(catalogueOf('en')) as WordingKey[];
