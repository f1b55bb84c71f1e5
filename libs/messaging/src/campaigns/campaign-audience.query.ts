import { Injectable } from '@nestjs/common';
import { SegmentsQuery, SubscriberRules, TopicsQuery, UsageCatalogue } from '#audience';
import type { CampaignFacts } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { CampaignDraft } from './campaign.js';

type Faults = Readonly<Record<string, string>>;

/** The topics and segments that choose a campaign's audience. */
@Injectable()
export class CampaignAudienceQuery {
  constructor(
    private readonly topics: TopicsQuery,
    private readonly segments: SegmentsQuery,
    private readonly rules: SubscriberRules,
    private readonly usage: UsageCatalogue,
    private readonly database: Database,
  ) {}

  /** Until the caller's transaction ends, nothing that the campaign names is taken away. */
  hold(scope: ProjectScope): Promise<void> {
    return this.database.transaction(scope, () => this.usage.hold(scope));
  }

  async of(
    scope: ProjectScope,
    { topicIds, segmentIds }: Pick<CampaignDraft, 'topicIds' | 'segmentIds'>,
  ): Promise<Pick<CampaignFacts, 'topics' | 'segments' | 'deleted' | 'segmentFaults'>> {
    const topics = await this.topics.held(scope, topicIds);
    const segments = await this.segments.named(scope, segmentIds);
    const deleted = {
      topics: topicIds.length - topics.length,
      segments: segmentIds.length - segments.length,
    };
    return { topics, segments, deleted, segmentFaults: await this.rules.faultsOfSegments(scope, segmentIds) };
  }

  /** What is wrong with the ids that an author chose, by field. */
  async faults(
    scope: ProjectScope,
    { topicIds = [], segmentIds = [] }: Partial<CampaignDraft>,
  ): Promise<Faults> {
    const topics = new Set((await this.topics.named(scope, topicIds)).map(({ id }) => id));
    const segments = await this.segments.named(scope, segmentIds);
    const statuses = new Map(segments.map(({ id, status }) => [id, status]));
    return {
      ...faultsOf('topicIds', topicIds, (id) => (topics.has(id) ? null : 'is not a known topic')),
      ...faultsOf('segmentIds', segmentIds, (id) => {
        if (!statuses.has(id)) return 'is not a known segment';
        return statuses.get(id) === 'ACTIVE' ? null : 'is not an active segment';
      }),
    };
  }
}

function faultsOf(field: string, ids: readonly string[], faultOf: (id: string) => string | null): Faults {
  const faults = ids.map((id, index) => [`${field}[${index}]`, faultOf(id)]);
  return Object.fromEntries(faults.filter(([, fault]) => fault !== null)) as Faults;
}
