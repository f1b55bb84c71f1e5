import { Injectable } from '@nestjs/common';
import { TrackingHostCheckRequested } from '#access';
import { DomainChecksService, DomainVerificationRequested, TrackingHostChecks } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { done, doneUnlessAborted, type JobContext, type JobResult, ResumableJob } from '#platform';

/** Checks the DNS of a domain; a client may be waiting for it. */
@Injectable()
export class CheckDomain extends ResumableJob<{ checkId: string }> {
  override readonly name = 'check-domain';
  override readonly queue = 'dns';
  override readonly on = DomainVerificationRequested;

  constructor(private readonly checks: DomainChecksService) {
    super();
  }

  override async run(
    scope: ProjectScope,
    { checkId }: { checkId: string },
    { signal }: JobContext,
  ): Promise<JobResult> {
    await this.checks.run(scope, checkId, signal);
    return doneUnlessAborted(signal);
  }
}

/** Checks that a customer's host for links points here. */
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
