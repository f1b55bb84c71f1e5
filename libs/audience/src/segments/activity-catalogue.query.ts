import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import type { MailActivity, MailFilter } from './segment-rules.js';

/** What somebody knows of mails and what people do with them. */
export interface MailActivitySource {
  /**
   * A complete SELECT of `subscriber_id uuid, occurred_at timestamptz`, a row for each time that it happened with
   * a mail that the filter lets through, whose ids are not null.
   */
  rows(scope: ProjectScope, type: MailActivity, mails: MailFilter): RawBuilder<unknown>;
  /** The ids of those of the keys that are campaigns. */
  campaignIds(scope: ProjectScope, campaignKeys: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** Where rules on mail get their events from: registered by who sends, since the audience knows no other context. */
export class ActivityCatalogue implements MailActivitySource {
  #source: MailActivitySource | null = null;

  register(source: MailActivitySource): void {
    if (this.#source !== null) throw new Error('The mail activity has a source already.');
    this.#source = source;
  }

  /** No rows while nobody sends. */
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
