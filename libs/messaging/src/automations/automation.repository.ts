import { Injectable } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import { Clock, isUuid, newId, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { MessagingTables } from '../messaging-tables.js';
import { Automation, type AutomationFields, isAutomationKey } from './automation.js';

/** Those that were not deleted. */
export function automationsOf(tables: Kysely<MessagingTables>, { environmentId }: ProjectScope) {
  return tables
    .selectFrom('messaging.automations')
    .where('environmentId', '=', environmentId)
    .where('deletedAt', 'is', null);
}

/** The one of this id or key; null for what can be neither. */
export function automationOf(tables: Kysely<MessagingTables>, scope: ProjectScope, idOrKey: string) {
  const isId = isUuid(idOrKey);
  if (!isId && !isAutomationKey(idOrKey)) return null;
  return automationsOf(tables, scope).where(isId ? 'id' : 'automationKey', '=', idOrKey);
}

/** Adds, changes and removes the automations of a project. */
@Injectable()
export class AutomationRepository {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Adds a DRAFT. */
  add(scope: ProjectScope, fields: AutomationFields): Promise<Automation> {
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

  /** Deletes the row of one that nobody ever entered. Others keep theirs: the links of their mails must go on working. */
  removeUnused(automation: Automation): void {
    if (automation.versionId === null) this.database.em.remove(automation);
  }

  /** Versions and runs may refer to it meanwhile: the unit of work knows no such lock. */
  async #lock(scope: ProjectScope, idOrKey: string): Promise<Automation> {
    const row = await automationOf(this.database.tables(), scope, idOrKey)
      ?.selectAll()
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (row === undefined) throw new NotFoundError();
    return this.database.em.map(Automation, row, { mapped: true });
  }
}
