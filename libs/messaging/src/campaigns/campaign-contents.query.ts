import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { DomainValidationError, matchLocale, type ProjectScope } from '#kernel';
import {
  type CampaignTranslations,
  inLanguages,
  pathOf,
  type TranslatedContent,
} from '../content/document/translated-content.js';
import type { ResolvedContent } from '../templates/template.js';
import { TemplateContentsQuery, type UsableContent } from '../templates/template-contents.query.js';
import { translatedContent } from '../templates/template-reviews.service.js';
import { type CampaignChanges, type ContentSource, type KeptTemplate, sourceWith } from './campaign.js';

type Faults = Readonly<Record<string, string>>;

/** The content that a campaign's mails are made of. */
export interface CampaignMailContent {
  readonly content: TranslatedContent;
  /** The content of its template that it would keep from now on; null where it has no template, or keeps one already. */
  readonly template: KeptTemplate | null;
}

/** Finds the content of campaigns, and of automations' mails: their own, or their template's. */
@Injectable()
export class CampaignContentsQuery {
  constructor(private readonly templates: TemplateContentsQuery) {}

  /** The content as its mails have it. Throws DomainValidationError where its template has none for it. */
  async of(scope: ProjectScope, campaign: ContentSource): Promise<CampaignMailContent> {
    const { subject, previewText, contentJson, contentText, translations } = campaign;
    const { templateKey, templateContentId } = campaign;
    if (templateKey === null)
      return { content: { subject, previewText, contentJson, contentText, translations }, template: null };
    if (templateContentId !== null) {
      const kept = await this.templates.withId(scope, templateContentId);
      if (kept === null) throw new Error('The content of the template is not there.');
      return { content: contentWith(campaign, kept), template: null };
    }
    const { found, faults } = await this.#find(scope, { ...campaign, templateKey });
    if (found === null) throw new DomainValidationError(faults);
    const { content, ...template } = found;
    return { content: contentWith(campaign, content), template };
  }

  /** A campaign's draft with the content as its mails have it. Throws as `of` does. */
  async filled<Draft extends ContentSource>(
    scope: ProjectScope,
    draft: Draft,
  ): Promise<Draft & TranslatedContent> {
    return { ...draft, ...(await this.of(scope, draft)).content };
  }

  /**
   * The changes with the key of the template that they name by its key or alias, and their faults, by field. `template` is the content
   * that the campaign then has; null where it has none, or one that it keeps.
   */
  async chosen<Changes extends CampaignChanges>(
    scope: ProjectScope,
    changes: Changes,
    before: ContentSource,
  ): Promise<{
    readonly changes: Changes;
    readonly template: KeptTemplate | null;
    readonly faults: Faults;
  }> {
    const { templateKey, templateVersion, templateContentId } = sourceWith(changes, before);
    if (templateKey === null) {
      const faults: Faults = changes.templateVersion == null ? {} : { templateVersion: 'needs templateKey' };
      return { changes, template: null, faults };
    }
    const faults = contentBeside(changes.translations ?? before.translations);
    if (templateContentId !== null) return { changes, template: null, faults };
    const { found, faults: ofTemplate } = await this.#find(scope, { templateKey, templateVersion });
    const named =
      found === null || changes.templateKey == null
        ? changes
        : { ...changes, templateKey: found.templateKey };
    return { changes: named, template: found, faults: { ...faults, ...ofTemplate } };
  }

  async #find(
    scope: ProjectScope,
    {
      templateKey,
      templateVersion,
    }: { readonly templateKey: string; readonly templateVersion: number | null },
  ): Promise<
    | { readonly found: UsableContent; readonly faults: Record<string, never> }
    | { readonly found: null; readonly faults: Faults }
  > {
    const found = await this.templates.of(scope, templateKey, templateVersion);
    if (found === null && templateVersion !== null)
      return { found, faults: { templateVersion: `is no version of the template ${templateKey}` } };
    if (found === null) return { found, faults: { templateKey: 'is no template that is published' } };
    if (found.kind === 'CAMPAIGN') return { found, faults: {} };
    const fault = `is a template of kind ${found.kind}: campaigns and automations need one of kind CAMPAIGN`;
    return { found: null, faults: { templateKey: fault } };
  }
}

/** A template's content with the subject, preview text and translations of a campaign or an automation's mail, where it has them. */
export function contentWith(
  campaign: Pick<ContentSource, 'subject' | 'previewText' | 'translations'>,
  template: ResolvedContent,
): TranslatedContent {
  const ofTemplate = translatedContent(template);
  const locales = Object.keys(ofTemplate.translations);
  const own = Object.entries(campaign.translations).map(([locale, { subject, previewText }]) => {
    const near = matchLocale([locale], locales);
    const base = near === null ? null : ofTemplate.translations[near];
    return [
      locale,
      {
        subject,
        previewText: previewText ?? base?.previewText ?? null,
        contentJson: base?.contentJson ?? null,
        contentText: base?.contentText ?? null,
      },
    ];
  });
  return {
    subject: campaign.subject ?? ofTemplate.subject,
    previewText: campaign.previewText ?? ofTemplate.previewText,
    contentJson: ofTemplate.contentJson,
    contentText: ofTemplate.contentText,
    translations: {
      ...ofTemplate.translations,
      ...(Object.fromEntries(own) as CampaignTranslations),
    },
  };
}

/** Faults of translations with content of their own beside a template's. */
function contentBeside(translations: CampaignTranslations): Record<string, string> {
  const faults: Record<string, string> = {};
  for (const [locale, content] of inLanguages({ translations }))
    for (const part of ['contentJson', 'contentText'] as const)
      if (locale !== null && part in content && content[part as keyof typeof content] != null)
        faults[`${pathOf(locale)}${part}`] = 'must not be given together with templateKey';
  return faults;
}

const OF_TEMPLATE = sql`from messaging.template_contents t where t.environment_id = c.environment_id and t.id = c.template_content_id`;

/** Subject of the mails of the campaign `c`, which was sent. */
export const SENT_SUBJECT = sql<
  string | null
>`coalesce(c.subject, c.variants #>> '{0,subject}', (select t.content ->> 'subject' ${OF_TEMPLATE}))`;

/**
 * Locales of the translations of the campaign `c`, which was sent, and of its variants; some twice. Added up: Citus takes no look-up
 * within an array's subselect.
 */
export const SENT_TRANSLATIONS = sql<string[]>`array(select jsonb_object_keys(c.translations))
  || coalesce((
    select array_agg(l.locale) from messaging.template_contents t
    cross join lateral jsonb_object_keys(t.content -> 'translations') l(locale)
    where t.environment_id = c.environment_id and t.id = c.template_content_id), '{}')
  || array(select jsonb_object_keys(v.variant -> 'translations') from jsonb_array_elements(c.variants) v(variant))`;
