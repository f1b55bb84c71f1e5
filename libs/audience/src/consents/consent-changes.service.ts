import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { SubscriberRepository } from '../subscribers/subscriber.repository.js';
import type { Consent } from './consent.js';
import type { ConsentProof } from './consent-proof.js';
import { ConsentRepository, type SubscriberConsents } from './consent.repository.js';

/** When consents change, and what the consent record keeps of it. */
export interface ConsentOccasion {
  /** Read while the subscriber is locked, so that the times of its changes are in their order. */
  readonly at: Date;
  readonly proof: ConsentProof;
}

/** Changes consents on one subscriber's consents; returns those to save. */
export type ConsentChanger = (
  consents: SubscriberConsents,
) => readonly Consent[] | Promise<readonly Consent[]>;

/** The one way in which one subscriber's consents change: under the subscriber's lock, recorded, the status derived anew. */
@Injectable()
export class ConsentChanges {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SubscriberRepository) private readonly subscribers: SubscriberRepository,
    @Inject(ConsentRepository) private readonly consents: ConsentRepository,
  ) {}

  /** Returns what `change` did; nothing when there is no such subscriber. */
  apply(
    scope: ProjectScope,
    subscriberId: string,
    { at, proof }: ConsentOccasion,
    change: ConsentChanger,
  ): Promise<readonly Consent[]> {
    return this.database.transaction(scope, async () => {
      if (!(await this.subscribers.lock(scope, subscriberId))) return [];
      const consents = await this.consents.ofSubscriber(scope, subscriberId);
      const changed = await change(consents);
      // One that nobody changed may have been found to have run out.
      const found = consents.all.filter(({ changes }) => changes.length > 0);
      const written = [...new Set([...changed, ...found])];
      if (written.length === 0) return [];
      await this.consents.save(scope, subscriberId, written, proof, at);
      await this.subscribers.refreshStatus(scope, subscriberId, at);
      return changed;
    });
  }
}
