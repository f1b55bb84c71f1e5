import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database, neverJoined } from '#platform';
import { COUNTERS_WRITER } from './campaign-counters.repository.js';
import { BURST_MS, burstsOf, type Classification, type Click } from './classification.js';
import { EventBatch, type TrackedEvent } from './event-batch.query.js';
import { MailPublisherService } from './mail-publisher.service.js';

/** An open or a click sooner after acceptance is a program's. */
const TOO_SOON = sql.lit('2 seconds');
const BURST = sql.lit(`${BURST_MS} milliseconds`);

/** A click among others of its mail: a new one, or one that was recorded before. */
interface BurstCandidate extends Click {
  readonly deliveryId: string;
  /** The place of a new one in the batch. */
  readonly position: number | null;
  /** The id of the row of a recorded one. */
  readonly id: string | null;
  readonly classification: Classification | null;
}

/** The first key of the advisory locks by which writers take turns. */
const TURNS_LOCK = 7_207_001;

/** A delivery of one environment, partition and mailing. */
const sameDelivery = (batch: EventBatch) => sql`
  d.id = k.delivery_id and d.queued_on = k.queued_on and d.environment_id = ${batch.environmentId}
  and case when k.campaign_id is null then d.kind = 'AUTOMATION'
    else d.kind = 'CAMPAIGN' and d.source_id = k.campaign_id end
`;

/** Classifies opens and clicks, records them, counts and publishes them in the same transaction. */
@Injectable()
export class TrackedEventsService {
  constructor(
    private readonly database: Database,
    private readonly publisher: MailPublisherService,
  ) {}

  /** Events of deliveries that are neither a campaign's nor an automation's, or are gone, are left out. */
  write(events: readonly TrackedEvent[]): Promise<void> {
    const ofEach = Map.groupBy(events, ({ environmentId }) => environmentId);
    return this.writeBatches(
      [...ofEach].map(([environmentId, ofOne]) => EventBatch.of(environmentId, ofOne)),
    );
  }

  /** The same for batches, in one transaction. */
  async writeBatches(batches: readonly EventBatch[]): Promise<void> {
    if (batches.length === 0) return;
    // The environment of each event comes from a signed token.
    await this.database.system(async () => {
      await takeTurns(this.database, batches);
      for (const batch of batches) await this.#write(batch);
    });
  }

  async #write(batch: EventBatch): Promise<void> {
    const bursts = await this.#burstsAround(batch);
    const positions = bursts.flatMap(({ position }) => position ?? []);
    await recordEvents(this.database, batch, positions);
    const mistaken = bursts.filter(({ classification }) => classification === 'human');
    if (mistaken.length > 0) await disownClicks(this.database, batch, mistaken);
    await this.publisher.engaged(batch);
  }

  async #burstsAround(batch: EventBatch): Promise<BurstCandidate[]> {
    if (!batch.hasClicks) return [];
    const candidates = await burstCandidates(this.database, batch);
    const byMail = Map.groupBy(candidates, ({ deliveryId }) => deliveryId);
    return [...byMail.values()].flatMap((ofOne) => [...burstsOf(ofOne)]);
  }
}

/**
 * Makes writers of the same campaigns' events, or of the same mails of automations, take turns until the end of the transaction:
 * of two batches with events of one mail the second sees the first's rows. A lock a delivery would cost as much as its event.
 */
async function takeTurns(database: Database, batches: readonly EventBatch[]): Promise<void> {
  const turns = new Set(batches.flatMap((batch) => [...batch.turns]));
  await sql`
    select pg_advisory_xact_lock(${TURNS_LOCK}, turn) from unnest(${[...turns].sort((a, b) => a - b)}::int[]) turn
  `.execute(database.tables());
}

/** The clicks around the batch's, of mails of which three links or more may have been followed at that time. */
async function burstCandidates(database: Database, batch: EventBatch): Promise<BurstCandidate[]> {
  const { earliest, latest } = batch.timesAround(BURST_MS);
  const olderOf = (isTheirs: RawBuilder<unknown>, mails: RawBuilder<unknown>) => sql`
    select e.delivery_id, e.occurred_at, coalesce(e.link_number, 0), null::bigint, e.id, e.classification
    from mails m cross join lateral (
      select e.delivery_id, e.occurred_at, e.link_number, e.id, e.classification from messaging.delivery_events e
      where ${isTheirs} and e.delivery_id = m.delivery_id and e.environment_id = ${batch.environmentId} and e.type = 'CLICKED'
        and e.occurred_at between m.earliest and m.latest
        and e.occurred_at between ${earliest}::timestamptz and ${latest}::timestamptz
    ) e where ${mails}
  `;
  const older = [
    ...(batch.hasCampaigns
      ? [olderOf(sql`e.campaign_id = m.campaign_id`, sql`m.campaign_id is not null`)]
      : []),
    ...(batch.hasAutomations ? [olderOf(sql`e.campaign_id is null`, sql`m.campaign_id is null`)] : []),
  ];
  const { rows } = await sql<BurstCandidate>`
    with fresh as materialized (
      select k.position, k.delivery_id, k.campaign_id, coalesce(k.link_number, 0) as link_number, k.at from ${batch.rows}
      where k.type = 'CLICKED'
    ), mails as (
      select campaign_id, delivery_id, min(at) - ${BURST}::interval as earliest, max(at) + ${BURST}::interval as latest
      from fresh group by campaign_id, delivery_id
    ), clicks as materialized (
      select f.delivery_id, f.at, f.link_number, f.position, null::uuid as id, null::text as classification from fresh f
      union all ${sql.join(older, sql` union all `)}
    )
    select c.delivery_id, c.at, c.link_number, c.position, c.id, c.classification
    from clicks c
    where c.delivery_id in (select delivery_id from clicks group by delivery_id having count(*) >= 3)
  `.execute(database.tables());
  return rows;
}

/** Records the batch's events and counts those of people with campaigns' mails; `bursts` are the places of clicks in a burst. */
async function recordEvents(database: Database, batch: EventBatch, bursts: readonly number[]): Promise<void> {
  const { first, last } = batch.days;
  await sql`
    with given as materialized (
      select k.*, d.subscriber_id,
        case when d.first_sight = 'human' and k.position = any(${[...bursts]}::bigint[]) then 'scanner' else d.first_sight end
          as classification
      from ${batch.rows} cross join lateral (
        select d.subscriber_id, coalesce(k.known, case
          when d.sent_at is null then case when d.finished_at is null then 'scanner' else 'human' end
          when k.at - d.sent_at < interval ${TOO_SOON} then 'scanner' else 'human' end) as first_sight
        from messaging.deliveries d
        where ${sameDelivery(batch)} and d.queued_on between ${first}::date and ${last}::date
        ${neverJoined}
      ) d
    ), written as (
      insert into messaging.delivery_events (id, occurred_at, environment_id, campaign_id, delivery_id, subscriber_id, type,
        link_number, classification, agent, url)
      select platform.new_id(), at, environment_id, campaign_id, delivery_id, subscriber_id, type, link_number,
        classification, agent, url
      from given returning 1
    ), people as materialized (
      select delivery_id, queued_on, campaign_id, environment_id, at, (type = 'CLICKED')::int as click
      from given where classification = 'human' and campaign_id is not null
    ), looks as (
      select delivery_id, queued_on, environment_id, campaign_id, count(*)::int as opens, sum(click)::int as clicks,
        min(at) as first_opened_at,
        min(at) filter (where click = 1) as first_clicked_at, max(at) as last_at
      from people group by delivery_id, queued_on, environment_id, campaign_id
    ), added as materialized (
      select l.*, e.opens is null as is_first, coalesce(e.opens, 0) = 0 as is_new_opener,
        l.clicks > 0 and coalesce(e.clicks, 0) = 0 as is_new_clicker
      from looks l left join lateral (
        select e.opens, e.clicks from messaging.delivery_engagement e
        where e.delivery_id = l.delivery_id and e.queued_on = l.queued_on and e.environment_id = ${batch.environmentId}
          and e.queued_on between ${first}::date and ${last}::date
        ${neverJoined}
      ) e on true
    ), first_seen as (
      insert into messaging.delivery_engagement (delivery_id, queued_on, environment_id, campaign_id, opens, clicks,
        first_opened_at, first_clicked_at)
      select delivery_id, queued_on, environment_id, campaign_id, opens, clicks, first_opened_at, first_clicked_at
      from added where is_first returning 1
    ), seen_again as (
      update messaging.delivery_engagement e set opens = e.opens + a.opens, clicks = e.clicks + a.clicks,
        first_opened_at = least(e.first_opened_at, a.first_opened_at),
        first_clicked_at = least(e.first_clicked_at, a.first_clicked_at)
      from added a where not a.is_first and e.delivery_id = a.delivery_id and e.queued_on = a.queued_on
        and e.environment_id = ${batch.environmentId}
        and e.queued_on between ${first}::date and ${last}::date
    ), ${counting(sql`
      select campaign_id, environment_id, sum(opens) as opened, count(*) filter (where is_new_opener) as unique_opens,
        sum(clicks) as clicked, count(*) filter (where is_new_clicker) as unique_clicks, max(last_at) as last_event_at
      from added group by campaign_id, environment_id
    `)}
    ${countingMinutes(sql`
      select campaign_id, environment_id, date_trunc('minute', at) as minute, count(*) as opened, sum(click) as clicked
      from people group by 1, 2, 3
    `)}
  `.execute(database.tables());
}

/** Says of clicks that were counted as people's that they were a scanner's, and takes them off the counters. */
async function disownClicks(
  database: Database,
  batch: EventBatch,
  clicks: readonly Pick<BurstCandidate, 'id' | 'at'>[],
): Promise<void> {
  const keys = JSON.stringify(clicks.map(({ id, at }) => ({ id, at })));
  const { rows } = await sql<{ id: string }>`
    update messaging.delivery_events e set classification = 'scanner'
    from jsonb_to_recordset(${keys}::jsonb) as k(id uuid, at timestamptz)
    where e.id = k.id and e.occurred_at = k.at and e.environment_id = ${batch.environmentId} and e.classification = 'human'
    returning e.id
  `.execute(database.tables());
  if (rows.length === 0) return;
  const disowned = rows.map(({ id }) => id);
  await sql`
    with taken as materialized (
      select e.campaign_id, e.delivery_id, e.environment_id, e.occurred_at as at
      from jsonb_to_recordset(${keys}::jsonb) as k(id uuid, at timestamptz)
      join messaging.delivery_events e on e.id = k.id and e.occurred_at = k.at
      where e.id = any(${disowned}::uuid[]) and e.environment_id = ${batch.environmentId} and e.campaign_id is not null
    ), looks as (
      select campaign_id, delivery_id, count(*)::int as clicks, min(at) as first_at from taken group by campaign_id, delivery_id
    ), engaged as (
      update messaging.delivery_engagement g set opens = g.opens - l.clicks, clicks = g.clicks - l.clicks,
        first_opened_at = case when g.first_opened_at < l.first_at then g.first_opened_at
          else (select min(e.occurred_at) from messaging.delivery_events e where ${isLookOf}) end,
        first_clicked_at = case when g.first_clicked_at < l.first_at then g.first_clicked_at
          else (select min(e.occurred_at) from messaging.delivery_events e where ${isLookOf} and e.type = 'CLICKED') end
      from looks l
      where g.delivery_id = l.delivery_id and g.campaign_id = l.campaign_id and g.environment_id = ${batch.environmentId}
      returning g.campaign_id, g.environment_id, l.clicks, (g.opens = 0)::int as lost_opener, (g.clicks = 0)::int as lost_clicker
    ), ${counting(sql`
      select campaign_id, environment_id, -sum(clicks) as opened, -sum(lost_opener) as unique_opens, -sum(clicks) as clicked,
        -sum(lost_clicker) as unique_clicks, null::timestamptz as last_event_at
      from engaged group by campaign_id, environment_id
    `)}
    ${countingMinutes(sql`
      select campaign_id, environment_id, date_trunc('minute', at) as minute, -count(*) as opened, -count(*) as clicked
      from taken group by 1, 2, 3
    `)}
  `.execute(database.tables());
}

const isLookOf = sql`
  e.campaign_id = g.campaign_id and e.delivery_id = g.delivery_id and e.environment_id = g.environment_id
  and e.type in ('OPENED', 'CLICKED') and e.classification = 'human'
`;

/** A part of a WITH, `counted`: adds to the counters. */
function counting(changes: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`counted as (
    insert into messaging.campaign_counters as c (campaign_id, writer, environment_id, opened, unique_opens, clicked,
      unique_clicks, last_event_at)
    select campaign_id, ${COUNTERS_WRITER}, environment_id, opened, unique_opens, clicked, unique_clicks, last_event_at
    from (${changes}) v order by campaign_id
    on conflict (campaign_id, writer, environment_id) do update set opened = c.opened + excluded.opened,
      unique_opens = c.unique_opens + excluded.unique_opens, clicked = c.clicked + excluded.clicked,
      unique_clicks = c.unique_clicks + excluded.unique_clicks,
      last_event_at = greatest(c.last_event_at, excluded.last_event_at)
    returning 1
  )`;
}

/** Adds to the minutes, after `counted`: one order of locks. */
function countingMinutes(changes: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    insert into messaging.campaign_minutes as m (campaign_id, minute, writer, environment_id, opened, clicked)
    select campaign_id, minute, ${COUNTERS_WRITER}, environment_id, opened, clicked from (${changes}) v
    where (select count(*) from counted) >= 0 order by campaign_id, minute
    on conflict (campaign_id, minute, writer, environment_id) do update set opened = m.opened + excluded.opened,
      clicked = m.clicked + excluded.clicked
  `;
}
