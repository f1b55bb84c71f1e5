import { Injectable } from '@nestjs/common';
import { TopicsQuery } from '#audience';
import { PlanLimitsService } from '#billing';
import { Clock, DomainValidationError, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { expectContent } from '../content/processes/content-processes.service.js';
import {
  type Campaign,
  type CampaignChanges,
  type CampaignStatus,
  type NewCampaign,
  timeFaults,
} from './campaign.js';
import { CampaignAudienceQuery } from './campaign-audience.query.js';
import { contentFaults } from '../content/document/translated-content.js';
import { CampaignRepository, type CampaignRow } from './campaign.repository.js';

export interface CampaignFilter {
  readonly status?: CampaignStatus | undefined;
  readonly topicKey?: string | undefined;
}

/** Writing campaigns. Sending them is `CampaignLifecycleService`. */
@Injectable()
export class CampaignsService {
  constructor(
    private readonly database: Database,
    private readonly campaigns: CampaignRepository,
    private readonly audience: CampaignAudienceQuery,
    private readonly topics: TopicsQuery,
    private readonly planLimits: PlanLimitsService,
    private readonly clock: Clock,
  ) {}

  /** Newest first; none for a topic that does not exist. */
  async list(
    scope: ProjectScope,
    request: PageRequest,
    { status, topicKey }: CampaignFilter,
  ): Promise<Page<CampaignRow>> {
    const topicId = topicKey === undefined ? undefined : await this.topics.idOf(scope, topicKey);
    if (topicId === null) return { items: [], totalElements: 0, next: null };
    return this.campaigns.list(scope, request, { status, topicId });
  }

  /** The campaign, or `NotFoundError`. */
  get(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.campaigns.named(scope, campaignKey);
  }

  /**
   * Adds a DRAFT. Throws `DomainValidationError` with every field that this project does not allow, or
   * `PlanLimitReachedError` when the plan allows no more this month.
   */
  create(scope: ProjectScope, draft: NewCampaign): Promise<Campaign> {
    return this.database.transaction(scope, async () => {
      const now = this.clock.now();
      const named = await this.#checked(scope, draft, now);
      await this.planLimits.admitCampaign(scope, now);
      expectContent(this.database);
      return this.campaigns.add(scope, named, now);
    });
  }

  /** Changes what is given and leaves the rest. */
  revise(scope: ProjectScope, campaignKey: string, changes: CampaignChanges): Promise<Campaign> {
    return this.campaigns.whileLocked(scope, campaignKey, async (campaign, now) => {
      if (campaign.status === 'SCHEDULED') await this.audience.hold(scope);
      campaign.revise(await this.#checked(scope, changes, now), now);
      expectContent(this.database);
      return campaign;
    });
  }

  /** Deletes it. Throws `InvalidStateError` while the worker has it and when its mails are out. */
  async remove(scope: ProjectScope, campaignKey: string): Promise<void> {
    await this.campaigns.whileLocked(scope, campaignKey, (campaign, now) => {
      campaign.refuseUnlessAllowed('delete');
      this.campaigns.remove(campaign, now);
    });
  }

  /** The draft with the ids of what it names by key. Throws DomainValidationError with all its faults. */
  async #checked<Draft extends CampaignChanges>(
    scope: ProjectScope,
    given: Draft,
    now: Date,
  ): Promise<Draft> {
    const { draft, faults } = await this.audience.chosen(scope, given);
    const errors = {
      ...faults,
      ...contentFaults(draft),
      ...timeFaults(draft, now),
    };
    if (Object.keys(errors).length > 0) throw new DomainValidationError(errors);
    return draft;
  }
}
