import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Clock, DomainValidationError, NotFoundError, type ProjectScope } from '#kernel';
import { type Config, CONFIG, Database } from '#platform';
import { DkimKeysService } from '../dkim/dkim-keys.service.js';
import { ownersRecords, parseDomainName, SendingDomain, SendingDomainExistsError } from './sending-domain.js';
import { SendingDomainRepository } from './sending-domain.repository.js';

/** Port: the plan of a tenant, which may include a sending domain. */
export abstract class DomainPlan {
  abstract includesDomain(scope: ProjectScope): Promise<boolean>;
}

/** Port: the senders under a project's domain, which therefore stays. */
export abstract class DomainUsage {
  /** Throws `InUseError` if anything sends under the domain; until the caller's transaction ends, nothing begins to. */
  abstract refuseIfUsed(scope: ProjectScope): Promise<void>;
}

const TOKEN_BYTES = 20;

/** Sets a project's sending domain up, changes and removes it. */
@Injectable()
export class SendingDomainsService {
  constructor(
    private readonly database: Database,
    private readonly domains: SendingDomainRepository,
    private readonly keyMaker: DkimKeysService,
    private readonly plan: DomainPlan,
    private readonly usage: DomainUsage,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Throws `DomainValidationError`, also when the plan includes none, or `SendingDomainExistsError` when there is one or
   * the name is another's.
   */
  async create(scope: ProjectScope, domainName: string): Promise<void> {
    const name = parsed(domainName);
    await this.#refuseUnlessIncluded(scope);
    if ((await this.domains.find(scope)) !== null) throw new SendingDomainExistsError('one-each');
    const { returnPathHost, records, keys } = await this.#makeRecords(scope, name);
    await this.database.transaction(scope, async () => {
      await this.#refuseTaken(scope, name);
      const now = this.clock.now();
      const domain = new SendingDomain(scope, name, returnPathHost, now);
      await this.domains.add(domain);
      domain.publish(records, keys, now);
      this.domains.addRecords(domain);
    });
  }

  /**
   * Gives the domain another name: new keys, new records, to be verified anew. The same name changes nothing.
   * Throws `NotFoundError`, `DomainValidationError`, `InvalidStateError` when the operator stopped it,
   * `InUseError` while something sends under it, `SendingDomainExistsError` when the name is another's.
   */
  async change(scope: ProjectScope, domainName: string): Promise<void> {
    const current = await this.domains.find(scope);
    if (current === null) throw new NotFoundError();
    const name = parsed(domainName);
    if (current.domainName === name) return;
    await this.#refuseUnlessIncluded(scope);
    const { returnPathHost, records, keys } = await this.#makeRecords(scope, name);
    await this.database.transaction(scope, async () => {
      const domain = await this.#lockFree(scope);
      await this.#refuseTaken(scope, name);
      const now = this.clock.now();
      this.domains.removeRecords(domain);
      domain.rename(name, returnPathHost, now);
      domain.publish(records, keys, now);
      this.domains.addRecords(domain);
    });
  }

  /** Throws `NotFoundError`, and as `change` when it must stay. */
  async remove(scope: ProjectScope): Promise<void> {
    await this.database.transaction(scope, async () => {
      this.domains.remove(await this.#lockFree(scope));
    });
  }

  async #refuseUnlessIncluded(scope: ProjectScope): Promise<void> {
    if (await this.plan.includesDomain(scope)) return;
    throw new DomainValidationError({ plan: 'the plan does not include a sending domain' });
  }

  /** Until the transaction ends, no other tenant verifies the name. */
  async #refuseTaken(scope: ProjectScope, domainName: string): Promise<void> {
    if (await this.domains.isVerifiedElsewhere(scope, domainName))
      throw new SendingDomainExistsError('taken');
  }

  /** The return path's host is below the name, so that SPF aligns (RFC 9989 §4.4.2). */
  async #makeRecords(scope: ProjectScope, name: string) {
    const returnPathHost = `${this.config.RETURN_PATH_LABEL}.${name}`;
    const token = randomBytes(TOKEN_BYTES).toString('hex');
    const records = ownersRecords(name, returnPathHost, token, this.config);
    return { returnPathHost, records, keys: await this.keyMaker.make(scope) };
  }

  async #lockFree(scope: ProjectScope): Promise<SendingDomain> {
    const domain = await this.domains.lock(scope);
    if (domain === null) throw new NotFoundError();
    domain.refuseIfStopped();
    await this.usage.refuseIfUsed(scope);
    return domain;
  }
}

function parsed(domainName: string): string {
  const result = parseDomainName(domainName);
  if ('fault' in result) throw new DomainValidationError({ domainName: result.fault });
  return result.name;
}

/** Actions of the operator, or of a safeguard, on a domain. */
@Injectable()
export class DomainControlService {
  constructor(
    private readonly database: Database,
    private readonly domains: SendingDomainRepository,
    private readonly keyMaker: DkimKeysService,
    private readonly clock: Clock,
  ) {}

  /** Stops its mail at once; `reason` is shown to the customer. Throws `NotFoundError`, `InvalidStateError`. */
  suspend(scope: ProjectScope, reason: string): Promise<void> {
    return this.#change(scope, (domain, now) => domain.suspend(reason, now));
  }

  /** Resumes it, in the state that its DNS is in. Throws `NotFoundError`, `InvalidStateError` when it is not suspended. */
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
