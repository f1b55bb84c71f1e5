import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import { planOf, type VersionPlan } from './version-plan.js';

const KEPT = 200;

/** Reads versions of automations, each once a process: a version never changes. */
@Injectable()
export class VersionPlansQuery {
  readonly #plans = new LRUCache<number, Promise<VersionPlan>>({ max: KEPT });

  constructor(private readonly database: Database) {}

  of(scope: ProjectScope, versionId: number): Promise<VersionPlan> {
    const known = this.#plans.get(versionId);
    if (known !== undefined) return known;
    const plan = this.#read(scope, versionId);
    this.#plans.set(versionId, plan);
    plan.catch(() => this.#plans.delete(versionId));
    return plan;
  }

  #read(scope: ProjectScope, versionId: number): Promise<VersionPlan> {
    return this.database.transaction(scope, async () => {
      const version = await this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.automation_versions as v')
        .innerJoin('messaging.automations as a', (join) =>
          join.onRef('a.id', '=', 'v.automationId').onRef('a.environmentId', '=', 'v.environmentId'),
        )
        .select(['v.id as versionId', 'a.id as automationId', 'a.automationKey'])
        .select(['v.nodes', 'v.edges', 'v.mailTopicIds'])
        .where('v.environmentId', '=', scope.environmentId)
        .where('v.id', '=', versionId)
        .executeTakeFirst();
      if (version === undefined) throw new Error('The version of the automation is gone.');
      return planOf(scope, version);
    });
  }
}
