import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { Logger } from 'pino';
import { environmentScopes, scopeColumns } from '#access';
import { Clock, type ProjectScope } from '#kernel';
import {
  type Config,
  CONFIG,
  Database,
  keptDay,
  keptFrom,
  LOGGER,
  named,
  PeriodicTasks,
  type RetentionKind,
  RetiredTablesService,
} from '#platform';
import { SENT_TRANSLATIONS } from './campaigns/campaign-contents.query.js';
import { PARTITION } from './deliveries/campaign-front.query.js';
import { ProjectRetentionRepository } from './project-retention.repository.js';
import { domainFigures } from './reports/statistics/campaign-figures.query.js';
import { languageFigures, type TranslatedMails } from './reports/statistics/campaign-figures.query.js';
import { settledVariants } from './reports/statistics/campaign-figures.query.js';
import { providerFigures } from './reports/statistics/campaign-figures.query.js';
import { FEWEST_MAILS_OF_DOMAIN } from './reports/statistics/report-facts.js';
import type { SettledFigures } from './reports/statistics/campaign-figures.query.js';

/** The day from which on rows are kept, `YYYY-MM-DD`; the first of a month for all environments together. */
interface RetentionCutoff {
  readonly kind: RetentionKind;
  readonly day: string;
  /** Null: all. */
  readonly environmentId: number | null;
}

const within = (environmentId: number | null, column: string): RawBuilder<unknown> =>
  environmentId === null ? sql`true` : sql`${sql.ref(column)} = ${environmentId}`;

/** The environments that have `rows` (a FROM with its WHERE), one by one: Citus can lock and write in one alone. */
async function environmentsOf(
  database: Database,
  rows: RawBuilder<unknown>,
  table: string,
  environmentId: number | null,
): Promise<readonly number[]> {
  if (environmentId !== null) return [environmentId];
  const id = sql.ref(`${table}.environment_id`);
  const found = await sql<{ id: number }>`select distinct ${id} as id from ${rows} order by 1`.execute(
    database.tables(),
  );
  return found.rows.map((row) => row.id);
}

/** Selects the days of rows before the cutoff that belong to unfinished work. */
const UNFINISHED: Readonly<Record<'mails' | 'runs', (cutoff: RetentionCutoff) => RawBuilder<unknown>>> = {
  mails: ({ day, environmentId }) => sql`
    select min(d.queued_on) as day from messaging.deliveries d
    where d.single_ended_at is null and d.kind in ('OPT_IN', 'TEST') and d.queued_on < ${day}::date
      and ${within(environmentId, 'd.environment_id')}
    union all
    select min(d.queued_on) from messaging.deliveries d
    where d.single_ended_at is null and d.kind = 'MESSAGE' and d.queued_on < ${day}::date
      and ${within(environmentId, 'd.environment_id')}
    union all
    select min(d.queued_on) from messaging.deliveries d
    where d.single_ended_at is null and d.kind = 'AUTOMATION' and d.queued_on < ${day}::date
      and ${within(environmentId, 'd.environment_id')}
    union all
    select min(${PARTITION}) from messaging.campaigns c
    where ${PARTITION} < ${day}::date and ${within(environmentId, 'c.environment_id')} and (
      c.status in ('SCHEDULED', 'QUEUED_FOR_SENDING', 'SENDING', 'PAUSED') or c.closing_since is not null
      or c.retry_from is not null or exists (
        select 1 from messaging.exports e
        where e.campaign_id = c.id and e.environment_id = c.environment_id and e.kind = 'DELIVERIES' and e.state = 'PENDING'
      ))`,
  runs: ({ day }) => sql`
    select min((r.entered_at at time zone 'UTC')::date) as day from messaging.automation_runs r
    where r.wake_at is not null and r.entered_at < ${day}::timestamptz`,
};

/** Removes mails and events that the installation, or a project, keeps no longer. */
@Injectable()
export class ApplyRetention {
  readonly #stopping = new AbortController();
  readonly #settlement: Settlement;

  constructor(
    private readonly database: Database,
    private readonly projects: ProjectRetentionRepository,
    private readonly retired: RetiredTablesService,
    @Inject(CONFIG) private readonly config: Config,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#settlement = new Settlement(database);
  }

  async run(): Promise<void> {
    const { RETENTION_DELIVERIES_DAYS, RETENTION_EVENTS_DAYS } = this.config;
    const { signal } = this.#stopping;
    // Months left over by the last run. Throws while the archive's directory cannot be written.
    await this.retired.clear(signal);
    const kept = [
      ['DELIVERIES', RETENTION_DELIVERIES_DAYS],
      ['STEPS', RETENTION_DELIVERIES_DAYS],
      ['EVENTS', RETENTION_EVENTS_DAYS],
    ] as const;
    for (const [kind, days] of kept) {
      if (days === undefined) continue;
      const day = `${this.#dayBefore(days).slice(0, 7)}-01`;
      await this.#raise({ kind, day, environmentId: null });
    }
    await this.retired.clear(signal);
    for (const { kind, days, environmentId } of await this.projects.environments()) {
      await this.#raise({ kind, day: this.#dayBefore(days), environmentId });
      await this.projects.remove(kind, environmentId, signal);
    }
  }

  /** Stops archiving a month, which begins again the next time. */
  abort(): void {
    this.#stopping.abort();
  }

  #dayBefore(days: number): string {
    return new Date(this.clock.now().getTime() - days * 24 * 60 * 60_000).toISOString().slice(0, 10);
  }

  /** Raises a cutoff to the wanted day, or to that of older unfinished work, after settling the figures of its rows. */
  async #raise(wanted: RetentionCutoff): Promise<void> {
    const from = await this.#present(wanted);
    if (wanted.day <= from) return;
    const reached = { ...wanted, day: await this.#reachable(wanted) };
    if (reached.day < wanted.day) this.logger.info(reached, 'older rows belong to unfinished work');
    if (reached.day <= from) return;
    await this.#settlement.settle(reached, from);
    await this.database.system(() => this.#set(reached, from));
  }

  async #present({ kind, environmentId }: RetentionCutoff): Promise<string> {
    const [row] = await this.database.statement<{ day: string }>(
      'system',
      sql`${named('kept_from')} select ${keptFrom(kind, sql`${environmentId}::bigint`)} as day`,
    );
    return row?.day ?? '-infinity';
  }

  #reachable(cutoff: RetentionCutoff): Promise<string> {
    const { kind, day, environmentId } = cutoff;
    return this.database.system(async () => {
      const unfinished = UNFINISHED[kind === 'STEPS' ? 'runs' : 'mails'](cutoff);
      const unit = environmentId === null ? 'month' : 'day';
      const { rows } = await sql<{ day: string }>`
        select least(${day}::date, date_trunc(${unit}, min(u.day))::date) as day from (${unfinished}) u
      `.execute(this.database.tables());
      return rows[0]?.day ?? day;
    });
  }

  /** Sets the cutoff, unless a campaign was retried since, which locks it. */
  async #set(cutoff: RetentionCutoff, from: string): Promise<void> {
    const { kind, day, environmentId } = cutoff;
    const tables = this.database.tables();
    if (kind !== 'STEPS') {
      const ended = sql`messaging.campaigns c
        where c.status in ('SENT', 'FAILED') and ${PARTITION} >= ${from}::date and ${PARTITION} < ${day}::date`;
      for (const id of await environmentsOf(this.database, ended, 'c', environmentId))
        await sql`select 1 from ${ended} and c.environment_id = ${id} order by c.id for update`.execute(
          tables,
        );
      if ((await this.#reachable(cutoff)) < day) return;
    }
    await sql`
      insert into platform.retention_horizons as h (kind, environment_id, kept_from)
      values (${kind}, ${environmentId}, ${day}::date)
      on conflict (kind, environment_id) do update set kept_from = greatest(h.kept_from, excluded.kept_from)
    `.execute(tables);
  }
}

/** Runs retention apart from other periodic tasks, which must not wait while a month is archived. */
@Injectable()
export class RetentionRunner {
  readonly #tasks: PeriodicTasks;

  constructor(
    database: Database,
    private readonly task: ApplyRetention,
    clock: Clock,
    @Inject(LOGGER) logger: Logger,
  ) {
    const everyTenMinutes = { name: 'let-old-rows-go', everyMs: 10 * 60_000, run: () => task.run() };
    this.#tasks = new PeriodicTasks(database, () => [everyTenMinutes], clock, logger);
  }

  start(): void {
    this.#tasks.start();
  }

  stop(): Promise<void> {
    this.task.abort();
    return this.#tasks.stop();
  }
}

interface SettledCampaign extends TranslatedMails {
  readonly variants: number;
  readonly scope: ProjectScope;
}

type Figures = Partial<Readonly<Record<SettledFigures, unknown>>>;

const BATCH = 500;

/** Settles figures of campaigns that are counted from deliveries, and the answers to mails, before rows are removed. */
class Settlement {
  constructor(private readonly database: Database) {}

  /** Settles all campaigns that were queued between `from` and the cutoff. Safe to repeat: the later count replaces it. */
  async settle(cutoff: RetentionCutoff, from: string): Promise<void> {
    const { kind } = cutoff;
    if (kind === 'STEPS') return;
    if (kind === 'EVENTS') return this.#keepAnswers(cutoff, from);
    let after: string | null = null;
    do {
      const campaigns: SettledCampaign[] = await this.#campaigns(cutoff, from, after);
      for (const campaign of campaigns) await this.#settle(campaign);
      after = campaigns.length < BATCH ? null : (campaigns.at(-1)?.id ?? null);
    } while (after !== null);
  }

  #campaigns(
    { day, environmentId }: RetentionCutoff,
    from: string,
    after: string | null,
  ): Promise<SettledCampaign[]> {
    return this.database.system(async () => {
      const { rows } = await sql<Omit<SettledCampaign, 'scope'> & ProjectScope>`
        select c.id, ${PARTITION}::text as queued_on,
          ${SENT_TRANSLATIONS} as translations, jsonb_array_length(c.variants) as variants, ${scopeColumns}
        from messaging.campaigns c join ${environmentScopes} e on e.environment_id = c.environment_id
        where ${PARTITION} >= ${from}::date and ${PARTITION} < ${day}::date
          and ${within(environmentId, 'c.environment_id')} and (${after}::uuid is null or c.id > ${after}::uuid)
        order by c.id limit ${BATCH}
      `.execute(this.database.tables());
      return rows.map(({ id, queuedOn, translations, variants, ...scope }) => {
        return { id, queuedOn, translations, variants, scope };
      });
    });
  }

  #settle(campaign: SettledCampaign): Promise<void> {
    return this.database.system(async () => this.#write(campaign, await this.#figuresOfMails(campaign)));
  }

  async #figuresOfMails(campaign: SettledCampaign): Promise<Figures> {
    const { database } = this;
    return {
      providers: await providerFigures(database, campaign.scope, campaign, FEWEST_MAILS_OF_DOMAIN),
      languages: await languageFigures(database, campaign.scope, campaign),
      variants: await settledVariants(database, campaign.scope, campaign),
      domains: await domainFigures(database, campaign.scope, campaign),
    };
  }

  async #write({ id, scope }: SettledCampaign, figures: Figures): Promise<void> {
    const names = Object.keys(figures);
    const columns = sql.join(names.map((name) => sql.ref(name)));
    const values = sql.join(Object.values(figures).map((value) => sql`${JSON.stringify(value)}::jsonb`));
    const changes = sql.join(names.map((name) => sql`${sql.ref(name)} = ${sql.ref(`excluded.${name}`)}`));
    await sql`
      insert into messaging.settled_figures (campaign_id, environment_id, ${columns})
      values (${id}, ${scope.environmentId}, ${values})
      on conflict (campaign_id, environment_id) do update set ${changes}
    `.execute(this.database.tables());
  }

  /** Keeps unsubscriptions and complaints with their mails: each counts once, however late it comes again. */
  async #keepAnswers({ day, environmentId }: RetentionCutoff, from: string): Promise<void> {
    const { database } = this;
    const answers = sql`messaging.delivery_events e where e.type in ('UNSUBSCRIBED', 'COMPLAINED') and e.classification = 'human'
      and e.occurred_at >= ${from}::date and e.occurred_at < ${day}::date`;
    const environments = await database.system(() => environmentsOf(database, answers, 'e', environmentId));
    for (const id of environments) await database.system(() => this.#keepAnswersOf(id, answers));
  }

  async #keepAnswersOf(environmentId: number, answers: RawBuilder<unknown>): Promise<void> {
    const scope = { environmentId };
    const kept = await keptDay(this.database, scope, 'DELIVERIES');
    await sql`
      insert into messaging.delivery_engagement as g (delivery_id, queued_on, environment_id, campaign_id, unsubscribed_at,
        complained_at)
      select e.delivery_id, d.queued_on, e.environment_id, e.campaign_id,
        min(e.occurred_at) filter (where e.type = 'UNSUBSCRIBED'), min(e.occurred_at) filter (where e.type = 'COMPLAINED')
      from (select * from ${answers} and e.environment_id = ${environmentId}) e
      join messaging.deliveries d on d.id = e.delivery_id and d.environment_id = ${scope.environmentId}
      where d.queued_on >= ${kept}::date
      group by e.delivery_id, d.queued_on, e.environment_id, e.campaign_id
      on conflict (delivery_id, queued_on, environment_id) do update set
        unsubscribed_at = least(g.unsubscribed_at, excluded.unsubscribed_at),
        complained_at = least(g.complained_at, excluded.complained_at)
    `.execute(this.database.tables());
  }
}
