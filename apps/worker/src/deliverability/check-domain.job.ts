import { Injectable } from '@nestjs/common';
import { DomainChecksService, DomainVerificationRequested } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { doneUnlessAborted, type JobContext, type JobResult, ResumableJob } from '#platform';

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
