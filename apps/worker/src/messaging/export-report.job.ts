import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { ReportExportMaker, ReportExportRequested } from '#messaging';
import { done, type JobResult, TransactionalJob } from '#platform';

/** Writes the report file that a client is waiting for. */
@Injectable()
export class ExportReport extends TransactionalJob<{ exportId: string }> {
  override readonly name = 'export-report';
  override readonly queue = 'exports';
  override readonly on = ReportExportRequested;

  constructor(private readonly maker: ReportExportMaker) {
    super();
  }

  override async handle(scope: ProjectScope, { exportId }: { exportId: string }): Promise<JobResult> {
    await this.maker.make(scope, exportId);
    return done;
  }
}
