import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { DeliverabilityTables } from '../deliverability-tables.js';
import { kindRules } from './kinds/kinds.js';
import type { RelayStatus, RelayStream } from './relay-terms.js';
import { recordsOfRelay } from './required-records.js';

/** How a relay stands, and what its mail has of the sending domain. */
export interface RelayStanding {
  readonly name: string;
  readonly status: RelayStatus;
  /** Its provider could tell what becomes of mail, was handed some, and has told nothing. */
  readonly isSilent: boolean;
  /** Our signature is on its mail and holds. */
  readonly carriesOurSignature: boolean;
  /** Its mail returns to the domain's return path, which SPF is about. */
  readonly usesOurReturnPath: boolean;
}

@Injectable()
export class RelayStandingQuery {
  constructor(private readonly database: Database) {}

  /** Those that take a stream, in the order in which they are tried; none where the installation's does. */
  async ofStream(scope: ProjectScope, stream: RelayStream): Promise<RelayStanding[]> {
    const rows = await this.database.transaction(scope, () =>
      this.database
        .tables<DeliverabilityTables>()
        .selectFrom('deliverability.relays')
        .select(['name', 'kind', 'signing', 'status', 'lastUsedAt', 'lastFeedbackAt'])
        .where('environmentId', '=', scope.environmentId)
        .where(({ eb, fn }) => eb(eb.val(stream), '=', fn.any('streams')))
        .orderBy('priority')
        .orderBy('createdAt')
        .orderBy('id')
        .execute(),
    );
    return rows.map(({ name, status, kind, signing, lastUsedAt, lastFeedbackAt }) => {
      const records = recordsOfRelay({ kind, signing });
      // A server of one's own reports to the return path.
      const couldTell = kind !== 'SMTP' && kindRules(kind).feedback !== null;
      return {
        name,
        status,
        isSilent: couldTell && lastUsedAt !== null && lastFeedbackAt === null,
        carriesOurSignature: records.includes('DKIM'),
        usesOurReturnPath: records.includes('SPF'),
      };
    });
  }
}
