import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { DeliverabilityTables } from '../deliverability-tables.js';
import type { RecordPurpose } from '../dns/dns-record.js';
import { requiredRecords } from './required-records.js';

/** Which records an environment's relays need, as they are now. */
@Injectable()
export class RequiredRecordsQuery {
  constructor(private readonly database: Database) {}

  ofScope(scope: ProjectScope): Promise<ReadonlySet<RecordPurpose>> {
    return this.database.transaction(scope, async () => {
      const relays = await this.database
        .tables<DeliverabilityTables>()
        .selectFrom('deliverability.relays')
        .select(['kind', 'signing', 'streams'])
        .where('environmentId', '=', scope.environmentId)
        .execute();
      return requiredRecords(relays);
    });
  }
}
