import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { RecipientsQuery } from '#audience';
import { EmailQuota } from '#billing';
import { Clock, type ProjectScope } from '#kernel';
import { Database, type Sql, SQL_STATE, sqlStateOf } from '#platform';
import { ContentCompileError } from '../../content/document/content-inspection.js';
import { MergeTemplateError } from '../../content/merge/merge-template.js';
import { CampaignCannotGoOnError } from './campaign-expansion.errors.js';
import type { CampaignMail } from '../mails/campaign-mail.js';
import { CampaignMailsService } from '../mails/campaign-mails.service.js';
import { wakeSenders } from '../../deliveries/deliveries.channel.js';

const CHUNK = 5_000;

interface ExpandingCampaign {
  readonly id: string;
  readonly topic_ids: string[];
  readonly segment_ids: string[];
  readonly queued_at: Date;
  readonly audience_at: Date;
  readonly expansion_cursor: string | null;
  readonly usage_period: Date | null;
  readonly reserved_emails: number;
  readonly expanded_emails: number;
}

interface ChunkOptions {
  /** Of the Message-IDs. */
  readonly domain: string;
  /** Whether who is written down already is passed over, or fails the chunk. */
  readonly maySkip: boolean;
}

interface Chunk {
  readonly looked_at: number;
  readonly added: number;
  readonly last: string | null;
}

/**
 * Writes a queued campaign's recipients down, a chunk a transaction with the cursor beside it: it can be
 * killed anywhere and goes on. The audience is frozen at `audience_at`; senders begin with the first chunk. A pause
 * holds the senders, not this.
 */
@Injectable()
export class CampaignExpansionService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(RecipientsQuery) private readonly recipients: RecipientsQuery,
    @Inject(CampaignMailsService) private readonly mails: CampaignMailsService,
    @Inject(EmailQuota) private readonly quota: EmailQuota,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * Resolves when all recipients are written down, or the campaign is no longer to be sent. Shows before anybody is
   * written down that it compiles: `CampaignCannotGoOnError` when it does not.
   */
  async expand(scope: ProjectScope, campaignId: string, signal: AbortSignal): Promise<void> {
    const { sender } = await this.#compile(scope, campaignId);
    while (!signal.aborted && (await this.#expandNext(scope, campaignId, sender.messageIdDomain)));
  }

  /**
   * True while there is more. Hardly anybody of a chunk is there already: a campaign that is sent again, somebody who came back
   * under a new id. To look before each row costs as much as half of writing it, so it is done when the constraint says so.
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
      return await this.mails.compile(scope, campaignId);
    } catch (error) {
      const isAtFault = error instanceof MergeTemplateError || error instanceof ContentCompileError;
      throw isAtFault ? new CampaignCannotGoOnError(error.message, false) : error;
    }
  }

  #expandChunk(scope: ProjectScope, campaignId: string, options: ChunkOptions): Promise<boolean> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<ExpandingCampaign>`
        select id, topic_ids, segment_ids, queued_at, audience_at, expansion_cursor, usage_period, reserved_emails, expanded_emails
        from messaging.campaigns
        where id = ${campaignId} and environment_id = ${scope.environmentId} and expanded_at is null
          and status in ('QUEUED_FOR_SENDING', 'SENDING', 'PAUSED')
        for update
      `.execute(db);
      const campaign = rows[0];
      if (campaign === undefined) return false;
      await this.#freeze(scope, campaign);
      const chunk = await this.#insert(scope, db, campaign, options);
      const complete = chunk.looked_at < CHUNK;
      const emails = campaign.expanded_emails + chunk.added;
      await this.#adjustReservation(scope, campaign, emails, complete);
      const now = this.clock.now();
      await sql`
        update messaging.campaigns set status = case when status = 'PAUSED' or ${isStopped(scope)} then 'PAUSED' else 'SENDING' end,
          updated_at = ${now}, expanded_emails = ${emails},
          reserved_emails = ${campaign.usage_period === null ? 0 : complete ? emails : Math.max(emails, campaign.reserved_emails)},
          expansion_cursor = coalesce(${chunk.last}::uuid, expansion_cursor),
          expanded_at = ${complete ? now : null}, estimated_recipient_count = case when ${complete} then ${emails} else estimated_recipient_count end, estimated_at = case when ${complete} then ${now} else estimated_at end
        where id = ${campaignId}
      `.execute(db);
      if (complete && campaign.segment_ids.length > 0) await this.recipients.thaw(scope, campaign.id);
      await wakeSenders(db);
      return !complete;
    });
  }

  /** With segments the audience is written down first, in the transaction of the first chunk. */
  async #freeze(scope: ProjectScope, campaign: ExpandingCampaign): Promise<void> {
    const { id, topic_ids: topicIds, segment_ids: segmentIds, audience_at: audienceAt } = campaign;
    if (segmentIds.length > 0) await this.recipients.freeze(scope, id, { topicIds, segmentIds }, audienceAt);
  }

  async #insert(
    scope: ProjectScope,
    db: Sql,
    campaign: ExpandingCampaign,
    { domain, maySkip }: ChunkOptions,
  ): Promise<Chunk> {
    const { id, topic_ids, segment_ids, queued_at, audience_at, expansion_cursor } = campaign;
    const walk = {
      after: expansion_cursor ?? undefined,
      frozen: segment_ids.length > 0 ? id : undefined,
      size: CHUNK,
    };
    const reopened = audience_at > queued_at ? reopen(campaign) : sql`select where false`;
    const { rows } = await sql<Chunk>`
      with ${this.recipients.audience(scope, topic_ids, audience_at, walk)}, page as materialized (
        select a.subscriber_id, a.address, a.address_key, platform.new_id() as id from audience a
      ), reopened as (${reopened}), added as (
        insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address,
          address_key, message_id, state, next_attempt_at, created_at)
        select page.id, (${queued_at}::timestamptz at time zone 'UTC')::date, ${scope.environmentId}, 'CAMPAIGN', ${id},
          page.subscriber_id, page.address, page.address_key, '<' || page.id || '@' || ${domain}::text || '>',
          'PENDING', ${audience_at}, ${audience_at}
        from page
        ${maySkip ? sql`on conflict do nothing` : sql``}
        returning 1
      )
      select (select count(*) from walked) as looked_at,
        (select count(*) from added) + (select count(*) from reopened) as added,
        (select subscriber_id from walked order by subscriber_id desc limit 1) as last
    `.execute(db);
    return rows[0] ?? { looked_at: 0, added: 0, last: null };
  }

  /**
   * Gives back what was set aside for people who left between `send` and now, and sets aside for those whose
   * pause ended in between. When the period has none left for them, the expansion stops with an error and is
   * tried again: nobody is dropped silently.
   */
  async #adjustReservation(
    scope: ProjectScope,
    campaign: ExpandingCampaign,
    emails: number,
    complete: boolean,
  ) {
    const { usage_period, reserved_emails } = campaign;
    if (usage_period === null) return;
    if (emails > reserved_emails) {
      const { granted } = await this.quota.reserve(scope, emails - reserved_emails, usage_period);
      if (!granted)
        throw new CampaignCannotGoOnError('The period has no e-mails left for the campaign.', true);
    } else if (complete && emails < reserved_emails) {
      await this.quota.settle(scope, usage_period, { used: 0, released: reserved_emails - emails });
    }
  }
}

/** One delivery a campaign and subscriber, and a campaign and address. */
function isTakenAlready(error: unknown): boolean {
  if (sqlStateOf(error) !== SQL_STATE.uniqueViolation) return false;
  return error instanceof Error && 'table' in error && String(error.table).startsWith('deliveries');
}

/** A project whose sending is stopped gets no further than this. */
const isStopped = ({ environmentId }: ProjectScope) => sql`
  exists (select from messaging.sending_stops s where s.environment_id = ${environmentId} and s.resumed_at is null)
`;

/** Of a campaign that failed and is sent again: who is in the page and was not reached before. */
const reopen = ({ id, queued_at, audience_at }: ExpandingCampaign) => sql`
  update messaging.deliveries d set state = 'PENDING', reason = null, last_error = null, attempt = 0, finished_at = null,
    created_at = ${audience_at}, next_attempt_at = ${audience_at}
  from page
  where d.source_id = ${id} and d.subscriber_id = page.subscriber_id
    and (d.state = 'CANCELLED' or (d.state = 'FAILED' and d.reason = 'config'))
    and d.queued_on = (${queued_at}::timestamptz at time zone 'UTC')::date
  returning 1
`;
