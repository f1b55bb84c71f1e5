import { Injectable } from '@nestjs/common';
import { Clock, DomainValidationError, type ProjectScope } from '#kernel';
import { PlanLimitsService } from '#billing';
import { Database } from '#platform';
import { translationFaults } from './campaign-translations.js';
import { parseContentDocument } from '../content/document/content-document.js';
import { expectContent } from '../content/processes/content-processes.service.js';
import type { Campaign, CampaignDraft } from './campaign.js';
import { timeFaults } from './campaign-times.js';
import { CampaignAudienceQuery } from './campaign-audience.query.js';
import { CampaignRepository } from './campaign.repository.js';

/** Lets authors write campaigns. Sending them is `CampaignSendingService`. */
@Injectable()
export class CampaignsService {
  constructor(
    private readonly database: Database,
    private readonly campaigns: CampaignRepository,
    private readonly audience: CampaignAudienceQuery,
    private readonly planLimits: PlanLimitsService,
    private readonly clock: Clock,
  ) {}

  /** The campaign, or `NotFoundError`. */
  get(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.campaigns.named(scope, campaignKey);
  }

  /**
   * Adds a DRAFT. Throws `DomainValidationError` with every field that this project does not allow, or
   * `PlanLimitReachedError` when the plan allows no more this month.
   */
  create(scope: ProjectScope, draft: CampaignDraft): Promise<Campaign> {
    return this.database.transaction(scope, async () => {
      const now = this.clock.now();
      await this.#refuseFaults(scope, draft, now);
      await this.planLimits.admitCampaign(scope, now);
      expectContent(this.database);
      return this.campaigns.add(scope, draft, now);
    });
  }

  /** Changes what is given and leaves the rest. */
  revise(scope: ProjectScope, campaignKey: string, changes: Partial<CampaignDraft>): Promise<Campaign> {
    return this.campaigns.whileLocked(scope, campaignKey, async (campaign, now) => {
      if (campaign.status === 'SCHEDULED') await this.audience.hold(scope);
      await this.#refuseFaults(scope, changes, now);
      campaign.revise(changes, now);
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

  async #refuseFaults(scope: ProjectScope, draft: Partial<CampaignDraft>, now: Date): Promise<void> {
    const { contentJson = null, translations = {} } = draft;
    const errors: Record<string, string> = {
      ...(await this.audience.faults(scope, draft)),
      ...(contentJson === null ? {} : parseContentDocument(contentJson).errors),
      ...translationFaults(translations),
      ...timeFaults(draft, now),
    };
    if (Object.keys(errors).length > 0) throw new DomainValidationError(errors);
  }
}
