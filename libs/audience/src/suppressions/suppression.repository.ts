import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { EmailAddress, ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { Suppression, SuppressionReason } from './suppression.js';

const columns = sql`email, reason, suppressed_at as "suppressedAt"`;

/** The suppression list of a project. */
@Injectable()
export class SuppressionRepository {
  constructor(@Inject(Database) private readonly database: Database) {}

  find(scope: ProjectScope, emailKey: string): Promise<Suppression | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Suppression>`
        select ${columns} from audience.suppressions
        where environment_id = ${scope.environmentId} and email_key = ${emailKey}
      `.execute(db);
      return rows[0] ?? null;
    });
  }

  /** Adds the address unless it is there: what stands first, stays. Returns what stands. */
  add(
    scope: ProjectScope,
    address: Pick<EmailAddress, 'value' | 'key'>,
    reason: SuppressionReason,
    at: Date,
  ): Promise<Suppression> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Suppression>`
        insert into audience.suppressions (environment_id, email_key, email, reason, suppressed_at)
        values (${scope.environmentId}, ${address.key}, ${address.value}, ${reason}, ${at})
        on conflict (environment_id, email_key) do nothing returning ${columns}
      `.execute(db);
      return rows[0] ?? (await this.find(scope, address.key))!;
    });
  }

  /** Whether there was one. */
  remove(scope: ProjectScope, emailKey: string): Promise<boolean> {
    return this.database.transaction(scope, async ({ db }) => {
      const { numAffectedRows } = await sql`
        delete from audience.suppressions where environment_id = ${scope.environmentId} and email_key = ${emailKey}
      `.execute(db);
      return numAffectedRows === 1n;
    });
  }
}
