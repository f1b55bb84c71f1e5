import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, SealedSecrets, SecretBox } from '#platform';
import { dkimSecret } from './dkim-secret.js';

interface Row {
  readonly id: number;
  readonly private_key_box: string;
  readonly project_id: number;
  readonly environment_id: number;
}

/** The private halves of all projects' DKIM keys. */
@Injectable()
export class SealedDkimKeys extends SealedSecrets {
  override readonly inWords = 'DKIM keys';

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SecretBox) private readonly secrets: SecretBox,
  ) {
    super();
  }

  override sealAnew(limit: number): Promise<number> {
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<Row>`
        select k.id, k.private_key_box, d.project_id, k.environment_id
        from deliverability.dkim_keys k join deliverability.sending_domains d on d.id = k.domain_id
        where not starts_with(k.private_key_box, ${this.secrets.currentPrefix})
        order by k.id limit ${limit} for no key update of k
      `.execute(db);
      for (const row of rows) {
        const context = dkimSecret({ projectId: row.project_id, environmentId: row.environment_id });
        const box = this.secrets.seal(this.secrets.open(row.private_key_box, context), context);
        await sql`update deliverability.dkim_keys set private_key_box = ${box} where id = ${row.id}`.execute(
          db,
        );
      }
      return rows.length;
    });
  }
}
