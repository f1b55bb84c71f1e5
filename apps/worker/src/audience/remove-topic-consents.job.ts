import { Inject, Injectable } from '@nestjs/common';
import { TopicDeleted, TopicDeletionService } from '#audience';
import type { ProjectScope } from '#kernel';
import { done, type JobContext, type JobResult, ResumableJob, retry } from '#platform';

interface Deletion {
  readonly topicId: string;
  readonly apiKeyId: string | null;
}

/** Removes the remaining consents to a deleted topic. */
@Injectable()
export class RemoveTopicConsents extends ResumableJob<Deletion> {
  override readonly name = 'remove-topic-consents';
  override readonly queue = 'erasures';
  override readonly on = TopicDeleted;

  constructor(@Inject(TopicDeletionService) private readonly topics: TopicDeletionService) {
    super();
  }

  override async run(scope: ProjectScope, deletion: Deletion, { signal }: JobContext): Promise<JobResult> {
    while (await this.topics.removeConsents(scope, deletion)) {
      if (signal.aborted) return retry('The worker stopped.');
    }
    return done;
  }
}
