import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { DeliverabilityTables } from '../deliverability-tables.js';
import type { DnsRecordStatus } from '../dns/dns-record.js';
import { dmarcAdvice } from '../dns/dmarc-check.js';
import { isVerified } from './sending-domain-status.js';

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
  readonly status: DnsRecordStatus;
  /** Why it failed. */
  readonly failureReason: string | null;
  /** What to do next about a valid record: a policy after p=none, say. Null when nothing is left to do. */
  readonly advice: string | null;
}

@Injectable()
export class SendingDomainStandingQuery {
  constructor(private readonly database: Database) {}

  /** Null when no domain is set up. */
  async ofScope(scope: ProjectScope): Promise<SendingDomainStanding | null> {
    const row = await this.database.transaction(scope, () =>
      this.database
        .tables<DeliverabilityTables>()
        .selectFrom('deliverability.sending_domains as d')
        .leftJoin('deliverability.dns_records as r', (join) =>
          join
            .onRef('r.domainId', '=', 'd.id')
            .onRef('r.environmentId', '=', 'd.environmentId')
            .on('r.purpose', '=', 'DMARC'),
        )
        .where('d.environmentId', '=', scope.environmentId)
        .select(['d.domainName', 'd.status', 'd.sendingAllowed', 'd.verifiedAt', 'd.suspensionReason'])
        .select(['r.status as dmarcStatus', 'r.failureReason', 'r.note'])
        .executeTakeFirst(),
    );
    if (row === undefined) return null;
    const { status, dmarcStatus, failureReason, note, ...facts } = row;
    const dmarc =
      dmarcStatus === null ? null : { status: dmarcStatus, failureReason, advice: dmarcAdvice(note) };
    return { ...facts, verified: isVerified(status), dmarc };
  }
}

/** Whether mail from `host` may be signed by a domain and aligns with it: the domain itself and what is below it. */
export function isAtOrBelow(host: string, domainName: string): boolean {
  return host === domainName || host.endsWith(`.${domainName}`);
}
