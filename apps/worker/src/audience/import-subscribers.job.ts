import { Injectable } from '@nestjs/common';
import { ImportQueued, ImportRuns } from '#audience';
import type { ProjectScope } from '#kernel';
import { cancel, doneUnlessAborted, type JobContext, type JobResult, ResumableJob } from '#platform';

/** With the backoff these take some hours; an import that fails until then needs the client. */
const TRIES = 20;

/** Applies the rows of a queued import. */
@Injectable()
export class ImportSubscribers extends ResumableJob<{ importId: string }> {
  override readonly name = 'import-subscribers';
  override readonly queue = 'imports';
  override readonly on = ImportQueued;

  constructor(private readonly runs: ImportRuns) {
    super();
  }

  override async run(
    scope: ProjectScope,
    { importId }: { importId: string },
    { signal, failures }: JobContext,
  ): Promise<JobResult> {
    if (failures >= TRIES) {
      await this.runs.fail(scope, importId, 'It failed again and again.');
      return cancel('It failed again and again.');
    }
    await this.runs.run(scope, importId, signal);
    return doneUnlessAborted(signal);
  }
}
