import { Injectable } from '@nestjs/common';
import { CustomFieldsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import type { Faults } from '../content/document/content-document.js';
import type { FoundVariable } from '../content/document/template-review.js';
import { contentIn, pathOf, type TranslatedContent } from '../content/document/translated-content.js';
import { type TemplateVariable, type VariableType, withValue } from '../content/merge/template-variables.js';
import { ContentProcessesService } from '../content/processes/content-processes.service.js';
import type { ResolvedContent } from './template.js';
import { type Part, type Resolved, TemplateResolver } from './template-parts.js';

/** A template with all that it depends on put in, and what was found in it. */
export interface ReviewedTemplate {
  readonly content: ResolvedContent;
  /** Keyed by path. */
  readonly faults: Faults;
  /** Pieces that no mail can carry. */
  readonly removed: readonly string[];
  /** Values of `data` that it shows, once each. */
  readonly found: readonly FoundVariable[];
}

/** A template's content, whose translations may have no subject. */
export type UntitledContent = Omit<ResolvedContent, 'purpose' | 'variables'>;

/** The content as mails have it. */
export const translatedContent = ({ translations, ...own }: UntitledContent): TranslatedContent => ({
  ...own,
  translations: Object.fromEntries(
    Object.entries(translations).map(([locale, { subject, ...other }]) => [
      locale,
      { ...other, subject: subject ?? '' },
    ]),
  ),
});

/** Reviews templates in all of their languages. */
@Injectable()
export class TemplateReviewsService {
  constructor(
    private readonly fields: CustomFieldsQuery,
    private readonly processes: ContentProcessesService,
  ) {}

  /** `parts` are all that it names, directly or not. */
  of(
    scope: ProjectScope,
    template: Pick<Part, 'templateKey' | 'kind' | 'content'>,
    parts: ReadonlyMap<string, Part>,
  ): Promise<ReviewedTemplate> {
    return this.ofResolved(scope, template, new TemplateResolver(parts).resolve(template));
  }

  async ofResolved(
    scope: ProjectScope,
    { kind, content: written }: Pick<Part, 'kind' | 'content'>,
    { content, faults: formal, unpublished }: Resolved,
  ): Promise<ReviewedTemplate> {
    const customKeys = /\bcustom\b/.test(JSON.stringify(content))
      ? (await this.fields.definitions(scope)).map(({ key }) => key)
      : [];
    const faults: Record<string, string> = { ...formal };
    for (const [path, fault] of Object.entries(unpublished)) faults[path] ??= fault;
    const removed = new Set<string>();
    const found = new Map<string, FoundVariable>();
    if (kind !== 'PARTIAL' && (content.subject ?? '').trim() === '') faults['subject'] ??= 'is required';
    if (content.contentJson === null && (kind === 'PARTIAL' || content.contentText === null))
      faults['contentJson'] ??= 'is required';
    const mails = translatedContent(content);
    for (const locale of [null, ...Object.keys(content.translations)]) {
      const other = locale === null ? null : written.translations[locale];
      const ownJson = locale === null ? written.contentJson : (other?.contentJson ?? null);
      const prefix = pathOf(locale);
      const review = await this.processes.reviewTemplate(scope, {
        content: {
          ...contentIn(mails, locale),
          ...(locale !== null && { language: locale }),
          showsFiles: kind === 'MESSAGE' || kind === 'PARTIAL',
        },
        kind,
        variables: content.variables,
        customKeys,
        written: ownJson,
      });
      for (const [path, fault] of Object.entries(review.faults)) {
        // A translation without content of its own says the template's, whose faults are named there.
        const saysOwn = ownJson !== null || other?.contentText != null;
        const isOwn = path === 'subject' || (path === 'previewText' && other?.previewText != null) || saysOwn;
        if (locale === null || isOwn) faults[`${prefix}${path}`] ??= fault;
      }
      for (const piece of review.removed) removed.add(`${prefix}${piece}`);
      for (const variable of review.found) {
        const known = found.get(variable.name);
        found.set(variable.name, known === undefined ? variable : merged(known, variable));
      }
    }
    return { content, faults, removed: [...removed], found: [...found.values()] };
  }
}

/** Joins what two languages show of a value: text is the weakest guess of its type. */
const merged = (one: FoundVariable, other: FoundVariable): FoundVariable => ({
  name: one.name,
  type: one.type === 'STRING' ? other.type : one.type,
  required: one.required || other.required,
  items: [...new Set([...one.items, ...other.items])],
});

const SAMPLES: Readonly<Record<VariableType, (name: string, items: readonly string[]) => unknown>> = {
  STRING: (name) => name.split('.').at(-1),
  NUMBER: () => 1,
  BOOLEAN: () => true,
  DATE: () => '2027-01-05',
  OBJECT: () => ({}),
  LIST: (_, items) => [items.length === 0 ? 'item' : Object.fromEntries(items.map((name) => [name, name]))],
};

/** Values for all that a content was found to show of `data`, of the types that it declares. */
export function sampleData(
  variables: readonly TemplateVariable[],
  found: readonly FoundVariable[],
): Readonly<Record<string, unknown>> {
  const types = new Map(variables.map(({ name, type }) => [name, type]));
  return found.reduce<Readonly<Record<string, unknown>>>(
    (filled, { name, type, items }) =>
      withValue(filled, name.split('.'), SAMPLES[types.get(name) ?? type](name, items)),
    {},
  );
}
