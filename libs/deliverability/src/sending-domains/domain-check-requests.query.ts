import { Injectable } from '@nestjs/common';
import { newId, type ProjectScope } from '#kernel';
import { Database, present, publish } from '#platform';
import type { DeliverabilityTables } from '../deliverability-tables.js';
import { DomainVerificationRequested } from './sending-domain.events.js';

/** Channel on which waiting clients hear that a domain was looked at; the payload is the check's id. */
export const DOMAIN_CHECKS_CHANNEL = 'mailwright_domain_checks';

/** The checks that were asked for, and whether they are done. */
@Injectable()
export class DomainCheckRequests {
  constructor(private readonly database: Database) {}

  /**
   * One that a client asked for since `since`, and nobody has done yet, is waited for again rather than made twice. Null
   * when the domain was removed meanwhile.
   */
  request(scope: ProjectScope, domainId: number, since: Date): Promise<string | null> {
    return this.database.transaction(scope, async () => {
      const waiting = await this.#tables
        .selectFrom('deliverability.domain_checks')
        .select('id')
        .where('environmentId', '=', scope.environmentId)
        .where('domainId', '=', domainId)
        .where('askedBy', '=', 'CLIENT')
        .where('state', '=', 'PENDING')
        .where('createdAt', '>', since)
        .executeTakeFirst();
      if (waiting !== undefined) return waiting.id;
      const domain = await this.#tables
        .selectFrom('deliverability.sending_domains')
        .select('id')
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', domainId)
        .forKeyShare()
        .executeTakeFirst();
      return domain === undefined ? null : this.add(scope, domainId, 'CLIENT');
    });
  }

  /** Has the worker look at a domain that stays until the open transaction ends. */
  async add(scope: ProjectScope, domainId: number, askedBy: 'CLIENT' | 'SCHEDULE'): Promise<string> {
    const id = newId();
    await this.#tables
      .insertInto('deliverability.domain_checks')
      .values({ id, environmentId: scope.environmentId, domainId, askedBy, createdAt: present })
      .execute();
    await publish(this.database, scope, DomainVerificationRequested({ checkId: id }));
    return id;
  }

  /** GONE: the domain was removed meanwhile. */
  state(scope: ProjectScope, id: string): Promise<'PENDING' | 'DONE' | 'GONE'> {
    return this.database.transaction(scope, async () => {
      const check = await this.#tables
        .selectFrom('deliverability.domain_checks')
        .select('state')
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', id)
        .executeTakeFirst();
      return check?.state ?? 'GONE';
    });
  }

  /** In the open transaction; who waits is told when it commits. */
  async finish(scope: ProjectScope, id: string): Promise<void> {
    await this.#tables
      .updateTable('deliverability.domain_checks')
      .set({ state: 'DONE' })
      .where('environmentId', '=', scope.environmentId)
      .where('id', '=', id)
      .execute();
    this.database.notify(DOMAIN_CHECKS_CHANNEL, id);
  }

  get #tables() {
    return this.database.tables<DeliverabilityTables>();
  }
}
