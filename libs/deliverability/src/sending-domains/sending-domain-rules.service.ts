import { Injectable } from '@nestjs/common';
import { DomainValidationError, type ProjectScope } from '#kernel';
import { DomainPlan } from './domain-plan.js';
import { DomainUsage } from './domain-usage.js';
import { SendingDomainExistsError } from './sending-domain.errors.js';
import { SendingDomainRepository } from './sending-domain.repository.js';

/** When a project may have no sending domain, not this name, or must leave its domain as it is. */
@Injectable()
export class SendingDomainRules {
  constructor(
    private readonly plan: DomainPlan,
    private readonly usage: DomainUsage,
    private readonly domains: SendingDomainRepository,
  ) {}

  /** Throws `DomainValidationError`. */
  async refuseUnlessIncluded(scope: ProjectScope): Promise<void> {
    if (await this.plan.includesDomain(scope)) return;
    throw new DomainValidationError({ plan: 'the plan does not include a sending domain' });
  }

  /** Throws `SendingDomainExistsError` when another tenant has verified the name; until the transaction ends, none does. */
  async refuseTaken(scope: ProjectScope, domainName: string): Promise<void> {
    if (await this.domains.isVerifiedElsewhere(scope, domainName))
      throw new SendingDomainExistsError('taken');
  }

  /** Throws `InUseError` while something sends under it, or is going to. */
  refuseIfUsed(scope: ProjectScope): Promise<void> {
    return this.usage.refuseIfUsed(scope);
  }
}
