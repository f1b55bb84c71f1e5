import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { DomainState, SendingDomain } from './sending-domain.js';

/** A domain that is set up, or set up anew under another name. */
export interface DomainIdentity {
  readonly domainName: string;
  readonly returnPathHost: string;
}

const columns = sql`id, domain_name as "domainName", domain_type as "domainType", status,
  sending_allowed as "sendingAllowed", return_path_host as "returnPathHost", revision, health_score as "healthScore",
  suspension_reason as "suspensionReason", verification_attempts as "verificationAttempts",
  checks_started_at as "checksStartedAt", last_checked_at as "lastCheckedAt", next_check_at as "nextCheckAt",
  verified_at as "verifiedAt", expires_at as "expiresAt", created_at as "createdAt", updated_at as "updatedAt"`;

/** The sending domain of an environment, to change it. */
@Injectable()
export class SendingDomainRepository {
  constructor(@Inject(Database) private readonly database: Database) {}

  find(scope: ProjectScope): Promise<SendingDomain | null> {
    return this.#find(scope, sql``);
  }

  /** To be shown with its records: until the transaction ends, neither changes, since who changes one locks the domain. */
  hold(scope: ProjectScope): Promise<SendingDomain | null> {
    return this.#find(scope, sql`for share`);
  }

  /** Kept from change by others until the transaction ends. */
  lock(scope: ProjectScope): Promise<SendingDomain | null> {
    return this.#find(scope, sql`for no key update`);
  }

  /** The id of the new domain, or null when the environment has one. */
  insert(
    scope: ProjectScope,
    identity: DomainIdentity,
    state: DomainState,
    now: Date,
  ): Promise<number | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ id: number }>`
        insert into deliverability.sending_domains (environment_id, project_id, tenant_id, domain_name, domain_type,
          status, sending_allowed, return_path_host, health_score, suspension_reason, verification_attempts,
          checks_started_at, last_checked_at, next_check_at, verified_at, expires_at, created_at, updated_at)
        values (${scope.environmentId}, ${scope.projectId}, ${scope.tenantId}, ${identity.domainName}, 'CUSTOM',
          ${state.status}, ${state.sendingAllowed}, ${identity.returnPathHost}, ${state.healthScore},
          ${state.suspensionReason}, ${state.verificationAttempts}, ${state.checksStartedAt}, ${state.lastCheckedAt},
          ${state.nextCheckAt}, ${state.verifiedAt}, ${state.expiresAt}, ${now}, ${now})
        on conflict (environment_id) do nothing
        returning id
      `.execute(db);
      return rows[0]?.id ?? null;
    });
  }

  /** Gives the domain another name; its keys and records go. */
  rename(scope: ProjectScope, id: number, identity: DomainIdentity): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        update deliverability.sending_domains
        set domain_name = ${identity.domainName}, return_path_host = ${identity.returnPathHost}, revision = revision + 1
        where environment_id = ${scope.environmentId} and id = ${id}
      `.execute(db);
      for (const table of ['dns_records', 'dkim_keys']) {
        await sql`
          delete from ${sql.table(`deliverability.${table}`)}
          where environment_id = ${scope.environmentId} and domain_id = ${id}
        `.execute(db);
      }
    });
  }

  save(scope: ProjectScope, id: number, state: DomainState, now: Date): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        update deliverability.sending_domains set status = ${state.status}, sending_allowed = ${state.sendingAllowed},
          health_score = ${state.healthScore}, suspension_reason = ${state.suspensionReason},
          verification_attempts = ${state.verificationAttempts}, checks_started_at = ${state.checksStartedAt},
          last_checked_at = ${state.lastCheckedAt}, next_check_at = ${state.nextCheckAt},
          verified_at = ${state.verifiedAt}, expires_at = ${state.expiresAt}, updated_at = ${now}
        where environment_id = ${scope.environmentId} and id = ${id}
      `.execute(db);
    });
  }

  /** With its keys, records and checks. */
  remove(scope: ProjectScope, id: number): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        delete from deliverability.sending_domains where environment_id = ${scope.environmentId} and id = ${id}
      `.execute(db);
    });
  }

  /** Whether a verified domain of another tenant has the name; the answer holds until the transaction ends. */
  isVerifiedElsewhere(scope: ProjectScope, domainName: string): Promise<boolean> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ taken: boolean }>`
        select deliverability.is_verified_elsewhere(${domainName}) as taken
      `.execute(db);
      return rows[0]!.taken;
    });
  }

  #find(scope: ProjectScope, locking: RawBuilder<unknown>): Promise<SendingDomain | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<SendingDomain>`
        select ${columns} from deliverability.sending_domains where environment_id = ${scope.environmentId}
        ${locking}
      `.execute(db);
      return rows[0] ?? null;
    });
  }
}
