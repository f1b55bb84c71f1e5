import { randomInt } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { present, type Sql } from '#platform';

/** What changes of a campaign's numbers; what is left out stays. */
export interface CounterChange {
  readonly campaignId: string;
  readonly environmentId: number;
  readonly hardBounced?: number;
  readonly softBounced?: number;
  readonly unsubscribed?: number;
  readonly complained?: number;
  readonly lastEventAt: Date;
}

/** What changes of one minute of a campaign. */
export interface MinuteChange {
  readonly campaignId: string;
  readonly environmentId: number;
  readonly at: Date;
  readonly delivered?: number;
  readonly bounced?: number;
  /** Of these, hard ones; and addresses that the next hop itself refused. Sending is judged by them. */
  readonly hardBounced?: number;
  readonly hardRefused?: number;
  readonly complained?: number;
  /** Refused for their sender or its authentication, by the next hop or by a report: at the minute in which they were sent. */
  readonly senderRefused?: number;
  readonly senderBounced?: number;
}

/** This process's rows among a campaign's counters: few enough to add up, enough not to wait for each other. */
const WRITERS = 32;
export const COUNTERS_WRITER = randomInt(WRITERS);

/** Adds to the campaigns' counters; in one order everywhere, so that writers cannot lock each other out. */
export async function addToCounters(db: Sql, changes: readonly CounterChange[]): Promise<void> {
  if (changes.length === 0) return;
  const values = changes.map((change) => ({
    campaign_id: change.campaignId,
    environment_id: change.environmentId,
    hard_bounced: change.hardBounced ?? 0,
    soft_bounced: change.softBounced ?? 0,
    unsubscribed: change.unsubscribed ?? 0,
    complained: change.complained ?? 0,
    last_event_at: change.lastEventAt,
  }));
  await sql`
    insert into messaging.campaign_counters as c (campaign_id, writer, environment_id, hard_bounced, soft_bounced,
      unsubscribed, complained, last_event_at)
    select v.campaign_id, ${COUNTERS_WRITER}, v.environment_id, sum(v.hard_bounced), sum(v.soft_bounced),
      sum(v.unsubscribed), sum(v.complained), max(v.last_event_at)
    from jsonb_to_recordset(${JSON.stringify(values)}::jsonb) as v(campaign_id uuid, environment_id bigint,
      hard_bounced int, soft_bounced int, unsubscribed int, complained int, last_event_at timestamptz)
    group by v.campaign_id, v.environment_id order by v.campaign_id
    on conflict (campaign_id, writer) do update set hard_bounced = c.hard_bounced + excluded.hard_bounced,
      soft_bounced = c.soft_bounced + excluded.soft_bounced, unsubscribed = c.unsubscribed + excluded.unsubscribed,
      complained = c.complained + excluded.complained, last_event_at = greatest(c.last_event_at, excluded.last_event_at)
  `.execute(db);
}

/** Adds to the campaigns' minutes. */
export async function addToMinutes(db: Sql, changes: readonly MinuteChange[]): Promise<void> {
  if (changes.length === 0) return;
  const values = changes.map((change) => ({
    campaign_id: change.campaignId,
    environment_id: change.environmentId,
    at: change.at,
    delivered: change.delivered ?? 0,
    bounced: change.bounced ?? 0,
    hard_bounced: change.hardBounced ?? 0,
    hard_refused: change.hardRefused ?? 0,
    complained: change.complained ?? 0,
    sender_refused: change.senderRefused ?? 0,
    sender_bounced: change.senderBounced ?? 0,
  }));
  await sql`
    insert into messaging.campaign_minutes as m (campaign_id, minute, writer, environment_id, delivered, bounced, hard_bounced,
      hard_refused, complained, sender_refused, sender_bounced)
    select v.campaign_id, date_trunc('minute', v.at), ${COUNTERS_WRITER}, v.environment_id, sum(v.delivered), sum(v.bounced),
      sum(v.hard_bounced), sum(v.hard_refused), sum(v.complained), sum(v.sender_refused),
      sum(v.sender_bounced)
    from jsonb_to_recordset(${JSON.stringify(values)}::jsonb) as v(campaign_id uuid, environment_id bigint, at timestamptz,
      delivered int, bounced int, hard_bounced int, hard_refused int, complained int, sender_refused int, sender_bounced int)
    group by 1, 2, 4 order by 1, 2
    on conflict (campaign_id, minute, writer) do update set delivered = m.delivered + excluded.delivered,
      bounced = m.bounced + excluded.bounced, hard_bounced = m.hard_bounced + excluded.hard_bounced,
      hard_refused = m.hard_refused + excluded.hard_refused, complained = m.complained + excluded.complained,
      sender_refused = m.sender_refused + excluded.sender_refused, sender_bounced = m.sender_bounced + excluded.sender_bounced
  `.execute(db);
}

/**
 * Counts what was sent, as parts of the statement that writes it: `written` is the name of a set with source_id,
 * environment_id, kind and state. To stand behind it in its WITH.
 */
export function countingSent(written: string): RawBuilder<unknown> {
  return sql`
    newly_sent as (
      select source_id, environment_id, count(*) as n from ${sql.ref(written)}
      where kind = 'CAMPAIGN' and state = 'SENT' group by source_id, environment_id order by source_id
    ), counted_sent as (
      insert into messaging.campaign_counters as c (campaign_id, writer, environment_id, sent, first_sent_at, last_sent_at)
      select source_id, ${COUNTERS_WRITER}, environment_id, n, ${present}, ${present} from newly_sent
      on conflict (campaign_id, writer) do update set sent = c.sent + excluded.sent,
        first_sent_at = least(c.first_sent_at, excluded.first_sent_at),
        last_sent_at = greatest(c.last_sent_at, excluded.last_sent_at)
      returning 1
    ), counted_minute as (
      insert into messaging.campaign_minutes as m (campaign_id, minute, writer, environment_id, sent, delivered)
      select source_id, date_trunc('minute', ${present}), ${COUNTERS_WRITER}, environment_id, n, n from newly_sent
      -- after the counters, as everywhere: one order of locks
      where (select count(*) from counted_sent) >= 0
      on conflict (campaign_id, minute, writer) do update set sent = m.sent + excluded.sent,
        delivered = m.delivered + excluded.delivered
    )
  `;
}
