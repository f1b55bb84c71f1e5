import { type RawBuilder, sql } from 'kysely';
import { type Database, named, neverJoined } from '#platform';
import { COUNTERS_WRITER, FEEDBACK_WRITER } from './campaign-counters.repository.js';

/** Columns of messaging.automation_hours that count mails. */
type MailCounter =
  | 'sent'
  | 'delivered'
  | 'hard_bounced'
  | 'soft_bounced'
  | 'opened'
  | 'unique_opens'
  | 'clicked'
  | 'unique_clicks'
  | 'unsubscribed'
  | 'complained';

/** The rows that have the numbers of all time: as few as there are nodes and writers. */
export const ALL_TIME = sql`'-infinity'::timestamptz`;

/**
 * Statement that adds `changes` (`version_id, place, at, environment_id` and the counters) to what came of nodes' mails, of all
 * time and by the hour.
 */
export function countingNodes(
  counters: readonly MailCounter[],
  changes: RawBuilder<unknown>,
  writer = COUNTERS_WRITER,
): RawBuilder<unknown> {
  const hours = sql`(values (${ALL_TIME}), (date_trunc('hour', at, 'UTC')))`;
  return adding(
    counters,
    sql`select c.*, t.hour from (${changes}) c cross join lateral ${hours} t(hour)`,
    writer,
  );
}

/** Statement that adds `changes` (`version_id, place, environment_id, entered, departed`) to the traffic of nodes. */
export const countingTraffic = (changes: RawBuilder<unknown>): RawBuilder<unknown> =>
  adding(['entered', 'departed'], sql`select c.*, ${ALL_TIME} as hour from (${changes}) c`, COUNTERS_WRITER);

/** In one order everywhere, so that writers cannot lock each other out. */
function adding(
  counters: readonly string[],
  changes: RawBuilder<unknown>,
  writer: number,
): RawBuilder<unknown> {
  const columns = sql.join(counters.map((name) => sql.ref(name)));
  const sums = sql.join(counters.map((name) => sql`sum(${sql.ref(name)})`));
  const additions = sql.join(
    counters.map((name) => sql`${sql.ref(name)} = h.${sql.ref(name)} + excluded.${sql.ref(name)}`),
  );
  return sql`insert into messaging.automation_hours as h (version_id, place, hour, writer, environment_id, ${columns})
    select version_id, place, hour, ${writer}::smallint, environment_id, ${sums}
    from (${changes}) v group by version_id, place, hour, environment_id order by version_id, place, hour
    on conflict (version_id, place, hour, writer, environment_id) do update set ${additions}`;
}

/**
 * Statement that adds `changes` (`version_id, place, url, link_number, environment_id, clicked, unique_clicks`) to the links of
 * automations' mails.
 */
export function countingNodeLinks(changes: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`insert into messaging.automation_link_counters as l (version_id, place, url_hash, writer, environment_id, link_number,
      clicked, unique_clicks, url)
    select version_id, place, md5(url)::uuid, ${COUNTERS_WRITER}::smallint, environment_id, max(link_number), sum(clicked),
      sum(unique_clicks), url
    from (${changes}) v group by version_id, place, url, environment_id order by 1, 2, 3
    on conflict (version_id, place, url_hash, writer, environment_id) do update set
      clicked = l.clicked + excluded.clicked, unique_clicks = l.unique_clicks + excluded.unique_clicks`;
}

/** The version and the place of the node that sends a mail, by its `source_id`: a lateral to select from. */
export const nodeOfMail = (sourceId: RawBuilder<unknown>, environmentId: number): RawBuilder<unknown> => sql`(
    select r.version_id, messaging.place_of_step(${sourceId}) as place from messaging.automation_runs r
    where r.id = messaging.run_of_step(${sourceId}) and r.environment_id = ${environmentId}
    ${neverJoined}
  )`;

/** A change of the hours of the node that sent a mail; numbers that are left out stay. */
export interface NodeFeedback {
  /** The step of somebody's run that the mail belongs to. */
  readonly sourceId: string;
  readonly at: Date;
  readonly delivered?: number;
  readonly hardBounced?: number;
  readonly softBounced?: number;
  readonly complained?: number;
}

/** Adds to the hours of nodes of one environment, last in a transaction, as campaigns' feedback is. */
export async function addNodeFeedback(
  database: Database,
  environmentId: number,
  changes: readonly NodeFeedback[],
): Promise<void> {
  if (changes.length === 0) return;
  const added = sql`
    select n.version_id, n.place, v.at, ${environmentId}::bigint as environment_id, coalesce(v.delivered, 0) as delivered,
      coalesce(v."hardBounced", 0) as hard_bounced, coalesce(v."softBounced", 0) as soft_bounced,
      coalesce(v.complained, 0) as complained
    from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb) as v("sourceId" uuid, at timestamptz, delivered int,
      "hardBounced" int, "softBounced" int, complained int)
    cross join lateral ${nodeOfMail(sql`v."sourceId"`, environmentId)} n`;
  const counters = ['delivered', 'hard_bounced', 'soft_bounced', 'complained'] as const;
  await sql`${named('add_node_feedback')} ${countingNodes(counters, added, FEEDBACK_WRITER)}`.execute(
    database.tables(),
  );
}
