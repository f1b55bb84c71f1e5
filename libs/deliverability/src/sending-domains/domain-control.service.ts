import { Injectable } from '@nestjs/common';
import { Clock, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { DkimKeyMaker } from '../dkim/dkim-key-maker.service.js';
import type { SendingDomain } from './sending-domain.js';
import { SendingDomainRepository } from './sending-domain.repository.js';

/** What an operator, or a safeguard, does with a domain. */
@Injectable()
export class DomainControlService {
  constructor(
    private readonly database: Database,
    private readonly domains: SendingDomainRepository,
    private readonly keyMaker: DkimKeyMaker,
    private readonly clock: Clock,
  ) {}

  /** Stops its mail at once; `reason` is shown to the customer. Throws `NotFoundError`, `InvalidStateError`. */
  suspend(scope: ProjectScope, reason: string): Promise<void> {
    return this.#change(scope, (domain, now) => domain.suspend(reason, now));
  }

  /** Lets it go on, as what its DNS says. Throws `NotFoundError`, `InvalidStateError` when it is not suspended. */
  resume(scope: ProjectScope): Promise<void> {
    return this.#change(scope, (domain, now) => domain.resume(now));
  }

  /**
   * Makes new keys under new selectors. The old ones sign until the new records have been found in DNS. Throws
   * `NotFoundError`, and `InvalidStateError` when the domain is not verified or new keys are waiting already.
   */
  async rotateKeys(scope: ProjectScope): Promise<void> {
    const keys = await this.keyMaker.make(scope);
    await this.#change(scope, (domain, now) => {
      domain.rotateKeys(keys, now);
      this.domains.addRecords(domain);
    });
  }

  #change(scope: ProjectScope, change: (domain: SendingDomain, now: Date) => void): Promise<void> {
    return this.database.transaction(scope, async () => {
      const domain = await this.domains.lock(scope);
      if (domain === null) throw new NotFoundError();
      change(domain, this.clock.now());
    });
  }
}
