import {
  isPluralElement,
  isPoundElement,
  isSelectElement,
  isTagElement,
  type MessageFormatElement,
  parse,
} from '@formatjs/icu-messageformat-parser';
import { type ShippedLocale, type WordingKey, catalogueOf } from './catalogue.js';

const PLURAL_CATEGORIES = ['zero', 'one', 'two', 'few', 'many', 'other'];

/**
 * What is wrong with `message` as a text for `key` in `locale`, null when nothing is: that it is no ICU MessageFormat, misses
 * a placeholder of the English one or has one more, or lacks a plural form that the language has.
 */
export function messageFaults(key: WordingKey, message: string, locale: ShippedLocale): string | null {
  const elements = parsed(message);
  if (elements === null) return 'must be an ICU message: check its braces';
  const wanted = placeholdersOf(parsed(catalogueOf('en')[key]) ?? []);
  const given = placeholdersOf(elements);
  const missing = [...wanted].filter((name) => !given.has(name));
  if (missing.length > 0) return `must contain ${missing.map((name) => `{${name}}`).join(', ')}`;
  const unknown = [...given].filter((name) => !wanted.has(name));
  if (unknown.length > 0)
    return `must not contain ${unknown.map((name) => `{${name}}`).join(', ')}: unknown placeholder`;
  const forms = missingForms(elements, locale);
  return forms.length > 0 ? `must have the plural forms ${forms.join(', ')}` : null;
}

function parsed(message: string): MessageFormatElement[] | null {
  try {
    return parse(message, { requiresOtherClause: true });
  } catch {
    return null;
  }
}

function placeholdersOf(elements: readonly MessageFormatElement[]): Set<string> {
  return new Set(
    elements.flatMap((element) => [
      ...nameOf(element),
      ...childrenOf(element).flatMap((child) => [...placeholdersOf(child)]),
    ]),
  );
}

/** Literal texts and `#` have none. */
function nameOf(element: MessageFormatElement): readonly string[] {
  if (element.type === 0 || isPoundElement(element)) return [];
  return isTagElement(element) ? [`<${element.value}>`] : [element.value];
}

function childrenOf(element: MessageFormatElement): readonly (readonly MessageFormatElement[])[] {
  if (isTagElement(element)) return [element.children];
  if (!isPluralElement(element) && !isSelectElement(element)) return [];
  return Object.values(element.options).map(({ value }) => value);
}

/** The categories of `Intl.PluralRules` that a plural does not have. */
function missingForms(elements: readonly MessageFormatElement[], locale: ShippedLocale): readonly string[] {
  return elements.flatMap((element) => {
    const below = childrenOf(element).flatMap((child) => missingForms(child, locale));
    if (!isPluralElement(element)) return below;
    const type = element.pluralType;
    const { pluralCategories } = new Intl.PluralRules(
      locale,
      type === undefined ? {} : { type },
    ).resolvedOptions();
    const needed = PLURAL_CATEGORIES.filter((form) => (pluralCategories as string[]).includes(form));
    return [...needed.filter((form) => !(form in element.options)), ...below];
  });
}
