import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type SealedRow, SealedRows } from '#platform';
import { dkimSecret } from './dkim-secret.js';

/** The private halves of all projects' DKIM keys. */
@Injectable()
export class SealedDkimKeys extends SealedRows<number> {
  override readonly inWords = 'DKIM keys';
  protected override readonly contextOf = dkimSecret;

  protected override sealedOtherwise(prefix: string, limit: number) {
    return sql<SealedRow<number>>`
      select k.id as key, d.project_id as "projectId", k.environment_id as "environmentId", array[k.private_key_box] as boxes
      from deliverability.dkim_keys k join deliverability.sending_domains d on d.id = k.domain_id and d.environment_id = k.environment_id
      where not starts_with(k.private_key_box, ${prefix})
      order by k.id limit ${limit}
    `;
  }

  protected override rewrite(
    { key: id, environmentId, boxes: [old] }: SealedRow<number>,
    [box]: readonly (string | null)[],
  ) {
    return sql`
      update deliverability.dkim_keys set private_key_box = ${box}
      where environment_id = ${environmentId} and id = ${id} and private_key_box = ${old}
    `;
  }
}
