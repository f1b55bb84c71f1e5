import { type RawBuilder, sql } from 'kysely';
import { newId } from '#kernel';
import { prepared, type Sql } from '#platform';
import type { ConsentChange } from './consent.js';
import type { ConsentProof } from './consent-proof.js';

export interface LedgerEntry extends ConsentChange {
  readonly environmentId: number;
  readonly subscriberId: string;
  readonly topicId: string;
}

/** Adds to the consent record, in the transaction that makes the changes. Nothing in it is ever changed. */
export async function record(
  db: Sql,
  entries: readonly LedgerEntry[],
  proof: ConsentProof,
  at: Date,
): Promise<void> {
  if (entries.length === 0) return;
  await sql`${prepared}${recorded(entries, proof, at)}`.execute(db);
}

/** The statement that adds to the consent record, for one that makes the changes as well. */
export function recorded(
  entries: readonly LedgerEntry[],
  proof: ConsentProof,
  at: Date,
): RawBuilder<unknown> {
  return sql`
    insert into audience.consent_ledger (id, environment_id, subscriber_id, topic_id, from_status, to_status, occurred_at,
      actor, actor_id, source, source_url, ip_address, user_agent, consent_text, form_version, message_id)
    select e.*, ${at}::timestamptz, ${proof.actor}, ${proof.actorId}, ${proof.source}, ${proof.sourceUrl}, ${proof.ipAddress},
      ${proof.userAgent}, ${proof.consentText}, ${proof.formVersion}, ${proof.messageId}
    from unnest(
      ${entries.map(() => newId())}::uuid[],
      ${entries.map((entry) => entry.environmentId)}::bigint[],
      ${entries.map((entry) => entry.subscriberId)}::uuid[],
      ${entries.map((entry) => entry.topicId)}::uuid[],
      ${entries.map((entry) => entry.from)}::text[],
      ${entries.map((entry) => entry.to)}::text[]
    ) e
  `;
}
