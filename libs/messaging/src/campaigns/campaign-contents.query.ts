import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { DomainValidationError, matchLocale, type ProjectScope } from '#kernel';
import {
  inLanguages,
  pathOf,
  type TranslatedContent,
  type WrittenParts,
} from '../content/document/translated-content.js';
import type { ResolvedContent } from '../templates/template.js';
import { TemplateContentsQuery, type UsableContent } from '../templates/template-contents.query.js';
import { translatedContent, type UntitledContent } from '../templates/template-reviews.service.js';
import {
  type CampaignChanges,
  type ContentSource,
  type KeptTemplate,
  type KeptTemplates,
  NO_CONTENT,
  sourceWith,
} from './campaign.js';
import type { CampaignVariant, VariantTemplate, VariantTranslation } from './campaign-variants.js';

type Faults = Readonly<Record<string, string>>;

type GivenTranslations = { readonly translations?: Readonly<Record<string, WrittenParts>> | undefined };

/** A campaign's content, or an automation's mail; that has no variants. */
type Source = ContentSource & { readonly variants?: readonly CampaignVariant[] };

/** The content that a campaign's mails are made of. */
export interface CampaignMailContent {
  readonly content: TranslatedContent & { readonly variants: readonly CampaignVariant[] };
  readonly templates: KeptTemplates;
}

/** Finds the content of campaigns, and of automations' mails: their own, or their template's. */
@Injectable()
export class CampaignContentsQuery {
  constructor(private readonly templates: TemplateContentsQuery) {}

  /** The content as its mails have it. Throws DomainValidationError where a template has none for it. */
  async of(scope: ProjectScope, campaign: Source): Promise<CampaignMailContent> {
    const { subject, previewText, contentJson, contentText, translations } = campaign;
    const own = { subject, previewText, contentJson, contentText, translations };
    const used = await this.#use(scope, campaign, '');
    const variants: CampaignVariant[] = [];
    const kept: (KeptTemplate | null)[] = [];
    for (const [index, variant] of (campaign.variants ?? []).entries()) {
      const found = await this.#use(scope, variant, `variants[${index}].`);
      variants.push(found === null ? variant : { ...variant, ...withWords(variant, found.content) });
      kept.push(found?.kept ?? null);
    }
    const content = { ...(used === null ? own : contentWith(campaign, used.content)), variants };
    return { content, templates: { own: used?.kept ?? null, ofVariants: kept } };
  }

  /** A campaign's draft with the content as its mails have it. Throws as `of` does. */
  async filled<Draft extends Source>(scope: ProjectScope, draft: Draft): Promise<Draft & TranslatedContent> {
    return { ...draft, ...(await this.of(scope, draft)).content };
  }

  /**
   * The changes with the keys of the templates that they name by key or alias, and their faults, by field. `templates` are the contents
   * that the campaign then has.
   */
  async chosen<Changes extends CampaignChanges>(
    scope: ProjectScope,
    changes: Changes,
    before: ContentSource,
  ): Promise<{
    readonly changes: Changes;
    readonly templates: KeptTemplates;
    readonly faults: Faults;
  }> {
    const own = await this.#chosenOf(scope, changes, before);
    const faults: Record<string, string> = { ...own.faults };
    const kept: (KeptTemplate | null)[] = [];
    const variants: CampaignVariant[] = [];
    for (const [index, variant] of (changes.variants ?? []).entries()) {
      const chosen = await this.#chosenOf(scope, variant, NO_CONTENT);
      for (const [field, fault] of Object.entries(chosen.faults))
        faults[`variants[${index}].${field}`] = fault;
      variants.push(chosen.changes);
      kept.push(chosen.template);
    }
    return {
      changes: { ...own.changes, ...(changes.variants !== undefined && { variants }) },
      templates: { own: own.template, ofVariants: kept },
      faults,
    };
  }
  async #chosenOf<
    Changes extends Pick<CampaignChanges, 'templateKey' | 'templateVersion'> & GivenTranslations,
  >(
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

  /** The content of the template that a source names, and what it would keep of that from now on; null where it names none. */
  async #use(
    scope: ProjectScope,
    { templateKey = null, templateVersion = null, templateContentId = null }: VariantTemplate,
    prefix: string,
  ): Promise<{ readonly content: ResolvedContent; readonly kept: KeptTemplate | null } | null> {
    if (templateKey === null) return null;
    if (templateContentId !== null) {
      const content = await this.templates.withId(scope, templateContentId);
      if (content === null) throw new Error('The content of the template is not there.');
      return { content, kept: null };
    }
    const { found, faults } = await this.#find(scope, { templateKey, templateVersion });
    if (found === null) {
      const named = Object.entries(faults).map(([field, fault]) => [`${prefix}${field}`, fault]);
      throw new DomainValidationError(Object.fromEntries(named) as Faults);
    }
    const { content, ...kept } = found;
    return { content, kept };
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

type Words = Pick<VariantTranslation, 'subject' | 'previewText'>;

/** A template's content with the subject, preview text and translations of a campaign or an automation's mail, where it has them. */
export function contentWith(
  own: Words & { readonly translations: Readonly<Record<string, Words>> },
  template: ResolvedContent,
): TranslatedContent {
  return translatedContent(withWords(own, template));
}

/** As `contentWith`; what has no subject keeps having none, as variants may. */
function withWords(
  { subject, previewText, translations }: Parameters<typeof contentWith>[0],
  template: ResolvedContent,
): UntitledContent {
  const own = Object.entries(translations).map(([locale, words]) => {
    const near = matchLocale([locale], Object.keys(template.translations));
    const base = near === null ? NO_CONTENT : template.translations[near]!;
    const texts = {
      subject: words.subject ?? base.subject,
      previewText: words.previewText ?? base.previewText,
    };
    return [locale, { ...texts, contentJson: base.contentJson, contentText: base.contentText }] as const;
  });
  return {
    subject: subject ?? template.subject,
    previewText: previewText ?? template.previewText,
    contentJson: template.contentJson,
    contentText: template.contentText,
    translations: { ...template.translations, ...Object.fromEntries(own) },
  };
}

/** Faults of translations with content of their own beside a template's. */
function contentBeside(translations: Readonly<Record<string, WrittenParts>>): Record<string, string> {
  const faults: Record<string, string> = {};
  for (const [locale, content] of inLanguages({ translations }))
    for (const part of ['contentJson', 'contentText'] as const)
      if (locale !== null && part in content && content[part as keyof typeof content] != null)
        faults[`${pathOf(locale)}${part}`] = 'must not be given together with templateKey';
  return faults;
}

const OF_TEMPLATE = sql`from messaging.template_contents t where t.environment_id = c.environment_id and t.id = c.template_content_id`;

/** Ids of the contents that the campaign `c` and its variants keep; some null. */
const KEPT_CONTENTS = sql`array_append(array(
  select (v.variant ->> 'templateContentId')::uuid from jsonb_array_elements(c.variants) v(variant)), c.template_content_id)`;

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
    where t.environment_id = c.environment_id and t.id = any(${KEPT_CONTENTS})), '{}')
  || array(select jsonb_object_keys(v.variant -> 'translations') from jsonb_array_elements(c.variants) v(variant))`;
