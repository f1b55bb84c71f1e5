import { LockMode } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database, unlessTaken, named } from '#platform';
import { DnsRecord, RECORD_PURPOSES } from '../dns/dns-record.js';
import { RelaysQuery } from '../relays/relays.query.js';
import { SendingDomain, SendingDomainExistsError } from './sending-domain.js';

/** The sending domain of an environment with its records. What is changed about one is written when the transaction ends. */
@Injectable()
export class SendingDomainRepository {
  constructor(
    private readonly database: Database,
    private readonly relays: RelaysQuery,
  ) {}

  find(scope: ProjectScope): Promise<SendingDomain | null> {
    return this.#find(scope, LockMode.NONE);
  }

  /** Holds the domain and its records as they are until the transaction ends, since every change locks the domain. */
  hold(scope: ProjectScope): Promise<SendingDomain | null> {
    return this.#find(scope, LockMode.PESSIMISTIC_READ);
  }

  /** Kept from change by others until the transaction ends. */
  lock(scope: ProjectScope): Promise<SendingDomain | null> {
    return this.#find(scope, LockMode.PESSIMISTIC_WRITE);
  }

  /** Writes a new domain. Throws `SendingDomainExistsError` when the environment has one; the transaction is lost then. */
  add(domain: SendingDomain): Promise<void> {
    return unlessTaken(
      this.database.em.persist(domain).flush(),
      () => new SendingDomainExistsError('one-each'),
    );
  }

  /** Writes the records and keys of a domain that are new. */
  addRecords(domain: SendingDomain): void {
    this.database.em.persist(domain.records);
  }

  removeRecords(domain: SendingDomain): void {
    const { em } = this.database;
    for (const record of domain.records) {
      em.remove(record);
      if (record.key !== null) em.remove(record.key);
    }
  }

  /** Its keys, records and checks go with it. */
  remove(domain: SendingDomain): void {
    this.database.em.remove(domain);
  }

  /**
   * True if a verified domain of another tenant has the name. The answer holds until the open transaction ends, so that of two
   * tenants who verify it at once the second one sees the first.
   */
  async isVerifiedElsewhere({ tenantId }: ProjectScope, domainName: string): Promise<boolean> {
    await sql`select pg_advisory_xact_lock(hashtextextended('sending domain ' || ${domainName}::text, 0))`.execute(
      this.database.tables(),
    );
    // The scope shows the domain of one environment.
    const others = await this.database.statement(
      'system',
      sql<{ id: number }>`${named('domain_of_others')}
        select d.id from deliverability.sending_domains d
        where d.domain_name = ${domainName} and d.tenant_id <> ${tenantId}
          and d.verified_at is not null and d.status <> 'EXPIRED' limit 1
      `,
    );
    return others.length > 0;
  }

  #find(scope: ProjectScope, lockMode: LockMode): Promise<SendingDomain | null> {
    return this.database.transaction(scope, async () => {
      const { em } = this.database;
      const { environmentId } = scope;
      const domain = await em.findOne(SendingDomain, { environmentId }, { lockMode, refresh: true });
      if (domain === null) return null;
      const records = await em.find(
        DnsRecord,
        { environmentId, domainId: domain.id },
        { populate: ['key'], strategy: 'select-in', orderBy: { id: 'asc' }, refresh: true },
      );
      domain.records = records.toSorted((a, b) => placeOf(a) - placeOf(b));
      domain.needed = await this.relays.requiredRecords(scope);
      return domain;
    });
  }
}

/** The order in which they are explained. */
const placeOf = ({ purpose }: DnsRecord): number => RECORD_PURPOSES.indexOf(purpose);
