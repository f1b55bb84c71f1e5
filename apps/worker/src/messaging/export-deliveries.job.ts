import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { DeliveriesExportMaker, DeliveriesExportRequested } from '#messaging';
import { doneUnlessAborted, type JobContext, type JobResult, ResumableJob } from '#platform';

/** Writes the file with a row for each recipient, while a client reads it. */
@Injectable()
export class ExportDeliveries extends ResumableJob<{ exportId: string }> {
  override readonly name = 'export-deliveries';
  override readonly queue = 'exports';
  override readonly on = DeliveriesExportRequested;

  constructor(private readonly maker: DeliveriesExportMaker) {
    super();
  }

  override async run(
    scope: ProjectScope,
    { exportId }: { exportId: string },
    { signal }: JobContext,
  ): Promise<JobResult> {
    await this.maker.make(scope, exportId, signal);
    return doneUnlessAborted(signal);
  }
}
