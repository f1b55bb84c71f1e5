import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database, type SealedRow, SealedRows, SecretBox, type Sql } from '#platform';
import { automationSecret } from './automation-secret.js';
import { AutomationSecrets } from './automation-secrets.service.js';

/** The signing secrets of all projects' automations. */
@Injectable()
export class SealedAutomationSecrets extends SealedRows<number> {
  override readonly inWords = 'automation secrets';
  protected override readonly contextOf = automationSecret;

  constructor(
    @Inject(Database) database: Database,
    @Inject(SecretBox) box: SecretBox,
    @Inject(AutomationSecrets) private readonly secrets: AutomationSecrets,
  ) {
    super(database, box);
  }

  protected override sealedOtherwise(prefix: string, limit: number) {
    return sql<SealedRow<number>>`
      select environment_id as key, project_id as "projectId", environment_id as "environmentId", array[secret] as boxes
      from messaging.automation_secrets
      where not starts_with(secret, ${prefix})
      order by environment_id limit ${limit} for no key update
    `;
  }

  protected override rewrite(environmentId: number, [box]: readonly (string | null)[]) {
    return sql`update messaging.automation_secrets set secret = ${box} where environment_id = ${environmentId}`;
  }

  /** One that nobody asked for yet still follows from the master key: it is written down as long as that is known. */
  protected override async sealAnewIn(db: Sql, limit: number): Promise<number> {
    return (await super.sealAnewIn(db, limit)) || this.#begin(db, limit);
  }

  async #begin(db: Sql, limit: number): Promise<number> {
    const { rows } = await sql<Pick<ProjectScope, 'projectId' | 'environmentId'>>`
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
