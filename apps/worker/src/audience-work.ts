import { Injectable } from '@nestjs/common';
import {
  runImport,
  ImportRunsService,
  evaluateSegment,
  SegmentEvaluationsService,
  removeTopicConsents,
  TopicsService,
} from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import {
  cancel,
  done,
  doneUnlessAborted,
  type JobContext,
  type JobResult,
  ResumableJob,
  snooze,
  Job,
} from '#platform';
import type { ContextWork } from './worker.js';

const NEXT_TURN_MS = 2_000;

/** Evaluates one segment. A segment of a project that has enough under way waits for its turn. */
@Injectable()
class EvaluateSegment {
  constructor(
    private readonly evaluations: SegmentEvaluationsService,
    private readonly clock: Clock,
  ) {}

  @Job(evaluateSegment)
  async handle(scope: ProjectScope, { segmentId }: { segmentId: string }): Promise<JobResult> {
    const isEvaluated = await this.evaluations.evaluateInTurn(scope, segmentId);
    return isEvaluated ? done : snooze(new Date(this.clock.now().getTime() + NEXT_TURN_MS));
  }
}

/** The tries of an import, some hours with the backoff; one that still fails needs the client. */
const IMPORT_TRIES = 20;

/** Applies the rows of a queued import. */
@Injectable()
class ImportSubscribers {
  constructor(private readonly runs: ImportRunsService) {}

  @ResumableJob(runImport)
  async run(
    scope: ProjectScope,
    { importId }: { importId: string },
    { signal, failures }: JobContext,
  ): Promise<JobResult> {
    if (failures >= IMPORT_TRIES) {
      await this.runs.fail(scope, importId, 'It failed again and again.');
      return cancel('It failed again and again.');
    }
    await this.runs.run(scope, importId, signal);
    return doneUnlessAborted(signal);
  }
}

type TopicDeletion = Parameters<typeof removeTopicConsents>[0];

/** Removes the remaining consents to a deleted topic. */
@Injectable()
class RemoveTopicConsents {
  constructor(private readonly topics: TopicsService) {}

  @ResumableJob(removeTopicConsents)
  async run(scope: ProjectScope, deletion: TopicDeletion, { signal }: JobContext): Promise<JobResult> {
    while (!signal.aborted && (await this.topics.removeConsents(scope, deletion)));
    return doneUnlessAborted(signal);
  }
}

export const audienceWork: ContextWork = {
  jobs: [EvaluateSegment, ImportSubscribers, RemoveTopicConsents],
};
