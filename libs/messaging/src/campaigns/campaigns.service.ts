import { Inject, Injectable } from '@nestjs/common';
import { Clock, DomainValidationError, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { CampaignAllowance } from '#billing';
import { SegmentsQuery, TopicsQuery } from '#audience';
import { Database } from '#platform';
import { parseContentDocument } from '../content/document/content-document.js';
import type { Campaign, CampaignDraft } from './campaign.js';
import { CampaignRepository } from './campaign.repository.js';
import { CampaignsQuery, type CampaignFilter, type CampaignRow } from './campaigns.query.js';

/** Writing campaigns. Sending them is `CampaignSendingService`. */
@Injectable()
export class CampaignsService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CampaignRepository) private readonly campaigns: CampaignRepository,
    @Inject(CampaignsQuery) private readonly query: CampaignsQuery,
    @Inject(TopicsQuery) private readonly topics: TopicsQuery,
    @Inject(SegmentsQuery) private readonly segments: SegmentsQuery,
    @Inject(CampaignAllowance) private readonly allowance: CampaignAllowance,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  async list(scope: ProjectScope, page: PageRequest, filter: CampaignFilter): Promise<Page<CampaignRow>> {
    const { status, topicKey } = filter;
    if (topicKey === undefined) return this.query.list(scope, page, { status });
    const topicId = await this.topics.idOf(scope, topicKey);
    if (topicId === null) return { items: [], totalElements: 0 };
    return this.query.list(scope, page, { status, topicId });
  }

  /** The campaign, or `NotFoundError`. */
  get(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.database.transaction(scope, (tx) => this.campaigns.named(scope, tx, campaignKey));
  }

  /**
   * A new DRAFT; `DomainValidationError` names every field that this project does not allow, and
   * `PlanLimitReachedError` says that the plan allows no more this month.
   */
  create(scope: ProjectScope, draft: CampaignDraft): Promise<Campaign> {
    return this.database.transaction(scope, async (tx) => {
      const now = this.clock.now();
      await this.#refuseFaults(scope, draft, now);
      await this.allowance.admit(scope, now);
      return this.campaigns.add(scope, tx, draft, now);
    });
  }

  /** Changes what is given and leaves the rest. */
  revise(scope: ProjectScope, campaignKey: string, changes: Partial<CampaignDraft>): Promise<Campaign> {
    return this.database.transaction(scope, async (tx) => {
      const now = this.clock.now();
      const campaign = await this.campaigns.lock(scope, tx, campaignKey);
      await this.#refuseFaults(scope, changes, now);
      campaign.revise(changes, now);
      return campaign;
    });
  }

  /** Deletes it, unless the worker has it or its mails are out: `InvalidStateError`. */
  async remove(scope: ProjectScope, campaignKey: string): Promise<void> {
    await this.database.transaction(scope, async (tx) => {
      const campaign = await this.campaigns.lock(scope, tx, campaignKey);
      campaign.refuseUnlessAllowed('delete');
      this.campaigns.remove(tx, campaign, this.clock.now());
    });
  }

  async #refuseFaults(scope: ProjectScope, draft: Partial<CampaignDraft>, now: Date): Promise<void> {
    const errors: Record<string, string> = {
      ...(await this.#topicFaults(scope, draft.topicIds ?? [])),
      ...(await this.#segmentFaults(scope, draft.segmentIds ?? [])),
      ...contentFaults(draft.contentJson ?? null),
      ...(draft.scheduledAt && draft.scheduledAt <= now ? { scheduledAt: 'is in the past' } : {}),
    };
    if (Object.keys(errors).length > 0) throw new DomainValidationError(errors);
  }

  async #topicFaults(scope: ProjectScope, topicIds: readonly string[]): Promise<Record<string, string>> {
    if (topicIds.length === 0) return {};
    const known = new Set((await this.topics.named(scope, topicIds)).map(({ id }) => id));
    const faults = topicIds.map((id, index) =>
      known.has(id) ? [] : [[`topicIds[${index}]`, 'is not a known topic']],
    );
    return Object.fromEntries(faults.flat()) as Record<string, string>;
  }

  async #segmentFaults(scope: ProjectScope, segmentIds: readonly string[]): Promise<Record<string, string>> {
    if (segmentIds.length === 0) return {};
    const statuses = new Map(
      (await this.segments.named(scope, segmentIds)).map(({ id, status }) => [id, status]),
    );
    const faults = segmentIds.map((id, index) => {
      const status = statuses.get(id);
      if (status === 'ACTIVE') return [];
      return [
        [
          `segmentIds[${index}]`,
          status === undefined ? 'is not a known segment' : 'is not an active segment',
        ],
      ];
    });
    return Object.fromEntries(faults.flat()) as Record<string, string>;
  }
}

function contentFaults(contentJson: string | null): Readonly<Record<string, string>> {
  if (contentJson === null) return {};
  const parsed = parseContentDocument(contentJson);
  return parsed.errors ?? {};
}
