import { Injectable } from '@nestjs/common';
import { EnvironmentsQuery } from '#access';
import type { ProjectScope } from '#kernel';
import { Database, drainEnvironments, enqueue, Periodic } from '#platform';
import {
  areBreakdownsDue,
  countBreakdown,
  DUE_BREAKDOWNS,
  takeDueBreakdowns,
} from './campaign-breakdowns.service.js';

/** Requests the counts of large campaigns' breakdowns that are due. */
@Injectable()
export class RequestDueBreakdowns {
  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsQuery,
  ) {}

  @Periodic('request-due-breakdowns', { everyMs: 10_000 })
  async run(): Promise<void> {
    if (!(await this.database.holds(areBreakdownsDue))) return;
    await drainEnvironments(this.database, DUE_BREAKDOWNS, async (environmentId, most) => {
      const scope = await this.environments.find(environmentId);
      return scope === null ? 0 : this.#request(scope, most);
    });
  }

  async #request(scope: ProjectScope, most: number): Promise<number> {
    const due = await takeDueBreakdowns(this.database, scope, most);
    for (const campaignId of due) await enqueue(this.database, scope, countBreakdown({ campaignId }));
    return due.length;
  }
}
