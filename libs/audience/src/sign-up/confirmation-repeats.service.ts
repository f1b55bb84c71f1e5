import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, InvalidStateError, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { statusAt } from '../consents/consent.js';
import type { ConsentProof } from '../consents/consent-proof.js';
import { ConsentWriter } from '../consents/consent-writer.repository.js';
import { repeatsCountSince, secondsUntilRepeat } from './confirmation.js';
import { ResendTooSoonError } from './sign-up.errors.js';

/** Repeats confirmation mails. Callers hold the lock of the subscriber's row. */
@Injectable()
export class ConfirmationRepeats {
  constructor(
    private readonly database: Database,
    private readonly consents: ConsentWriter,
    private readonly clock: Clock,
  ) {}

  /** Throws NotFoundError for a consent that was never given, InvalidStateError for one that is not pending. */
  async refuseUnlessPending(scope: ProjectScope, subscriberId: string, topicId: string): Promise<void> {
    const consents = await this.consents.ofSubscriber(scope, subscriberId);
    const consent = consents.find((one) => one.topicId === topicId);
    if (consent === undefined) throw new NotFoundError();
    const status = statusAt(consent, this.clock.now());
    if (status === 'PENDING_CONFIRMATION') return;
    const why =
      status === 'SUBSCRIBED'
        ? 'The consent is SUBSCRIBED already: there is nothing to confirm.'
        : 'Only a pending consent waits for a confirmation mail.';
    throw new InvalidStateError(why, status, ['PENDING_CONFIRMATION']);
  }

  /** Sends another mail for the unconfirmed consents; false when there are none. Throws ResendTooSoonError. */
  async send(
    scope: ProjectScope,
    subscriberId: string,
    topicIds: readonly string[],
    proof: ConsentProof,
  ): Promise<boolean> {
    const now = this.clock.now();
    const repeats = await this.#times(scope, subscriberId, now);
    const waits = topicIds.map((topicId) => secondsUntilRepeat(repeats.get(topicId) ?? [], now));
    const seconds = Math.max(0, ...waits);
    if (seconds > 0) throw new ResendTooSoonError(seconds);
    const order = { subscriberIds: [subscriberId], action: 'askAgain', topicIds } as const;
    return (await this.consents.change(scope, order, proof)).some(({ isDone }) => isDone);
  }

  /** The times of repeats in the last 24 h, by topic id. */
  async #times(
    scope: ProjectScope,
    subscriberId: string,
    now: Date,
  ): Promise<ReadonlyMap<string, readonly Date[]>> {
    const { rows } = await sql<{ topicId: string; times: Date[] }>`
      select t.id as topic_id, array_agg(f.created_at) as times
      from audience.confirmations f cross join unnest(f.topic_ids) as t(id)
      where f.environment_id = ${scope.environmentId} and f.subscriber_id = ${subscriberId}
        and f.is_repeat and f.created_at > ${repeatsCountSince(now)}
      group by t.id
    `.execute(this.database.tables());
    return new Map(rows.map(({ topicId, times }) => [topicId, times]));
  }
}
