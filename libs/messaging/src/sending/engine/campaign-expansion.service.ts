import { Inject, Injectable } from '@nestjs/common';
import { type NotNull, type RawBuilder, sql } from 'kysely';
import { ProjectsQuery } from '#access';
import { type AudienceChunk, RecipientsQuery } from '#audience';
import { EmailQuotaService } from '#billing';
import { Clock, isTimeZone, momentOfLocalTime, type ProjectScope } from '#kernel';
import {
  cancel,
  type Config,
  CONFIG,
  Database,
  doneUnlessAborted,
  enqueue,
  type JobContext,
  type JobResult,
  present,
  ResumableJob,
  SQL_STATE,
  sqlStateOf,
} from '#platform';
import { CampaignLifecycleService, expandCampaign } from '../../campaigns/campaign-lifecycle.service.js';
import { decideVariant } from '../../campaigns/variant-tests.service.js';
import { movingFrontBack, PARTITION } from '../../deliveries/campaign-front.query.js';
import { wakeSenders } from '../../deliveries/delivery-queue.query.js';
import { gotUnopened } from '../../campaigns/unopened-mails.query.js';
import type { MessagingTables } from '../../messaging-tables.js';
import { isContentFault } from '../delivery-outcome.js';
import type { CampaignMail } from '../mails/campaign-mail.js';
import { CompiledMailsService } from '../mails/compiled-mails.service.js';
import { variantOf } from './variant-assignment.query.js';

const CHUNK = 5_000;
/** Senders begin when it is committed, and have enough of it until the next is. */
const FIRST_CHUNK = 1_000;
/** Tries to queue the recipients; with the waits between them a quarter of an hour, then the campaign has failed. */
const TRIES = 10;

/** An obstacle to queueing a campaign's recipients, in words for its author. */
class CampaignExpansionError extends Error {
  override readonly name = 'CampaignExpansionError';

  /** `mayPass`: trying again later is not in vain. */
  constructor(
    message: string,
    readonly mayPass: boolean,
  ) {
    super(message);
  }
}

/** A campaign whose recipients are being queued, locked; see `lockToExpand`. */
type ExpandingCampaign = NonNullable<Awaited<ReturnType<typeof lockToExpand>>>;

interface ChunkOptions {
  /** The domain of the Message-IDs. */
  readonly domain: string;
  /** True: a recipient who is queued already is skipped; false: they fail the chunk. */
  readonly maySkip: boolean;
}

interface Chunk {
  readonly lookedAt: number;
  readonly added: number;
  readonly last: string | null;
}

/**
 * Queues a delivery for each recipient of a campaign, a chunk a transaction with the cursor beside it: it can be killed anywhere
 * and goes on. The audience is frozen at `audience_at`; senders begin with the first chunk, and a pause holds only them.
 */
@Injectable()
export class CampaignExpansionService {
  constructor(
    private readonly database: Database,
    private readonly recipients: RecipientsQuery,
    private readonly mails: CompiledMailsService,
    private readonly quota: EmailQuotaService,
    private readonly projects: ProjectsQuery,
    private readonly lifecycle: CampaignLifecycleService,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Fails the campaign where it cannot be expanded. Rejects when it is worth another try. */
  @ResumableJob(expandCampaign)
  async expandOrFail(
    scope: ProjectScope,
    { campaignId }: { campaignId: string },
    { failures, signal }: JobContext,
  ): Promise<JobResult> {
    try {
      await this.expand(scope, campaignId, signal);
      return doneUnlessAborted(signal);
    } catch (error) {
      const known = error instanceof CampaignExpansionError ? error : null;
      if (known?.mayPass !== false && failures + 1 < TRIES) throw error;
      // An unknown error may hold what its author must not see; the log has it from the tries before.
      const reason = known?.message ?? 'The recipients could not be queued.';
      await this.lifecycle.fail(scope, campaignId, reason);
      return cancel(reason);
    }
  }

  /**
   * Resolves when all recipients are queued, or the campaign is no longer to be sent. Compiles it before anybody is queued:
   * `CampaignExpansionError` when that fails.
   */
  async expand(scope: ProjectScope, campaignId: string, signal: AbortSignal): Promise<void> {
    const { sender } = await this.#compile(scope, campaignId);
    while (!signal.aborted && (await this.#expandNext(scope, campaignId, sender.messageIdDomain)));
  }

  async #compile(scope: ProjectScope, campaignId: string): Promise<CampaignMail> {
    try {
      return await this.mails.compileAll(scope, campaignId);
    } catch (error) {
      throw isContentFault(error) ? new CampaignExpansionError(error.message, false) : error;
    }
  }

  /**
   * True while there is more. Hardly anybody of a chunk is queued already, so `on conflict`, which looks before each row, is used
   * only when the constraint says so (bench/history/expansion.md).
   */
  async #expandNext(scope: ProjectScope, campaignId: string, domain: string): Promise<boolean> {
    try {
      return await this.#expandChunk(scope, campaignId, { domain, maySkip: false });
    } catch (error) {
      if (!isTakenAlready(error)) throw error;
      return this.#expandChunk(scope, campaignId, { domain, maySkip: true });
    }
  }

  #expandChunk(scope: ProjectScope, campaignId: string, options: ChunkOptions): Promise<boolean> {
    return this.database.transaction(scope, async () => {
      const campaign = await lockToExpand(this.database, scope, campaignId);
      if (campaign === undefined) return false;
      const { topicIds, segmentIds, audienceAt } = campaign;
      const size = campaign.expansionCursor === null ? FIRST_CHUNK : CHUNK;
      const isFrozen = segmentIds.length > 0;
      // An audience of segments is copied first, in the transaction of the first chunk.
      if (isFrozen) await this.recipients.freeze(scope, campaignId, { topicIds, segmentIds }, audienceAt);
      const chunk = await this.#insert(scope, campaign, { ...options, size });
      const isComplete = chunk.lookedAt < size;
      const emails = campaign.expandedEmails + chunk.added;
      await this.#adjustReservation(scope, campaign, emails, isComplete);
      const cursor = chunk.last ?? campaign.expansionCursor;
      await this.#advance(campaign, { emails, cursor, isComplete });
      if (isComplete && campaign.testPhase === 'TESTING')
        await enqueue(this.database, scope, decideVariant({ campaignId }, this.clock.now()));
      if (isComplete && isFrozen) await this.recipients.release(scope, campaignId);
      wakeSenders(this.database);
      return !isComplete;
    });
  }

  async #insert(
    scope: ProjectScope,
    campaign: ExpandingCampaign,
    { domain, maySkip, size }: ChunkOptions & { readonly size: number },
  ): Promise<Chunk> {
    const { id, topicIds, segmentIds, queuedOn, audienceAt, expansionCursor, isSentAgain, resendOf } =
      campaign;
    const { environmentId } = scope;
    const chunk = {
      after: expansionCursor ?? undefined,
      frozen: segmentIds.length > 0 ? id : undefined,
      size,
    };
    const dueAt = await this.#dueAt(scope, campaign, chunk);
    const isUnopened = resendOf === null ? null : await gotUnopened(this.database, scope, resendOf);
    const { test, testPhase, variants } = campaign;
    const hasVariants = test !== null;
    // Once it is decided nobody gets another one than the winner.
    const isTested = test !== null && testPhase === 'TESTING';
    const variant = isTested
      ? variantOf(this.config.TOKEN_SECRET, { ...test, campaignId: id, variants }, sql`a.subscriber_id`)
      : sql`null::smallint`;
    // The rest waits for the winner.
    const whenDue = isTested ? sql`case when page.variant is null then 'infinity' else ${dueAt} end` : dueAt;
    // A campaign that failed and is sent again reopens deliveries that reached nobody.
    const reopening = isSentAgain
      ? sql`reopened as (
        update messaging.deliveries d set state = 'PENDING', reason = null, last_error = null, attempt = 0, finished_at = null,
          locale = page.locale, created_at = ${audienceAt}, next_attempt_at = ${whenDue}, due_since = null${
            hasVariants ? sql`, variant = page.variant` : sql``
          }
        from page
        where d.source_id = ${id} and d.environment_id = ${environmentId} and d.subscriber_id = page.subscriber_id
          and (d.state = 'CANCELLED' or (d.state = 'FAILED' and d.reason = 'config')) and d.queued_on = ${queuedOn}::date
        returning d.next_attempt_at, d.id
      ), `
      : sql``;
    const { rows } = await sql<Chunk>`
      /* expand_campaign */ with ${this.recipients.audience(scope, topicIds, audienceAt, chunk)}, page as materialized (
        select a.subscriber_id, a.address, a.address_key, a.locale, a.time_zone, platform.new_id() as id${
          hasVariants ? sql`, ${variant} as variant` : sql``
        } from audience a
        ${isUnopened === null ? sql`` : sql`where ${isUnopened(sql`a.subscriber_id`, true)}`}
      ), ${reopening}added as (
        insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address,
          address_key, locale, message_id, state, next_attempt_at, created_at${hasVariants ? sql`, variant` : sql``})
        select page.id, ${queuedOn}::date, ${environmentId}, 'CAMPAIGN', ${id},
          page.subscriber_id, page.address, page.address_key, page.locale, '<' || page.id || '@' || ${domain}::text || '>',
          'PENDING', ${whenDue}, ${audienceAt}${hasVariants ? sql`, page.variant` : sql``}
        from page
        ${maySkip ? sql`on conflict do nothing` : sql``}
        returning next_attempt_at, id
      ), opened as (
        select * from added ${isSentAgain ? sql`union all select * from reopened` : sql``}
      ), front as (${movingFrontBack(scope, id, sql`opened`)})
      select (select count(*) from candidates) as looked_at,
        (select count(*) from opened) as added,
        (select subscriber_id from candidates order by subscriber_id desc limit 1) as last
    `.execute(this.database.tables());
    return rows[0] ?? { lookedAt: 0, added: 0, last: null };
  }

  /**
   * The moment, in SQL, at which each of the `page` of recipients gets the campaign: when it is its local time where they are, or
   * in the project's time zone where that is not known. The moments are Node's: PostgreSQL may not know the zones.
   */
  async #dueAt(
    scope: ProjectScope,
    { scheduledAtLocal: local, topicIds, audienceAt }: ExpandingCampaign,
    chunk: AudienceChunk,
  ): Promise<RawBuilder<Date>> {
    if (local === null) return sql<Date>`${audienceAt}::timestamptz`;
    const zones = await this.recipients.timeZones(scope, topicIds, audienceAt, chunk);
    const moments = zones.filter(isTimeZone).map((zone) => [zone, momentOfLocalTime(local, zone)]);
    const project = await this.projects.ofScope(scope);
    const otherwise = momentOfLocalTime(local, project?.timeZone ?? 'UTC');
    return sql<Date>`
      coalesce((${JSON.stringify(Object.fromEntries(moments))}::jsonb ->> page.time_zone)::timestamptz, ${otherwise}::timestamptz)
    `;
  }

  /**
   * Gives back what was set aside for people who left since `send`, and sets aside for those whose pause ended since. When the
   * period has none left for them, the expansion fails and is tried again: nobody is dropped silently.
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

  /** Records how far the campaign is: `emails` recipients are queued by now. */
  async #advance(
    { id, environmentId, isHeld, usagePeriod, reservedEmails }: ExpandingCampaign,
    { emails, cursor, isComplete }: { emails: number; cursor: string | null; isComplete: boolean },
  ): Promise<void> {
    const reserved = isComplete ? emails : Math.max(emails, reservedEmails);
    await this.database
      .tables<MessagingTables>()
      .updateTable('messaging.campaigns')
      .set({
        status: isHeld ? 'PAUSED' : 'SENDING',
        updatedAt: present,
        expandedEmails: emails,
        reservedEmails: usagePeriod === null ? 0 : reserved,
        expansionCursor: cursor,
        ...(isComplete ? { expandedAt: present, estimatedRecipientCount: emails, estimatedAt: present } : {}),
      })
      .where('id', '=', id)
      .where('environmentId', '=', environmentId)
      .execute();
  }
}

/** True for a campaign `c` that gets no further than PAUSED: its author paused it, or its project's sending is stopped. */
const isHeld = (environmentId: number) => sql<boolean>`(c.status = 'PAUSED' or exists (
  select 1 from messaging.sending_stops s where s.environment_id = ${environmentId}::bigint and s.stream = 'MARKETING' and s.resumed_at is null
))`;

/** Locks the campaign; undefined when it is expanded, or no longer to be sent. */
function lockToExpand(database: Database, { environmentId }: ProjectScope, id: string) {
  return database
    .tables<MessagingTables>()
    .selectFrom('messaging.campaigns as c')
    .select([
      'id',
      'environmentId',
      'topicIds',
      'segmentIds',
      'audienceAt',
      'expansionCursor',
      'scheduledAtLocal',
      'resendOf',
      'test',
      'testPhase',
    ])
    .select(sql<number>`jsonb_array_length(c.variants)`.as('variants'))
    .select(['usagePeriod', 'reservedEmails', 'expandedEmails', PARTITION.as('queuedOn')])
    .select(sql<boolean>`c.audience_at > c.queued_at`.as('isSentAgain'))
    .select(isHeld(environmentId).as('isHeld'))
    .where('id', '=', id)
    .where('environmentId', '=', environmentId)
    .where('expandedAt', 'is', null)
    .where('status', 'in', ['QUEUED_FOR_SENDING', 'SENDING', 'PAUSED'])
    .$narrowType<{ audienceAt: NotNull }>()
    .forUpdate()
    .executeTakeFirst();
}

/** True when a delivery of this campaign to the subscriber exists, whatever address they had then. */
function isTakenAlready(error: unknown): boolean {
  if (sqlStateOf(error) !== SQL_STATE.uniqueViolation) return false;
  return error instanceof Error && 'table' in error && String(error.table).startsWith('deliveries');
}
