import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { type Database, prepared } from '#platform';
import { bounceClassesIn } from './bounce-classes.query.js';

/** A mailbox that does not take mail for so long is given up. */
const CAMPAIGNS = 3;
const DAYS = 14;
const DAY_S = 24 * 60 * 60;
const TURNED_AWAY = bounceClassesIn(({ address }) => address === 'suppress-after-streak');

/** A campaign's mail to a subscriber, and when it was sent or refused. */
export interface ReturnedMail {
  readonly subscriberId: string;
  readonly finishedAt: Date;
}

/**
 * Whether a subscriber's mailbox, full or otherwise unwilling, has turned away three campaigns or more over at least 14
 * days, up to this mail and without one in between that stayed. It is read from the deliveries, in the order in which
 * they were sent, so that reports may come in any order. Bounces for other reasons say nothing of the mailbox.
 */
export async function isMailboxGivenUp(
  database: Database,
  { environmentId }: ProjectScope,
  { subscriberId, finishedAt }: ReturnedMail,
): Promise<boolean> {
  const { rows } = await sql<{ campaigns: number; seconds: number }>`${prepared}
    with mails as materialized (
      select d.source_id, d.finished_at, d.state = 'SENT' and d.bounced_at is null as stayed,
        d.bounce_class in (${TURNED_AWAY}) or (d.state = 'FAILED' and d.reason in (${TURNED_AWAY})) as returned
      from messaging.deliveries d
      where d.environment_id = ${environmentId} and d.subscriber_id = ${subscriberId} and d.kind = 'CAMPAIGN'
        and d.finished_at <= ${finishedAt}
    )
    select count(distinct source_id)::int as campaigns,
      coalesce(extract(epoch from max(finished_at) - min(finished_at)), 0)::float8 as seconds
    from mails
    where returned and finished_at > coalesce((select max(finished_at) from mails where stayed), '-infinity')
  `.execute(database.tables());
  const [streak] = rows;
  return streak !== undefined && streak.campaigns >= CAMPAIGNS && streak.seconds >= DAYS * DAY_S;
}
