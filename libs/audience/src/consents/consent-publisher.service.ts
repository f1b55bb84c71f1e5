import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { PublishedEventType, ProjectScope } from '#kernel';
import { Publisher, Database } from '#platform';
import type { ConsentOutcome } from './consent.js';
import type { ConsentActor, ConsentProof } from './consent-proof.js';

type SubscriberOutcome = ConsentOutcome & { readonly subscriberId: string; readonly topicId: string };

/** These actors change the consents of thousands at a time: no event is published for each. */
const UNPUBLISHED: ReadonlySet<ConsentActor> = new Set(['IMPORT', 'AUTOMATION']);

/** Publishes changed consents, in the transaction that changes them. No event is published for an expired one. */
@Injectable()
export class ConsentPublisher {
  constructor(
    private readonly database: Database,
    private readonly publisher: Publisher,
  ) {}

  async publish(
    scope: ProjectScope,
    outcomes: readonly SubscriberOutcome[],
    { actor }: Pick<ConsentProof, 'actor'>,
  ): Promise<void> {
    if (UNPUBLISHED.has(actor)) return;
    const heard = outcomes.flatMap((outcome) => {
      const type = eventOf(outcome);
      return type !== null && this.publisher.hasListeners(scope, type) ? [{ ...outcome, type }] : [];
    });
    if (heard.length === 0) return;
    const nameOf = await this.#names(scope, heard);
    const events = heard.flatMap(({ subscriberId, topicId, type, consent }) => {
      const name = nameOf.get(`${subscriberId} ${topicId}`);
      if (name === undefined || consent === null) return [];
      const { status, grantedAt, confirmedAt, revokedAt } = consent;
      const data = { subscriberId, ...name, status, grantedAt, confirmedAt, revokedAt };
      return [{ type, subscriberId, data }];
    });
    await this.publisher.publish(scope, ...events);
  }

  #names(scope: ProjectScope, outcomes: readonly SubscriberOutcome[]) {
    return this.database.transaction(scope, async () => {
      // A template: one parameter for each person would make a new statement for each number of people.
      const { rows } = await sql<{ key: string; email: string; topicKey: string }>`
        select b.id || ' ' || t.id as key, b.email, t.topic_key
        from unnest(${outcomes.map((one) => one.subscriberId)}::uuid[], ${outcomes.map((one) => one.topicId)}::uuid[])
          as o(subscriber_id, topic_id)
        join audience.subscribers b on b.environment_id = ${scope.environmentId} and b.id = o.subscriber_id
        join audience.topics t on t.environment_id = b.environment_id and t.id = o.topic_id
      `.execute(this.database.tables());
      return new Map(rows.map(({ key, email, topicKey }) => [key, { email, topicKey }]));
    });
  }
}

function eventOf({ isDone, from, consent }: ConsentOutcome): PublishedEventType | null {
  if (!isDone || consent === null || consent.status === from) return null;
  switch (consent.status) {
    case 'EXPIRED':
      return null;
    case 'PENDING_CONFIRMATION':
      return 'consent.pending';
    case 'UNSUBSCRIBED':
      return 'consent.revoked';
    case 'SUBSCRIBED':
      return from === 'PENDING_CONFIRMATION' ? 'consent.confirmed' : 'consent.granted';
  }
}
