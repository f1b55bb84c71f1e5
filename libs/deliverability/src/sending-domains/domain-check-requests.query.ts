import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { newId, type ProjectScope } from '#kernel';
import { Database, publish } from '#platform';
import { DomainVerificationRequested } from './sending-domain.events.js';

/** NOTIFY channel on which waiting clients hear that a domain was looked at; the payload is the check's id. */
export const DOMAIN_CHECKS_CHANNEL = 'mailwright_domain_checks';

/** The checks that were asked for, and whether they are done. */
@Injectable()
export class DomainCheckRequests {
  constructor(@Inject(Database) private readonly database: Database) {}

  /**
   * One that a client asked for since `since`, and nobody has done yet, is waited for again rather than made twice. Null
   * when the domain was removed meanwhile.
   */
  request(scope: ProjectScope, domainId: number, since: Date, now: Date): Promise<string | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const waiting = await sql<{ id: string }>`
        select id from deliverability.domain_checks
        where environment_id = ${scope.environmentId} and domain_id = ${domainId} and asked_by = 'CLIENT'
          and state = 'PENDING' and created_at > ${since}
        limit 1
      `.execute(db);
      return waiting.rows[0]?.id ?? this.add(scope, domainId, 'CLIENT', now);
    });
  }

  /** Has the worker look. Null when the domain was removed meanwhile. */
  add(
    scope: ProjectScope,
    domainId: number,
    askedBy: 'CLIENT' | 'SCHEDULE',
    now: Date,
  ): Promise<string | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const id = newId();
      const { numAffectedRows } = await sql`
        insert into deliverability.domain_checks (id, environment_id, domain_id, asked_by, created_at)
        select ${id}, d.environment_id, d.id, ${askedBy}, ${now} from deliverability.sending_domains d
        where d.environment_id = ${scope.environmentId} and d.id = ${domainId} for key share
      `.execute(db);
      if (numAffectedRows === 0n) return null;
      await publish(db, scope, DomainVerificationRequested({ checkId: id }));
      return id;
    });
  }

  /** GONE: the domain was removed meanwhile. */
  state(scope: ProjectScope, id: string): Promise<'PENDING' | 'DONE' | 'GONE'> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ state: 'PENDING' | 'DONE' }>`
        select state from deliverability.domain_checks where environment_id = ${scope.environmentId} and id = ${id}
      `.execute(db);
      return rows[0]?.state ?? 'GONE';
    });
  }

  /** In the caller's transaction; who waits is told when it commits. */
  finish(scope: ProjectScope, id: string): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        update deliverability.domain_checks set state = 'DONE'
        where environment_id = ${scope.environmentId} and id = ${id}
      `.execute(db);
      await sql`select pg_notify(${DOMAIN_CHECKS_CHANNEL}, ${id})`.execute(db);
    });
  }
}
