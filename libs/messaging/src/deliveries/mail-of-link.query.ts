import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { type Database, environmentOf, neverJoined } from '#platform';

/** A mail of a campaign or of an automation. */
export interface MailOfLink {
  readonly id: string;
  readonly queuedOn: string;
  readonly subscriberId: string | null;
  readonly address: string;
  readonly addressKey: string;
  /** The reader's language when it was queued; null: not known. */
  readonly locale: string | null;
  /** When it was sent; where it is not yet, when it was made. */
  readonly shownAt: Date;
  readonly messageId: string;
  /** Null for a mail of an automation. */
  readonly campaignId: string | null;
  readonly versionId: number | null;
  readonly place: number | null;
  readonly topicIds: string[];
}

/** The mail of a link; null when there is none. */
export async function findMailOfLink(
  database: Database,
  scope: ProjectScope,
  deliveryId: string,
  lock?: 'lock',
): Promise<MailOfLink | null> {
  const environment = environmentOf(scope);
  const { rows } = await sql<MailOfLink>`
    select d.id, d.queued_on, d.subscriber_id, d.address, d.address_key, d.locale,
      coalesce(d.sent_at, d.created_at) as shown_at, d.message_id,
      c.id as campaign_id, v.id as version_id, p.place,
      coalesce(c.topic_ids, array_remove(array[v.mail_topic_ids[p.place + 1]], null)) as topic_ids
    from messaging.deliveries d
    left join messaging.campaigns c
      on d.kind = 'CAMPAIGN' and c.id = d.source_id and c.environment_id = ${environment}
    left join lateral (
      select r.version_id from messaging.automation_runs r
      where d.kind = 'AUTOMATION' and r.id = messaging.run_of_step(d.source_id) and r.environment_id = ${environment}
      ${neverJoined}
    ) r on true
    left join messaging.automation_versions v on v.id = r.version_id and v.environment_id = ${environment}
    cross join lateral (select messaging.place_of_step(d.source_id) as place) p
    where d.id = ${deliveryId} and d.environment_id = ${environment} and (c.id is not null or v.id is not null)
    ${lock === undefined ? sql`` : sql`for update of d`}
  `.execute(database.tables());
  return rows[0] ?? null;
}

/** The topics of a campaign; a topic's own id where it is none. */
export async function topicsAbout(
  database: Database,
  { environmentId }: ProjectScope,
  id: string,
): Promise<string[]> {
  const { rows } = await sql<{ topicIds: string[] }>`
    select c.topic_ids from messaging.campaigns c where c.id = ${id} and c.environment_id = ${environmentId}
  `.execute(database.tables());
  return rows[0]?.topicIds ?? [id];
}
