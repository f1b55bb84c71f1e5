import { type RawBuilder, sql } from 'kysely';
import { Injectable } from '@nestjs/common';
import { ERASED_MAILS_KEPT_DAYS } from '#audience';
import type { ProjectScope } from '#kernel';
import { before, type Database, environmentOf, type OldRows, RemoveOldRows } from '#platform';

const KEPT_MS = ERASED_MAILS_KEPT_DAYS * 24 * 60 * 60_000;

/** The person whose mails are being erased: by the digest of the address alone. */
interface ErasedReader {
  readonly subscriberId: string;
  readonly digest: Buffer;
}

/** Keeps the digest of the address with each recent mail of a subscriber, whose deliveries are depersonalised next. */
export async function keepErasedMails(
  database: Database,
  { environmentId }: ProjectScope,
  { subscriberId, digest }: ErasedReader,
  now: Date,
): Promise<void> {
  await sql`
    insert into messaging.erased_mails (environment_id, delivery_id, address_digest, queued_on)
    select ${environmentId}, d.id, ${digest}::bytea, d.queued_on from messaging.deliveries d
    where d.environment_id = ${environmentId} and d.subscriber_id = ${subscriberId}
      and d.kind in ('CAMPAIGN', 'AUTOMATION') and ${isRecent(sql`d.queued_on`, now)}
    on conflict (environment_id, delivery_id) do nothing
  `.execute(database.tables());
}

/** The digest of the address that a mail went to; null when it is no recent mail of an erased subscriber. */
export async function addressDigestOf(
  database: Database,
  scope: ProjectScope,
  deliveryId: string,
  now: Date,
): Promise<Buffer | null> {
  const { rows } = await sql<{ digest: Buffer }>`
    select e.address_digest as digest from messaging.erased_mails e
    where e.environment_id = ${environmentOf(scope)} and e.delivery_id = ${deliveryId} and ${isRecent(sql`e.queued_on`, now)}
  `.execute(database.tables());
  return rows[0]?.digest ?? null;
}

function isRecent(queuedOn: RawBuilder<unknown>, now: Date): RawBuilder<boolean> {
  return sql<boolean>`${queuedOn} >= (${before(now, KEPT_MS)}::timestamptz at time zone 'UTC')::date`;
}

/** Forgets where mails of erased subscribers went, once they are too old for that. */
@Injectable()
export class RemoveErasedMails extends RemoveOldRows {
  override readonly name = 'remove-erased-mails';
  override readonly everyMs = 60 * 60_000;

  protected override old(now: Date): OldRows[] {
    return [{ table: 'messaging.erased_mails', where: sql`not ${isRecent(sql`queued_on`, now)}` }];
  }
}
