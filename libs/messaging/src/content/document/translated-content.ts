import { matchLocale } from '#kernel';
import { handlebarsFault } from '../merge/handlebars-tags.js';
import { parseContentDocument } from './content-document.js';
import type { CampaignContent } from './content-compiler.js';

/** The parts of a content that its author writes. */
export const CONTENT_PARTS = ['subject', 'previewText', 'contentJson', 'contentText'] as const;

/** A campaign's content in other languages, by BCP 47 locale. */
export type CampaignTranslations = Readonly<Record<string, CampaignContent>>;

/** A campaign's own content, and its content in other languages. */
export interface TranslatedContent extends Omit<CampaignContent, 'subject'> {
  /** Null: none yet. */
  readonly subject: string | null;
  readonly translations: CampaignTranslations;
}

/** The locale of the translation for a reader with this language; null where the campaign's own content is for them. */
export function translationFor(
  { translations }: Pick<TranslatedContent, 'translations'>,
  locale: string | null,
): string | null {
  return matchLocale([locale], Object.keys(translations));
}

/**
 * The content of a translation, null being the campaign's own. One without contentJson and contentText says the campaign's
 * content under its own subject; a preview text of its own then stands in for the campaign's.
 */
export function contentIn(campaign: TranslatedContent, translation: string | null): CampaignContent {
  const { subject, previewText, contentJson, contentText, translations } = campaign;
  const own = { subject: subject ?? '', previewText, contentJson, contentText };
  const other = translation === null ? undefined : translations[translation];
  if (other === undefined) return own;
  if (other.contentJson !== null || other.contentText !== null) return other;
  return { ...own, subject: other.subject, previewText: other.previewText ?? previewText };
}

/** The beginning of the paths of a content in this language, null being its own: `translations.de.`. */
export const pathOf = (locale: string | null): string => (locale === null ? '' : `translations.${locale}.`);

/** A content and its translations by their languages, null being its own. */
export const inLanguages = <Own, Other>(
  content: Own & { readonly translations?: Readonly<Record<string, Other>> },
): readonly (readonly [string | null, Own | Other])[] => [
  [null, content],
  ...Object.entries(content.translations ?? {}),
];

export type WrittenParts = Readonly<Partial<Record<(typeof CONTENT_PARTS)[number], string | null>>>;

/** A content as it is given: what is absent is as before. */
export interface WrittenContent extends WrittenParts {
  readonly translations?: Readonly<Record<string, WrittenParts>>;
}

/** Faults of what was written by their paths: `contentJson.blocks[0].level`, `translations.de.subject`. */
export function contentFaults(written: WrittenContent): Record<string, string> {
  const faults: Record<string, string> = {};
  for (const [locale, { contentJson = null, ...parts }] of inLanguages<WrittenContent, WrittenParts>(
    written,
  )) {
    const prefix = pathOf(locale);
    const { errors = {} } = contentJson === null ? {} : parseContentDocument(contentJson);
    for (const [path, fault] of Object.entries(errors)) faults[`${prefix}${path}`] = fault;
    for (const part of ['subject', 'previewText', 'contentText'] as const) {
      const fault = handlebarsFault(parts[part] ?? '');
      if (fault !== null) faults[`${prefix}${part}`] = fault;
    }
  }
  return faults;
}
