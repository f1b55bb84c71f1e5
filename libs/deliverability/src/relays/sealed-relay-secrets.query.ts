import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type SealedRow, SealedRows } from '#platform';
import { relaySecret } from './relay-secret.js';

/** The passwords and feedback keys of all projects' relays. */
@Injectable()
export class SealedRelaySecrets extends SealedRows<string> {
  override readonly inWords = 'relay secrets';
  protected override readonly contextOf = relaySecret;

  protected override sealedOtherwise(prefix: string, limit: number) {
    return sql<SealedRow<string>>`
      select id as key, project_id as "projectId", environment_id as "environmentId",
        array[password_box, feedback_key_box] as boxes
      from deliverability.relays
      where not starts_with(password_box, ${prefix}) or not starts_with(feedback_key_box, ${prefix})
      order by id limit ${limit}
    `;
  }

  protected override rewrite(
    { key: id, environmentId, boxes: [oldPassword, oldFeedbackKey] }: SealedRow<string>,
    [password, feedbackKey]: readonly (string | null)[],
  ) {
    return sql`
      update deliverability.relays set password_box = ${password}, feedback_key_box = ${feedbackKey}
      where environment_id = ${environmentId} and id = ${id}
        and password_box is not distinct from ${oldPassword} and feedback_key_box is not distinct from ${oldFeedbackKey}
    `;
  }
}
