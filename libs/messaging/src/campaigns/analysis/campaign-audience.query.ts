import { Inject, Injectable } from '@nestjs/common';
import { SegmentsQuery, TopicsQuery } from '#audience';
import type { CampaignFacts } from '#deliverability';
import type { ProjectScope } from '#kernel';
import type { Campaign } from '../campaign.js';

/** What a campaign's audience is chosen by. */
@Injectable()
export class CampaignAudienceQuery {
  constructor(
    @Inject(TopicsQuery) private readonly topics: TopicsQuery,
    @Inject(SegmentsQuery) private readonly segments: SegmentsQuery,
  ) {}

  /** None of the topics is deleted until the caller's transaction ends. */
  async of(
    scope: ProjectScope,
    { topicIds, segmentIds }: Pick<Campaign, 'topicIds' | 'segmentIds'>,
  ): Promise<Pick<CampaignFacts, 'topics' | 'segments'>> {
    return {
      topics: await this.topics.held(scope, topicIds),
      segments: await this.segments.named(scope, segmentIds),
    };
  }
}
