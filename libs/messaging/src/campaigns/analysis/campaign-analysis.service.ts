import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import type { AudienceBreakdown } from '#audience';
import {
  analyseCampaign,
  type CampaignFacts,
  mergeTagCheck,
  type PreSendAnalysis,
  type PreSendCheck,
} from '#deliverability';
import type { Campaign } from '../campaign.js';
import { CampaignAudienceQuery } from '../campaign-audience.query.js';
import { ContentReviews } from './content-reviews.service.js';
import { type AudienceOutlook, DestinationOutlook } from './destination-outlook.service.js';
import { type MailOrigin, Senders } from '../senders/senders.service.js';
import { SendingReadiness } from './sending-readiness.service.js';

export interface CampaignAnalysis extends PreSendAnalysis {
  readonly audience: AudienceBreakdown;
  /** How many would receive it now. */
  readonly recipients: number;
}

const NOBODY: AudienceOutlook = {
  breakdown: { matched: 0, unconfirmed: 0, suppressed: 0, bounced: 0, capped: 0, willReceive: 0 },
  destinations: null,
};

/** Looks at a campaign as it stands before it may be sent. */
@Injectable()
export class CampaignAnalysisService {
  constructor(
    private readonly chosen: CampaignAudienceQuery,
    private readonly outlook: DestinationOutlook,
    private readonly senders: Senders,
    private readonly content: ContentReviews,
    private readonly readiness: SendingReadiness,
  ) {}

  /** Fetches ahead what `analyse` would wait for, content and DNS, so that no transaction that holds a lock waits for it. */
  async prepare(scope: ProjectScope, campaign: Campaign): Promise<void> {
    if (!campaign.allows('change')) return;
    const from = await this.senders.of(scope, campaign);
    if (from === null) return;
    await this.readiness.lookAhead(scope, addressesOf(campaign, from));
    await this.content.review(scope, campaign, from.project);
  }

  /** What is wrong with merge tags, whose values would come out empty; a failed check, or null. Holds as `analyse` does. */
  async mergeTagFault(scope: ProjectScope, campaign: Campaign): Promise<PreSendCheck | null> {
    await this.chosen.hold(scope);
    const from = await this.senders.of(scope, campaign);
    if (from === null) throw new Error('The project of this scope is gone.');
    const { own, translations } = await this.content.review(scope, campaign, from.project);
    const faults = [own, ...translations.values()].flatMap(({ mergeTagFaults }) => mergeTagFaults);
    return faults.length === 0 ? null : mergeTagCheck([...new Set(faults)]);
  }

  /** Until the caller's transaction ends, nothing that the campaign names is taken away. */
  async analyse(scope: ProjectScope, campaign: Campaign, now: Date): Promise<CampaignAnalysis> {
    await this.chosen.hold(scope);
    const from = await this.senders.of(scope, campaign);
    if (from === null) throw new Error('The project of this scope is gone.');
    const { breakdown: audience, destinations } =
      campaign.topicIds.length === 0 ? NOBODY : await this.outlook.of(scope, campaign, now);
    const recipients = audience.willReceive;
    const { own, translations } = await this.content.review(scope, campaign, from.project);
    const facts: CampaignFacts = {
      ...(await this.chosen.of(scope, campaign)),
      recipients,
      destinations,
      now,
      ...(await this.readiness.of(scope, addressesOf(campaign, from), now)),
      ...own,
    };
    return { ...analyseCampaign(facts, translations), audience, recipients };
  }
}

const addressesOf = ({ replyTo }: Campaign, { sender, project }: MailOrigin) => ({
  host: sender.domain,
  replyTo: replyTo ?? project.replyTo,
});
