import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { isUuid, newId, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { Automation, type AutomationFields, type AutomationState, isAutomationKey } from './automation.js';

/** The columns of an `AutomationState`, of a table called `a`. */
export const automationColumns = sql`a.id, a.number, a.automation_key as "automationKey", a.name, a.description, a.status,
  a.trigger_type as "triggerType", a.trigger_topic_id as "triggerTopicId", a.nodes, a.edges, a.node_count as "nodeCount",
  a.version_id as "versionId", a.is_revised as "isRevised", a.is_closing as "isClosing", a.created_at as "createdAt",
  a.updated_at as "updatedAt"`;

/** The one automation of this id or key, of a table called `a`; null when none can be meant. */
export function isAutomation(idOrKey: string): RawBuilder<unknown> | null {
  if (isUuid(idOrKey)) return sql`a.id = ${idOrKey}::uuid and a.deleted_at is null`;
  return isAutomationKey(idOrKey) ? sql`a.automation_key = ${idOrKey} and a.deleted_at is null` : null;
}

/** The automations of a project, to change them. */
@Injectable()
export class AutomationRepository {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** A new DRAFT; resolves to its id. */
  async add(scope: ProjectScope, fields: AutomationFields, at: Date): Promise<string> {
    const id = newId();
    await this.database.transaction(scope, ({ db }) =>
      sql`
        insert into messaging.automations (id, environment_id, automation_key, name, description, status, trigger_type,
          trigger_topic_id, created_at, updated_at)
        values (${id}, ${scope.environmentId}, access.next_key('automation'), ${fields.name}, ${fields.description}, 'DRAFT',
          ${fields.triggerType}, ${fields.triggerTopicId}, ${at}, ${at})
      `.execute(db),
    );
    return id;
  }

  /** The automation as it stands; null when it is gone. */
  find(scope: ProjectScope, id: string): Promise<AutomationState | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<AutomationState>`
        select ${automationColumns} from messaging.automations a
        where a.environment_id = ${scope.environmentId} and a.id = ${id} and a.deleted_at is null
      `.execute(db);
      return rows[0] ?? null;
    });
  }

  /** The automation, kept from others until the transaction ends, or `NotFoundError`. */
  async lock(scope: ProjectScope, idOrKey: string): Promise<Automation> {
    const isWanted = isAutomation(idOrKey);
    if (isWanted === null) throw new NotFoundError();
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<AutomationState>`
        select ${automationColumns} from messaging.automations a
        where a.environment_id = ${scope.environmentId} and ${isWanted} for no key update
      `.execute(db);
      if (rows[0] === undefined) throw new NotFoundError();
      return new Automation(rows[0]);
    });
  }

  save(scope: ProjectScope, { state }: Automation): Promise<unknown> {
    return this.database.transaction(scope, ({ db }) =>
      sql`
        update messaging.automations set name = ${state.name}, description = ${state.description}, status = ${state.status},
          trigger_type = ${state.triggerType}, trigger_topic_id = ${state.triggerTopicId}, nodes = ${state.nodes},
          edges = ${state.edges}, node_count = ${state.nodeCount}, version_id = ${state.versionId},
          is_revised = ${state.isRevised}, is_closing = ${state.isClosing}, updated_at = ${state.updatedAt}
        where environment_id = ${scope.environmentId} and id = ${state.id}
      `.execute(db),
    );
  }

  /** One that people went through stays as a row that nobody sees: the links of its mails must go on working. */
  remove(scope: ProjectScope, { state }: Automation, at: Date): Promise<unknown> {
    const { environmentId } = scope;
    return this.database.transaction(scope, ({ db }) =>
      state.versionId === null
        ? sql`delete from messaging.automations where environment_id = ${environmentId} and id = ${state.id}`.execute(
            db,
          )
        : sql`
            update messaging.automations set deleted_at = ${at}, status = 'ARCHIVED'
            where environment_id = ${environmentId} and id = ${state.id}
          `.execute(db),
    );
  }
}
