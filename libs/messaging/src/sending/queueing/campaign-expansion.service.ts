import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { RecipientsQuery } from '#audience';
import { EmailQuotaService } from '#billing';
import type { ProjectScope } from '#kernel';
import { Database, SQL_STATE, sqlStateOf } from '#platform';
import { isContentFault } from '../delivery-outcome.js';
import { CampaignExpansionError } from './campaign-expansion.errors.js';
import type { CampaignMail } from '../mails/campaign-mail.js';
import { CampaignMailsService } from '../mails/campaign-mails.service.js';
import { LocalHours } from './local-hours.service.js';
import { movingFrontBack } from '../../deliveries/campaign-front.query.js';
import { wakeSenders } from '../../deliveries/deliveries.channel.js';
import { advance, type ExpandingCampaign, lockToExpand, reopening } from './expanding-campaign.query.js';

const CHUNK = 5_000;

interface ChunkOptions {
  /** Of the Message-IDs. */
  readonly domain: string;
  /** Whether a recipient who is queued already is skipped, or fails the chunk. */
  readonly maySkip: boolean;
}

interface Chunk {
  readonly lookedAt: number;
  readonly added: number;
  readonly last: string | null;
}

/**
 * Queues a delivery for each recipient of a campaign, a chunk a transaction with the cursor beside it: it can be
 * killed anywhere and goes on. The audience is frozen at `audience_at`; senders begin with the first chunk. A pause
 * holds the senders, not this.
 */
@Injectable()
export class CampaignExpansionService {
  constructor(
    private readonly database: Database,
    private readonly recipients: RecipientsQuery,
    private readonly mails: CampaignMailsService,
    private readonly quota: EmailQuotaService,
    private readonly hours: LocalHours,
  ) {}

  /**
   * Resolves when all recipients are queued, or the campaign is no longer to be sent. Compiles it before anybody is queued:
   * `CampaignExpansionError` when that fails.
   */
  async expand(scope: ProjectScope, campaignId: string, signal: AbortSignal): Promise<void> {
    const { sender } = await this.#compile(scope, campaignId);
    while (!signal.aborted && (await this.#expandNext(scope, campaignId, sender.messageIdDomain)));
  }

  /**
   * True while there is more. Hardly anybody of a chunk is queued already: a campaign that is sent again, somebody who came back
   * under a new id. So `on conflict`, which looks before each row, is used only when the constraint says so: it took 9 of the
   * 28 µs of an insert (bench/history/expansion.md).
   */
  async #expandNext(scope: ProjectScope, campaignId: string, domain: string): Promise<boolean> {
    try {
      return await this.#expandChunk(scope, campaignId, { domain, maySkip: false });
    } catch (error) {
      if (!isTakenAlready(error)) throw error;
      return this.#expandChunk(scope, campaignId, { domain, maySkip: true });
    }
  }

  async #compile(scope: ProjectScope, campaignId: string): Promise<CampaignMail> {
    try {
      return await this.mails.compileAll(scope, campaignId);
    } catch (error) {
      throw isContentFault(error) ? new CampaignExpansionError(error.message, false) : error;
    }
  }

  #expandChunk(scope: ProjectScope, campaignId: string, options: ChunkOptions): Promise<boolean> {
    return this.database.transaction(scope, async () => {
      const campaign = await lockToExpand(this.database, scope, campaignId);
      if (campaign === undefined) return false;
      const { topicIds, segmentIds, audienceAt } = campaign;
      const isFrozen = segmentIds.length > 0;
      // With segments the audience is copied first, in the transaction of the first chunk.
      if (isFrozen) await this.recipients.freeze(scope, campaignId, { topicIds, segmentIds }, audienceAt);
      const chunk = await this.#insert(scope, campaign, options);
      const isComplete = chunk.lookedAt < CHUNK;
      const emails = campaign.expandedEmails + chunk.added;
      await this.#adjustReservation(scope, campaign, emails, isComplete);
      const cursor = chunk.last ?? campaign.expansionCursor;
      await advance(this.database, campaign, { emails, cursor, isComplete });
      if (isComplete && isFrozen) await this.recipients.thaw(scope, campaignId);
      wakeSenders(this.database);
      return !isComplete;
    });
  }

  async #insert(
    scope: ProjectScope,
    campaign: ExpandingCampaign,
    { domain, maySkip }: ChunkOptions,
  ): Promise<Chunk> {
    const { id, topicIds, segmentIds, queuedOn, audienceAt, expansionCursor } = campaign;
    const chunk = {
      after: expansionCursor ?? undefined,
      frozen: segmentIds.length > 0 ? id : undefined,
      size: CHUNK,
    };
    const dueAt = await this.hours.of(scope, campaign, chunk);
    const { rows } = await sql<Chunk>`
      with ${this.recipients.audience(scope, topicIds, audienceAt, chunk)}, page as materialized (
        select a.subscriber_id, a.address, a.address_key, a.locale, a.time_zone, platform.new_id() as id from audience a
      ), reopened as (${reopening(campaign, dueAt)}), added as (
        insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address,
          address_key, locale, message_id, state, next_attempt_at, created_at)
        select page.id, ${queuedOn}::date, ${scope.environmentId}, 'CAMPAIGN', ${id},
          page.subscriber_id, page.address, page.address_key, page.locale, '<' || page.id || '@' || ${domain}::text || '>',
          'PENDING', ${dueAt}, ${audienceAt}
        from page
        ${maySkip ? sql`on conflict do nothing` : sql``}
        returning next_attempt_at, id
      ), opened as (select * from added union all select * from reopened), front as (${movingFrontBack(scope, id, sql`opened`)})
      select (select count(*) from candidates) as looked_at,
        (select count(*) from opened) as added,
        (select subscriber_id from candidates order by subscriber_id desc limit 1) as last
    `.execute(this.database.tables());
    return rows[0] ?? { lookedAt: 0, added: 0, last: null };
  }

  /**
   * Gives back what was set aside for people who left between `send` and now, and sets aside for those whose
   * pause ended in between. When the period has none left for them, the expansion stops with an error and is
   * tried again: nobody is dropped silently.
   */
  async #adjustReservation(
    scope: ProjectScope,
    { usagePeriod, reservedEmails }: ExpandingCampaign,
    emails: number,
    isComplete: boolean,
  ): Promise<void> {
    if (usagePeriod === null) return;
    if (emails > reservedEmails) {
      const { granted } = await this.quota.reserve(scope, emails - reservedEmails, usagePeriod);
      if (!granted)
        throw new CampaignExpansionError(
          'The billing period has too few e-mails left for this campaign.',
          true,
        );
    } else if (isComplete && emails < reservedEmails) {
      await this.quota.settle(scope, usagePeriod, { used: 0, released: reservedEmails - emails });
    }
  }
}

/** One delivery a campaign and subscriber, and a campaign and address. */
function isTakenAlready(error: unknown): boolean {
  if (sqlStateOf(error) !== SQL_STATE.uniqueViolation) return false;
  return error instanceof Error && 'table' in error && String(error.table).startsWith('deliveries');
}
