import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { noteForDomainItself } from '../dns/dmarc-check.js';
import { isVerified, type SendingDomainStatus } from './sending-domain.js';

/** How a project's sending domain stands, without the keys that its mail is signed with. */
export interface SendingDomainStanding {
  /** Lower-case A-labels. */
  readonly domainName: string;
  readonly verified: boolean;
  /** False when it is verified and must not send all the same, since its DKIM record is gone, say. */
  readonly sendingAllowed: boolean;
  /** When it was verified first; null before that. */
  readonly verifiedAt: Date | null;
  /** Why it is suspended; null when it is not. */
  readonly suspensionReason: string | null;
  /** What the last check of its DMARC record found; null when there was none. */
  readonly dmarc: DmarcStanding | null;
}

export interface DmarcStanding {
  readonly status: 'PENDING' | 'VERIFIED' | 'FAILED';
  /** Why it failed. */
  readonly failureReason: string | null;
  /** What could be better about a valid record, for mail from the domain itself: that it asks for nothing, by p=none. */
  readonly note: string | null;
}

interface Row {
  readonly domain_name: string;
  readonly status: SendingDomainStatus;
  readonly sending_allowed: boolean;
  readonly verified_at: Date | null;
  readonly suspension_reason: string | null;
  readonly dmarc_status: DmarcStanding['status'] | null;
  readonly failure_reason: string | null;
  readonly note: string | null;
}

@Injectable()
export class SendingDomainStandingQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Null when no domain is set up. */
  ofScope(scope: ProjectScope): Promise<SendingDomainStanding | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Row>`
        select d.domain_name, d.status, d.sending_allowed, d.verified_at, d.suspension_reason, r.status as dmarc_status, r.failure_reason, r.note
        from deliverability.sending_domains d
        left join deliverability.dns_records r on r.domain_id = d.id and r.purpose = 'DMARC'
        where d.environment_id = ${scope.environmentId}
        order by r.id limit 1
      `.execute(db);
      return rows[0] === undefined ? null : standingOf(rows[0]);
    });
  }
}

function standingOf(row: Row): SendingDomainStanding {
  const { dmarc_status: status, failure_reason: failureReason, note } = row;
  return {
    domainName: row.domain_name,
    verified: isVerified(row.status),
    sendingAllowed: row.sending_allowed,
    verifiedAt: row.verified_at,
    suspensionReason: row.suspension_reason,
    dmarc: status === null ? null : { status, failureReason, note: noteForDomainItself(note) },
  };
}

/** Whether mail from `host` may be signed by a domain and aligns with it: the domain itself and what is below it. */
export function isAtOrBelow(host: string, domainName: string): boolean {
  return host === domainName || host.endsWith(`.${domainName}`);
}
