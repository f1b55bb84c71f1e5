import { Injectable } from '@nestjs/common';
import { ProjectsQuery } from '#access';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { DeliverabilityTables } from '../deliverability-tables.js';
import type { RecordVerdict } from '../dns/record-verdict.js';
import { HostPointing } from './host-pointing.service.js';
import { afterLook, newTrackingHost, type TrackingHost } from './tracking-host.js';

/** Looks where hosts for links point. Runs in the worker. */
@Injectable()
export class TrackingHostChecks {
  constructor(
    private readonly database: Database,
    private readonly projects: ProjectsQuery,
    private readonly pointing: HostPointing,
    private readonly clock: Clock,
  ) {}

  /** Once more does no harm. A host that the project names no more is forgotten when it points here no more. */
  async run(scope: ProjectScope, host: string): Promise<void> {
    // No transaction waits for DNS.
    const verdict = await this.pointing.check(host);
    await this.database.transaction(scope, () => this.#note(scope, host, verdict));
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

  get #tables() {
    return this.database.tables<DeliverabilityTables>();
  }
}
