import { Inject, Injectable } from '@nestjs/common';
import { type AudienceBreakdown, CustomFieldsQuery, templateDefaults } from '#audience';
import { EmailQuotaService, SubscriptionsQuery } from '#billing';
import {
  analyseCampaign,
  type CampaignFacts,
  failedContentChecks,
  mergeTagCheck,
  type PreSendAnalysis,
  type PreSendCheck,
  type ReviewedContent,
} from '#deliverability';
import { Clock, type ProjectScope } from '#kernel';
import { type Config, CONFIG, Database, MAX_TRACKED_PLACES } from '#platform';
import type { SampleMail } from '../content/document/content-review.js';
import { placeName } from '../content/mail/link-tracking.js';
import { MailLinksService } from '../content/mail/mail-links.service.js';
import { projectValues, SAMPLE_VALUES } from '../content/merge/merge-values.js';
import { ContentProcessesService, footerOf } from '../content/processes/content-processes.service.js';
import { MediaService } from '../media/media.service.js';
import type { Campaign, KeptTemplates } from './campaign.js';
import { CampaignAudienceQuery } from './campaign-audience.query.js';
import { untranslatedParts, withVariant } from './campaign-variants.js';
import { CampaignContentsQuery } from './campaign-contents.query.js';
import { contentIn, type TranslatedContent } from '../content/document/translated-content.js';
import { CampaignRepository } from './campaign.repository.js';
import { type MailOrigin, FromAddressesService } from './from-addresses.service.js';

export interface CampaignAnalysis extends PreSendAnalysis {
  readonly audience: AudienceBreakdown;
  /** The contents of templates that were analysed. */
  readonly templates: KeptTemplates;
  /** The people who would receive it now. */
  readonly recipients: number;
}

/** A review of a campaign's content, and of its translations by locale; with variants of the first, and of all else by their paths. */
interface ContentReview {
  readonly own: ReviewedContent;
  /** The path of the first variant; null without variants. */
  readonly ownPath: string | null;
  readonly translations: ReadonlyMap<string, ReviewedContent>;
  /** Null without variants. */
  readonly variantFaults: readonly string[] | null;
  readonly templates: KeptTemplates;
}

/** The parts of a review that all mails of a campaign have in common. */
interface KnownOfCampaign {
  readonly origin: MailOrigin;
  readonly customKeys: readonly string[];
  readonly sample: SampleMail;
}

/** A campaign's mail as it is being written, a template's content in it. */
export type WrittenMail = TranslatedContent &
  Pick<Campaign, 'name' | 'campaignKey' | 'fromName' | 'fromEmail'>;

/** With fewer people even twice the usual rate of clicks looks like chance. */
const FEWEST_OF_VARIANT = 500;

/** The recipient of the sample: always the same, so that equal content is reviewed once. */
const NOBODY = '00000000-0000-7000-8000-000000000000';

/** Analyses a campaign before it is sent: gathers what is known of its audience, sender, quota and content for the checks. */
@Injectable()
export class PreSendAnalysisService {
  constructor(
    private readonly database: Database,
    private readonly campaigns: CampaignRepository,
    private readonly audience: CampaignAudienceQuery,
    private readonly contents: CampaignContentsQuery,
    private readonly fromAddresses: FromAddressesService,
    private readonly subscriptions: SubscriptionsQuery,
    private readonly quota: EmailQuotaService,
    private readonly customFields: CustomFieldsQuery,
    private readonly processes: ContentProcessesService,
    private readonly links: MailLinksService,
    private readonly media: MediaService,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * The analysis for an author; a campaign that can still be changed keeps the verdict and how many would receive it. Throws
   * DomainValidationError, as all do, where its template has no content for it.
   */
  async of(scope: ProjectScope, campaignKey: string): Promise<CampaignAnalysis> {
    const campaign = await this.campaigns.named(scope, campaignKey);
    const now = this.clock.now();
    const analysis = await this.analyse(scope, campaign, now);
    if (campaign.allows('change')) await this.#keep(scope, campaign, analysis, now);
    return analysis;
  }

  /** Fetches ahead what `analyse` would wait for, content and DNS, so that no transaction that holds a lock waits for it. */
  async prepare(scope: ProjectScope, campaign: Campaign): Promise<void> {
    if (!campaign.allows('change')) return;
    const origin = await this.fromAddresses.of(scope, campaign);
    if (origin === null) return;
    await this.fromAddresses.facts(scope, addressesOf(campaign, origin));
    await this.#review(scope, campaign, origin);
  }

  /** Until the caller's transaction ends, nothing that the campaign names is taken away. */
  async analyse(scope: ProjectScope, campaign: Campaign, now: Date): Promise<CampaignAnalysis> {
    await this.audience.hold(scope);
    const origin = await this.#origin(scope, campaign);
    const { breakdown, destinations } = await this.audience.survey(scope, campaign, now);
    const recipients = breakdown.willReceive;
    const { own, ownPath, translations, variantFaults, templates } = await this.#review(
      scope,
      campaign,
      origin,
    );
    const facts: CampaignFacts = {
      ...(await this.audience.facts(scope, campaign)),
      recipients,
      destinations,
      now,
      sendingAllowed: (await this.subscriptions.ofTenant(scope))?.isSendingAllowed === true,
      ...(await this.fromAddresses.facts(scope, addressesOf(campaign, origin))),
      emailsRemaining: scope.environment === 'LIVE' ? await this.quota.remaining(scope, now) : null,
      variantFaults:
        variantFaults === null ? null : [...variantFaults, ...this.#testFaults(campaign, recipients)],
      ...own,
    };
    return { ...analyseCampaign(facts, translations, ownPath), audience: breakdown, recipients, templates };
  }

  /** The failed check of merge tags, whose values would come out empty; null when there are none. Holds as `analyse` does. */
  async mergeTagFault(scope: ProjectScope, campaign: Campaign): Promise<PreSendCheck | null> {
    await this.audience.hold(scope);
    const origin = await this.#origin(scope, campaign);
    const { own, translations } = await this.#review(scope, campaign, origin);
    const faults = [own, ...translations.values()].flatMap(({ mergeTagFaults }) => mergeTagFaults);
    return faults.length === 0 ? null : mergeTagCheck([...new Set(faults)]);
  }

  /** The content checks that one mail of a campaign fails, in one of its translations: for a look at what is not stored yet. */
  async findings(
    scope: ProjectScope,
    draft: WrittenMail,
    translation: string | null,
  ): Promise<PreSendCheck[]> {
    const known = await this.#known(scope, draft, await this.#origin(scope, draft));
    return failedContentChecks(await this.#reviewOf(scope, draft, translation, known));
  }

  async #origin(
    scope: ProjectScope,
    campaign: Pick<Campaign, 'fromName' | 'fromEmail'>,
  ): Promise<MailOrigin> {
    const origin = await this.fromAddresses.of(scope, campaign);
    if (origin === null) throw new Error('The project of this scope is gone.');
    return origin;
  }

  /** Keeps the verdict, unless an author has changed the campaign meanwhile. */
  #keep(scope: ProjectScope, { id, updatedAt }: Campaign, analysis: CampaignAnalysis, now: Date) {
    return this.database.transaction(scope, async () => {
      const campaign = await this.campaigns.lockById(scope, id);
      if (campaign?.updatedAt.getTime() === updatedAt.getTime()) campaign.judge(analysis, now);
    });
  }

  /** Reviews the content in all its languages; the same content once, so that it can be fetched ahead. */
  async #review(scope: ProjectScope, campaign: Campaign, origin: MailOrigin): Promise<ContentReview> {
    const { content: written, templates } = await this.contents.of(scope, campaign);
    const known = await this.#known(scope, campaign, origin);
    const { variants } = written;
    const varied = { ...written, fromName: campaign.fromName };
    const review = (of: typeof varied, locale: string | null) => this.#reviewOf(scope, of, locale, known);
    const own = await review(withVariant(varied, null), null);
    const translations = new Map<string, ReviewedContent>();
    if (variants.length === 0)
      for (const locale of Object.keys(written.translations))
        translations.set(locale, await review(varied, locale));
    for (const index of variants.keys()) {
      const variant = withVariant(varied, index + 1);
      if (index > 0) translations.set(`variants[${index}]`, await review(variant, null));
      for (const locale of Object.keys(variant.translations))
        translations.set(`variants[${index}].translations.${locale}`, await review(variant, locale));
    }
    if (variants.length === 0) return { own, ownPath: null, translations, variantFaults: null, templates };
    const variantFaults = untranslatedParts(varied).map(
      (path) => `${path} is missing, so that its readers see the variant’s own`,
    );
    return { own, ownPath: 'variants[0]', translations, variantFaults, templates };
  }

  async #known(
    scope: ProjectScope,
    campaign: Pick<Campaign, 'name' | 'campaignKey'>,
    origin: MailOrigin,
  ): Promise<KnownOfCampaign> {
    const definitions = await this.customFields.definitions(scope);
    return {
      origin,
      customKeys: definitions.map((definition) => definition.key),
      sample: this.#sample(scope, campaign, origin, templateDefaults(definitions)),
    };
  }

  /** Reviews one mail in one of its translations. */
  async #reviewOf(
    scope: ProjectScope,
    of: TranslatedContent & Pick<Campaign, 'fromName'>,
    translation: string | null,
    { origin, ...known }: KnownOfCampaign,
  ): Promise<ReviewedContent> {
    const footer = footerOf(origin.project, await this.fromAddresses.wording(scope, translation));
    const content = { ...contentIn(of, translation), fromName: of.fromName };
    const review = await this.processes.review(scope, { ...known, footer, content });
    if (review.content === null) return review;
    const goneImages = await this.media.gone(scope, review.content.urls);
    return { ...review, content: { ...review.content, goneImages } };
  }

  /** Reasons why a test would come to no result. */
  #testFaults({ test, variants }: Campaign, recipients: number): string[] {
    if (test === null || test.by === 'MANUAL') return [];
    if (!this.config.TRACKING)
      return ['opens and clicks are not recorded here, so that none can be found better'];
    const each = Math.floor((recipients * test.sharePercent) / 100 / variants.length);
    return each >= FEWEST_OF_VARIANT
      ? []
      : [`each goes to about ${each} people, too few to tell a difference`];
  }

  #sample(
    scope: ProjectScope,
    { name, campaignKey: key }: Pick<Campaign, 'name' | 'campaignKey'>,
    { project, linkBase }: MailOrigin,
    custom: Readonly<Record<string, unknown>>,
  ): SampleMail {
    const { environmentId } = scope;
    const shared = { campaign: { name, key }, project: projectValues(project) };
    const tokens = this.links.tracking({ environmentId, linkSet: 1, deliveryId: NOBODY }, 0);
    const links = this.links.ofDelivery(
      linkBase,
      scope,
      NOBODY,
      { subscriberId: NOBODY, aboutId: NOBODY },
      {},
    );
    return {
      tracking: this.config.TRACKING ? { baseUrl: linkBase, shared, places: MAX_TRACKED_PLACES } : null,
      trackingToken: tokens[placeName(0)] ?? '',
      values: { ...SAMPLE_VALUES, ...shared, custom, links },
    };
  }
}

const addressesOf = ({ replyTo }: Campaign, { sender, project }: MailOrigin) => ({
  host: sender.domain,
  replyTo: replyTo ?? project.replyTo,
});
