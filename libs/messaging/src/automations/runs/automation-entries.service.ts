import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { SubscribersQuery, TriggersService } from '#audience';
import { Clock, DomainValidationError, type EmailAddress, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { countingTraffic } from '../../engagement/automation-counters.repository.js';
import type { MessagingTables } from '../../messaging-tables.js';
import { AlreadyInsideError, type Automation, refuseUnlessAllowed } from '../automation.js';
import { automationOf } from '../automation.repository.js';
import { holdSteps, wakeRunners } from './run.repository.js';
import { runStart, VersionPlansQuery } from './version-plans.query.js';

/** Runs per transaction. */
const CHUNK = 10_000;

type OpenAutomation = Pick<Automation, 'number' | 'versionId' | 'status'>;

interface Entered {
  readonly taken: number;
  readonly ids: string[] | null;
}

/** Lets subscribers into automations: by their trigger, or named by a client. */
@Injectable()
export class AutomationEntriesService {
  constructor(
    private readonly database: Database,
    private readonly plans: VersionPlansQuery,
    private readonly triggers: TriggersService,
    private readonly subscribers: SubscribersQuery,
    private readonly clock: Clock,
  ) {}

  /** Creates runs from recorded triggers, in one statement; resolves to how many records were used. */
  drain(scope: ProjectScope, automationId: string): Promise<number> {
    return this.database.transaction(scope, async () => {
      const automation = await this.#open(scope, automationId);
      if (automation?.status !== 'ACTIVE') return 0;
      return (await this.#enter(scope, automation, this.triggers.taking(scope, automationId, CHUNK))).taken;
    });
  }

  /**
   * Lets one subscriber in, whatever the trigger is; resolves to the run's id. Throws NotFoundError, InvalidStateError
   * unless it is ACTIVE, DomainValidationError for an unknown subscriber, AlreadyInsideError.
   */
  enter(
    scope: ProjectScope,
    idOrKey: string,
    address: EmailAddress,
    data: Readonly<Record<string, unknown>> | null,
  ): Promise<string> {
    return this.database.transaction(scope, async () => {
      const automation = await this.#open(scope, idOrKey);
      if (automation === undefined) throw new NotFoundError();
      const subscriberId = await this.#subscriber(scope, address);
      refuseUnlessAllowed('enter', automation.status);
      const json = data === null ? null : JSON.stringify(data);
      const named = sql`select 1::bigint as id, ${subscriberId}::uuid as subscriber_id, ${json}::jsonb as data`;
      const { ids } = await this.#enter(scope, automation, named);
      const [id] = ids ?? [];
      if (id === undefined) throw new AlreadyInsideError();
      return id;
    });
  }

  /** Locks the automation against other entries and changes of its status until the transaction ends. */
  async #open(scope: ProjectScope, idOrKey: string): Promise<OpenAutomation | undefined> {
    const tables = this.database.tables<MessagingTables>();
    const found = await automationOf(tables, scope, idOrKey)?.select('id').executeTakeFirst();
    if (found === undefined) return undefined;
    const entry = `automation-entry:${found.id}`;
    await sql`select pg_advisory_xact_lock(hashtextextended(${entry}, 0))`.execute(this.database.tables());
    await holdSteps(this.database, { scope, automationId: found.id });
    return automationOf(tables, scope, found.id)
      ?.select(['number', 'versionId', 'status'])
      .executeTakeFirst();
  }

  async #subscriber(scope: ProjectScope, address: EmailAddress): Promise<string> {
    try {
      return (await this.subscribers.get(scope, address)).id;
    } catch (error) {
      if (error instanceof NotFoundError)
        throw new DomainValidationError({ email: 'is not a known subscriber' });
      throw error;
    }
  }

  /** `noted` selects `id, subscriber_id, data`, a row for each time that the trigger fired. */
  async #enter(
    scope: ProjectScope,
    { number, versionId }: OpenAutomation,
    noted: RawBuilder<unknown>,
  ): Promise<Entered> {
    if (versionId === null) throw new Error('An active automation has no version.');
    const plan = await this.plans.of(scope, versionId);
    const now = this.clock.now();
    const { position, wakeAt, isWaiting, steps } = runStart(plan, now);
    const places = [...new Set([...steps.map(({ place }) => place), position])];
    const { reEntry } = plan.trigger.config;
    const isThere = this.triggers.isThere(scope, sql`n.subscriber_id`);
    const isInside = reEntry === 'ONCE' ? sql`true` : sql`r.wake_at is not null`;
    // One read of the runs for all: while statistics know few runs, a look-up for each may use any index.
    const admitted =
      reEntry === 'ALWAYS'
        ? sql`select n.subscriber_id, n.data from noted n where ${isThere} order by n.id`
        : sql`select distinct on (n.subscriber_id) n.subscriber_id, n.data from noted n
          where ${isThere} and n.subscriber_id not in (
            select r.subscriber_id from messaging.automation_runs r
            where r.subscriber_id = any(array(select subscriber_id from noted))
              and r.environment_id = ${scope.environmentId} and r.automation_number = ${number} and ${isInside}
          ) order by n.subscriber_id, n.id`;
    const { rows } = await sql<Entered>`
      /* enter_automation */ with noted as (
        ${noted}
      ), entering as materialized (
        select messaging.new_run_id() as run_id, n.subscriber_id, n.data
        from (
          ${admitted}
        ) n
      ), entered as (
        insert into messaging.automation_runs (environment_id, automation_number, version_id, wake_at, entered_at, id,
          subscriber_id, position, is_waiting)
        select ${scope.environmentId}, ${number}, ${versionId}, ${wakeAt}, ${now}, run_id, subscriber_id, ${position},
          ${isWaiting}
        from entering returning id
      ), logged as (
        insert into messaging.automation_steps (environment_id, at, entered_on, position, run_id, status, detail)
        select ${scope.environmentId}, ${now}, (${now}::timestamptz at time zone 'UTC')::date, s.place, e.run_id, 'DONE', s.detail
        from entering e cross join unnest(${steps.map(({ place }) => place)}::smallint[],
          ${steps.map(({ detail }) => detail)}::text[]) s(place, detail) returning run_id
      ), counted as (
        ${countingTraffic(
          sql`select ${versionId}::bigint as version_id, p.place, ${scope.environmentId}::bigint as environment_id, e.n as entered, e.n * (p.place <> ${position})::int as departed
          from (select count(*) as n from entering) e cross join unnest(${places}::smallint[]) p(place) where e.n > 0`,
        )} returning 1
      ), kept as (
        insert into messaging.automation_run_data (run_id, environment_id, data)
        select run_id, ${scope.environmentId}, data from entering where data is not null and data <> '{}' returning run_id
      )
      select (select count(*) from noted) as taken,
        (select array_agg(run_id) from (select run_id from entering limit 1) e) as ids
    `.execute(this.database.tables());
    wakeRunners(this.database);
    return rows[0]!;
  }
}
