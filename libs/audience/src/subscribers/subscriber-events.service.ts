import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import {
  Clock,
  DomainValidationError,
  type EmailAddress,
  newId,
  NotFoundError,
  type ProjectScope,
  type RepeatableRequest,
} from '#kernel';
import { AuditTrail, before, Database, Periodic, removeOldRows } from '#platform';
import { TRIGGERS_CHANNEL } from '../triggers.service.js';
import type { SubscriberRef } from './subscriber.js';
import { SubscriberRepository } from './subscriber.repository.js';

/** An event that a client reports about a subscriber, under the client's own name; without a time it happened now. */
export interface ReportedEvent {
  readonly name: string;
  /** At most 8 KB of JSON. */
  readonly properties?: Readonly<Record<string, unknown>> | undefined;
  readonly occurredAt?: Date | undefined;
  /** The client's own id of the event: for 30 days the same one counts once in the environment. */
  readonly uniqueId?: string | undefined;
}

/** The person that an event is about: by address, or by the client's own id. */
export type EventPerson =
  | { readonly address: Pick<EmailAddress, 'key'>; readonly externalId?: never }
  | { readonly externalId: string; readonly address?: never };

export type BatchedEvent = ReportedEvent & EventPerson;

/** Counts of a batch; `faults` by the place of the event in the batch, each with its field. */
export interface RecordedBatch {
  readonly accepted: number;
  readonly repeated: number;
  readonly faults: ReadonlyMap<number, Readonly<Record<string, string>>>;
}

/** The place of an event in its batch is a number that PostgreSQL gives back. */
interface Recorded {
  readonly accepted: number;
  readonly unknown: number[];
  /** Id of the person whom the first event is about. */
  readonly firstPerson: string | null;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Tolerance for a client's clock that is ahead of ours. */
const AHEAD_MS = 5 * MINUTE_MS;
/** No rule looks further back: the longest duration is P730D. */
const KEPT_DAYS = 730;
/** The time for which a repeated `uniqueId` is known. */
const UNIQUE_MS = 30 * DAY_MS;

/** Stores events that clients report of subscribers, for segments and automations. */
@Injectable()
export class SubscriberEventsService {
  constructor(
    private readonly database: Database,
    private readonly subscribers: SubscriberRepository,
    private readonly clock: Clock,
  ) {}

  /**
   * Resolves to the event's id, for a repeated `uniqueId` or request to that of the first one. Throws NotFoundError,
   * DomainValidationError.
   */
  async record(
    scope: ProjectScope,
    ref: SubscriberRef,
    event: ReportedEvent,
    request: RepeatableRequest | null = null,
  ): Promise<string> {
    const id = newId();
    const once = onceOf(event, request, 0);
    const now = this.clock.now();
    const fault = occurrenceFault(event.occurredAt, now);
    if (fault !== null) {
      await this.subscribers.named(scope, ref);
      throw new DomainValidationError({ occurredAt: fault });
    }
    return this.database.transaction(scope, async () => {
      const person = await this.#personOf(scope, ref);
      const { rows } = await insertion(scope, [{ ...event, ...person, id, once }], now).execute(
        this.database.tables(),
      );
      const { accepted, unknown, firstPerson } = rows[0]!;
      if (unknown.length > 0) throw new NotFoundError();
      AuditTrail.current?.concerns(firstPerson);
      this.database.notify(TRIGGERS_CHANNEL);
      return accepted === 0 ? await this.#firstOf(scope, once) : id;
    });
  }

  /** Stores those that can be; the others do not keep them. At most 1 000, in one statement. */
  async recordAll(
    scope: ProjectScope,
    events: readonly BatchedEvent[],
    request: RepeatableRequest | null = null,
  ): Promise<RecordedBatch> {
    const now = this.clock.now();
    const faults = new Map<number, Readonly<Record<string, string>>>();
    const sound = events.flatMap((event, place) => {
      const fault = occurrenceFault(event.occurredAt, now);
      if (fault === null) return [{ ...event, id: newId(), place, once: onceOf(event, request, place) }];
      faults.set(place, { occurredAt: fault });
      return [];
    });
    if (sound.length === 0) return { accepted: 0, repeated: 0, faults };
    const { accepted, unknown } = await this.database.transaction(scope, async () => {
      const [, [recorded]] = await this.database.together(PLANNED_FOR_SETS, insertion(scope, sound, now));
      this.database.notify(TRIGGERS_CHANNEL);
      return recorded!;
    });
    for (const index of unknown) {
      const { place, externalId } = sound[index]!;
      const field = externalId === undefined ? 'email' : 'externalId';
      faults.set(place, { [field]: 'is not a known subscriber' });
    }
    return { accepted, repeated: sound.length - unknown.length - accepted, faults };
  }

  /** Removes ids that are no longer compared with. */
  @Periodic('remove-old-event-ids', { everyMs: 10 * MINUTE_MS })
  removeOldIds(): Promise<void> {
    const isOld = sql`recorded_at <= ${before(this.clock.now(), UNIQUE_MS)}`;
    return removeOldRows(this.database, { table: 'audience.event_unique_ids', where: isOld });
  }

  async #personOf(scope: ProjectScope, ref: SubscriberRef): Promise<EventPerson> {
    if ('key' in ref) return { address: ref };
    if (ref.by === 'externalId') return { externalId: ref.id };
    return { address: await this.subscribers.named(scope, ref) };
  }

  async #firstOf({ environmentId }: ProjectScope, once: string | null): Promise<string> {
    const { rows } = await sql<{ id: string }>`
      select event_id as id from audience.event_unique_ids
      where environment_id = ${environmentId} and unique_id = ${once}
    `.execute(this.database.tables());
    return rows[0]!.id;
  }
}

/** The id under which an event counts once: the client's own, else that of its place in an idempotent request, whose process may die after it. */
const onceOf = (
  { uniqueId }: ReportedEvent,
  request: RepeatableRequest | null,
  place: number,
): string | null =>
  uniqueId ?? (request === null ? null : `request:${request.digest.toString('base64url')}:${place}`);

/** Planner settings until the end of the transaction: people are joined as a set, however few the statistics know. */
const PLANNED_FOR_SETS = sql`
  select set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_nestloop', 'off', true)
`;

/**
 * The statement of a batch. The people are locked, so that no event stays behind when one is erased at the same time; ids are
 * taken in their order, so that two batches with the same ones wait for each other in one direction.
 */
function insertion(
  { environmentId }: ProjectScope,
  events: readonly (BatchedEvent & { readonly id: string; readonly once: string | null })[],
  now: Date,
): RawBuilder<Recorded> {
  const keys = events.map(({ address }) => address?.key ?? null);
  const externalIds = events.map(({ externalId }) => externalId ?? null);
  return sql<Recorded>`
    /* record_events */ with people as materialized (
      select id, email_key, external_id from audience.subscribers
      where environment_id = ${environmentId} and ${isOneOf(keys, externalIds)}
      order by id for key share
    ), given as materialized (
      select g.place - 1 as place, g.id, coalesce(p.id, x.id) as subscriber_id, g.name, g.properties, g.occurred_at, g.unique_id, g.once
      from unnest(${events.map(({ id }) => id)}::uuid[], ${keys}::text[], ${externalIds}::text[],
        ${events.map(({ name }) => name)}::text[],
        ${events.map(({ properties = {} }) => JSON.stringify(properties))}::text[],
        ${events.map(({ occurredAt }) => occurredAt ?? now)}::timestamptz[],
        ${events.map(({ uniqueId }) => uniqueId ?? null)}::text[], ${events.map(({ once }) => once)}::text[])
        with ordinality g(id, email_key, external_id, name, properties, occurred_at, unique_id, once, place)
      left join people p on p.email_key = g.email_key left join people x on x.external_id = g.external_id
    ), first as (
      insert into audience.event_unique_ids as u (unique_id, environment_id, event_id, recorded_at)
      select distinct on (g.once) g.once, ${environmentId}, g.id, ${now} from given g
      where g.once is not null and g.subscriber_id is not null order by g.once, g.place
      on conflict (unique_id, environment_id) do update set event_id = excluded.event_id, recorded_at = excluded.recorded_at
        where u.recorded_at <= ${before(now, UNIQUE_MS)}
      returning event_id
    ), recorded as (
      insert into audience.subscriber_events (id, occurred_at, environment_id, subscriber_id, name, properties, unique_id,
        created_at)
      select g.id, g.occurred_at, ${environmentId}, g.subscriber_id, g.name, g.properties::jsonb, g.unique_id, ${now}
      from given g
      where g.subscriber_id is not null and (g.once is null or g.id in (select event_id from first))
      returning id
    )
    select (select count(*)::int from recorded) as accepted,
      array(select g.place::int from given g where g.subscriber_id is null order by g.place) as unknown,
      (select g.subscriber_id from given g where g.place = 0) as first_person
  `;
}

/** Condition on subscribers: each in the index of what was given. */
function isOneOf(
  keys: readonly (string | null)[],
  externalIds: readonly (string | null)[],
): RawBuilder<boolean> {
  const given = { keys: withoutRepeats(keys), externalIds: withoutRepeats(externalIds) };
  const byKey = sql<boolean>`email_key = any(${given.keys}::text[])`;
  if (given.externalIds.length === 0) return byKey;
  const byId = sql<boolean>`external_id = any(${given.externalIds}::text[])`;
  return given.keys.length === 0 ? byId : sql`(${byKey} or ${byId})`;
}

const withoutRepeats = (texts: readonly (string | null)[]) => [
  ...new Set(texts.filter((text) => text !== null)),
];

/** The error in the time of an event, or null. */
function occurrenceFault(occurredAt: Date | undefined, now: Date): string | null {
  if (occurredAt === undefined) return null;
  if (occurredAt.getTime() > now.getTime() + AHEAD_MS) return 'must not be in the future';
  if (occurredAt.getTime() < now.getTime() - KEPT_DAYS * DAY_MS)
    return `must not be more than ${KEPT_DAYS} days ago`;
  return null;
}
