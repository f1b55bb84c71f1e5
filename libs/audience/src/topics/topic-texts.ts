import { matchLocale } from '#kernel';

/** What a topic is called, and in other languages: `translations` by BCP 47 tag. */
export interface TopicTexts {
  readonly name: string;
  readonly description: string | null;
  readonly translations: Readonly<
    Record<string, { readonly name: string; readonly description?: string | null }>
  >;
}

/** The name and description of a topic for readers of a language; its own where it has none in that. */
export function topicIn(
  { name, description, translations }: TopicTexts,
  locale: string,
): { readonly name: string; readonly description: string | null } {
  const best = matchLocale([locale], Object.keys(translations));
  const translation = best === null ? undefined : translations[best];
  if (translation === undefined) return { name, description };
  return { name: translation.name, description: translation.description ?? null };
}

/** The names of topics for readers of a language, in its alphabetical order. */
export function topicNamesIn(topics: readonly TopicTexts[], locale: string): string[] {
  return topics.map((topic) => topicIn(topic, locale).name).sort((a, b) => a.localeCompare(b, locale));
}
