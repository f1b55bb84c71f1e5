import { Injectable } from '@nestjs/common';
import { PlanLimitsService } from '#billing';
import { DomainValidationError, type ProjectScope } from '#kernel';

/** Checks that the tenant's plan includes automations. */
@Injectable()
export class AutomationPlan {
  constructor(private readonly features: PlanLimitsService) {}

  /** Throws DomainValidationError when the tenant's plan does not include automations. */
  async refuseUnlessIncluded(scope: ProjectScope): Promise<void> {
    if (await this.features.allows(scope, 'automations')) return;
    throw new DomainValidationError({ plan: 'the plan does not include automations' });
  }
}
