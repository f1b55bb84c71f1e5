import { Inject, Injectable } from '@nestjs/common';
import { Clock, InvalidStateError, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { DkimKeyMaker } from '../dkim/dkim-key-maker.service.js';
import { DnsRecordRepository } from './dns-record.repository.js';
import { nextEarlyCheck } from './check-schedule.js';
import {
  isStopped,
  resumed,
  SENDING_DOMAIN_STATUSES,
  type SendingDomain,
  type SendingDomainStatus,
  suspended,
} from './sending-domain.js';
import { SendingDomainRepository } from './sending-domain.repository.js';

const ROTATABLE: readonly SendingDomainStatus[] = ['ACTIVE', 'DEGRADED'];

/** What an operator, or a safeguard, does with a domain. */
@Injectable()
export class DomainControlService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SendingDomainRepository) private readonly domains: SendingDomainRepository,
    @Inject(DnsRecordRepository) private readonly records: DnsRecordRepository,
    @Inject(DkimKeyMaker) private readonly keyMaker: DkimKeyMaker,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Stops its mail at once; `reason` is shown to the customer. Throws `NotFoundError`, `InvalidStateError`. */
  suspend(scope: ProjectScope, reason: string): Promise<void> {
    return this.#change(scope, async (domain) => {
      if (isStopped(domain.status))
        throw refused('It is stopped already.', domain, (status) => !isStopped(status));
      const now = this.clock.now();
      await this.domains.save(scope, domain.id, suspended(domain, reason), now);
    });
  }

  /** Lets it go on, as what its DNS says. Throws `NotFoundError`, `InvalidStateError` when it is not suspended. */
  resume(scope: ProjectScope): Promise<void> {
    return this.#change(scope, async (domain) => {
      if (domain.status !== 'SUSPENDED')
        throw refused('It is not suspended.', domain, (status) => status === 'SUSPENDED');
      const now = this.clock.now();
      const records = await this.records.of(scope, domain.id);
      await this.domains.save(scope, domain.id, resumed(domain, records, now), now);
    });
  }

  /**
   * Makes new keys under new selectors. The old ones sign until the new records have been found in DNS. Throws
   * `NotFoundError`, and `InvalidStateError` when the domain is not verified or new keys are waiting already.
   */
  async rotateKeys(scope: ProjectScope): Promise<void> {
    const keys = await this.keyMaker.make(scope);
    await this.#change(scope, async (domain) => {
      if (!ROTATABLE.includes(domain.status))
        throw refused('Only a verified domain changes its keys.', domain, (status) =>
          ROTATABLE.includes(status),
        );
      const records = await this.records.of(scope, domain.id);
      if (records.some(({ key }) => key?.state === 'NEXT'))
        throw refused('New keys wait for their records already.', domain, () => false);
      const now = this.clock.now();
      await this.records.addKeys(scope, domain, keys, 'NEXT', now);
      const checks = { checksStartedAt: now, nextCheckAt: nextEarlyCheck(now, now) };
      await this.domains.save(scope, domain.id, { ...domain, ...checks }, now);
    });
  }

  #change(scope: ProjectScope, work: (domain: SendingDomain) => Promise<void>): Promise<void> {
    return this.database.transaction(scope, async () => {
      const domain = await this.domains.lock(scope);
      if (domain === null) throw new NotFoundError();
      await work(domain);
    });
  }
}

function refused(
  message: string,
  { status: current }: SendingDomain,
  isAllowed: (status: SendingDomainStatus) => boolean,
): InvalidStateError {
  return new InvalidStateError(message, current, SENDING_DOMAIN_STATUSES.filter(isAllowed));
}
