import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { environmentScopes } from '#access';
import type { ProjectScope } from '#kernel';
import { Database, type SealedRow, SealedRows, SecretBox } from '#platform';
import { automationSecret } from './automation-secret.js';
import { AutomationSecrets } from './automation-secrets.service.js';

/** The signing secrets of all projects' automations. */
@Injectable()
export class SealedAutomationSecrets extends SealedRows<number> {
  override readonly inWords = 'automation secrets';
  protected override readonly contextOf = automationSecret;

  constructor(
    database: Database,
    box: SecretBox,
    private readonly secrets: AutomationSecrets,
  ) {
    super(database, box);
  }

  protected override sealedOtherwise(prefix: string, limit: number) {
    return sql<SealedRow<number>>`
      select environment_id as key, project_id, environment_id, array[secret] as boxes
      from messaging.automation_secrets
      where not starts_with(secret, ${prefix})
      order by environment_id limit ${limit}
    `;
  }

  protected override rewrite(
    { environmentId, boxes: [old] }: SealedRow<number>,
    [box]: readonly (string | null)[],
  ) {
    return sql`
      update messaging.automation_secrets set secret = ${box} where environment_id = ${environmentId} and secret = ${old}
    `;
  }

  /** Secrets that nobody has asked for yet follow from the master key: they are stored as long as that is known. */
  protected override async sealAnewIn(limit: number): Promise<number> {
    return (await super.sealAnewIn(limit)) || this.#begin(limit);
  }

  async #begin(limit: number): Promise<number> {
    const { rows } = await sql<Pick<ProjectScope, 'projectId' | 'environmentId'>>`
      select e.project_id, e.environment_id
      from (
        select distinct environment_id from messaging.automations a
        where not exists (select 1 from messaging.automation_secrets s where s.environment_id = a.environment_id)
        limit ${limit}
      ) a join ${environmentScopes} e on e.environment_id = a.environment_id
    `.execute(this.database.tables());
    for (const owner of rows) await this.secrets.begin(owner);
    return rows.length;
  }
}
