import { Injectable } from '@nestjs/common';
import { checkTrackingHost } from '#access';
import { DomainChecksService, checkDomain, TrackingHostChecks } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { done, doneUnlessAborted, type JobContext, type JobResult, ResumableJob } from '#platform';

/** Checks the DNS of a domain; a client may be waiting for it. */
@Injectable()
export class CheckDomain {
  constructor(private readonly checks: DomainChecksService) {}

  @ResumableJob(checkDomain)
  async run(
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
export class CheckTrackingHost {
  constructor(private readonly checks: TrackingHostChecks) {}

  @ResumableJob(checkTrackingHost)
  async run(scope: ProjectScope, { host }: { host: string }): Promise<JobResult> {
    await this.checks.run(scope, host);
    return done;
  }
}
