import {
  isArgumentElement,
  isPluralElement,
  isPoundElement,
  isSelectElement,
  isTagElement,
  type MessageFormatElement,
  parse,
  TYPE,
} from '@formatjs/icu-messageformat-parser';
import { IntlMessageFormat } from 'intl-messageformat';
import { catalogueOf, type ShippedLocale, type WordingKey } from './wording.js';

/** Values for which a message is written once, to see that it can be: they take each plural form of each language. */
const TRIED_NUMBERS = [0, 1, 2, 3, 5, 11, 20, 100, 1_000_000];
const PLURAL_CATEGORIES = ['zero', 'one', 'two', 'few', 'many', 'other'];

/**
 * Fault of `message` as the text for `key` in `locale`, null without one: no ICU MessageFormat, other placeholders than in the
 * English text or formatted in another way, a missing plural form of the language, or a format that does not exist.
 */
export function messageFaults(key: WordingKey, message: string, locale: ShippedLocale): string | null {
  const elements = parsed(message);
  if (elements === null) return 'must be an ICU message: check its braces';
  const english = parsed(catalogueOf('en')[key]) ?? [];
  const wanted = placeholdersOf(english);
  const given = placeholdersOf(elements);
  const missing = [...wanted].filter((name) => !given.has(name));
  if (missing.length > 0) return `must contain ${missing.map((name) => `{${name}}`).join(', ')}`;
  const unknown = [...given].filter((name) => !wanted.has(name));
  if (unknown.length > 0)
    return `must not contain ${unknown.map((name) => `{${name}}`).join(', ')}: unknown placeholder`;
  const misused = formattedIn(elements).find(
    (one) => !formattedIn(english).some((ours) => isAlike(one, ours)),
  );
  if (misused !== undefined) return `must not format {${misused.name}} in another way than our text does`;
  const forms = missingForms(elements, locale);
  if (forms.length > 0) return `must have the plural forms ${forms.join(', ')}`;
  return canBeWritten(message, wanted, formattedIn(english), locale)
    ? null
    : 'must have formats that exist: check its numbers and dates';
}

interface Formatted {
  readonly name: string;
  /** A plural is a number that chooses. */
  readonly as: TYPE;
}

function isAlike(one: Formatted, other: Formatted): boolean {
  return one.name === other.name && one.as === other.as;
}

/** The placeholders that are more than inserted: a name that is a text would break a date. */
function formattedIn(elements: readonly MessageFormatElement[]): readonly Formatted[] {
  return elements.flatMap((element) => {
    const below = childrenOf(element).flatMap((child) => formattedIn(child));
    if (isArgumentElement(element) || isTagElement(element)) return below;
    const as = isPluralElement(element) ? TYPE.number : element.type;
    return [...nameOf(element).map((name) => ({ name, as })), ...below];
  });
}

function canBeWritten(
  message: string,
  names: ReadonlySet<string>,
  formatted: readonly Formatted[],
  locale: ShippedLocale,
): boolean {
  const isText = (name: string) => formatted.every((one) => one.name !== name || one.as === TYPE.select);
  const valueOf = (name: string, number: number) => {
    if (name.startsWith('<')) return [name.slice(1, -1), (parts: readonly string[]) => parts.join('')];
    return [name, isText(name) ? 'x' : number];
  };
  try {
    const compiled = new IntlMessageFormat(message, locale);
    for (const number of TRIED_NUMBERS)
      compiled.format(Object.fromEntries([...names].map((name) => valueOf(name, number))));
    return true;
  } catch {
    return false;
  }
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
  if (element.type === TYPE.literal || isPoundElement(element)) return [];
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
