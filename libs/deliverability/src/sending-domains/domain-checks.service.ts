import { Inject, Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { Publisher, Database } from '#platform';
import { RecordChecks } from '../dns/record-checks.service.js';
import type { RecordVerdict } from '../dns/record-verdict.js';
import { DomainCheckRequests } from './domain-check-requests.query.js';
import { isVerified, type SendingDomainStatus } from './sending-domain-status.js';
import type { SendingDomain } from './sending-domain.js';
import { SendingDomainRepository } from './sending-domain.repository.js';

/** Of which is told that the domain's records are not there. */
const FAILED_STATUSES: ReadonlySet<SendingDomainStatus> = new Set([
  'VERIFICATION_FAILED',
  'DEGRADED',
  'EXPIRED',
]);

interface Look {
  readonly domain: SendingDomain;
  /** By the record's id. */
  readonly verdicts: ReadonlyMap<number, RecordVerdict>;
}

/** Looks at the DNS of domains and decides what follows. Runs in the worker. */
@Injectable()
export class DomainChecksService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SendingDomainRepository) private readonly domains: SendingDomainRepository,
    @Inject(DomainCheckRequests) private readonly requests: DomainCheckRequests,
    @Inject(RecordChecks) private readonly checks: RecordChecks,
    @Inject(Publisher) private readonly publisher: Publisher,
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
    const verdicts = await Promise.all(
      domain.requiredRecords.map(async (record) => [record.id, await this.checks.check(record)] as const),
    );
    return { domain, verdicts: new Map(verdicts) };
  }

  #conclude(scope: ProjectScope, checkId: string, { domain, verdicts }: Look): Promise<boolean> {
    return this.database.transaction(scope, async () => {
      const current = await this.domains.lock(scope);
      if (current?.id !== domain.id || current.revision !== domain.revision) return false;
      if ((await this.requests.state(scope, checkId)) !== 'PENDING') return true;
      const { status, domainName } = current;
      const isAnothers = !isVerified(status) && (await this.domains.isVerifiedElsewhere(domainName));
      current.check(verdicts, isAnothers, this.clock.now());
      if (current.status !== status) await this.#publish(scope, current);
      await this.requests.finish(scope, checkId);
      return true;
    });
  }

  /** That it may send from now on, or may not any more. */
  async #publish(scope: ProjectScope, { domainName, status }: SendingDomain): Promise<void> {
    const type =
      status === 'ACTIVE' ? 'domain.verified' : FAILED_STATUSES.has(status) ? 'domain.failed' : null;
    if (type !== null) await this.publisher.publish(scope, { type, data: { domainName, status } });
  }
}
