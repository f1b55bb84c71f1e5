import { Injectable } from '@nestjs/common';
import {
  EvaluateSegments,
  ExpireConfirmations,
  FoldCounters,
  ImportQueued,
  ImportRunsService,
  RemoveErasedAddresses,
  RemoveOldImports,
  RemoveOldUnsubscriptions,
  SEGMENT_JOB,
  SegmentDue,
  SegmentEvaluationsService,
  SubscriberErased,
  TopicDeleted,
  TopicsService,
  TrimSegmentHistory,
} from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import { MailErasureService } from '#messaging';
import {
  cancel,
  done,
  doneUnlessAborted,
  type JobContext,
  type JobResult,
  ResumableJob,
  snooze,
  TransactionalJob,
} from '#platform';
import type { ContextWork } from './worker.js';
import { type Erasure, ErasureJob } from './erasure.job.js';

/** Removes an erased person from deliveries, their events and the test inbox. */
@Injectable()
class EraseMail extends ErasureJob {
  override readonly name = 'erase-mail';

  constructor(
    private readonly erasure: MailErasureService,
    clock: Clock,
  ) {
    super(clock);
  }

  protected override erase(scope: ProjectScope, person: Erasure): Promise<void> {
    return this.erasure.erase(scope, person);
  }
}

const NEXT_TURN_MS = 2_000;

/** Evaluates one segment. A segment of a project that has enough under way waits for its turn. */
@Injectable()
class EvaluateSegment extends TransactionalJob<{ segmentId: string }> {
  override readonly name = SEGMENT_JOB;
  override readonly queue = 'segments';
  override readonly on = SegmentDue;

  constructor(
    private readonly evaluations: SegmentEvaluationsService,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async handle(scope: ProjectScope, { segmentId }: { segmentId: string }): Promise<JobResult> {
    const isEvaluated = await this.evaluations.evaluateInTurn(scope, segmentId);
    return isEvaluated ? done : snooze(new Date(this.clock.now().getTime() + NEXT_TURN_MS));
  }
}

/** The tries of an import, some hours with the backoff; one that still fails needs the client. */
const IMPORT_TRIES = 20;

/** Applies the rows of a queued import. */
@Injectable()
class ImportSubscribers extends ResumableJob<{ importId: string }> {
  override readonly name = 'import-subscribers';
  override readonly queue = 'imports';
  override readonly on = ImportQueued;

  constructor(private readonly runs: ImportRunsService) {
    super();
  }

  override async run(
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

type TopicDeletion = ReturnType<typeof TopicDeleted>['payload'];

/** Removes the remaining consents to a deleted topic. */
@Injectable()
class RemoveTopicConsents extends ResumableJob<TopicDeletion> {
  override readonly name = 'remove-topic-consents';
  override readonly queue = 'erasures';
  override readonly on = TopicDeleted;

  constructor(private readonly topics: TopicsService) {
    super();
  }

  override async run(
    scope: ProjectScope,
    deletion: TopicDeletion,
    { signal }: JobContext,
  ): Promise<JobResult> {
    while (!signal.aborted && (await this.topics.removeConsents(scope, deletion)));
    return doneUnlessAborted(signal);
  }
}

export const audienceWork: ContextWork = {
  jobs: [EraseMail, EvaluateSegment, ImportSubscribers, RemoveTopicConsents],
  events: [ImportQueued, SegmentDue, SubscriberErased, TopicDeleted],
  tasks: [
    ExpireConfirmations,
    FoldCounters,
    RemoveErasedAddresses,
    RemoveOldImports,
    RemoveOldUnsubscriptions,
    EvaluateSegments,
    TrimSegmentHistory,
  ],
  parts: [],
};
