import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Page, PageRequest, ProjectScope } from '#kernel';
import { Database, limitOf, ListOrder, named, totalOf } from '#platform';
import { type Counted, countedPage } from '../counted-page.js';
import type { SubscriberRef } from '../subscribers/subscriber.js';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import type { AddressChange, ConsentProof, ConsentStatus } from '../consents/consent.js';

/** A change of a consent with its proof, as it was recorded: it never changes. */
export interface ConsentRecord extends Omit<ConsentProof, 'wording'> {
  readonly id: string;
  readonly topicKey: string;
  /** Null: consent was never given before. */
  readonly fromStatus: ConsentStatus | null;
  readonly toStatus: ConsentStatus;
  readonly textLocale: string | null;
  readonly textVersion: number | null;
  /** The change of address by which the consent passed to another one; null: no such change. */
  readonly addressChange: AddressChange | null;
  readonly occurredAt: Date;
}

const LATEST_FIRST = new ListOrder([['position', 'bigint']]);

/** Reads the consent record of a person. */
@Injectable()
export class ConsentRecordsQuery {
  constructor(
    private readonly database: Database,
    private readonly subscribers: SubscriberRepository,
  ) {}

  /**
   * True unless the person has another address that nobody has confirmed since: by a link in a mail to it, or by the caller's
   * proof. Links of mails to the address before prove nothing of it.
   */
  async isAddressProven({ environmentId }: ProjectScope, subscriberId: string): Promise<boolean> {
    const { rows } = await sql<{ isProven: boolean }>`${named('is_address_proven')}
      select l.address_change->'emailConfirmed' <> 'null' or exists (
        select 1 from audience.consent_ledger p
        where p.environment_id = ${environmentId} and p.subscriber_id = ${subscriberId} and p.position > l.position
          and p.from_status = 'PENDING_CONFIRMATION' and p.to_status = 'SUBSCRIBED' and p.actor = 'SUBSCRIBER_PAGE'
      ) as is_proven
      from audience.consent_ledger l
      where l.environment_id = ${environmentId} and l.subscriber_id = ${subscriberId} and l.address_change is not null
      order by l.position desc limit 1
    `.execute(this.database.tables());
    return rows[0]?.isProven ?? true;
  }

  /** Newest first, deleted topics included. Throws NotFoundError. */
  page(scope: ProjectScope, ref: SubscriberRef, request: PageRequest): Promise<Page<ConsentRecord>> {
    const { environmentId } = scope;
    return this.database.read(scope, { isList: true }, async () => {
      const { id } = await this.subscribers.named(scope, ref);
      const matching = sql`from audience.consent_ledger
        where environment_id = ${environmentId} and subscriber_id = ${id}`;
      const { rows } = await sql<Counted<ConsentRecord>>`
        select n.total, l.id, t.topic_key, l.from_status, l.to_status, l.actor, l.actor_id, l.source, l.source_url,
          l.ip_address, l.user_agent, l.consent_text, l.form_version, l.message_id, l.text_locale, l.text_version,
          l.address_change, l.occurred_at, l.place
        from (select ${totalOf(request, sql`(select count(*) ${matching})`)} as total) n
        left join (
          select *, ${LATEST_FIRST.place} as place ${matching} and ${LATEST_FIRST.isBehind(request)}
          order by ${LATEST_FIRST.by} ${limitOf(request)}
        ) l on true
        left join audience.topics t on t.environment_id = ${environmentId} and t.id = l.topic_id
        order by l.position desc
      `.execute(this.database.tables());
      const { items, ...page } = countedPage(rows, request);
      return { ...page, items: items.map(withDates) };
    });
  }
}

/** The record with all times as dates: in JSON they are text. */
function withDates({ addressChange, ...record }: ConsentRecord): ConsentRecord {
  const proof = addressChange?.emailConfirmed ?? null;
  if (addressChange === null || proof === null) return { ...record, addressChange };
  const emailConfirmed = { ...proof, confirmedAt: new Date(proof.confirmedAt) };
  return { ...record, addressChange: { ...addressChange, emailConfirmed } };
}
