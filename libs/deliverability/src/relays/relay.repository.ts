import { LockMode } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import {
  newId,
  NotFoundError,
  offsetOf,
  type Page,
  type PageRequest,
  type Place,
  type ProjectScope,
} from '#kernel';
import { Database, present } from '#platform';
import type { RelayKind } from './kinds/kinds.js';
import type { OwnRelay } from './relays.query.js';
import { Relay, type RelaySettings } from './relay.js';

const RELAY_KEY = /^[A-Z][A-Z0-9]{1,7}-[1-9]\d{0,18}$/;

/** The relays of an environment. What is changed about one is written when the transaction ends. */
@Injectable()
export class RelayRepository {
  constructor(private readonly database: Database) {}

  async add(scope: ProjectScope, kind: RelayKind, settings: RelaySettings, now: Date): Promise<Relay> {
    const { rows } = await sql<{ key: string }>`select access.next_key('relay') as key`.execute(
      this.database.tables(),
    );
    const relay = new Relay(
      { id: newId(), relayKey: rows[0]!.key, kind, feedbackId: newId() },
      scope,
      settings,
      now,
    );
    this.database.em.persist(relay);
    return relay;
  }

  /** Number of the environment's relays; nobody adds one until the transaction ends. */
  async countAndLock({ environmentId }: ProjectScope): Promise<number> {
    await sql`select pg_advisory_xact_lock(hashtextextended('relays ' || ${environmentId}::text, 0))`.execute(
      this.database.tables(),
    );
    return this.database.em.count(Relay, { environmentId });
  }

  /** In the order in which they are tried; a project has few. */
  list(scope: ProjectScope, request: PageRequest): Promise<Page<Relay>> {
    const { environmentId } = scope;
    const { size, after } = request;
    return this.database.transaction(scope, async () => {
      const orderBy = { priority: 'asc', createdAt: 'asc', id: 'asc' } as const;
      const relays = await this.database.em.find(Relay, { environmentId }, { orderBy });
      const seen = after && relays.filter((relay) => rankOf(placeOf(relay)) <= rankOf(after.place)).length;
      const from = seen ?? offsetOf(request);
      const items = relays.slice(from, from + size);
      const last = relays.length > from + size ? items.at(-1) : undefined;
      return { items, totalElements: relays.length, next: last === undefined ? null : placeOf(last) };
    });
  }

  /** Throws NotFoundError. */
  find(scope: ProjectScope, relayKey: string): Promise<Relay> {
    return this.database.transaction(scope, () => this.#find(scope, relayKey, LockMode.NONE));
  }

  /** Kept from change by others until the transaction ends. Throws NotFoundError. */
  lock(scope: ProjectScope, relayKey: string): Promise<Relay> {
    return this.#find(scope, relayKey, LockMode.PESSIMISTIC_WRITE);
  }

  remove(relay: Relay): void {
    this.database.em.remove(relay);
  }

  /**
   * Takes up to `wanted` places of a relay's rate, which workers share, in the coming second; at least one each time that one
   * is due.
   */
  async takePlaces(
    { environmentId, id }: Pick<OwnRelay, 'environmentId' | 'id'>,
    wanted: number,
  ): Promise<number> {
    const { rows } = await this.database.system(() =>
      sql<{ taken: number }>`
        with free as materialized (
          -- Places given out further ahead than this rate allows are of a lower rate before it.
          select rate_per_second as rate, case
            when rate_until > ${present} + (1 + greatest(1, 1 / rate_per_second)) * interval '1 s' then ${present}
            else greatest(rate_until, ${present}) end as since
          from deliverability.relays
          where environment_id = ${environmentId} and id = ${id} and rate_per_second is not null for update
        ), taken as (
          select since, rate, least(${wanted}::int, greatest(
            floor(extract(epoch from ${present} + interval '1 s' - since) * rate),
            case when since <= ${present} then 1 else 0 end))::int as taken
          from free
        ), granted as (
          select taken, since + taken / rate * interval '1 s' as until from taken
        )
        update deliverability.relays r set rate_until = g.until
        from granted g
        where r.environment_id = ${environmentId} and r.id = ${id} and g.taken > 0
        returning g.taken
      `.execute(this.database.tables()),
    );
    return rows[0]?.taken ?? 0;
  }

  async #find({ environmentId }: ProjectScope, relayKey: string, lockMode: LockMode): Promise<Relay> {
    const relay = RELAY_KEY.test(relayKey)
      ? await this.database.em.findOne(Relay, { environmentId, relayKey }, { lockMode, refresh: true })
      : null;
    if (relay === null) throw new NotFoundError();
    return relay;
  }
}

const placeOf = ({ priority, createdAt, id }: Relay): Place => [priority, createdAt.toISOString(), id];

/** Sorts as text. */
const rankOf = ([priority, ...rest]: Place): string =>
  [String(priority).padStart(16, '0'), ...rest].join(' ');
