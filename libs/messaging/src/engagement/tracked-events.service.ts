import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Database, neverJoined } from '#platform';
import { countingNodeLinks, countingNodes } from './automation-counters.repository.js';
import { COUNTERS_WRITER } from './campaign-counters.repository.js';
import { BURST_MS, burstsOf, type Classification, type Click } from './classification.js';
import { EventBatch, isOfMessage, type TrackedEvent } from './event-batch.query.js';
import { addingToHours, type HourFigure, providerOfKey, relayOfHour } from './mail-hours.repository.js';
import { MailPublisherService } from './mail-publisher.service.js';
import { MessageLooksService, olderClicksOfMessages } from './message-looks.service.js';

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

type ClickKey = Pick<BurstCandidate, 'id' | 'at'>;

interface ChangedClick extends ClickKey {
  readonly id: string;
  /** Null for a mail of an automation. */
  readonly campaignId: string | null;
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
    private readonly messages: MessageLooksService,
  ) {}

  /** Events of deliveries that are of another kind than they say, or are gone, are left out. */
  write(events: readonly TrackedEvent[]): Promise<void> {
    const ofEach = Map.groupBy(events, (event) => `${event.environmentId}/${isOfMessage(event)}`);
    return this.writeBatches(
      [...ofEach.values()].map((ofOne) => EventBatch.of(ofOne[0]!.environmentId, ofOne)),
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
    if (batch.isOfMessages) await this.messages.lock(batch);
    const bursts = await this.#burstsAround(batch);
    const positions = bursts.flatMap(({ position }) => position ?? []);
    const mistaken = bursts.filter(({ classification }) => classification === 'human');
    if (batch.isOfMessages) return this.messages.write(batch, positions, mistaken);
    await recordEvents(this.database, batch, positions);
    if (mistaken.length > 0) await this.#disown(batch, mistaken);
    await this.publisher.engaged(batch);
  }

  /** Says of clicks that were counted as people's that they were a scanner's, and takes them off the counters. */
  async #disown(batch: EventBatch, clicks: readonly ClickKey[]): Promise<void> {
    const disowned = await reclassify(this.database, batch, clicks);
    const { campaigns = [], automations = [] } = Object.groupBy(disowned, ({ campaignId }) =>
      campaignId === null ? 'automations' : 'campaigns',
    );
    if (campaigns.length > 0) await uncountClicks(this.database, batch, campaigns);
    if (automations.length > 0) await uncountNodeClicks(this.database, batch, automations);
  }

  async #burstsAround(batch: EventBatch): Promise<BurstCandidate[]> {
    if (!batch.hasClicks) return [];
    const candidates = await burstCandidates(this.database, batch);
    const byMail = Map.groupBy(candidates, ({ deliveryId }) => deliveryId);
    return [...byMail.values()].flatMap((ofOne) => [...burstsOf(ofOne)]);
  }
}

/**
 * Makes writers of the same campaigns' events, or of the same versions of automations, take turns until the end of the
 * transaction: of two batches with events of one mail the second sees the first's rows. A lock a delivery would cost as much as its event.
 */
async function takeTurns(database: Database, batches: readonly EventBatch[]): Promise<void> {
  const turns = new Set(batches.flatMap((batch) => [...batch.turns]));
  await sql`
    select pg_advisory_xact_lock(${TURNS_LOCK}, turn) from unnest(${[...turns].sort((a, b) => a - b)}::int[]) turn
  `.execute(database.tables());
}

/** Clicks around the batch's, of mails of which three links or more may have been followed at that time. */
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
    ...(batch.isOfMessages ? [olderClicksOfMessages(batch)] : []),
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

/** Records the batch's events and counts those of people; `bursts` are the places of clicks in a burst. */
async function recordEvents(database: Database, batch: EventBatch, bursts: readonly number[]): Promise<void> {
  const { first, last } = batch.days;
  await sql`
    with given as materialized (
      select k.*, d.subscriber_id, d.relay_key, d.provider,
        case when d.first_sight = 'human' and k.position = any(${[...bursts]}::bigint[]) then 'scanner' else d.first_sight end
          as classification
      from ${batch.rows} cross join lateral (
        select d.subscriber_id, ${relayOfHour(sql`d.relay_key`)} as relay_key, ${providerOfKey(sql`d.address_key`)} as provider, coalesce(k.known, case
          when d.sent_at is null then case when d.finished_at is null then 'scanner' else 'human' end
          when k.at - d.sent_at < interval ${TOO_SOON} then 'scanner' else 'human' end) as first_sight
        from messaging.deliveries d
        where ${sameDelivery(batch)} and d.queued_on between ${first}::date and ${last}::date
        ${neverJoined}
      ) d
    ), written as (
      insert into messaging.delivery_events (id, occurred_at, environment_id, campaign_id, delivery_id, subscriber_id, type,
        link_number, link_set, classification, agent, url)
      select platform.new_id(), at, environment_id, campaign_id, delivery_id, subscriber_id, type, link_number,
        case when link_number is not null then link_set end, classification, agent, url
      from given returning 1
    ), people as materialized (
      select delivery_id, queued_on, campaign_id, version_id, place, environment_id, relay_key, provider, at, (type = 'CLICKED')::int as click,
        ${linkOf('given')} as link, link_number, url
      from given where classification = 'human'
    ), looks as (
      select delivery_id, queued_on, environment_id, campaign_id, version_id, place, min(relay_key) as relay_key,
        min(provider) as provider, count(*)::int as opens, sum(click)::int as clicks,
        min(at) as first_opened_at, min(at) filter (where click = 1) as first_clicked_at, max(at) as last_at,
        array_agg(distinct link) filter (where link is not null) as links
      from people group by delivery_id, queued_on, environment_id, campaign_id, version_id, place
    ), added as materialized (
      select l.*, e.opens is null as is_first, coalesce(e.opens, 0) = 0 as is_new_opener,
        l.clicks > 0 and coalesce(e.clicks, 0) = 0 as is_new_clicker,
        case when e.clicked_links is null then l.links
          else array(select unnest(l.links) except select unnest(e.clicked_links)) end as new_links,
        e.first_opened_at as opened_before, e.first_clicked_at as clicked_before
      from looks l left join lateral (
        select e.opens, e.clicks, e.clicked_links, e.first_opened_at, e.first_clicked_at from messaging.delivery_engagement e
        where e.delivery_id = l.delivery_id and e.queued_on = l.queued_on and e.environment_id = ${batch.environmentId}
          and e.queued_on between ${first}::date and ${last}::date
        ${neverJoined}
      ) e on true
    ), first_seen as (
      insert into messaging.delivery_engagement (delivery_id, queued_on, environment_id, campaign_id, opens, clicks,
        first_opened_at, first_clicked_at, clicked_links)
      select delivery_id, queued_on, environment_id, campaign_id, opens, clicks, first_opened_at, first_clicked_at, links
      from added where is_first returning 1
    ), seen_again as (
      update messaging.delivery_engagement e set opens = e.opens + a.opens, clicks = e.clicks + a.clicks,
        first_opened_at = least(e.first_opened_at, a.first_opened_at),
        first_clicked_at = least(e.first_clicked_at, a.first_clicked_at), clicked_links = e.clicked_links || a.new_links
      from added a where not a.is_first and e.delivery_id = a.delivery_id and e.queued_on = a.queued_on
        and e.environment_id = ${batch.environmentId}
        and e.queued_on between ${first}::date and ${last}::date
    ), ${counting(sql`
      select campaign_id, environment_id, sum(opens) as opened, count(*) filter (where is_new_opener) as unique_opens,
        sum(clicks) as clicked, count(*) filter (where is_new_clicker) as unique_clicks, max(last_at) as last_event_at
      from added where campaign_id is not null group by campaign_id, environment_id
    `)}, ${countingLinks(sql`
      select campaign_id, environment_id, link, 1 as clicked, 0 as unique_clicks from people
      where link is not null and campaign_id is not null
      union all select campaign_id, environment_id, unnest(new_links), 0, 1 from added where campaign_id is not null
    `)} ${batch.hasAutomations ? countingNodeEvents : sql``}, ${countingMinutes(sql`
      select campaign_id, environment_id, date_trunc('minute', at) as minute, count(*) as opened, sum(click) as clicked
      from people where campaign_id is not null group by 1, 2, 3
    `)}
    ${countingHours(
      sql`
      select campaign_id, environment_id, relay_key, provider, at, 1 as opened, 0 as unique_opens, click as clicked,
        0 as unique_clicks
      from people
      union all
      select campaign_id, environment_id, relay_key, provider, first_opened_at, 0, 1, 0, 0 from added
      where (opened_before <= first_opened_at) is not true
      union all
      select campaign_id, environment_id, relay_key, provider, first_clicked_at, 0, 0, 0, 1 from added
      where clicks > 0 and (clicked_before <= first_clicked_at) is not true
      union all
      select campaign_id, environment_id, relay_key, provider, opened_before, 0, -1, 0, 0 from added
      where opened_before > first_opened_at
      union all
      select campaign_id, environment_id, relay_key, provider, clicked_before, 0, 0, 0, -1 from added
      where clicked_before > first_clicked_at
    `,
      ...(batch.hasAutomations ? ['counted_minutes', 'counted_nodes'] : ['counted_minutes']),
    )}
  `.execute(database.tables());
}

/** Parts of a WITH, for events of automations: they add to the hours of nodes and to the links of their mails. */
const countingNodeEvents = sql`, counted_nodes as (
  ${countingNodes(
    ['opened', 'unique_opens', 'clicked', 'unique_clicks'],
    sql`
      select version_id, place, at, environment_id, 1 as opened, 0 as unique_opens, click as clicked, 0 as unique_clicks
      from people where version_id is not null
      union all select version_id, place, first_opened_at, environment_id, 0, 1, 0, 0
      from added where version_id is not null and is_new_opener
      union all select version_id, place, first_clicked_at, environment_id, 0, 0, 0, 1
      from added where version_id is not null and is_new_clicker
    `,
  )} returning 1
), counted_node_links as (
  ${countingNodeLinks(sql`
    select version_id, place, url, link_number, environment_id, 1 as clicked, 0 as unique_clicks
    from people where link is not null and version_id is not null
    union all
    select distinct on (p.delivery_id, p.link) p.version_id, p.place, p.url, p.link_number, p.environment_id, 0, 1
    from people p join added a on a.delivery_id = p.delivery_id and p.link = any(a.new_links) where p.version_id is not null
  `)} returning 1
)`;

const keysOf = (clicks: readonly ClickKey[]) => JSON.stringify(clicks.map(({ id, at }) => ({ id, at })));

/** Classifies clicks of people as a scanner's; resolves to those that it changed. */
async function reclassify(
  database: Database,
  batch: EventBatch,
  clicks: readonly ClickKey[],
): Promise<ChangedClick[]> {
  const { rows } = await sql<ChangedClick>`
    update messaging.delivery_events e set classification = 'scanner'
    from jsonb_to_recordset(${keysOf(clicks)}::jsonb) as k(id uuid, at timestamptz)
    where e.id = k.id and e.occurred_at = k.at and e.environment_id = ${batch.environmentId} and e.classification = 'human'
    returning e.id, e.occurred_at as at, e.campaign_id
  `.execute(database.tables());
  return rows;
}

/** Takes clicks of campaigns' mails off the counters. */
async function uncountClicks(
  database: Database,
  batch: EventBatch,
  clicks: readonly ClickKey[],
): Promise<void> {
  await sql`
    with taken as materialized (
      select e.campaign_id, e.delivery_id, e.environment_id, e.occurred_at as at, ${linkOf('e')} as link
      from jsonb_to_recordset(${keysOf(clicks)}::jsonb) as k(id uuid, at timestamptz)
      join messaging.delivery_events e on e.id = k.id and e.occurred_at = k.at
      where e.environment_id = ${batch.environmentId}
    ), looks as (
      select campaign_id, delivery_id, count(*)::int as clicks, min(at) as first_at from taken group by campaign_id, delivery_id
    ), lost as (
      select distinct g.campaign_id, g.environment_id, g.delivery_id, g.link from taken g
      where g.link is not null
        and not exists (select 1 from messaging.delivery_events e where ${isLookOf(batch)} and ${linkOf('e')} = g.link ${neverJoined})
    ), engaged as (
      ${takenOffMails(isLookOf(batch))}
      where g.delivery_id = l.delivery_id and g.campaign_id = l.campaign_id and g.environment_id = ${batch.environmentId}
      returning g.campaign_id, g.environment_id, g.delivery_id, g.queued_on, l.clicks, (g.opens = 0)::int as lost_opener,
        (g.clicks = 0)::int as lost_clicker, l.first_at, g.first_opened_at, g.first_clicked_at
    ), ${mailsOfEngaged(batch)}, ${counting(sql`
      select campaign_id, environment_id, -sum(clicks) as opened, -sum(lost_opener) as unique_opens, -sum(clicks) as clicked,
        -sum(lost_clicker) as unique_clicks, null::timestamptz as last_event_at
      from engaged group by campaign_id, environment_id
    `)}, ${countingLinks(sql`
      select campaign_id, environment_id, link, -1 as clicked, 0 as unique_clicks from taken where link is not null
      union all select campaign_id, environment_id, link, 0, -1 from lost
    `)}, ${countingMinutes(sql`
      select campaign_id, environment_id, date_trunc('minute', at) as minute, -count(*) as opened, -count(*) as clicked
      from taken group by 1, 2, 3
    `)}
    ${countingHours(hoursOfTaken, 'counted_minutes')}
  `.execute(database.tables());
}

/** Takes clicks of automations' mails off the counters. */
async function uncountNodeClicks(
  database: Database,
  batch: EventBatch,
  clicks: readonly ClickKey[],
): Promise<void> {
  await sql`
    with taken as materialized (
      select e.delivery_id, e.environment_id, e.occurred_at as at, ${linkOf('e')} as link, e.link_number, e.url, s.version_id, s.place
      from jsonb_to_recordset(${keysOf(clicks)}::jsonb) as k(id uuid, at timestamptz)
      join messaging.delivery_events e on e.id = k.id and e.occurred_at = k.at
      join messaging.link_sets s on s.id = e.link_set and s.environment_id = e.environment_id
      where e.environment_id = ${batch.environmentId}
    ), looks as (
      select version_id, place, delivery_id, count(*)::int as clicks, min(at) as first_at from taken group by 1, 2, 3
    ), lost as (
      select distinct g.environment_id, g.delivery_id, g.link, g.link_number, g.url, g.version_id, g.place from taken g
      where not exists (select 1 from messaging.delivery_events e where ${isLookOfNode(batch)} and ${linkOf('e')} = g.link ${neverJoined})
    ), engaged as (
      ${takenOffMails(isLookOfNode(batch))}
      where g.delivery_id = l.delivery_id and g.campaign_id is null and g.environment_id = ${batch.environmentId}
      returning g.campaign_id, g.environment_id, g.delivery_id, g.queued_on, l.version_id, l.place, l.first_at,
        (g.opens = 0)::int as lost_opener, (g.clicks = 0)::int as lost_clicker, g.first_opened_at, g.first_clicked_at
    ), ${mailsOfEngaged(batch)}, counted_nodes as (
      ${countingNodes(
        ['opened', 'unique_opens', 'clicked', 'unique_clicks'],
        sql`
          select version_id, place, at, environment_id, -1 as opened, 0 as unique_opens, -1 as clicked, 0 as unique_clicks from taken
          union all select version_id, place, first_at, environment_id, 0, -lost_opener, 0, -lost_clicker from engaged
        `,
      )} returning 1
    ), counted_node_links as (
      ${countingNodeLinks(sql`
        select version_id, place, url, link_number, environment_id, -1 as clicked, 0 as unique_clicks from taken
        union all select version_id, place, url, link_number, environment_id, 0, -1 from lost
      `)} returning 1
    )
    ${countingHours(hoursOfTaken, 'counted_nodes')}
  `.execute(database.tables());
}

/** A part of a WITH, `mails`: those of `engaged` with what their hours are told by. */
const mailsOfEngaged = (batch: EventBatch) => sql`mails as (
      select e.*, d.relay_key, d.provider from engaged e cross join lateral (
        select ${relayOfHour(sql`d.relay_key`)} as relay_key, ${providerOfKey(sql`d.address_key`)} as provider
        from messaging.deliveries d
        where d.id = e.delivery_id and d.queued_on = e.queued_on and d.environment_id = ${batch.environmentId}
        ${neverJoined}
      ) d
    )`;

/** Clicks that are taken off the hours; where the first look was one of them, the mail counts in the hour of the next. */
const hoursOfTaken = sql`
      select m.campaign_id, m.environment_id, m.relay_key, m.provider, t.at, -1 as opened, 0 as unique_opens, -1 as clicked,
        0 as unique_clicks
      from mails m join taken t on t.delivery_id = m.delivery_id
      union all
      select m.campaign_id, m.environment_id, m.relay_key, m.provider, f.at, 0, f.opens, 0, f.clicks
      from mails m cross join lateral (values
        (m.first_at, -1, 0, coalesce(m.first_opened_at, 'infinity') > m.first_at),
        (m.first_opened_at, 1, 0, m.first_opened_at > m.first_at),
        (m.first_at, 0, -1, coalesce(m.first_clicked_at, 'infinity') > m.first_at),
        (m.first_clicked_at, 0, 1, m.first_clicked_at > m.first_at)
      ) f(at, opens, clicks, is_moved)
      where f.is_moved`;

/** UPDATE of the mails in `looks`, which loses the clicks `taken` and the links `lost`; `isLook`: a look `e` at the mail that stays. */
const takenOffMails = (isLook: RawBuilder<unknown>) => sql`
      update messaging.delivery_engagement g set opens = g.opens - l.clicks, clicks = g.clicks - l.clicks,
        clicked_links = array(select unnest(g.clicked_links) except select o.link from lost o where o.delivery_id = g.delivery_id),
        first_opened_at = case when g.first_opened_at < l.first_at then g.first_opened_at
          else (select min(e.occurred_at) from messaging.delivery_events e where ${isLook}) end,
        first_clicked_at = case when g.first_clicked_at < l.first_at then g.first_clicked_at
          else (select min(e.occurred_at) from messaging.delivery_events e where ${isLook} and e.type = 'CLICKED') end
      from looks l`;

const isLookOfAny = ({
  environmentId,
}: EventBatch) => sql`e.delivery_id = g.delivery_id and e.environment_id = ${environmentId}
  and e.type in ('OPENED', 'CLICKED') and e.classification = 'human'`;
const isLookOf = (batch: EventBatch) => sql`e.campaign_id = g.campaign_id and ${isLookOfAny(batch)}`;
const isLookOfNode = (batch: EventBatch) => sql`e.campaign_id is null and ${isLookOfAny(batch)}`;

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

/** Number of a click's link among all of its campaign; null of an open. The table of counters has its parts. */
const linkOf = (row: string) => sql`${sql.ref(`${row}.link_set`)} << 16 | ${sql.ref(`${row}.link_number`)}`;

/** A part of a WITH, `counted_links`: adds to the links' counters. */
function countingLinks(changes: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`counted_links as (
    insert into messaging.link_counters as c (campaign_id, link_set, link_number, writer, environment_id, clicked, unique_clicks)
    select campaign_id, link >> 16, (link & 65535)::int, ${COUNTERS_WRITER}, environment_id, sum(clicked), sum(unique_clicks)
    from (${changes}) v group by campaign_id, link, environment_id order by campaign_id, link
    on conflict (campaign_id, link_set, link_number, writer, environment_id) do update set
      clicked = c.clicked + excluded.clicked, unique_clicks = c.unique_clicks + excluded.unique_clicks
    returning 1
  )`;
}

/** A part of a WITH, `counted_minutes`: adds to the minutes, after `counted`: one order of locks. */
function countingMinutes(changes: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`counted_minutes as (
    insert into messaging.campaign_minutes as m (campaign_id, minute, writer, environment_id, opened, clicked)
    select campaign_id, minute, ${COUNTERS_WRITER}, environment_id, opened, clicked from (${changes}) v
    where (select count(*) from counted) >= 0 order by campaign_id, minute
    on conflict (campaign_id, minute, writer, environment_id) do update set opened = m.opened + excluded.opened,
      clicked = m.clicked + excluded.clicked
    returning 1
  )`;
}

const LOOKS: readonly HourFigure[] = ['opened', 'uniqueOpens', 'clicked', 'uniqueClicks'];

/** Adds to the hours, after other parts; a mail counts in the hour of its first open, and in that of its first click. */
function countingHours(changes: RawBuilder<unknown>, ...after: readonly string[]): RawBuilder<unknown> {
  return addingToHours({ changes, figures: LOOKS, writer: COUNTERS_WRITER, after });
}
