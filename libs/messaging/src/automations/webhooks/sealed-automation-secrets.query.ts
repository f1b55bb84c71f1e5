import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, SealedSecrets, SecretBox, type Sql } from '#platform';
import { automationSecret } from './automation-secret.js';
import { AutomationSecrets } from './automation-secrets.service.js';

interface Row {
  readonly projectId: number;
  readonly environmentId: number;
  readonly secret: string;
}

/** The signing secrets of all projects' automations. */
@Injectable()
export class SealedAutomationSecrets extends SealedSecrets {
  override readonly inWords = 'automation secrets';

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SecretBox) private readonly box: SecretBox,
    @Inject(AutomationSecrets) private readonly secrets: AutomationSecrets,
  ) {
    super();
  }

  /** One that nobody asked for yet still follows from the master key: it is written down as long as that is known. */
  override sealAnew(limit: number): Promise<number> {
    return this.database.system(async ({ db }) => (await this.#reseal(db, limit)) || this.#begin(db, limit));
  }

  async #reseal(db: Sql, limit: number): Promise<number> {
    const { rows } = await sql<Row>`
      select project_id as "projectId", environment_id as "environmentId", secret from messaging.automation_secrets
      where not starts_with(secret, ${this.box.currentPrefix})
      order by environment_id limit ${limit} for no key update
    `.execute(db);
    for (const { secret, ...owner } of rows) {
      const context = automationSecret(owner);
      const sealed = this.box.seal(this.box.open(secret, context), context);
      await sql`
        update messaging.automation_secrets set secret = ${sealed} where environment_id = ${owner.environmentId}
      `.execute(db);
    }
    return rows.length;
  }

  async #begin(db: Sql, limit: number): Promise<number> {
    const { rows } = await sql<Omit<Row, 'secret'>>`
      select e.project_id as "projectId", e.environment_id as "environmentId"
      from (
        select distinct environment_id from messaging.automations a
        where not exists (select from messaging.automation_secrets s where s.environment_id = a.environment_id)
        limit ${limit}
      ) a cross join lateral access.find_environment(a.environment_id) e
    `.execute(db);
    for (const owner of rows) await this.secrets.begin(db, owner);
    return rows.length;
  }
}
