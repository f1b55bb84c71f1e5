import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { planOf, type StoredVersion, type VersionPlan } from '../nodes/version-plan.js';

const KEPT = 200;

/** Versions of automations, ready to be walked. A version never changes, so each is read once a process. */
@Injectable()
export class VersionPlans {
  readonly #plans = new Map<number, Promise<VersionPlan>>();

  constructor(@Inject(Database) private readonly database: Database) {}

  of(scope: ProjectScope, versionId: number): Promise<VersionPlan> {
    const plan = this.#plans.get(versionId) ?? this.#load(scope, versionId);
    // The one used last comes last: the first is the one to forget.
    this.#plans.delete(versionId);
    this.#plans.set(versionId, plan);
    for (const oldest of [...this.#plans.keys()].slice(0, Math.max(0, this.#plans.size - KEPT)))
      this.#plans.delete(oldest);
    return plan;
  }

  #load(scope: ProjectScope, versionId: number): Promise<VersionPlan> {
    const loading = this.#read(scope, versionId);
    loading.catch(() => this.#plans.delete(versionId));
    return loading;
  }

  #read(scope: ProjectScope, versionId: number): Promise<VersionPlan> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<StoredVersion>`
        select v.id as "versionId", a.id as "automationId", a.number as "automationNumber",
          a.automation_key as "automationKey", v.nodes, v.edges, v.mail_topic_ids as "mailTopicIds"
        from messaging.automation_versions v join messaging.automations a on a.id = v.automation_id
        where v.environment_id = ${scope.environmentId} and v.id = ${versionId}
      `.execute(db);
      if (rows[0] === undefined) throw new Error('The version of the automation is gone.');
      return planOf(scope, rows[0]);
    });
  }
}
