import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { AddressDigests } from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import { Database, type Sql } from '#platform';
import { eraseRuns } from '../automations/runs/erase-runs.query.js';
import { forgetBreakdowns } from '../reports/breakdowns/campaign-breakdowns.service.js';
import { eraseExports } from '../reports/exports/erase-exports.query.js';
import { wakeSenders } from '../deliveries/deliveries.channel.js';

/** Somebody who was erased: no address, only what finds the rows. */
export interface ErasedPerson {
  readonly subscriberId: string;
  /** The keyed digest of the address, in hex. */
  readonly addressDigest: string;
}

/**
 * Takes a person out of all that mail left behind. Deliveries stay as rows that tell of nobody, so that a
 * campaign's numbers stay what they are.
 */
@Injectable()
export class MailErasureService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(AddressDigests) private readonly digests: AddressDigests,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** In the caller's transaction; again it finds nothing. */
  async erase(scope: ProjectScope, db: Sql, { subscriberId, addressDigest }: ErasedPerson): Promise<void> {
    const digest = Buffer.from(addressDigest, 'hex');
    const { environmentId } = scope;
    await sql`
      delete from messaging.test_inbox_messages m
      where m.environment_id = ${environmentId} and ${this.digests.ofColumn(scope, sql`m.to_key`)} = ${digest}
    `.execute(db);
    await forgetBreakdowns(db, scope, subscriberId);
    await eraseExports(db, scope, sql`d.subscriber_id = ${subscriberId}`, this.clock.now());
    await depersonalise(db, scope, sql`d.subscriber_id = ${subscriberId}`, this.clock.now());
    // Copies that an author sent to try a campaign belong to no subscriber: only their address tells whose they are.
    const ofAddress = sql`d.kind = 'TEST' and ${this.digests.ofColumn(scope, sql`d.address_key`)} = ${digest}`;
    await depersonalise(db, scope, ofAddress, this.clock.now());
    await sql`
      update messaging.delivery_events set subscriber_id = null
      where environment_id = ${environmentId} and subscriber_id = ${subscriberId}
    `.execute(db);
    await eraseRuns(this.database, scope, subscriberId, this.clock.now());
    await wakeSenders(db);
  }
}

/**
 * What is to be sent yet is given back, however far away its next try is, and whoever has it in hand loses it:
 * claimed anew it is found to be an erased person's, skipped, and settled. What is on a wire comes to its end.
 */
async function depersonalise(
  db: Sql,
  { environmentId }: ProjectScope,
  which: ReturnType<typeof sql>,
  now: Date,
): Promise<void> {
  await sql`
    update messaging.deliveries d set subscriber_id = null, address = '', address_key = 'erased:' || d.id, last_error = null,
      state = case when d.state = 'CLAIMED' then 'PENDING' else d.state end,
      lease_token = case when d.state = 'CLAIMED' then null else d.lease_token end,
      lease_until = case when d.state = 'CLAIMED' then null else d.lease_until end,
      next_attempt_at = case when d.finished_at is null then least(d.next_attempt_at, ${now}) else d.next_attempt_at end
    where d.environment_id = ${environmentId} and ${which}
  `.execute(db);
}
