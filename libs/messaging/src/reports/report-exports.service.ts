import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, newId, NotFoundError, type ProjectScope, UnavailableError } from '#kernel';
import { Database, Notifications, publish, type Sql } from '#platform';
import { isCampaignKey } from '../campaigns/campaign.js';
import { EXPORTS_CHANNEL } from './report-export-maker.js';
import { ReportExportRequested } from './report-export.events.js';

const WAIT_MS = 15_000;
const LOOK_AGAIN_MS = 250;
const RETRY_AFTER_SECONDS = 5;

interface ExportRow {
  readonly id: string;
  readonly state: 'PENDING' | 'DONE' | 'FAILED';
}

/** Has the worker make a campaign's report file and waits for it, within bounds. */
@Injectable()
export class ReportExportsService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Notifications) private readonly notifications: Notifications,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * The report as CSV. `NotFoundError` without such a campaign; `UnavailableError` when no worker made it in
   * time: it is kept then, and the next request takes it.
   */
  async statistics(scope: ProjectScope, campaignKey: string): Promise<string> {
    if (!isCampaignKey(campaignKey)) throw new NotFoundError();
    const id = await this.#request(scope, campaignKey);
    await this.#made(scope, id);
    return this.#take(scope, id);
  }

  /** One that nobody took yet is waited for again, rather than made twice. */
  #request(scope: ProjectScope, campaignKey: string): Promise<string> {
    return this.database.transaction(scope, async ({ db }) => {
      const campaigns = await sql<{ id: string }>`
        select id from messaging.campaigns where environment_id = ${scope.environmentId} and campaign_key = ${campaignKey}
        for share
      `.execute(db);
      const campaignId = campaigns.rows[0]?.id;
      if (campaignId === undefined) throw new NotFoundError();
      const pending = await sql<{ id: string }>`
        select id from messaging.exports
        where campaign_id = ${campaignId} and kind = 'STATISTICS' and state = 'PENDING' and taken_at is null limit 1
      `.execute(db);
      return pending.rows[0]?.id ?? this.#add(scope, db, campaignId);
    });
  }

  async #add(scope: ProjectScope, db: Sql, campaignId: string): Promise<string> {
    const id = newId();
    await sql`
      insert into messaging.exports (id, environment_id, campaign_id, kind, created_at)
      values (${id}, ${scope.environmentId}, ${campaignId}, 'STATISTICS', ${this.clock.now()})
    `.execute(db);
    await publish(db, scope, ReportExportRequested({ exportId: id }));
    return id;
  }

  async #made(scope: ProjectScope, id: string): Promise<void> {
    const deadline = performance.now() + WAIT_MS;
    for (;;) {
      const change = this.#change(id);
      const state = await this.#state(scope, id);
      if (state === 'DONE') return change.forget();
      if (state === 'FAILED' || performance.now() > deadline) {
        change.forget();
        throw new UnavailableError('No worker has made the export in time.', RETRY_AFTER_SECONDS);
      }
      await change.happened;
    }
  }

  /** Resolves when the worker says that the export is made, or after a while, to look anyway. */
  #change(id: string): { readonly happened: Promise<void>; readonly forget: () => void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LOOK_AGAIN_MS);
    const stopListening = this.notifications.listen(EXPORTS_CHANNEL, (payload) => {
      if (payload === null || payload === id) resolve();
    });
    const forget = () => {
      clearTimeout(timer);
      stopListening();
    };
    return { happened: promise.finally(forget), forget };
  }

  #state(scope: ProjectScope, id: string): Promise<ExportRow['state']> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<ExportRow>`
        select id, state from messaging.exports where environment_id = ${scope.environmentId} and id = ${id}
      `.execute(db);
      return rows[0]?.state ?? 'FAILED';
    });
  }

  #take(scope: ProjectScope, id: string): Promise<string> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ content: string }>`
        select content from messaging.export_parts
        where environment_id = ${scope.environmentId} and export_id = ${id} order by part
      `.execute(db);
      await sql`
        update messaging.exports set taken_at = ${this.clock.now()} where environment_id = ${scope.environmentId} and id = ${id}
      `.execute(db);
      return rows.map(({ content }) => content).join('');
    });
  }
}
