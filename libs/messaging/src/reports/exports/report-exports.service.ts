import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, newId, NotFoundError, type ProjectScope, UnavailableError } from '#kernel';
import { Database, Notifications, publish, type Sql, waitForWorker } from '#platform';
import { isCampaignKey } from '../../campaigns/campaign.js';
import { EXPORTS_CHANNEL } from './report-export-maker.service.js';
import { DeliveriesExportRequested, ReportExportRequested } from './report-export.events.js';

const RETRY_AFTER_SECONDS = 5;

type ExportKind = 'STATISTICS' | 'DELIVERIES';

interface Progress {
  /** `GONE` when the campaign was deleted meanwhile. */
  readonly state: 'PENDING' | 'DONE' | 'GONE';
  /** How many parts are there to be taken. */
  readonly parts: number;
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
   * The report as CSV. `NotFoundError` without such a campaign, or when it is deleted before the report is made;
   * `UnavailableError` when no worker made it in time: it is kept then, and the next request takes it.
   */
  async statistics(scope: ProjectScope, campaignKey: string): Promise<string> {
    if (!isCampaignKey(campaignKey)) throw new NotFoundError();
    const id = await this.#request(scope, campaignKey, 'STATISTICS');
    await this.#reached(scope, id, ({ state }) => state === 'DONE');
    return this.#take(scope, id);
  }

  /**
   * The report with a row for each recipient, part by part while the worker makes it. Errors as of `statistics`, until
   * the first part is there; after that the sequence throws `UnavailableError` when no further one comes in time.
   */
  async deliveries(scope: ProjectScope, campaignKey: string): Promise<AsyncIterable<string>> {
    if (!isCampaignKey(campaignKey)) throw new NotFoundError();
    const id = await this.#request(scope, campaignKey, 'DELIVERIES');
    await this.#reached(scope, id, ({ parts }) => parts > 0);
    return this.#parts(scope, id);
  }

  async *#parts(scope: ProjectScope, id: string): AsyncGenerator<string> {
    for (let part = 0; ; part += 1) {
      const { parts } = await this.#reached(
        scope,
        id,
        (progress) => progress.parts > part || progress.state === 'DONE',
      );
      if (parts <= part) break;
      yield await this.#part(scope, id, part);
    }
    await this.#taken(scope, id);
  }

  /** One that nobody took yet is waited for again, rather than made twice. */
  #request(scope: ProjectScope, campaignKey: string, kind: ExportKind): Promise<string> {
    return this.database.transaction(scope, async ({ db }) => {
      const campaigns = await sql<{ id: string }>`
        select id from messaging.campaigns
        where environment_id = ${scope.environmentId} and campaign_key = ${campaignKey} and deleted_at is null
        for share
      `.execute(db);
      const campaignId = campaigns.rows[0]?.id;
      if (campaignId === undefined) throw new NotFoundError();
      const pending = await sql<{ id: string }>`
        select id from messaging.exports
        where campaign_id = ${campaignId} and kind = ${kind} and state = 'PENDING' and taken_at is null limit 1
      `.execute(db);
      return pending.rows[0]?.id ?? this.#add(scope, db, campaignId, kind);
    });
  }

  async #add(scope: ProjectScope, db: Sql, campaignId: string, kind: ExportKind): Promise<string> {
    const id = newId();
    await sql`
      insert into messaging.exports (id, environment_id, campaign_id, kind, created_at)
      values (${id}, ${scope.environmentId}, ${campaignId}, ${kind}, ${this.clock.now()})
    `.execute(db);
    const Requested = kind === 'STATISTICS' ? ReportExportRequested : DeliveriesExportRequested;
    await publish(db, scope, Requested({ exportId: id }));
    return id;
  }

  /** Waits, within bounds, until the export is as far as asked. */
  async #reached(
    scope: ProjectScope,
    id: string,
    isReached: (progress: Progress) => boolean,
  ): Promise<Progress> {
    const progress = await waitForWorker(this.notifications, {
      channel: EXPORTS_CHANNEL,
      id,
      look: () => this.#progress(scope, id),
      isOver: (found) => isReached(found) || found.state === 'GONE',
    });
    if (progress?.state === 'GONE') throw new NotFoundError();
    if (progress !== null) return progress;
    throw new UnavailableError('No worker has made the export in time.', RETRY_AFTER_SECONDS);
  }

  #progress(scope: ProjectScope, id: string): Promise<Progress> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Progress>`
        select e.state, e.parts from messaging.exports e join messaging.campaigns c on c.id = e.campaign_id
        where e.environment_id = ${scope.environmentId} and e.id = ${id} and c.deleted_at is null
      `.execute(db);
      return rows[0] ?? { state: 'GONE', parts: 0 };
    });
  }

  #part(scope: ProjectScope, id: string, part: number): Promise<string> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ content: string }>`
        select content from messaging.export_parts
        where environment_id = ${scope.environmentId} and export_id = ${id} and part = ${part}
      `.execute(db);
      const content = rows[0]?.content;
      // Removed as too old while a very slow client was reading.
      if (content === undefined) throw new UnavailableError('The export is gone.', RETRY_AFTER_SECONDS);
      return content;
    });
  }

  async #take(scope: ProjectScope, id: string): Promise<string> {
    const content = await this.#part(scope, id, 0);
    await this.#taken(scope, id);
    return content;
  }

  async #taken(scope: ProjectScope, id: string): Promise<void> {
    await this.database.transaction(scope, async ({ db }) => {
      await sql`
        update messaging.exports set taken_at = ${this.clock.now()} where environment_id = ${scope.environmentId} and id = ${id}
      `.execute(db);
    });
  }
}
