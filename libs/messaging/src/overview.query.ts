import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { environmentScopes } from '#access';
import { ownStreams } from '#deliverability';
import { Clock, type Environment, maskAddresses } from '#kernel';
import { Database, named } from '#platform';
import { PARTITION } from './deliveries/campaign-front.query.js';
import { type DeliveryKind, streamOf } from './deliveries/delivery.js';
import { providerOfKey } from './engagement/mail-hours.repository.js';

/** A project's environment by the keys that people know it by. */
interface Place {
  readonly tenantKey: string;
  readonly projectKey: string;
  readonly environment: Environment;
}

/** Open mails: due now, due later, refused for now, and being handed over. */
export interface OpenMails {
  readonly due: number;
  readonly later: number;
  readonly deferred: number;
  readonly inFlight: number;
  /** Since when the one that waits longest is due. */
  readonly oldestDueAt: Date | null;
}

interface SentMails {
  /** Marketing mails of this hour and the one before, and what came back of them. */
  readonly sent: number;
  readonly bounced: number;
  readonly complained: number;
}

/** The state of an installation's mail at one moment; figures of open mails are of at most 5 000 a campaign or stream. */
export interface Overview {
  readonly at: Date;
  /** There are more open mails than were counted. */
  readonly isPartial: boolean;
  readonly open: OpenMails;
  /** Mails that left in each of the last 15 minutes, oldest first. */
  readonly minutes: readonly { readonly minute: Date; readonly sent: number }[];
  readonly projects: readonly (Place & OpenMails & SentMails & { readonly stoppedFor: string | null })[];
  /** Live mail by no relay of a project's own. */
  readonly installationRelay: OpenMails & SentMails;
  readonly relays: readonly (Place & RelayState & OpenMails & Pick<SentMails, 'sent'>)[];
  readonly providers: readonly ({ readonly provider: string; readonly slowUntil: Date | null } & OpenMails &
    SentMails)[];
  /** Why mails were deferred, the most frequent first. */
  readonly deferrals: readonly {
    readonly reason: string;
    readonly mails: number;
    readonly providers: readonly string[];
    readonly projects: readonly string[];
  }[];
  /** Sending domains that may not send, or soon may not. */
  readonly domains: readonly (Place & {
    readonly domainName: string;
    readonly status: string;
    readonly reason: string | null;
  })[];
  readonly lateJobs: readonly {
    readonly name: string;
    readonly jobs: number;
    readonly dueSince: Date;
    readonly lastError: string | null;
  }[];
  readonly failedJobs: readonly {
    readonly name: string;
    readonly jobs: number;
    readonly lastError: string | null;
  }[];
  /** Last sign of life of any worker; null: there was none. */
  readonly workerSeenAt: Date | null;
}

interface RelayState {
  readonly relayKey: string;
  readonly name: string;
  readonly status: string;
  readonly lastError: string | null;
  readonly retryAt: Date | null;
}

interface OpenGroup {
  readonly source: string;
  readonly environmentId: number;
  readonly kind: DeliveryKind;
  readonly relayKey: string | null;
  readonly provider: string;
  readonly class: 'due' | 'later' | 'deferred' | 'inFlight';
  readonly error: string | null;
  readonly mails: number;
  readonly oldestDueAt: Date | null;
}

interface HourGroup extends SentMails {
  readonly environmentId: number;
  /** Empty: the installation's, or none. */
  readonly relayKey: string;
  readonly provider: string;
}

/** Open mails that are counted of each campaign under way, and of each kind of single mails. */
const MOST_OPEN = 5_000;
const MOST_CAMPAIGNS = 20;
const MOST_ROWS = 200;
const MOST_JOBS = 10_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const MINUTES = 15;
/** A worker takes due jobs within seconds. */
const LATE_MS = MINUTE_MS;

const COLUMNS = sql`d.environment_id, d.kind, d.state, d.next_attempt_at, d.relay_key, d.address_key, d.last_error`;

/** Open single mails of these kinds, by an index that holds no others. */
const singles = (source: string, kinds: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  (select ${sql.lit(source)} as source, ${COLUMNS} from messaging.deliveries d
    where d.single_ended_at is null and d.kind ${kinds} order by d.next_attempt_at, d.id limit ${sql.lit(MOST_OPEN)})`;

/** A campaign under way, with the front of its open deliveries. */
interface UnderWay {
  readonly id: string;
  readonly environmentId: number;
  readonly day: string;
  readonly frontAt: string;
  readonly frontId: string;
}

/** Open mails of a campaign, from its front on (`isOpenOf`). Named by values, so that on a cluster one node is asked. */
const mailsOf = ({ id, environmentId, day, frontAt, frontId }: UnderWay): RawBuilder<unknown> => sql`
  (select ${id}::text as source, ${COLUMNS} from messaging.deliveries d
    where d.source_id = ${id}::uuid and d.environment_id = ${environmentId} and d.kind = 'CAMPAIGN' and d.queued_on = ${day}::date
      and d.finished_at is null and (d.next_attempt_at, d.id) >= (${frontAt}::timestamptz, ${frontId}::uuid)
    order by d.next_attempt_at, d.id limit ${sql.lit(MOST_OPEN)})`;

/** Ids and addresses in replies of mail servers make each of them another one. */
const REPLY = sql`left(regexp_replace(d.last_error, '\\S+@\\S+|\\S*[0-9a-fA-F]{8,}\\S*|[0-9.:]{7,}', '…', 'g'), 160)`;

/** Reads what an operator asks at three in the morning. */
@Injectable()
export class OverviewQuery {
  #latest: Promise<Overview> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** The overview, at most three seconds old, however many look. */
  latest(): Promise<Overview> {
    const now = this.clock.now().getTime();
    if (this.#latest === undefined || Math.abs(now - this.#readAt) > 3_000) {
      this.#readAt = now;
      this.#latest = this.#read();
      this.#latest.catch(() => (this.#latest = undefined));
    }
    return this.#latest;
  }

  async #read(): Promise<Overview> {
    const at = this.clock.now();
    const back = (ms: number) => new Date(at.getTime() - ms);
    const hour = new Date(Math.floor(at.getTime() / HOUR_MS) * HOUR_MS - HOUR_MS);
    const [open, minutes, hours, own, relays, domains, stops, slow, late, failed, worker, places] =
      await this.database.system(async () => {
        const { rows: campaigns } = await sql<UnderWay>`${named('overview_campaigns')}
          select c.id, c.environment_id, ${PARTITION}::text as day, c.front_at::text as front_at, c.front_id from messaging.campaigns c
          where c.status in ('QUEUED_FOR_SENDING', 'SENDING') order by c.queued_at limit ${sql.lit(MOST_CAMPAIGNS)}
        `.execute(this.database.tables());
        return this.database.together(
          sql<OpenGroup>`${named('overview_open')}
            select d.source, d.environment_id, d.kind, d.relay_key, ${providerOfKey(sql`d.address_key`)} as provider,
              c.class, case when c.class = 'deferred' then ${REPLY} end as error, count(*) as mails,
              min(d.next_attempt_at) filter (where c.class = 'due' and d.next_attempt_at > '-infinity') as oldest_due_at
            from (
              ${singles('MESSAGE', sql`= 'MESSAGE'`)} union all ${singles('AUTOMATION', sql`= 'AUTOMATION'`)}
              union all ${singles('SINGLE', sql`in ('OPT_IN', 'TEST')`)}
              ${sql.join(
                campaigns.map((campaign) => sql`union all ${mailsOf(campaign)}`),
                sql` `,
              )}
            ) d cross join lateral (
              select case when d.state in ('CLAIMED', 'SENDING') then 'inFlight' when d.state = 'DEFERRED' then 'deferred'
                when d.next_attempt_at <= ${at}::timestamptz then 'due' else 'later' end as class
            ) c
            group by 1, 2, 3, 4, 5, 6, 7`,
          sql<{ minute: Date; sent: number }>`${named('overview_minutes')}
            select m.minute, count(d.sent_at) as sent
            from generate_series(date_trunc('minute', ${back(MINUTES * MINUTE_MS)}::timestamptz), ${at}::timestamptz, interval '1 minute') m(minute)
            left join (
              select date_trunc('minute', d.sent_at) as minute, d.sent_at from messaging.deliveries d
              where d.sent_at >= date_trunc('minute', ${back(MINUTES * MINUTE_MS)}::timestamptz)
            ) d on d.minute = m.minute
            group by 1 order by 1`,
          sql<HourGroup>`${named('overview_hours')}
            select h.environment_id, h.relay_key, h.provider, sum(h.sent)::bigint as sent,
              sum(h.hard_bounced + h.soft_bounced)::bigint as bounced, sum(h.complained)::bigint as complained
            from access.project_environments e cross join lateral (
              select h.* from messaging.mail_hours h where h.environment_id = e.id and h.hour >= ${hour}
            ) h group by 1, 2, 3`,
          sql<{ environmentId: number; stream: string }>`${named('overview_own_streams')}
            select distinct o.environment_id, o.stream from ${ownStreams} o`,
          sql<
            Omit<RelayState, 'status'> & { environmentId: number; status: string }
          >`${named('overview_relays')}
            select r.environment_id, r.relay_key, r.name, r.status, r.last_error, r.retry_at from deliverability.relays r
            order by r.status = 'ACTIVE', r.last_used_at desc nulls last limit ${sql.lit(MOST_ROWS)}`,
          sql<{
            environmentId: number;
            domainName: string;
            status: string;
            reason: string | null;
          }>`${named('overview_domains')}
            select s.environment_id, s.domain_name, s.status, s.suspension_reason as reason from deliverability.sending_domains s
            where s.status <> 'ACTIVE' order by s.updated_at desc limit ${sql.lit(MOST_ROWS)}`,
          sql<{ environmentId: number; reason: string }>`${named('overview_stops')}
            select s.environment_id, string_agg(s.stream || ': ' || s.reason, ', ') as reason from messaging.sending_stops s
            where s.resumed_at is null or s.resumed_at < s.stopped_at group by 1`,
          sql<{ destination: string; slowUntil: Date }>`${named('overview_slow')}
            select s.destination, s.slow_until from deliverability.slowed_destinations s where s.slow_until > ${at}
            order by s.slow_until desc limit ${sql.lit(MOST_ROWS)}`,
          sql<{
            name: string;
            jobs: number;
            dueSince: Date;
            lastError: string | null;
          }>`${named('overview_late_jobs')}
            select j.name, count(*) as jobs, min(j.run_at) as due_since, max(j.last_error) as last_error from (
              select j.name, j.run_at, j.last_error from platform.jobs j
              where j.finished_at is null and j.run_at < ${back(LATE_MS)} order by j.run_at limit ${sql.lit(MOST_JOBS)}
            ) j group by 1 order by 3`,
          sql<{ name: string; jobs: number; lastError: string | null }>`${named('overview_failed_jobs')}
            select j.name, count(*) as jobs, max(j.last_error) as last_error from platform.jobs j
            where j.finished_at > ${back(HOUR_MS)} and j.state = 'FAILED' group by 1 order by 2 desc`,
          sql<{
            at: Date | null;
          }>`${named('overview_worker')} select max(s.last_run_at) as at from platform.schedule s`,
          sql<Place & { environmentId: number }>`${named('overview_places')}
            select t.tenant_key, p.project_key, e.environment, e.environment_id from ${environmentScopes} e
            join access.projects p on p.id = e.project_id join access.tenants t on t.id = e.tenant_id`,
        );
      });
    const placeOf = new Map(places.map(({ environmentId, ...place }) => [environmentId, place]));
    const nowhere: Place = { tenantKey: '–', projectKey: '–', environment: 'LIVE' };
    const placed = (environmentId: number) => placeOf.get(environmentId) ?? nowhere;
    const perSource = Map.groupBy(open, ({ source }) => source);
    const isPartial = [...perSource.values()].some(
      (groups) => total(groups, ({ mails }) => mails) >= MOST_OPEN,
    );
    const stopped = new Map(stops.map(({ environmentId, reason }) => [environmentId, reason]));
    const projectIds = new Set([...open, ...hours, ...stops].map(({ environmentId }) => environmentId));
    const slowUntil = new Map(slow.map((one) => [one.destination, one.slowUntil]));
    const providers = new Set(
      [...open, ...hours].map(({ provider }) => provider).concat([...slowUntil.keys()]),
    );
    const ownStream = new Set(own.map(({ environmentId, stream }) => `${environmentId}/${stream}`));
    const isLive = ({ environmentId }: { environmentId: number }) =>
      placed(environmentId).environment === 'LIVE';
    return {
      at,
      isPartial,
      open: openMails(open),
      minutes,
      projects: [...projectIds]
        .map((id) => ({
          ...placed(id),
          ...openMails(open.filter(({ environmentId }) => environmentId === id)),
          ...sentMails(hours.filter(({ environmentId }) => environmentId === id)),
          stoppedFor: stopped.get(id) ?? null,
        }))
        .sort(byNeed)
        .slice(0, MOST_ROWS),
      installationRelay: {
        ...openMails(
          open.filter(
            (group) => isLive(group) && !ownStream.has(`${group.environmentId}/${streamOf(group.kind)}`),
          ),
        ),
        ...sentMails(hours.filter((group) => isLive(group) && group.relayKey === '')),
      },
      relays: relays.map(({ environmentId: id, relayKey, lastError, ...relay }) => {
        const isOf = (group: { environmentId: number; relayKey: string | null }) =>
          group.environmentId === id && group.relayKey === relayKey;
        return {
          ...placed(id),
          ...relay,
          relayKey,
          lastError: lastError === null ? null : maskAddresses(lastError),
          ...openMails(open.filter(isOf)),
          sent: sentMails(hours.filter(isOf)).sent,
        };
      }),
      providers: [...providers]
        .map((provider) => ({
          provider,
          slowUntil: slowUntil.get(provider) ?? null,
          ...openMails(open.filter((group) => group.provider === provider)),
          ...sentMails(hours.filter((group) => group.provider === provider)),
        }))
        .sort(byNeed)
        .slice(0, MOST_ROWS),
      deferrals: deferralsOf(open, (id) => `${placed(id).tenantKey}/${placed(id).projectKey}`),
      domains: domains.map(({ environmentId, ...domain }) => ({ ...placed(environmentId), ...domain })),
      lateJobs: late.map(masked),
      failedJobs: failed.map(masked),
      workerSeenAt: worker[0]?.at ?? null,
    };
  }
}

const total = <Row>(rows: readonly Row[], of: (row: Row) => number): number =>
  rows.reduce((sum, row) => sum + of(row), 0);

function openMails(groups: readonly OpenGroup[]): OpenMails {
  const of = (name: OpenGroup['class']) => total(groups, (group) => (group.class === name ? group.mails : 0));
  const oldest = groups
    .flatMap(({ oldestDueAt }) => oldestDueAt ?? [])
    .sort((a, b) => a.getTime() - b.getTime());
  return {
    due: of('due'),
    later: of('later'),
    deferred: of('deferred'),
    inFlight: of('inFlight'),
    oldestDueAt: oldest[0] ?? null,
  };
}

function sentMails(groups: readonly HourGroup[]): SentMails {
  return {
    sent: total(groups, ({ sent }) => sent),
    bounced: total(groups, ({ bounced }) => bounced),
    complained: total(groups, ({ complained }) => complained),
  };
}

/** Orders by what waits, most first. */
const byNeed = (a: OpenMails & SentMails, b: OpenMails & SentMails): number =>
  b.deferred + b.due - a.deferred - a.due || b.sent - a.sent;

function deferralsOf(open: readonly OpenGroup[], nameOf: (environmentId: number) => string) {
  const deferred = Map.groupBy(
    open.filter((group) => group.class === 'deferred'),
    ({ error }) => maskAddresses(error ?? 'no reason is known'),
  );
  return [...deferred]
    .map(([reason, groups]) => ({
      reason,
      mails: total(groups, ({ mails }) => mails),
      providers: [...new Set(groups.map(({ provider }) => provider))].sort(),
      projects: [...new Set(groups.map(({ environmentId }) => nameOf(environmentId)))].slice(0, 10),
    }))
    .sort((a, b) => b.mails - a.mails)
    .slice(0, 20);
}

function masked<Row extends { readonly lastError: string | null }>(row: Row): Row {
  return { ...row, lastError: row.lastError === null ? null : maskAddresses(row.lastError) };
}
