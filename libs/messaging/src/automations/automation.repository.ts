import { Injectable } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import { Clock, isUuid, newId, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { MessagingTables } from '../messaging-tables.js';
import { Automation, isAutomationKey, type NewAutomation } from './automation.js';

/** A project's automations, without the deleted ones. */
export function automationsOf(tables: Kysely<MessagingTables>, { environmentId }: ProjectScope) {
  return tables
    .selectFrom('messaging.automations')
    .where('environmentId', '=', environmentId)
    .where('deletedAt', 'is', null);
}

/** The automation of this id or key; null for text that can be neither. */
export function automationOf(tables: Kysely<MessagingTables>, scope: ProjectScope, idOrKey: string) {
  const isId = isUuid(idOrKey);
  if (!isId && !isAutomationKey(idOrKey)) return null;
  return automationsOf(tables, scope).where(isId ? 'id' : 'automationKey', '=', idOrKey);
}

/** The topics, segments and templates that a version refers to. */
export interface VersionReferences {
  /** Topics of the mails by the place of the node; null for another step. */
  readonly mailTopicIds: readonly (string | null)[];
  /** Templates of the mails by the place of the node; null for another step. */
  readonly mailTemplateIds: readonly (string | null)[];
  readonly topicIds: readonly string[];
  readonly segmentIds: readonly string[];
  /** Ids of what steps wait for, by the place of the node; null for another step. */
  readonly waitIds: readonly (string | null)[];
}

/**
 * The ids of all that an automation's steps wait for, or of that alone for which nobody waits: in versions without anybody inside, but
 * for the one that people enter.
 */
export async function waitsOf(
  database: Database,
  { environmentId }: ProjectScope,
  automationId: string,
  unusedBeside: number | null = null,
): Promise<readonly string[]> {
  const isUnused = sql`v.id <> ${unusedBeside} and not exists (
    select 1 from messaging.automation_runs r
    where r.environment_id = ${environmentId} and r.version_id = v.id and r.wake_at is not null
  )`;
  const { rows } = await sql<{ id: string }>`
    select w.id from messaging.automation_versions v cross join unnest(v.wait_ids) as w(id)
    where v.environment_id = ${environmentId} and v.automation_id = ${automationId} and w.id is not null
      and ${unusedBeside === null ? sql`true` : isUnused}
  `.execute(database.tables());
  return rows.map(({ id }) => id);
}

/** Adds, changes and removes the automations of a project, and adds their versions. */
@Injectable()
export class AutomationRepository {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Adds a DRAFT. */
  add(scope: ProjectScope, fields: NewAutomation): Promise<Automation> {
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ key: string }>`select access.next_key('automation') as key`.execute(
        this.database.tables(),
      );
      const identity = { id: newId(), environmentId: scope.environmentId, automationKey: rows[0]!.key };
      const automation = new Automation(identity, fields, this.clock.now());
      await this.database.em.persist(automation).flush();
      return automation;
    });
  }

  /** Locks the automation, runs `change` on it and writes what that changed. Throws `NotFoundError`. */
  change(
    scope: ProjectScope,
    idOrKey: string,
    change: (automation: Automation, now: Date) => unknown,
  ): Promise<Automation> {
    return this.database.transaction(scope, async () => {
      const automation = await this.#lock(scope, idOrKey);
      await change(automation, this.clock.now());
      await this.database.em.flush();
      return automation;
    });
  }

  /** Adds a version in the open transaction; it never changes, since active runs go on in it. Returns its id. */
  async addVersion(
    { id: automationId, environmentId, triggerType, triggerTopicId, nodes, edges }: Automation,
    references: VersionReferences,
    createdAt: Date,
  ): Promise<number> {
    if (triggerType === null || nodes === null) throw new Error('The automation lacks a trigger or steps.');
    const content = { environmentId, automationId, triggerType, triggerTopicId, nodes, edges: edges ?? '[]' };
    const tables = this.database.tables<MessagingTables>();
    const { newest } = await tables
      .selectFrom('messaging.automation_versions')
      .select(({ fn }) => fn.max('version').as('newest'))
      .where('environmentId', '=', environmentId)
      .where('automationId', '=', automationId)
      .executeTakeFirstOrThrow();
    const { mailTopicIds, mailTemplateIds, topicIds, segmentIds, waitIds } = references;
    const { id } = await tables
      .insertInto('messaging.automation_versions')
      .values({
        ...content,
        mailTopicIds,
        mailTemplateIds,
        topicIds,
        segmentIds,
        waitIds,
        createdAt,
        version: (newest ?? 0) + 1,
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    return id;
  }

  /** Deletes the row of one that was never activated. Others keep theirs: the links in their mails must go on working. */
  removeUnused(automation: Automation): void {
    if (automation.versionId === null) this.database.em.remove(automation);
  }

  /** Locks against other changes, but not against new versions and runs: the unit of work knows no such lock. */
  async #lock(scope: ProjectScope, idOrKey: string): Promise<Automation> {
    const row = await automationOf(this.database.tables(), scope, idOrKey)
      ?.selectAll()
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (row === undefined) throw new NotFoundError();
    return this.database.em.map(Automation, row, { mapped: true });
  }
}
