import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, SealedSecrets, SecretBox } from '#platform';
import { webhookSecret } from './webhook-secret.js';

interface Row {
  readonly id: string;
  readonly projectId: number;
  readonly environmentId: number;
  readonly secret: string;
  readonly previousSecret: string | null;
}

/** The signing secrets of all projects' webhook endpoints. */
@Injectable()
export class SealedWebhookSecrets extends SealedSecrets {
  override readonly inWords = 'webhook secrets';

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SecretBox) private readonly secrets: SecretBox,
  ) {
    super();
  }

  override sealAnew(limit: number): Promise<number> {
    const { currentPrefix } = this.secrets;
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<Row>`
        select id, project_id as "projectId", environment_id as "environmentId", secret, previous_secret as "previousSecret"
        from webhooks.endpoints
        where not starts_with(secret, ${currentPrefix}) or not starts_with(previous_secret, ${currentPrefix})
        order by id limit ${limit} for no key update
      `.execute(db);
      for (const row of rows) {
        const context = webhookSecret(row);
        const anew = (box: string) => this.secrets.seal(this.secrets.open(box, context), context);
        const previous = row.previousSecret === null ? null : anew(row.previousSecret);
        await sql`
          update webhooks.endpoints set secret = ${anew(row.secret)}, previous_secret = ${previous} where id = ${row.id}
        `.execute(db);
      }
      return rows.length;
    });
  }
}
