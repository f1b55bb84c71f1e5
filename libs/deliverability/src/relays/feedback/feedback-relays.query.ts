import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { EnvironmentsQuery } from '#access';
import type { ProjectScope } from '#kernel';
import { Database, SecretBox } from '#platform';
import { FeedbackAddresses } from '../feedback-addresses.service.js';
import { relaySecret } from '../relay-secret.js';
import type { RelayKind } from '../kinds/kinds.js';

/** The relay of a feedback address. */
export interface FeedbackRelay {
  readonly scope: ProjectScope;
  readonly id: string;
  readonly kind: RelayKind;
  /** With which its events are proved; null where it is not set. */
  readonly feedbackKey: string | null;
  readonly lastFeedbackAt: Date | null;
}

interface RelayRow extends Pick<FeedbackRelay, 'id' | 'kind' | 'lastFeedbackAt'> {
  readonly feedbackKeyBox: string | null;
}

/** A relay that gets events all the time is written once in so long. */
const SHOWN_EVERY_MS = 10_000;

/** Finds the relay that events are for. */
@Injectable()
export class FeedbackRelays {
  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsQuery,
    private readonly addresses: FeedbackAddresses,
    private readonly box: SecretBox,
  ) {}

  /** Null when the address is none of ours, was rotated away, or is of another kind or a relay that is gone. */
  async find(path: string, token: string): Promise<FeedbackRelay | null> {
    const named = this.addresses.read(token);
    const scope = named && (await this.environments.find(named.environmentId));
    if (named === null || scope === null) return null;
    const [row] = await this.database.statement<RelayRow>(
      scope,
      sql`
        select id, kind, feedback_key_box as "feedbackKeyBox", last_feedback_at as "lastFeedbackAt" from deliverability.relays
        where environment_id = ${scope.environmentId} and feedback_id = ${named.feedbackId}
      `,
    );
    if (row === undefined || this.addresses.pathOf(row.kind) !== path) return null;
    const { feedbackKeyBox: box, ...relay } = row;
    return { ...relay, scope, feedbackKey: box === null ? null : this.box.open(box, relaySecret(scope)) };
  }

  /** Its provider's events come in. */
  async heard({ scope, id, lastFeedbackAt }: FeedbackRelay, now: Date): Promise<void> {
    const before = new Date(now.getTime() - SHOWN_EVERY_MS);
    if (lastFeedbackAt !== null && lastFeedbackAt > before) return;
    await this.database.statement(
      scope,
      sql`
        update deliverability.relays set last_feedback_at = ${now}
        where environment_id = ${scope.environmentId} and id = ${id}
          and (last_feedback_at is null or last_feedback_at <= ${before})
      `,
      { flushed: false },
    );
  }
}
