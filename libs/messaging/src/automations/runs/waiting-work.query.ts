import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Signals } from '#audience';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { scopeOf } from './runs.query.js';

export interface FoundAutomation {
  readonly id: string;
  readonly scope: ProjectScope;
}

type Row = Parameters<typeof scopeOf>[0] & { readonly id: string };

/** Finds automations, of all projects, that people are to be let into or sent off from. */
@Injectable()
export class WaitingWork {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Signals) private readonly signals: Signals,
  ) {}

  /** Those for which something was noted. */
  entries(): Promise<readonly FoundAutomation[]> {
    return this.#find(sql`a.status = 'ACTIVE' and a.id in (${this.signals.pending()})`);
  }

  /** Those that were archived with people inside. */
  closings(): Promise<readonly FoundAutomation[]> {
    return this.#find(sql`a.is_closing`);
  }

  #find(condition: RawBuilder<unknown>): Promise<readonly FoundAutomation[]> {
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<Row>`
        select a.id, e.* from messaging.automations a cross join lateral access.find_environment(a.environment_id) e
        where ${condition}
      `.execute(db);
      return rows.map(({ id, ...columns }) => ({ id, scope: scopeOf(columns) }));
    });
  }
}
