import { Inject, Injectable } from '@nestjs/common';
import type { Project } from '#access';
import { CustomFieldsQuery, templateDefaults } from '#audience';
import type { ReviewedContent } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG, MAX_TRACKED_PLACES } from '#platform';
import { Senders } from '../senders/senders.service.js';
import { ContentProcesses, footerOf } from '../../content/processes/content-processes.service.js';
import { projectValues, SAMPLE_VALUES } from '../../content/merge/merge-values.js';
import { MailLinksService } from '../../content/mail/mail-links.service.js';
import { placeName, type SharedValues } from '../../content/mail/link-tracking.js';
import type { Campaign } from '../campaign.js';
import { contentIn } from '../campaign-translations.js';
import type { SampleMail } from '../../content/document/content-review.js';

/** The recipient of the sample: always the same, so that equal content is reviewed once. */
const NOBODY = '00000000-0000-7000-8000-000000000000';

interface CampaignReviews {
  readonly own: ReviewedContent;
  /** By locale. */
  readonly translations: ReadonlyMap<string, ReviewedContent>;
}

/** Reviews a campaign's content for the pre-send checks. */
@Injectable()
export class ContentReviews {
  constructor(
    private readonly customFields: CustomFieldsQuery,
    private readonly senders: Senders,
    private readonly processes: ContentProcesses,
    private readonly links: MailLinksService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Of all its languages. Reviews the same content once, so ask before taking a lock. */
  async review(scope: ProjectScope, campaign: Campaign, project: Project): Promise<CampaignReviews> {
    const definitions = await this.customFields.definitions(scope);
    const { name, campaignKey: key } = campaign;
    const linkBase = await this.senders.linkBase(scope, project);
    const shared = { campaign: { name, key }, project: projectValues(project) };
    const known = {
      customKeys: definitions.map((definition) => definition.key),
      sample: this.#sample({ scope, linkBase }, shared, templateDefaults(definitions)),
    };
    const reviewed = async (locale: string | null) => {
      const wording = await this.senders.wording(scope, locale);
      const footer = footerOf(project, wording);
      const content = { ...contentIn(campaign, locale), fromName: campaign.fromName };
      return this.processes.review(scope, { ...known, footer, content });
    };
    const own = await reviewed(null);
    const translations = new Map<string, ReviewedContent>();
    for (const locale of Object.keys(campaign.translations)) translations.set(locale, await reviewed(locale));
    return { own, translations };
  }

  #sample(
    { scope, linkBase }: { readonly scope: ProjectScope; readonly linkBase: string },
    shared: SharedValues,
    custom: Readonly<Record<string, unknown>>,
  ): SampleMail {
    const { environmentId } = scope;
    const tokens = this.links.tracking({ environmentId, linkSet: 1, deliveryId: NOBODY }, 0);
    const whose = { subscriberId: NOBODY, aboutId: NOBODY };
    const links = this.links.ofDelivery(linkBase, scope, NOBODY, whose, {});
    return {
      tracking: this.config.TRACKING ? { baseUrl: linkBase, shared, places: MAX_TRACKED_PLACES } : null,
      trackingToken: tokens[placeName(0)] ?? '',
      values: { ...SAMPLE_VALUES, ...shared, custom, links },
    };
  }
}
