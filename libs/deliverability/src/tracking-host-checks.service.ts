import { isIP } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import { EnvironmentsQuery, ProjectsQuery, checkTrackingHost } from '#access';
import { Clock, type ProjectScope } from '#kernel';
import {
  CONFIG,
  type Config,
  Database,
  done,
  drain,
  enqueue,
  type JobResult,
  Periodic,
  present,
  presentAnd,
  ResumableJob,
} from '#platform';
import type { DeliverabilityTables } from './deliverability.schema.js';
import { DnsReaderService } from './dns/dns-reader.service.js';
import { type DnsAnswer, failed, type RecordVerdict, verdictOf, verified } from './dns/record-verdict.js';
import { afterLook, newTrackingHost, publicHostOf, type TrackingHost } from './tracking-host.js';

/** A check that was requested and never ran is requested again after this long. */
const ASK_AGAIN_MS = 15 * 60_000;
const BATCH = 100;

/** Checks that hosts for links point here. Runs in the worker. */
@Injectable()
export class TrackingHostChecksService {
  readonly #target: string;

  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsQuery,
    private readonly projects: ProjectsQuery,
    private readonly dns: DnsReaderService,
    private readonly clock: Clock,
    @Inject(CONFIG) config: Pick<Config, 'PUBLIC_URL'>,
  ) {
    this.#target = publicHostOf(config);
  }

  /** Idempotent. A host that the project no longer names is removed when it no longer points here. */
  @ResumableJob(checkTrackingHost)
  async run(scope: ProjectScope, { host }: { host: string }): Promise<JobResult> {
    // No transaction waits for DNS.
    const verdict = await this.#pointing(host);
    await this.database.transaction(scope, () => this.#note(scope, host, verdict));
    return done;
  }

  /** Requests the checks that are due by the schedule. */
  @Periodic('due-tracking-host-checks', { everyMs: 10_000 })
  async requestDue(): Promise<void> {
    await drain(BATCH, () => this.#askForBatch());
  }

  #askForBatch(): Promise<number> {
    return this.database.system(async () => {
      const due = await this.database
        .tables<DeliverabilityTables>()
        .with('due', (tables) =>
          tables
            .selectFrom('deliverability.tracking_hosts')
            .select(['projectId', 'host'])
            .where('nextCheckAt', '<=', present)
            .orderBy('nextCheckAt')
            .limit(BATCH)
            .forNoKeyUpdate()
            .skipLocked(),
        )
        .updateTable('deliverability.tracking_hosts as h')
        .from('due')
        .set({ nextCheckAt: presentAnd(ASK_AGAIN_MS) })
        .whereRef('h.projectId', '=', 'due.projectId')
        .whereRef('h.host', '=', 'due.host')
        .returning(['h.namedIn', 'h.host'])
        .execute();
      for (const { namedIn, host } of due) {
        const scope = await this.environments.find(namedIn);
        if (scope !== null) await enqueue(this.database, scope, checkTrackingHost({ host }));
      }
      return due.length;
    });
  }

  async #note(scope: ProjectScope, host: string, verdict: RecordVerdict): Promise<void> {
    const now = this.clock.now();
    const isNamed = (await this.projects.ofScope(scope))?.trackingHost === host;
    const known = await this.#find(scope, host);
    if (known === null && !isNamed) return;
    const seen = afterLook(known ?? newTrackingHost(now), verdict, now);
    if (isNamed || seen.status === 'VERIFIED') return this.#save(scope, host, seen, now);
    await this.#tables
      .deleteFrom('deliverability.tracking_hosts')
      .where('projectId', '=', scope.projectId)
      .where('host', '=', host)
      .execute();
  }

  async #find({ projectId }: ProjectScope, host: string): Promise<TrackingHost | null> {
    const row = await this.#tables
      .selectFrom('deliverability.tracking_hosts')
      .select(['status', 'lastError', 'failures', 'failingSince'])
      .select(['checksStartedAt', 'checkedAt', 'verifiedAt', 'nextCheckAt'])
      .where('projectId', '=', projectId)
      .where('host', '=', host)
      .forUpdate()
      .executeTakeFirst();
    return row ?? null;
  }

  async #save(scope: ProjectScope, host: string, seen: TrackingHost, now: Date): Promise<void> {
    const { projectId, environmentId: namedIn } = scope;
    await this.#tables
      .insertInto('deliverability.tracking_hosts')
      .values({ ...seen, projectId, namedIn, host, createdAt: now, updatedAt: now })
      .onConflict((row) => row.columns(['projectId', 'host']).doUpdateSet({ ...seen, updatedAt: now }))
      .execute();
  }

  /** Checks that a host points here: to the host of PUBLIC_URL by CNAME, or to no other addresses than it. */
  async #pointing(host: string): Promise<RecordVerdict> {
    const alias = await this.dns.cname(host);
    if (alias.kind === 'error') return verdictOf(alias);
    if (alias.kind === 'found' && alias.entries.some((name) => name.toLowerCase() === this.#target))
      return verified(alias.entries);
    const [found, ours] = await Promise.all([this.dns.everyAddress(host), this.#addresses()]);
    if (ours.kind !== 'found')
      return failed('DNS_ERROR', `of ${this.#target}, where it must lead: ${ours.reason}`);
    if (found.kind !== 'found') return verdictOf(found);
    const others = found.entries.filter((address) => !ours.entries.includes(address));
    if (others.length === 0) return verified(found.entries);
    return failed(
      'MISMATCH',
      `it leads to ${others.join(', ')} and must lead to ${this.#target}`,
      found.entries,
    );
  }

  async #addresses(): Promise<DnsAnswer<string>> {
    if (isIP(this.#target) !== 0) return { kind: 'found', entries: [this.#target] };
    return this.dns.everyAddress(this.#target);
  }

  get #tables() {
    return this.database.tables<DeliverabilityTables>();
  }
}
