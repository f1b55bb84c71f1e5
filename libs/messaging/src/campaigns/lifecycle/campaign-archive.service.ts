import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, InvalidStateError, NotFoundError, type ProjectScope, UnavailableError } from '#kernel';
import { Database } from '#platform';
import { ALLOWED_STATUSES, CAMPAIGN_ACTIONS, type CampaignStatus } from '../campaign-status.js';

/** How long the worker takes at most to end the deliveries of a campaign that was stopped, seconds. */
const ENDING_SECONDS = 60;

interface CampaignRow {
  readonly id: string;
  readonly status: CampaignStatus;
  readonly is_closing: boolean;
}

/** Puts campaigns away that are over. */
@Injectable()
export class CampaignArchive {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * ARCHIVED, for good: it can only be looked at. Throws `NotFoundError`, `InvalidStateError` unless it was SENT, CANCELLED or
   * FAILED, or `UnavailableError` while the worker still ends its deliveries.
   */
  archive(scope: ProjectScope, campaignKey: string): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<CampaignRow>`
        select id, status, closing_since is not null as is_closing from messaging.campaigns
        where environment_id = ${scope.environmentId} and campaign_key = ${campaignKey} and deleted_at is null
        for update
      `.execute(db);
      const [campaign] = rows;
      if (campaign === undefined) throw new NotFoundError();
      const { id, status, is_closing: isClosing } = campaign;
      if (!ALLOWED_STATUSES.archive.includes(status)) {
        const message = `The campaign ${CAMPAIGN_ACTIONS.archive} while it is ${status}.`;
        throw new InvalidStateError(message, status, ALLOWED_STATUSES.archive);
      }
      if (isClosing) throw new UnavailableError('Its deliveries are still being ended.', ENDING_SECONDS);
      await sql`
        update messaging.campaigns set status = 'ARCHIVED', updated_at = ${this.clock.now()} where id = ${id}
      `.execute(db);
    });
  }
}
