import { Inject, Injectable } from '@nestjs/common';
import { Clock, DomainValidationError, InvalidStateError, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { DkimKeyMaker } from '../dkim/dkim-key-maker.service.js';
import { DomainRecordsMaker } from './domain-records-maker.service.js';
import { parseDomainName } from './domain-name.js';
import { DomainPlan } from './domain-plan.js';
import { DomainUsage } from './domain-usage.js';
import { isStopped, newDomainState, SENDING_DOMAIN_STATUSES, type SendingDomain } from './sending-domain.js';
import { SendingDomainExistsError, SendingDomainInUseError } from './sending-domain.errors.js';
import { SendingDomainRepository } from './sending-domain.repository.js';

/** Sets a project's sending domain up, changes and removes it. */
@Injectable()
export class SendingDomainsService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SendingDomainRepository) private readonly domains: SendingDomainRepository,
    @Inject(DomainRecordsMaker) private readonly maker: DomainRecordsMaker,
    @Inject(DkimKeyMaker) private readonly keyMaker: DkimKeyMaker,
    @Inject(DomainUsage) private readonly usage: DomainUsage,
    @Inject(DomainPlan) private readonly plan: DomainPlan,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * Throws `DomainValidationError`, also when the plan includes none, or `SendingDomainExistsError` when there is one or
   * the name is another's.
   */
  async create(scope: ProjectScope, domainName: string): Promise<void> {
    const identity = this.maker.identityOf(parsed(domainName));
    await this.#refuseUnlessIncluded(scope);
    if ((await this.domains.find(scope)) !== null) throw new SendingDomainExistsError('one-each');
    const keys = await this.keyMaker.make(scope);
    await this.database.transaction(scope, async () => {
      await this.#refuseTaken(scope, identity.domainName);
      const now = this.clock.now();
      const id = await this.domains.insert(scope, identity, newDomainState(now), now);
      if (id === null) throw new SendingDomainExistsError('one-each');
      await this.maker.write(scope, id, identity, keys);
    });
  }

  /**
   * Gives the domain another name: new keys, new records, to be verified anew. The same name changes nothing.
   * Throws `NotFoundError`, `DomainValidationError`, `InvalidStateError` when the operator stopped it,
   * `SendingDomainInUseError` while a campaign is sending, `SendingDomainExistsError` when the name is another's.
   */
  async change(scope: ProjectScope, domainName: string): Promise<void> {
    const current = await this.domains.find(scope);
    if (current === null) throw new NotFoundError();
    const identity = this.maker.identityOf(parsed(domainName));
    if (current.domainName === identity.domainName) return;
    await this.#refuseUnlessIncluded(scope);
    const keys = await this.keyMaker.make(scope);
    await this.database.transaction(scope, async () => {
      const { id } = await this.#lockFree(scope);
      await this.#refuseTaken(scope, identity.domainName);
      const now = this.clock.now();
      await this.domains.rename(scope, id, identity);
      await this.domains.save(scope, id, newDomainState(now), now);
      await this.maker.write(scope, id, identity, keys);
    });
  }

  /** Throws `NotFoundError`, and as `change` when it must stay. */
  async remove(scope: ProjectScope): Promise<void> {
    await this.database.transaction(scope, async () => {
      const { id } = await this.#lockFree(scope);
      await this.domains.remove(scope, id);
    });
  }

  /** Who is suspended must not get out of it with a new set-up. */
  async #lockFree(scope: ProjectScope): Promise<SendingDomain> {
    const domain = await this.domains.lock(scope);
    if (domain === null) throw new NotFoundError();
    if (isStopped(domain.status)) {
      const allowed = SENDING_DOMAIN_STATUSES.filter((status) => !isStopped(status));
      throw new InvalidStateError('The operator has stopped this sending domain.', domain.status, allowed);
    }
    if (await this.usage.isSending(scope)) throw new SendingDomainInUseError();
    return domain;
  }

  async #refuseUnlessIncluded(scope: ProjectScope): Promise<void> {
    if (await this.plan.includesDomain(scope)) return;
    throw new DomainValidationError({ plan: 'the plan does not include a sending domain' });
  }

  async #refuseTaken(scope: ProjectScope, domainName: string): Promise<void> {
    if (await this.domains.isVerifiedElsewhere(scope, domainName))
      throw new SendingDomainExistsError('taken');
  }
}

function parsed(domainName: string): string {
  const result = parseDomainName(domainName);
  if ('fault' in result) throw new DomainValidationError({ domainName: result.fault });
  return result.name;
}
