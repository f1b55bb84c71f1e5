import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { DkimAlgorithm } from '../dkim/dkim-key.js';
import type { NewDkimKey } from '../dkim/dkim-key-maker.service.js';
import type { DkimKeyState, DnsRecord, NewDnsRecord } from '../dns/dns-record.js';
import { keyRecord } from './required-records.js';

interface Row extends Omit<DnsRecord, 'key'> {
  readonly keyState: DkimKeyState | null;
  readonly keyAlgorithm: DkimAlgorithm;
  readonly keyRetiredAt: Date | null;
}

/** The records that a domain's owner publishes, and the keys that some of them are for. */
@Injectable()
export class DnsRecordRepository {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** In the order in which they are explained. */
  of(scope: ProjectScope, domainId: number): Promise<readonly DnsRecord[]> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Row>`
        select r.id, r.purpose, r.record_type as "recordType", r.host, r.expected_value as "expectedValue",
          r.actual_value as "actualValue", r.status, r.failure_reason as "failureReason", r.note, r.failures,
          r.failing_since as "failingSince", r.last_checked_at as "lastCheckedAt",
          k.state as "keyState", k.algorithm as "keyAlgorithm", k.retired_at as "keyRetiredAt"
        from deliverability.dns_records r left join deliverability.dkim_keys k on k.id = r.dkim_key_id
        where r.environment_id = ${scope.environmentId} and r.domain_id = ${domainId}
        order by array_position(array['OWNERSHIP', 'DKIM', 'SPF', 'MX', 'DMARC'], r.purpose), r.id
      `.execute(db);
      return rows.map(toRecord);
    });
  }

  async add(scope: ProjectScope, domainId: number, records: readonly NewDnsRecord[]): Promise<void> {
    for (const record of records) await this.#add(scope, domainId, record, null);
  }

  /** Adds keys together with the records that publish them. */
  addKeys(
    scope: ProjectScope,
    domain: { readonly id: number; readonly domainName: string },
    keys: readonly NewDkimKey[],
    state: 'NEXT' | 'ACTIVE',
    now: Date,
  ): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      for (const { selector, algorithm, publicKey, privateKeyBox } of keys) {
        const { rows } = await sql<{ id: number }>`
          insert into deliverability.dkim_keys
            (environment_id, domain_id, selector, algorithm, public_key, private_key_box, state, created_at)
          values (${scope.environmentId}, ${domain.id}, ${selector}, ${algorithm}, ${publicKey}, ${privateKeyBox},
            ${state}, ${now})
          returning id
        `.execute(db);
        const record = keyRecord(domain.domainName, selector, algorithm, publicKey);
        await this.#add(scope, domain.id, record, rows[0]!.id);
      }
    });
  }

  /** The keys that were to come sign from now on, and those that signed do no more. */
  switchKeys(scope: ProjectScope, domainId: number, now: Date): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        update deliverability.dkim_keys
        set state = case state when 'NEXT' then 'ACTIVE' else 'RETIRED' end,
          retired_at = case state when 'ACTIVE' then ${now}::timestamptz end
        where environment_id = ${scope.environmentId} and domain_id = ${domainId} and state in ('NEXT', 'ACTIVE')
      `.execute(db);
    });
  }

  async saveLooks(scope: ProjectScope, records: readonly DnsRecord[]): Promise<void> {
    for (const record of records) await this.#saveLook(scope, record);
  }

  #saveLook(scope: ProjectScope, record: DnsRecord): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        update deliverability.dns_records set actual_value = ${record.actualValue}, status = ${record.status},
          failure_reason = ${record.failureReason}, note = ${record.note}, failures = ${record.failures},
          failing_since = ${record.failingSince}, last_checked_at = ${record.lastCheckedAt}
        where environment_id = ${scope.environmentId} and id = ${record.id}
      `.execute(db);
    });
  }

  #add(scope: ProjectScope, domainId: number, record: NewDnsRecord, keyId: number | null): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        insert into deliverability.dns_records
          (environment_id, domain_id, dkim_key_id, purpose, record_type, host, expected_value)
        values (${scope.environmentId}, ${domainId}, ${keyId}, ${record.purpose}, ${record.recordType},
          ${record.host}, ${record.expectedValue})
      `.execute(db);
    });
  }
}

function toRecord({ keyState, keyAlgorithm, keyRetiredAt, ...record }: Row): DnsRecord {
  const key =
    keyState === null ? null : { state: keyState, algorithm: keyAlgorithm, retiredAt: keyRetiredAt };
  return { ...record, key };
}
