import { Injectable } from '@nestjs/common';
import { TopicDeleted, TopicDeletionService } from '#audience';
import type { ProjectScope } from '#kernel';
import { doneUnlessAborted, type JobContext, type JobResult, ResumableJob } from '#platform';

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

  constructor(private readonly topics: TopicDeletionService) {
    super();
  }

  override async run(scope: ProjectScope, deletion: Deletion, { signal }: JobContext): Promise<JobResult> {
    while (!signal.aborted && (await this.topics.removeConsents(scope, deletion)));
    return doneUnlessAborted(signal);
  }
}
