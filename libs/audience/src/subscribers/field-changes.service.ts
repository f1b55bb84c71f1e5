import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { before, Database, keptFrom, named, Periodic, removeOldRows } from '#platform';
import type { ConsentProof } from '../consents/consent.js';

/** The actor of a change, and the key, import or automation through which it acted. */
export type ChangedBy = Pick<ConsentProof, 'actor' | 'actorId'>;

/** Values of one person's fields, by the path of the field: `firstName`, `customFields.plan`. */
export type FieldChanges = Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;

const KEPT_MS = 365 * 86_400_000;

/** The differences between two states of a person. Fields that only one of them names were null in the other. */
export function changesBetween(earlier: object, later: object): FieldChanges {
  const [from, to] = [pathsOf(earlier), pathsOf(later)];
  const changed = Object.keys({ ...from, ...to }).filter(
    (path) => !isDeepStrictEqual(from[path] ?? null, to[path] ?? null),
  );
  return Object.fromEntries(
    changed.map((path) => [path, { from: from[path] ?? null, to: to[path] ?? null }]),
  );
}

/** Custom fields and metadata one by one. */
function pathsOf(fields: object): Readonly<Record<string, unknown>> {
  const entries = Object.entries(fields).flatMap(([name, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.entries(value).map(([key, one]: [string, unknown]) => [`${name}.${key}`, one])
      : [[name, value]],
  );
  return Object.fromEntries(entries) as Readonly<Record<string, unknown>>;
}

/** Statement that records what changed of locked subscribers, by their ids. */
export function recordingChanges(
  { environmentId }: ProjectScope,
  { actor, actorId }: ChangedBy,
  changes: ReadonlyMap<string, FieldChanges>,
  at: Date,
): RawBuilder<unknown> {
  const texts = [...changes.values()].map((one) => JSON.stringify(one));
  return sql`${named('record_field_changes')}
    insert into audience.field_changes (id, environment_id, subscriber_id, occurred_at, actor, actor_id, changes)
    select platform.new_id(), ${environmentId}, c.id, ${at}, ${actor}, ${actorId}, c.changes::jsonb
    from unnest(${[...changes.keys()]}::uuid[], ${texts}::text[]) c(id, changes)
    returning id`;
}

/** Changes of fields as they were recorded. */
@Injectable()
export class FieldChangesService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Removes changes of more than a year ago, and those from before the day from which the installation keeps events. */
  @Periodic('trim-field-changes', { everyMs: 3_600_000 })
  async trim(): Promise<void> {
    const [kept] = await this.database.statement<{ day: string }>(
      'system',
      sql`${named('kept_from')} select ${keptFrom('EVENTS', sql`${null}::bigint`)} as day`,
    );
    const yearAgo = before(this.clock.now(), KEPT_MS);
    const where = sql`occurred_at < greatest(${yearAgo}::timestamptz, ${kept?.day}::timestamptz)`;
    await removeOldRows(this.database, { table: 'audience.field_changes', where });
  }
}
