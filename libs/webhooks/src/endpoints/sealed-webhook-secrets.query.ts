import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type SealedRow, SealedRows } from '#platform';
import { webhookSecret } from './webhook-secret.js';

/** The signing secrets of all projects' webhook endpoints; in templates, as all that is sealed anew. */
@Injectable()
export class SealedWebhookSecrets extends SealedRows<string> {
  override readonly inWords = 'webhook secrets';
  protected override readonly contextOf = webhookSecret;

  protected override sealedOtherwise(prefix: string, limit: number) {
    return sql<SealedRow<string>>`
      select id as key, project_id as "projectId", environment_id as "environmentId", array[secret, previous_secret] as boxes
      from webhooks.endpoints
      where not starts_with(secret, ${prefix}) or not starts_with(previous_secret, ${prefix})
      order by id limit ${limit}
    `;
  }

  protected override rewrite(
    { key: id, environmentId, boxes: [oldSecret, oldPrevious] }: SealedRow<string>,
    [secret, previous]: readonly (string | null)[],
  ) {
    return sql`
      update webhooks.endpoints set secret = ${secret}, previous_secret = ${previous}
      where environment_id = ${environmentId} and id = ${id}
        and secret = ${oldSecret} and previous_secret is not distinct from ${oldPrevious}
    `;
  }
}
