import { Injectable } from '@nestjs/common';
import { TrackingHostCheckRequested } from '#access';
import { TrackingHostChecks } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { done, type JobResult, ResumableJob } from '#platform';

/** Looks whether a customer's host for links points here. */
@Injectable()
export class CheckTrackingHost extends ResumableJob<{ host: string }> {
  override readonly name = 'check-tracking-host';
  override readonly queue = 'dns';
  override readonly on = TrackingHostCheckRequested;

  constructor(private readonly checks: TrackingHostChecks) {
    super();
  }

  override async run(scope: ProjectScope, { host }: { host: string }): Promise<JobResult> {
    await this.checks.run(scope, host);
    return done;
  }
}
