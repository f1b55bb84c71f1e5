import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { CampaignFailureService } from '../../campaigns/lifecycle/campaign-failure.service.js';
import { CampaignExpansionError } from './campaign-expansion.errors.js';
import { CampaignExpansionService } from './campaign-expansion.service.js';

/** With the waits between them, a quarter of an hour: then the campaign has failed. */
const TRIES = 10;

/** One try to queue a campaign's recipients. */
export interface DispatchTry {
  /** Tries that failed before. */
  readonly failures: number;
  readonly signal: AbortSignal;
}

/** Takes a campaign over from the api: its recipients are queued, or it fails. */
@Injectable()
export class CampaignDispatchService {
  constructor(
    private readonly expansion: CampaignExpansionService,
    private readonly failure: CampaignFailureService,
  ) {}

  /** Null when there is nothing left to do, else why the campaign failed. Rejects when it is worth another try. */
  async dispatch(
    scope: ProjectScope,
    campaignId: string,
    { failures, signal }: DispatchTry,
  ): Promise<string | null> {
    try {
      await this.expansion.expand(scope, campaignId, signal);
      return null;
    } catch (error) {
      const known = error instanceof CampaignExpansionError ? error : null;
      if (known?.mayPass !== false && failures + 1 < TRIES) throw error;
      // What is not known may hold what its author must not see; the log has it from the tries before.
      const reason = known?.message ?? 'The recipients could not be queued.';
      await this.failure.fail(scope, campaignId, reason);
      return reason;
    }
  }
}
