import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { EmailAddress, Page, PageRequest, ProjectScope } from '#kernel';
import { Database, limitOf, ListOrder, totalOf } from '#platform';
import { type Counted, countedPage } from '../counted-page.js';
import { suppressionCount } from '../counters/counters.query.js';
import type { SuppressionReason } from '../consents/consent.js';
import type { SuppressionDetails } from './suppression.js';
import { SuppressionRepository } from './suppression.repository.js';

export interface SuppressionView {
  readonly email: string;
  readonly suppressed: boolean;
  readonly reason: SuppressionReason | null;
  readonly suppressedAt: Date | null;
}

export interface SuppressionFilter {
  readonly reason?: SuppressionReason | undefined;
}

const LATEST_FIRST = new ListOrder([
  ['suppressed_at', 'timestamptz'],
  ['email_key', 'text'],
]);

/** Reads the suppression list. */
@Injectable()
export class SuppressionsQuery {
  constructor(
    private readonly database: Database,
    private readonly suppressions: SuppressionRepository,
  ) {}

  /** Whether an address is suppressed, including erased addresses. */
  async of(scope: ProjectScope, address: EmailAddress): Promise<SuppressionView> {
    const suppression = await this.suppressions.find(scope, address.key);
    if (suppression === null)
      return { email: address.value, suppressed: false, reason: null, suppressedAt: null };
    return toView({ ...suppression, email: suppression.email ?? address.value });
  }

  /** Newest first, without erased addresses. */
  page(
    scope: ProjectScope,
    { reason }: SuppressionFilter,
    request: PageRequest,
  ): Promise<Page<SuppressionView>> {
    const matching = sql`from audience.suppressions where environment_id = ${scope.environmentId}
      ${reason === undefined ? sql`` : sql`and reason = ${reason}`}`;
    return this.database.list(scope, async () => {
      const { rows } = await sql<Counted<SuppressionDetails>>`
        select n.total, s.email, s.reason, s.suppressed_at, s.place
        from (select ${totalOf(request, suppressionCount(scope, reason))} as total) n
        left join (
          select s.*, k.place from (
            select email_key, ${LATEST_FIRST.place} as place ${matching} and ${LATEST_FIRST.isBehind(request)}
            order by ${LATEST_FIRST.by} ${limitOf(request)}
          ) k
          join audience.suppressions s on s.environment_id = ${scope.environmentId} and s.email_key = k.email_key
        ) s on true
        order by s.suppressed_at desc, s.email_key desc
      `.execute(this.database.tables());
      const { items, ...page } = countedPage(rows, request);
      return { ...page, items: items.map(toView) };
    });
  }
}

function toView({ email, reason, suppressedAt }: SuppressionDetails): SuppressionView {
  return { email, suppressed: true, reason, suppressedAt };
}
