import { Inject, Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { Announcer, Database } from '#platform';
import { RecordChecks } from '../dns/record-checks.service.js';
import { failed, type RecordVerdict } from '../dns/record-verdict.js';
import { DomainCheckRequests } from './domain-check-requests.query.js';
import { afterLook, type DnsRecord, isRequired, isRight, type RecordPurpose } from '../dns/dns-record.js';
import { DnsRecordRepository } from './dns-record.repository.js';
import { afterCheck, isVerified, type SendingDomain, type SendingDomainStatus } from './sending-domain.js';
import { SendingDomainRepository } from './sending-domain.repository.js';

/** By the record's id. */
type Verdicts = ReadonlyMap<number, { readonly purpose: RecordPurpose; readonly verdict: RecordVerdict }>;

/** Of which is told that the domain's records are not there. */
const FAILED_STATUSES: ReadonlySet<SendingDomainStatus> = new Set([
  'VERIFICATION_FAILED',
  'DEGRADED',
  'EXPIRED',
]);

interface Look {
  readonly domain: SendingDomain;
  readonly verdicts: Verdicts;
}

/** Looks at the DNS of domains and decides what follows. Runs in the worker. */
@Injectable()
export class DomainChecksService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SendingDomainRepository) private readonly domains: SendingDomainRepository,
    @Inject(DnsRecordRepository) private readonly records: DnsRecordRepository,
    @Inject(DomainCheckRequests) private readonly requests: DomainCheckRequests,
    @Inject(RecordChecks) private readonly checks: RecordChecks,
    @Inject(Announcer) private readonly announcer: Announcer,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Does what was asked for, once; nothing when it is done or the domain is gone. Stops between looks when aborted. */
  async run(scope: ProjectScope, checkId: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.requests.state(scope, checkId)) === 'PENDING') {
      const look = await this.#look(scope);
      // No transaction waits for DNS: if the name was changed meanwhile, the look was at the wrong one.
      if (look === null || (await this.#conclude(scope, checkId, look))) return;
    }
  }

  async #look(scope: ProjectScope): Promise<Look | null> {
    const domain = await this.domains.find(scope);
    if (domain === null) return null;
    const records = (await this.records.of(scope, domain.id)).filter(isRequired);
    const verdicts = await Promise.all(
      records.map(async (record) => {
        const verdict = await this.checks.check(record);
        return [record.id, { purpose: record.purpose, verdict }] as const;
      }),
    );
    return { domain, verdicts: new Map(verdicts) };
  }

  #conclude(scope: ProjectScope, checkId: string, { domain, verdicts }: Look): Promise<boolean> {
    return this.database.transaction(scope, async () => {
      const current = await this.domains.lock(scope);
      if (current?.id !== domain.id || current.revision !== domain.revision) return false;
      if ((await this.requests.state(scope, checkId)) !== 'PENDING') return true;
      const now = this.clock.now();
      const isTaken =
        !isVerified(current.status) && (await this.domains.isVerifiedElsewhere(scope, current.domainName));
      const records = await this.#saveLooks(scope, current, isTaken ? asAnothers(verdicts) : verdicts, now);
      const after = afterCheck(current, records, now);
      await this.domains.save(scope, current.id, after, now);
      await this.#announce(scope, current, after.status);
      await this.requests.finish(scope, checkId);
      return true;
    });
  }

  /** That it may send from now on, or may not any more. */
  async #announce(scope: ProjectScope, { domainName, status }: SendingDomain, next: SendingDomainStatus) {
    if (next === status) return;
    const type = next === 'ACTIVE' ? 'domain.verified' : FAILED_STATUSES.has(next) ? 'domain.failed' : null;
    if (type !== null) await this.announcer.announce(scope, { type, data: { domainName, status: next } });
  }

  /** The records as they stand, with the keys that sign from now on when new ones have been found in DNS. */
  async #saveLooks(
    scope: ProjectScope,
    { id }: SendingDomain,
    verdicts: Verdicts,
    now: Date,
  ): Promise<readonly DnsRecord[]> {
    const records = (await this.records.of(scope, id)).map((record) => {
      const seen = verdicts.get(record.id);
      return seen === undefined ? record : afterLook(record, seen.verdict, now);
    });
    await this.records.saveLooks(
      scope,
      records.filter((record) => verdicts.has(record.id)),
    );
    const coming = records.filter(({ key }) => key?.state === 'NEXT');
    if (coming.length === 0 || !coming.every(isRight)) return records;
    await this.records.switchKeys(scope, id, now);
    return records.flatMap(afterSwitch);
  }
}

/** Two can both change a zone, an agency and its client; the domain is whose was verified first. */
function asAnothers(verdicts: Verdicts): Verdicts {
  const others = [...verdicts].map(([id, { purpose, verdict }]) => {
    if (purpose !== 'OWNERSHIP' || verdict.status !== 'VERIFIED') return [id, { purpose, verdict }] as const;
    const refused = failed('MISMATCH', 'another account has verified this domain', [verdict.actualValue]);
    return [id, { purpose, verdict: refused }] as const;
  });
  return new Map(others);
}

function afterSwitch(record: DnsRecord): DnsRecord[] {
  if (record.key === null) return [record];
  return record.key.state === 'NEXT' ? [{ ...record, key: { ...record.key, state: 'ACTIVE' } }] : [];
}
