import { randomInt } from 'node:crypto';
import { sql } from 'kysely';
import { type Database, named } from '#platform';

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

/** This process's rows among a campaign's counters: few enough to add up, enough not to wait for each other. */
const WRITERS = 32;
export const COUNTERS_WRITER = randomInt(WRITERS);

/** Feedback has rows of its own, which a transaction locks last: those of outcomes and clicks are locked before addresses. */
const FEEDBACK_WRITER = WRITERS + COUNTERS_WRITER;

/** Adds to the campaigns' counters, and to their minutes; in one order everywhere, so that writers cannot lock each other out. */
export async function addFeedback(
  database: Database,
  { counters = [], minutes = [] }: { counters?: readonly CounterChange[]; minutes?: readonly MinuteChange[] },
): Promise<void> {
  if (counters.length === 0 && minutes.length === 0) return;
  await sql`${named('add_feedback')}
    with counted as (
      insert into messaging.campaign_counters as c (campaign_id, writer, environment_id, ${names(COUNTERS)}, last_event_at)
      select (v ->> 'campaignId')::uuid, ${FEEDBACK_WRITER}, (v ->> 'environmentId')::bigint, ${sums(COUNTERS)},
        max((v ->> 'lastEventAt')::timestamptz)
      from jsonb_array_elements(${JSON.stringify(counters)}::jsonb) v group by 1, 3 order by 1
      on conflict (campaign_id, writer, environment_id) do update set ${additions(COUNTERS)},
        last_event_at = greatest(c.last_event_at, excluded.last_event_at)
      returning 1
    )
    insert into messaging.campaign_minutes as c (campaign_id, minute, writer, environment_id, ${names(MINUTE_COUNTERS)})
    select (v ->> 'campaignId')::uuid, date_trunc('minute', (v ->> 'at')::timestamptz), ${FEEDBACK_WRITER},
      (v ->> 'environmentId')::bigint, ${sums(MINUTE_COUNTERS)}
    from jsonb_array_elements(${JSON.stringify(minutes)}::jsonb) v
    where (select count(*) from counted) >= 0
    group by 1, 2, 4 order by 1, 2
    on conflict (campaign_id, minute, writer, environment_id) do update set ${additions(MINUTE_COUNTERS)}
  `.execute(database.tables());
}

const names = (counters: readonly string[]) => sql.join(counters.map((name) => sql.ref(name)));

const sums = (counters: readonly string[]) =>
  sql.join(counters.map((name) => sql`coalesce(sum((v ->> ${sql.lit(name)})::int), 0)`));

const additions = (counters: readonly string[]) =>
  sql.join(
    counters.map((name) => sql`${sql.ref(name)} = ${sql.ref(`c.${name}`)} + ${sql.ref(`excluded.${name}`)}`),
  );
