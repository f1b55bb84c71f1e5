import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import type { MailActivity, MailFilter } from './segment-rules.js';

/** A source of mail activity. */
export interface MailActivitySource {
  /**
   * A complete SELECT of `subscriber_id uuid, occurred_at timestamptz` with a row for each matching event. The ids are
   * not null.
   */
  rows(scope: ProjectScope, type: MailActivity, mails: MailFilter): RawBuilder<unknown>;
  /** The ids of the campaigns with these keys. */
  campaignIds(scope: ProjectScope, campaignKeys: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** The source of mail events for rules. The sending context registers it, since the audience knows no other context. */
export class ActivityCatalogue implements MailActivitySource {
  #source: MailActivitySource | null = null;

  register(source: MailActivitySource): void {
    if (this.#source !== null) throw new Error('A source of mail activity is already registered.');
    this.#source = source;
  }

  /** Selects no rows without a source. */
  rows(scope: ProjectScope, type: MailActivity, mails: MailFilter): RawBuilder<unknown> {
    return (
      this.#source?.rows(scope, type, mails) ??
      sql`select null::uuid as subscriber_id, null::timestamptz as occurred_at where false`
    );
  }

  async campaignIds(
    scope: ProjectScope,
    campaignKeys: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    if (this.#source === null || campaignKeys.length === 0) return new Map();
    return this.#source.campaignIds(scope, campaignKeys);
  }
}
