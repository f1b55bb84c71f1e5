import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, present, presentAnd, redact } from '#platform';
import type { DeliverabilityTables } from '../deliverability-tables.js';
import type { Relay } from './relay.js';
import { RelayChecks } from './relay-checks.service.js';
import type { OwnRelay } from './own-relays.query.js';

/** After the first failure, and then twice as long each time. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A worker that died while it tried a relay keeps it from others for so long. */
const TRIED_WITHIN_MS = 30_000;
const AT_ONCE = 10;
const MAX_ERROR = 500;

type RelayId = Pick<Relay, 'id' | 'environmentId'>;

/**
 * Which relays can be used, known to all workers by their rows. One that cannot be connected to is FAILING, and is tried again by
 * connecting, without a mail, by one worker at a time: after 1 s, then twice as long each time up to a minute.
 */
@Injectable()
export class RelayHealth {
  constructor(
    private readonly database: Database,
    private readonly checks: RelayChecks,
  ) {}

  /** It could not be brought to take mail. Several mails that fail together count once. */
  async failed(relay: RelayId, detail: string): Promise<void> {
    await this.#fail(relay, detail, sql`status = 'ACTIVE'`);
  }

  /** They took mail just now. One that another worker is writing is left to that one. */
  async used(relays: readonly RelayId[]): Promise<void> {
    for (const [environmentId, those] of Map.groupBy(relays, (relay) => relay.environmentId))
      await this.database.system(() =>
        sql`
          update deliverability.relays set last_used_at = ${present}
          where environment_id = ${environmentId} and id in (
            select id from deliverability.relays
            where environment_id = ${environmentId} and id = any(${those.map(({ id }) => id)}::uuid[])
            for no key update skip locked
          )
        `.execute(this.database.tables()),
      );
  }

  /** Tries those anew whose pause is over, a few at once; resolves to how many there were. */
  async tryAgain(): Promise<number> {
    const due = await this.#takeDue();
    await Promise.all(
      due.map(async (relay) => {
        const checked = await this.checks.try(relay);
        if (checked.isReady) await this.#works(relay);
        else await this.#fail(relay, checked.detail, sql`status = 'FAILING'`);
      }),
    );
    return due.length;
  }

  async #takeDue(): Promise<OwnRelay[]> {
    const due = await this.database.system(() =>
      this.database
        .tables<DeliverabilityTables>()
        .selectFrom('deliverability.relays')
        .select(['environmentId', 'id'])
        .where('status', '=', 'FAILING')
        .where('retryAt', '<=', present)
        .orderBy('retryAt')
        .limit(AT_ONCE)
        .execute(),
    );
    const taken: OwnRelay[] = [];
    for (const [environmentId, those] of Map.groupBy(due, (relay) => relay.environmentId))
      taken.push(...(await this.#takeDueOf(environmentId, those)));
    return taken;
  }

  /** Those of an environment that no other worker takes just now. */
  #takeDueOf(environmentId: number, due: readonly RelayId[]): Promise<OwnRelay[]> {
    return this.database.system(async () => {
      const { rows } = await sql<OwnRelay>`
        update deliverability.relays r set retry_at = ${presentAnd(TRIED_WITHIN_MS)}
        from (
          select id from deliverability.relays
          where environment_id = ${environmentId} and id = any(${due.map(({ id }) => id)}::uuid[])
            and status = 'FAILING' and retry_at <= ${present}
          for update skip locked
        ) due
        where r.environment_id = ${environmentId} and r.id = due.id
        returning r.*
      `.execute(this.database.tables());
      return rows;
    });
  }

  async #works({ environmentId, id }: RelayId): Promise<void> {
    await this.database.system(() =>
      sql`
        update deliverability.relays set status = 'ACTIVE', failures = 0, retry_at = null, last_error = null
        where environment_id = ${environmentId} and id = ${id} and status = 'FAILING'
      `.execute(this.database.tables()),
    );
  }

  async #fail({ environmentId, id }: RelayId, detail: string, when: ReturnType<typeof sql>): Promise<void> {
    const pauseMs = sql`least(${LONGEST_PAUSE_MS}, ${FIRST_PAUSE_MS} * 2 ^ least(failures, 10))`;
    await this.database.system(() =>
      sql`
        update deliverability.relays r set status = 'FAILING', failures = r.failures + 1, retry_at = failed.retry_at,
          last_error = ${redact(detail).slice(0, MAX_ERROR)}
        from (
          select id, ${present} + ${pauseMs} * interval '1 ms' as retry_at from deliverability.relays
          where environment_id = ${environmentId} and id = ${id} and ${when} for update
        ) failed
        where r.environment_id = ${environmentId} and r.id = failed.id
      `.execute(this.database.tables()),
    );
  }
}
