import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { Database, Publisher } from '#platform';
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

/** What was found in DNS, and of which domain it was then. */
export interface DomainLook {
  readonly domain: SendingDomain;
  /** By the record's id. */
  readonly verdicts: ReadonlyMap<number, RecordVerdict>;
}

/** Saves what was found in a domain's DNS and decides what follows. */
@Injectable()
export class DomainVerdicts {
  constructor(
    private readonly database: Database,
    private readonly domains: SendingDomainRepository,
    private readonly requests: DomainCheckRequests,
    private readonly publisher: Publisher,
    private readonly clock: Clock,
  ) {}

  /** False when the domain is another one by now, has another name, or needs a record that was not looked at. */
  save(scope: ProjectScope, checkId: string, { domain, verdicts }: DomainLook): Promise<boolean> {
    return this.database.transaction(scope, async () => {
      const current = await this.domains.lock(scope);
      if (current?.id !== domain.id || current.revision !== domain.revision) return false;
      if (current.requiredRecords.some(({ id }) => !verdicts.has(id))) return false;
      if ((await this.requests.state(scope, checkId)) !== 'PENDING') return true;
      const { status, domainName } = current;
      const isAnothers = !isVerified(status) && (await this.domains.isVerifiedElsewhere(scope, domainName));
      current.check(verdicts, isAnothers, this.clock.now());
      if (current.status !== status) await this.#announce(scope, current);
      await this.requests.finish(scope, checkId);
      return true;
    });
  }

  /** That it may send from now on, or may not any more. */
  async #announce(scope: ProjectScope, { domainName, status }: SendingDomain): Promise<void> {
    const type =
      status === 'ACTIVE' ? 'domain.verified' : FAILED_STATUSES.has(status) ? 'domain.failed' : null;
    if (type !== null) await this.publisher.publish(scope, { type, data: { domainName, status } });
  }
}
