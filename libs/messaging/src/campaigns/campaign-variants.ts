import { DomainValidationError, type Proportion, proportion, pValue, shareOf } from '#kernel';
import {
  type CampaignTranslations,
  contentFaults,
  type TranslatedContent,
} from '../content/document/translated-content.js';

export const TEST_MEASURES = ['CLICKS', 'OPENS', 'MANUAL'] as const;
export type TestMeasure = (typeof TEST_MEASURES)[number];

export const UNDECIDED_RULES = ['LEADER', 'FIRST', 'ASK'] as const;
export type UndecidedRule = (typeof UNDECIDED_RULES)[number];

/** An A/B test of a campaign's variants. */
export interface VariantTest {
  /** Percent of the audience that gets the variants in equal parts; the rest waits for the winner. */
  readonly sharePercent: number;
  /** ISO 8601. Counts from the moment at which 95 % of the test's mails have ended. */
  readonly decideAfter: string;
  /** The rate that decides; MANUAL: nothing but a choice by hand. */
  readonly by: TestMeasure;
  /** The winner where no variant is surely better: the leader, the first, or none until one is chosen. */
  readonly ifUndecided: UndecidedRule;
}

/** A translation of a variant; null: as the variant or, what that leaves out too, as the campaign's translation. */
export interface VariantTranslation {
  readonly subject: string | null;
  readonly previewText: string | null;
  readonly contentJson: string | null;
  readonly contentText: string | null;
}

/** The template that a variant's content is from, as a campaign names its own; variants of older campaigns lack it. */
export interface VariantTemplate {
  readonly templateKey?: string | null;
  readonly templateVersion?: number | null;
  readonly templateContentId?: string | null;
  readonly isVersionKept?: boolean;
}

/** One of the contents that a campaign compares; null: as the campaign's own. */
export interface CampaignVariant extends VariantTranslation, VariantTemplate {
  readonly name: string;
  readonly fromName: string | null;
  readonly translations: Readonly<Record<string, VariantTranslation>>;
}

/** A campaign's content with that of its variants. */
export interface VariedContent extends TranslatedContent {
  readonly fromName: string | null;
  readonly variants: readonly CampaignVariant[];
}

interface Tested {
  readonly variants: readonly CampaignVariant[];
  readonly test: VariantTest | null;
  readonly scheduledAtLocal: string | null;
  /** Null until it is sent for the first time. */
  readonly queuedAt: Date | null;
}

/** The parts of a test that need not be given. */
export const TEST_DEFAULTS = { by: 'CLICKS', ifUndecided: 'LEADER' } as const satisfies Partial<VariantTest>;

/** A change of a test: what is absent stays, null is as by default. */
export type TestPatch = {
  readonly [Part in 'sharePercent' | 'decideAfter']?: VariantTest[Part] | undefined;
} & { readonly [Part in 'by' | 'ifUndecided']?: VariantTest[Part] | null | undefined };

/** The test after a change. Throws DomainValidationError where a new one lacks what it needs. */
export function patchedTest(before: VariantTest | null, patch: TestPatch): VariantTest {
  const { sharePercent, decideAfter, by, ifUndecided }: TestPatch = { ...before, ...patch };
  if (sharePercent === undefined || decideAfter === undefined)
    throw new DomainValidationError({
      ...(sharePercent === undefined && { 'test.sharePercent': 'is required' }),
      ...(decideAfter === undefined && { 'test.decideAfter': 'is required' }),
    });
  return {
    sharePercent,
    decideAfter,
    by: by ?? TEST_DEFAULTS.by,
    ifUndecided: ifUndecided ?? TEST_DEFAULTS.ifUndecided,
  };
}

/** Faults of variants by their paths: `variants[1].contentJson.blocks[0].level`. */
export function contentFaultsOf(variants: readonly CampaignVariant[]): Record<string, string> {
  const faults: Record<string, string> = {};
  for (const [index, each] of variants.entries()) {
    const path = `variants[${index}]`;
    for (const [part, fault] of Object.entries(contentFaults(each))) faults[`${path}.${part}`] = fault;
    if (variants.findIndex(({ name }) => name === each.name) < index)
      faults[`${path}.name`] = 'is the name of another variant';
  }
  return faults;
}

/** Faults by their paths of the variants and the test that a campaign has after changes. */
export function variantFaults(
  changes: Partial<Pick<Tested, 'variants' | 'test' | 'scheduledAtLocal'>> & {
    readonly scheduledAt?: Date | null;
  },
  before: Partial<Tested>,
): Record<string, string> {
  const faults = contentFaultsOf(changes.variants ?? []);
  const variants = changes.variants ?? before.variants ?? [];
  const isRemoved = changes.variants?.length === 0 && changes.test == null;
  const test = isRemoved ? null : changes.test === undefined ? (before.test ?? null) : changes.test;
  if (variants.length > 0 && test === null) faults['test'] = 'is required with variants';
  if (variants.length === 0 && test !== null) faults['variants'] = 'are required with a test';
  const { scheduledAtLocal = changes.scheduledAt == null ? (before.scheduledAtLocal ?? null) : null } =
    changes;
  if (variants.length > 0 && scheduledAtLocal !== null)
    faults['scheduledAtLocal'] = 'must not be given together with variants: they are compared at one time';
  if (before.queuedAt != null && variants.length !== (before.variants ?? []).length)
    faults['variants'] = 'cannot be more or fewer than when the campaign was sent first';
  return faults;
}

type Content = Pick<VariantTranslation, 'contentJson' | 'contentText'>;

/** The content of one that has any of its own. */
function contentOf(one: Content | undefined): Content | null {
  if (one === undefined || (one.contentJson === null && one.contentText === null)) return null;
  return { contentJson: one.contentJson, contentText: one.contentText };
}

/** The campaign as it is with this variant (its first: null); itself when it has none. */
export function withVariant<Campaign extends VariedContent>(
  campaign: Campaign,
  number: number | null,
): Campaign {
  const variant = campaign.variants[(number ?? 1) - 1];
  if (variant === undefined) return campaign;
  return {
    ...campaign,
    subject: variant.subject ?? campaign.subject,
    previewText: variant.previewText ?? campaign.previewText,
    fromName: variant.fromName ?? campaign.fromName,
    ...contentOf(variant),
    translations: translationsWith(campaign, variant),
  };
}

/** Throws DomainValidationError for a number that no variant of the campaign has. */
export function refuseUnlessVariant(
  { variants: { length } }: { readonly variants: readonly CampaignVariant[] },
  variant: number | null,
): void {
  if (variant === null || variant <= length) return;
  const fault = length === 0 ? 'cannot be chosen: the campaign has none' : `must be from 1 to ${length}`;
  throw new DomainValidationError({ variant: fault });
}

/** A field that the variant has is not that of the campaign's translation: it would say something else. */
function translationsWith(campaign: VariedContent, variant: CampaignVariant): CampaignTranslations {
  const locales = new Set([...Object.keys(campaign.translations), ...Object.keys(variant.translations)]);
  const translated = [...locales].map((locale) => {
    const theirs = campaign.translations[locale];
    const own = variant.translations[locale];
    const content = contentOf(own) ?? (contentOf(variant) === null ? contentOf(theirs) : null);
    const text = (part: 'subject' | 'previewText') => own?.[part] ?? variant[part] ?? theirs?.[part] ?? null;
    const subject = text('subject') ?? campaign.subject ?? '';
    return [
      locale,
      { subject, previewText: text('previewText'), ...(content ?? { contentJson: null, contentText: null }) },
    ];
  });
  return Object.fromEntries(translated) as CampaignTranslations;
}

/** Paths of what a variant shows readers of a translation in the campaign's own language, since nobody translated it. */
export function untranslatedParts(campaign: VariedContent): string[] {
  return campaign.variants.flatMap((variant, index) =>
    Object.keys(campaign.translations).flatMap((locale) => {
      const own = variant.translations[locale];
      const texts = (['subject', 'previewText'] as const).filter(
        (part) => variant[part] !== null && (own?.[part] ?? null) === null,
      );
      const hasContent = contentOf(variant) !== null && contentOf(own) === null;
      return [...texts, ...(hasContent ? ['contentJson'] : [])].map(
        (part) => `variants[${index}].translations.${locale}.${part}`,
      );
    }),
  );
}

/** Mails of one variant, and what became of them. */
export interface VariantCounts {
  readonly recipients: number;
  readonly sent: number;
  /** Sent and not returned. */
  readonly delivered: number;
  readonly bounced: number;
  /** Mails that a person opened; a click counts as an open. */
  readonly opened: number;
  readonly clicked: number;
  readonly unsubscribed: number;
  readonly complained: number;
}

/** The share of delivered mails by which a test compares: MANUAL compares clicks. */
export const measured = (
  { delivered, opened, clicked }: Pick<VariantCounts, 'delivered' | 'opened' | 'clicked'>,
  by: TestMeasure,
): Proportion => proportion(by === 'OPENS' ? opened : clicked, delivered);

/** A difference is sure when chance alone makes it less often than this. */
export const SURE_BELOW = 0.05;

export interface VariantComparison {
  /** Number of the variant with the highest rate, the first of equal ones. */
  readonly leader: number;
  /** The leader against each variant, in their order; null for itself. */
  readonly pValues: readonly (number | null)[];
  /** The leader is better than each of the others. */
  readonly isSure: boolean;
}

/** Compares variants by their counts, at least one. */
export function compareVariants(
  counts: readonly Pick<VariantCounts, 'delivered' | 'opened' | 'clicked'>[],
  by: TestMeasure,
): VariantComparison {
  const shares = counts.map((one) => measured(one, by));
  const rates = shares.map(shareOf);
  const best = rates.indexOf(Math.max(...rates));
  const pValues = shares.map((share, index) => (index === best ? null : pValue(shares[best]!, share)));
  return {
    leader: best + 1,
    pValues,
    isSure: pValues.every((value) => value === null || value < SURE_BELOW),
  };
}

/** The winner by a test's rule; null: it has to be chosen by hand. */
export function winnerOf(
  counts: readonly VariantCounts[],
  { by, ifUndecided }: Pick<VariantTest, 'by' | 'ifUndecided'>,
): number | null {
  if (by === 'MANUAL') return null;
  const { leader, isSure } = compareVariants(counts, by);
  if (isSure || ifUndecided === 'LEADER') return leader;
  return ifUndecided === 'FIRST' ? 1 : null;
}

/** The decision of a test, with the counts that it was made by: what happens later does not change them. */
export interface TestResult {
  readonly winner: number;
  /** False: chosen by hand. */
  readonly byRule: boolean;
  readonly decidedAt: string;
  /** Each variant’s, in their order. */
  readonly counts: readonly VariantCounts[];
}
