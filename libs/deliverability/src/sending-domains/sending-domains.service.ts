import { Inject, Injectable } from '@nestjs/common';
import { Clock, DomainValidationError, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { DkimKeyMaker } from '../dkim/dkim-key-maker.service.js';
import { DomainRecordsMaker } from './domain-records-maker.service.js';
import { parseDomainName } from './domain-name.js';
import { DomainPlan } from './domain-plan.js';
import { DomainUsage } from './domain-usage.js';
import { SendingDomain } from './sending-domain.js';
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
    const name = parsed(domainName);
    await this.#refuseUnlessIncluded(scope);
    if ((await this.domains.find(scope)) !== null) throw new SendingDomainExistsError('one-each');
    const keys = await this.keyMaker.make(scope);
    await this.database.transaction(scope, async () => {
      await this.#refuseTaken(name);
      const now = this.clock.now();
      const domain = new SendingDomain(scope, name, this.maker.returnPathHostOf(name), now);
      await this.domains.add(domain);
      domain.publish(this.maker.recordsOf(name), keys, now);
      this.domains.addRecords(domain);
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
    const name = parsed(domainName);
    if (current.domainName === name) return;
    await this.#refuseUnlessIncluded(scope);
    const keys = await this.keyMaker.make(scope);
    await this.database.transaction(scope, async () => {
      const domain = await this.#lockFree(scope);
      await this.#refuseTaken(name);
      const now = this.clock.now();
      this.domains.removeRecords(domain);
      domain.rename(name, this.maker.returnPathHostOf(name), now);
      domain.publish(this.maker.recordsOf(name), keys, now);
      this.domains.addRecords(domain);
    });
  }

  /** Throws `NotFoundError`, and as `change` when it must stay. */
  async remove(scope: ProjectScope): Promise<void> {
    await this.database.transaction(scope, async () => {
      this.domains.remove(await this.#lockFree(scope));
    });
  }

  async #lockFree(scope: ProjectScope): Promise<SendingDomain> {
    const domain = await this.domains.lock(scope);
    if (domain === null) throw new NotFoundError();
    domain.refuseIfStopped();
    if (await this.usage.isSending(scope)) throw new SendingDomainInUseError();
    return domain;
  }

  async #refuseUnlessIncluded(scope: ProjectScope): Promise<void> {
    if (await this.plan.includesDomain(scope)) return;
    throw new DomainValidationError({ plan: 'the plan does not include a sending domain' });
  }

  async #refuseTaken(domainName: string): Promise<void> {
    if (await this.domains.isVerifiedElsewhere(domainName)) throw new SendingDomainExistsError('taken');
  }
}

function parsed(domainName: string): string {
  const result = parseDomainName(domainName);
  if ('fault' in result) throw new DomainValidationError({ domainName: result.fault });
  return result.name;
}
