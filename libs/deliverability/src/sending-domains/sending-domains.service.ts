import { Injectable } from '@nestjs/common';
import { Clock, DomainValidationError, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { DomainRecordsMaker } from './domain-records-maker.service.js';
import { parseDomainName } from './domain-name.js';
import { SendingDomainRules } from './sending-domain-rules.service.js';
import { SendingDomain } from './sending-domain.js';
import { SendingDomainExistsError } from './sending-domain.errors.js';
import { SendingDomainRepository } from './sending-domain.repository.js';

/** Sets a project's sending domain up, changes and removes it. */
@Injectable()
export class SendingDomainsService {
  constructor(
    private readonly database: Database,
    private readonly domains: SendingDomainRepository,
    private readonly maker: DomainRecordsMaker,
    private readonly rules: SendingDomainRules,
    private readonly clock: Clock,
  ) {}

  /**
   * Throws `DomainValidationError`, also when the plan includes none, or `SendingDomainExistsError` when there is one or
   * the name is another's.
   */
  async create(scope: ProjectScope, domainName: string): Promise<void> {
    const name = parsed(domainName);
    await this.rules.refuseUnlessIncluded(scope);
    if ((await this.domains.find(scope)) !== null) throw new SendingDomainExistsError('one-each');
    const { returnPathHost, records, keys } = await this.maker.make(scope, name);
    await this.database.transaction(scope, async () => {
      await this.rules.refuseTaken(scope, name);
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
    await this.rules.refuseUnlessIncluded(scope);
    const { returnPathHost, records, keys } = await this.maker.make(scope, name);
    await this.database.transaction(scope, async () => {
      const domain = await this.#lockFree(scope);
      await this.rules.refuseTaken(scope, name);
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

  async #lockFree(scope: ProjectScope): Promise<SendingDomain> {
    const domain = await this.domains.lock(scope);
    if (domain === null) throw new NotFoundError();
    domain.refuseIfStopped();
    await this.rules.refuseIfUsed(scope);
    return domain;
  }
}

function parsed(domainName: string): string {
  const result = parseDomainName(domainName);
  if ('fault' in result) throw new DomainValidationError({ domainName: result.fault });
  return result.name;
}
