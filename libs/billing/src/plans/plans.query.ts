import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { PlanRepository } from './plan.repository.js';
import type { Plan } from './plan.js';

/** Reads the plan catalogue. It is the same for every tenant. */
@Injectable()
export class PlansQuery {
  constructor(
    private readonly database: Database,
    private readonly plans: PlanRepository,
  ) {}

  /** The plans that can be subscribed to, smallest first: for a project, or without one for the operator. */
  onOffer(scope?: ProjectScope): Promise<Plan[]> {
    const read = () => this.plans.onOffer();
    return scope === undefined ? this.database.system(read) : this.database.transaction(scope, read);
  }
}
