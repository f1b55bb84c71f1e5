import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { CampaignReportRequested, ReportWritingService } from '#messaging';
import { cancel, done, type JobContext, type JobResult, ResumableJob, retry } from '#platform';

/** With the backoff, about an hour. */
const TRIES = 12;

/** Writes a version of a campaign's report. */
@Injectable()
export class WriteCampaignReport extends ResumableJob<{ reportId: string }> {
  override readonly name = 'write-campaign-report';
  override readonly queue = 'reports';
  override readonly on = CampaignReportRequested;

  constructor(private readonly reports: ReportWritingService) {
    super();
  }

  override async run(
    scope: ProjectScope,
    { reportId }: { reportId: string },
    { signal, failures }: JobContext,
  ): Promise<JobResult> {
    if (failures >= TRIES) {
      await this.reports.giveUp(scope, reportId);
      return cancel('It failed again and again.');
    }
    try {
      await this.reports.write(scope, reportId, signal);
      return done;
    } catch (error) {
      if (!signal.aborted) throw error;
      return retry('The worker stopped.');
    }
  }
}
