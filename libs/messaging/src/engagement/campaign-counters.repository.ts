import { randomInt } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { type Database, named } from '#platform';
import { addingToHours, providerOfKey, relayOfHour } from './mail-hours.repository.js';

const COUNTERS = ['hardBounced', 'softBounced', 'unsubscribed', 'complained'] as const;
const MINUTE_COUNTERS = [
  'delivered',
  'bounced',
  // Hard bounces, and addresses that the next hop itself refused. Sending is judged by them.
  'hardBounced',
  'hardRefused',
  'complained',
  // Refused for their sender or its authentication, by the next hop or by a report: at the minute in which they were sent.
  'senderRefused',
  'senderBounced',
] as const;

const HOUR_COUNTERS = ['delivered', 'hardBounced', 'softBounced', 'complained'] as const;

type Counts<Name extends string> = Readonly<Partial<Record<Name, number>>>;

interface OfCampaign {
  readonly campaignId: string;
  readonly environmentId: number;
}

/** A change of a campaign's numbers; numbers that are left out stay. */
export interface CounterChange extends OfCampaign, Counts<(typeof COUNTERS)[number]> {
  readonly lastEventAt: Date;
}

/** A change of one minute of a campaign. */
export interface MinuteChange extends OfCampaign, Counts<(typeof MINUTE_COUNTERS)[number]> {
  readonly at: Date;
}

/** A change of one hour, by a mail that went to this address by this relay. */
export interface HourChange extends Counts<(typeof HOUR_COUNTERS)[number]> {
  /** Null: an automation's mail. */
  readonly campaignId: string | null;
  readonly environmentId: number;
  readonly at: Date;
  readonly relayKey: string | null;
  readonly addressKey: string;
}

/** This process's rows among a campaign's counters: few enough to add up, enough not to wait for each other. */
const WRITERS = 32;
export const COUNTERS_WRITER = randomInt(WRITERS);

/** Feedback has rows of its own, which a transaction locks last: those of outcomes and clicks are locked before addresses. */
export const FEEDBACK_WRITER = WRITERS + COUNTERS_WRITER;

/** Changes of campaigns' numbers that belong together. */
interface FeedbackChanges {
  readonly counters?: readonly CounterChange[];
  readonly minutes?: readonly MinuteChange[];
  readonly hours?: readonly HourChange[];
}

/**
 * Adds to the campaigns' counters, to their minutes and hours; in one order everywhere, so that writers cannot lock each other out.
 */
export async function addFeedback(
  database: Database,
  { counters = [], minutes = [], hours = [] }: FeedbackChanges,
): Promise<void> {
  if (counters.length + minutes.length + hours.length === 0) return;
  await sql`${named('add_feedback')}
    with counted as (
      insert into messaging.campaign_counters as c (campaign_id, writer, environment_id, ${names(COUNTERS)}, last_event_at)
      select (v ->> 'campaignId')::uuid, ${FEEDBACK_WRITER}, (v ->> 'environmentId')::bigint, ${sums(COUNTERS)},
        max((v ->> 'lastEventAt')::timestamptz)
      from jsonb_array_elements(${JSON.stringify(counters)}::jsonb) v group by 1, 3 order by 1
      on conflict (campaign_id, writer, environment_id) do update set ${additions(COUNTERS)},
        last_event_at = greatest(c.last_event_at, excluded.last_event_at)
      returning 1
    ), counted_minutes as (
      insert into messaging.campaign_minutes as c (campaign_id, minute, writer, environment_id, ${names(MINUTE_COUNTERS)})
      select (v ->> 'campaignId')::uuid, date_trunc('minute', (v ->> 'at')::timestamptz), ${FEEDBACK_WRITER},
        (v ->> 'environmentId')::bigint, ${sums(MINUTE_COUNTERS)}
      from jsonb_array_elements(${JSON.stringify(minutes)}::jsonb) v
      where (select count(*) from counted) >= 0
      group by 1, 2, 4 order by 1, 2
      on conflict (campaign_id, minute, writer, environment_id) do update set ${additions(MINUTE_COUNTERS)}
      returning 1
    )
    ${addingToHours({
      changes: changedHours(hours),
      figures: HOUR_COUNTERS,
      writer: FEEDBACK_WRITER,
      after: ['counted_minutes'],
    })}
  `.execute(database.tables());
}

interface Unsubscription {
  readonly environmentId: number;
  readonly at: Date;
  /** The mail, by the partition that it lies in. */
  readonly mail: { readonly id: string; readonly queuedOn: string };
}

/** Statement that counts the unsubscription that `noting` inserts and returns with its `campaign_id`. */
export function countingUnsubscription(
  noting: RawBuilder<unknown>,
  unsubscription: Unsubscription,
): RawBuilder<unknown> {
  const { environmentId, at } = unsubscription;
  return sql`${named('note_unsubscribed')}
    with noted as (${noting}), counted as (
      insert into messaging.campaign_counters as c (campaign_id, writer, environment_id, unsubscribed, last_event_at)
      select campaign_id, ${FEEDBACK_WRITER}::int, ${environmentId}::bigint, 1, ${at}::timestamptz from noted
      on conflict (campaign_id, writer, environment_id) do update set unsubscribed = c.unsubscribed + 1,
        last_event_at = greatest(c.last_event_at, excluded.last_event_at)
      returning c.campaign_id
    ), ${unsubscribingInHour(sql`counted`, unsubscription)}`;
}

/**
 * End of a WITH, which adds the unsubscription to its hour, if `noted` has a row: its `campaign_id`. The INSERT is not the outermost
 * statement: Citus writes the others of the WITH without the defaults of columns then.
 */
export const unsubscribingInHour = (
  noted: RawBuilder<unknown>,
  { environmentId, at, mail }: Unsubscription,
): RawBuilder<unknown> => sql`in_hour as (
    ${addingToHours({
      changes: sql`select d.environment_id, ${at}::timestamptz as at, n.campaign_id, ${relayOfHour(sql`d.relay_key`)} as relay_key,
        ${providerOfKey(sql`d.address_key`)} as provider, 1 as unsubscribed
      from ${noted} n cross join messaging.deliveries d
      where d.id = ${mail.id} and d.queued_on = ${mail.queuedOn} and d.environment_id = ${environmentId}`,
      figures: ['unsubscribed'],
      writer: FEEDBACK_WRITER,
    })} returning 1
  ) select count(*) from in_hour`;

const changedHours = (hours: readonly HourChange[]) => sql`
  select (v ->> 'environmentId')::bigint as environment_id, (v ->> 'at')::timestamptz as at, (v ->> 'campaignId')::uuid as campaign_id,
    ${relayOfHour(sql`v ->> 'relayKey'`)} as relay_key, ${providerOfKey(sql`v ->> 'addressKey'`)} as provider,
    ${sql.join(HOUR_COUNTERS.map((name) => sql`coalesce((v ->> ${sql.lit(name)})::int, 0) as ${sql.ref(name)}`))}
  from jsonb_array_elements(${JSON.stringify(hours)}::jsonb) v`;

const names = (counters: readonly string[]) => sql.join(counters.map((name) => sql.ref(name)));

const sums = (counters: readonly string[]) =>
  sql.join(counters.map((name) => sql`coalesce(sum((v ->> ${sql.lit(name)})::int), 0)`));

const additions = (counters: readonly string[]) =>
  sql.join(
    counters.map((name) => sql`${sql.ref(name)} = ${sql.ref(`c.${name}`)} + ${sql.ref(`excluded.${name}`)}`),
  );
