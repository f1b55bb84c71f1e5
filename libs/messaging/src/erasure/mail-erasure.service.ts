import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { AddressDigests } from '#audience';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { eraseRuns } from '../automations/runs/run.repository.js';
import { forgetBreakdowns } from '../reports/breakdowns/campaign-breakdowns.service.js';
import { eraseExports } from '../reports/exports/erase-exports.query.js';
import { moveFrontsBack } from '../deliveries/campaign-front.query.js';
import { wakeSenders } from '../deliveries/deliveries.channel.js';
import { keepErasedMails } from '../deliveries/erased-mails.query.js';

/** Somebody who was erased: no address, only what finds the rows. */
export interface ErasedPerson {
  readonly subscriberId: string;
  /** The keyed digest of the address, in hex. */
  readonly addressDigest: string;
}

/**
 * Takes a person out of all that mail left behind. Deliveries stay as rows that tell of nobody, so that a
 * campaign's numbers stay what they are; for 60 days the links of recent ones find the address by its digest.
 */
@Injectable()
export class MailErasureService {
  constructor(
    private readonly database: Database,
    private readonly digests: AddressDigests,
    private readonly clock: Clock,
  ) {}

  /** In the open transaction. Does no harm when it is done again. */
  async erase(scope: ProjectScope, { subscriberId, addressDigest }: ErasedPerson): Promise<void> {
    const tables = this.database.tables();
    const now = this.clock.now();
    const digest = Buffer.from(addressDigest, 'hex');
    const { environmentId } = scope;
    await sql`
      delete from messaging.test_inbox_messages m
      where m.environment_id = ${environmentId} and ${this.digests.ofColumn(scope, sql`m.to_key`)} = ${digest}
    `.execute(tables);
    await keepErasedMails(this.database, scope, { subscriberId, digest }, now);
    await forgetBreakdowns(this.database, scope, subscriberId);
    await eraseExports(this.database, scope, sql`d.subscriber_id = ${subscriberId}`, now);
    await moveFrontsBack(this.database, scope, sql`d.subscriber_id = ${subscriberId}`, now);
    await this.#depersonalise(scope, sql`d.subscriber_id = ${subscriberId}`, now);
    // Copies that an author sent to try a campaign belong to no subscriber: only their address tells whose they are.
    const ofAddress = sql`d.kind = 'TEST' and ${this.digests.ofColumn(scope, sql`d.address_key`)} = ${digest}`;
    await this.#depersonalise(scope, ofAddress, now);
    await sql`
      update messaging.delivery_events set subscriber_id = null
      where environment_id = ${environmentId} and subscriber_id = ${subscriberId}
    `.execute(tables);
    await eraseRuns(this.database, scope, subscriberId, now);
    wakeSenders(this.database);
  }

  /**
   * What is to be sent yet is given back, however far away its next try is, and whoever has it in hand loses it:
   * claimed anew it is found to be an erased person's, skipped, and settled. What is on a wire comes to its end.
   */
  async #depersonalise(
    { environmentId }: ProjectScope,
    which: ReturnType<typeof sql>,
    now: Date,
  ): Promise<void> {
    await sql`
      update messaging.deliveries d set subscriber_id = null, address = '', address_key = 'erased:' || d.id, locale = null, last_error = null,
        state = case when d.state = 'CLAIMED' then 'PENDING' else d.state end,
        lease_token = case when d.state = 'CLAIMED' then null else d.lease_token end,
        lease_until = case when d.state = 'CLAIMED' then null else d.lease_until end,
        next_attempt_at = case when d.finished_at is null then least(d.next_attempt_at, ${now}) else d.next_attempt_at end
      where d.environment_id = ${environmentId} and ${which}
    `.execute(this.database.tables());
  }
}
