import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { DomainValidationError } from '#kernel';
import { AuditTrail, Database, drain, keptDay } from '#platform';
import { PARTITION } from './deliveries/campaign-front.query.js';

/** Days for which a project's rows are kept; null: as long as the installation's. */
export interface KeptDays {
  readonly deliveriesDays: number | null;
  readonly eventsDays: number | null;
}

type ProjectKind = 'DELIVERIES' | 'EVENTS';

interface KeptEnvironment {
  readonly kind: ProjectKind;
  readonly days: number;
  readonly environmentId: number;
}

const BATCH = 5_000;

/** Days for which rows are kept at least. */
const LEAST_DAYS: Readonly<Record<keyof KeptDays, number>> = { deliveriesDays: 60, eventsDays: 30 };
const MOST_DAYS = 36_500;

/** Projects that keep rows for a shorter time than the installation: their settings, and the removal of their rows. */
@Injectable()
export class ProjectRetentionRepository {
  constructor(private readonly database: Database) {}

  of(projectId: number): Promise<KeptDays> {
    return this.database.system(async () => {
      const { rows } = await sql<KeptDays>`
        select deliveries_days, events_days from access.project_retention where project_id = ${projectId}
      `.execute(this.database.tables());
      return rows[0] ?? { deliveriesDays: null, eventsDays: null };
    });
  }

  /** Changes what is given. Throws `DomainValidationError`. */
  async set(projectId: number, changes: Partial<KeptDays>): Promise<KeptDays> {
    const faults = Object.entries(changes).flatMap(([name, days]) => {
      const least = LEAST_DAYS[name as keyof KeptDays];
      const isRight = days === null || (Number.isInteger(days) && days >= least && days <= MOST_DAYS);
      return isRight ? [] : [[name, `must be none, or from ${least} to ${MOST_DAYS} days`] as const];
    });
    if (faults.length > 0) throw new DomainValidationError(Object.fromEntries(faults));
    const before = await this.of(projectId);
    const after = { ...before, ...changes };
    const { deliveriesDays, eventsDays } = after;
    await this.database.system(async () => {
      await sql`
        insert into access.project_retention (project_id, deliveries_days, events_days)
        values (${projectId}, ${deliveriesDays}, ${eventsDays})
        on conflict (project_id) do update set deliveries_days = excluded.deliveries_days, events_days = excluded.events_days
      `.execute(this.database.tables());
      AuditTrail.current?.changes({ ...before }, { ...after });
    });
    return after;
  }

  /** Environments with a time of their own, once for each kind of row. */
  environments(): Promise<KeptEnvironment[]> {
    return this.database.system(async () => {
      const { rows } = await sql<KeptEnvironment>`
        select k.kind, k.days, e.id as environment_id
        from access.project_retention r join access.project_environments e on e.project_id = r.project_id
        cross join lateral (values ('DELIVERIES', r.deliveries_days), ('EVENTS', r.events_days)) k(kind, days)
        where k.days is not null order by e.id, k.kind
      `.execute(this.database.tables());
      return rows;
    });
  }

  /** Removes an environment's rows of before its cutoff, a batch a transaction. */
  async remove(kind: ProjectKind, environmentId: number, signal: AbortSignal): Promise<void> {
    const day = await this.database.system(() => keptDay(this.database, { environmentId }, kind));
    const statements =
      kind === 'EVENTS' ? oldEvents(environmentId, day) : await this.#oldMails(environmentId, day);
    for (const statement of statements)
      await drain(BATCH, () => (signal.aborted ? Promise.resolve(0) : this.#remove(statement)));
  }

  #remove(statement: RawBuilder<unknown>): Promise<number> {
    return this.database.system(async () => {
      const { numAffectedRows = 0n } = await statement.execute(this.database.tables());
      return Number(numAffectedRows);
    });
  }

  /** One removal for each campaign, as their index is, and one for all other mails. */
  #oldMails(environmentId: number, day: string): Promise<RawBuilder<unknown>[]> {
    return this.database.system(async () => {
      const { rows } = await sql<{ id: string; queuedOn: string }>`
        select c.id, ${PARTITION} as queued_on from messaging.campaigns c
        where c.environment_id = ${environmentId} and ${PARTITION} < ${day}::date
      `.execute(this.database.tables());
      const ofCampaigns = rows.map(({ id, queuedOn }) =>
        removal(
          environmentId,
          sql`d.source_id = ${id} and d.queued_on = ${queuedOn}::date and d.finished_at is not null
            and d.environment_id = ${environmentId}`,
        ),
      );
      return [
        ...ofCampaigns,
        removal(
          environmentId,
          sql`d.environment_id = ${environmentId} and d.kind <> 'CAMPAIGN' and d.single_ended_at < ${day}::date
            and d.queued_on < ${day}::date`,
        ),
      ];
    });
  }
}

/** Removes mails with their engagement. */
const removal = (environmentId: number, which: RawBuilder<unknown>) => sql`
  with old as materialized (
    select d.id, d.queued_on from messaging.deliveries d where ${which} limit ${BATCH}
  ), engagement as (
    delete from messaging.delivery_engagement g using old where g.delivery_id = old.id and g.queued_on = old.queued_on
      and g.environment_id = ${environmentId}
  )
  delete from messaging.deliveries d using old where d.id = old.id and d.queued_on = old.queued_on
    and d.environment_id = ${environmentId}
`;

/** One removal for each index. */
function oldEvents(environmentId: number, day: string): RawBuilder<unknown>[] {
  const isOld = sql`e.environment_id = ${environmentId} and e.occurred_at < ${day}::date`;
  const types = sql`e.type in ('OPENED', 'CLICKED', 'UNSUBSCRIBED', 'COMPLAINED', 'BOUNCED')`;
  return [
    eventRemoval(
      environmentId,
      'messaging.delivery_events',
      sql`${isOld} and ${types} and e.classification = 'human'`,
    ),
    eventRemoval(environmentId, 'messaging.delivery_events', sql`${isOld} and e.classification <> 'human'`),
    eventRemoval(environmentId, 'audience.subscriber_events', isOld),
    eventRemoval(environmentId, 'audience.field_changes', isOld),
  ];
}

const eventRemoval = (environmentId: number, table: string, which: RawBuilder<unknown>) => sql`
  with old as materialized (
    select e.id, e.occurred_at from ${sql.table(table)} e where ${which} limit ${BATCH}
  )
  delete from ${sql.table(table)} e using old where e.id = old.id and e.occurred_at = old.occurred_at
    and e.environment_id = ${environmentId}
`;
