import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import {
  checkRoute,
  type Config,
  CONFIG,
  Database,
  OutgoingHttp,
  present,
  presentAnd,
  redact,
  type RouteCheck,
  RouteUnavailable,
  SecretBox,
  type SmtpRoute,
} from '#platform';
import type { DeliverabilityTables } from '../deliverability.schema.js';
import { type Relay, relaySecret } from './relay.js';
import { RelayRepository } from './relay.repository.js';
import type { OwnRelay } from './relays.query.js';

/** The settings that a connection to a relay depends on. */
type RelayEndpoint = Pick<
  Relay,
  'environmentId' | 'projectId' | 'host' | 'port' | 'tls' | 'username' | 'passwordBox'
>;

/** Pause after the first failure, doubled each time. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** Time for which a worker that died while it tried a relay keeps it from others. */
const TRIED_WITHIN_MS = 30_000;
const AT_ONCE = 10;
const MAX_ERROR = 500;
/** Limit of each of the three steps of a check. */
const CHECK_STEP_MS = 5_000;

type RelayId = Pick<Relay, 'id' | 'environmentId'>;

/**
 * Routes to relays and their health, shared by all workers in their rows. A relay that refuses connections is FAILING; one
 * worker at a time connects again, without a mail: after 1 s, then twice as long each time up to a minute.
 */
@Injectable()
export class RelayHealthService {
  constructor(
    private readonly database: Database,
    private readonly relays: RelayRepository,
    private readonly box: SecretBox,
    private readonly outgoing: OutgoingHttp,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Looks the host up anew. Rejects with RouteUnavailable unless it has an address that may be contacted. */
  async routeTo(relay: RelayEndpoint): Promise<SmtpRoute> {
    const { host, port, tls, username, passwordBox } = relay;
    const address = await this.outgoing.addressOf(host);
    if (address === null)
      throw new RouteUnavailable('connect', 'The host has no address, or none that is public.');
    return {
      host,
      address,
      port,
      implicitTls: tls === 'IMPLICIT',
      startTls: tls === 'OPPORTUNISTIC' ? 'opportunistic' : 'required',
      rejectUnauthorized: tls !== 'OPPORTUNISTIC',
      credentials:
        username === null || passwordBox === null
          ? null
          : { user: username, pass: this.#open(passwordBox, relay) },
    };
  }

  /** Connects, secures and authenticates; sends nothing and changes nothing. Throws NotFoundError. */
  async check(scope: ProjectScope, relayKey: string): Promise<RouteCheck> {
    return this.#check(await this.relays.find(scope, relayKey));
  }

  /** Records that a relay takes no mail. Several mails that fail together count once. */
  async failed(relay: RelayId, detail: string): Promise<void> {
    await this.#fail(relay, detail, sql`status = 'ACTIVE'`);
  }

  /** Records that relays took mail just now. Skips one that another worker is writing. */
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

  /** Retries relays whose pause is over, a few at once; resolves to their number. */
  async tryAgain(): Promise<number> {
    const due = await this.#takeDue();
    await Promise.all(
      due.map(async (relay) => {
        const checked = await this.#check(relay);
        if (checked.isReady) await this.#works(relay);
        else await this.#fail(relay, checked.detail, sql`status = 'FAILING'`);
      }),
    );
    return due.length;
  }

  #open(passwordBox: string, relay: RelayEndpoint): string {
    try {
      return this.box.open(passwordBox, relaySecret(relay));
    } catch {
      throw new RouteUnavailable('auth', 'The password cannot be decrypted: the master key is another one.');
    }
  }

  async #check(relay: RelayEndpoint): Promise<RouteCheck> {
    const checked = await checkRoute(() => this.routeTo(relay), this.config.SMTP_EHLO_NAME, CHECK_STEP_MS);
    return checked.isReady ? checked : { ...checked, detail: redact(checked.detail) };
  }

  async #takeDue(): Promise<OwnRelay[]> {
    const due = await this.database.system(() =>
      this.database
        .tables<DeliverabilityTables>()
        .selectFrom('deliverability.relays')
        .select(['environmentId', 'id'])
        .where('status', '=', sql.lit('FAILING'))
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

  /** Takes those of an environment that no other worker is taking. */
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
