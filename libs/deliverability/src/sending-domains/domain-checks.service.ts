import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { EnvironmentsQuery } from '#access';
import { Clock, type ProjectScope } from '#kernel';
import {
  before,
  type Config,
  CONFIG,
  Database,
  done,
  doneUnlessAborted,
  drain,
  type JobContext,
  type JobResult,
  LOGGER,
  Periodic,
  present,
  presentAnd,
  Publisher,
  removeOldRows,
  ResumableJob,
} from '#platform';
import type { DeliverabilityTables } from '../deliverability.schema.js';
import { DnsReaderService } from '../dns/dns-reader.service.js';
import { checkRecord } from '../dns/record-checks.js';
import type { RecordVerdict } from '../dns/record-verdict.js';
import { RETIRED_KEY_KEPT_MS } from './dns-instructions.js';
import { checkDomain, DomainVerificationService } from './domain-verification.service.js';
import {
  isVerified,
  recordsOfSettings,
  type SendingDomain,
  type SendingDomainStatus,
} from './sending-domain.js';
import { SendingDomainRepository } from './sending-domain.repository.js';

/** Statuses that publish `domain.failed`. */
const FAILED_STATUSES: ReadonlySet<SendingDomainStatus> = new Set([
  'VERIFICATION_FAILED',
  'DEGRADED',
  'EXPIRED',
]);

/** Verdicts on the records of a domain, as it was when they were looked up. */
interface DomainFindings {
  readonly domain: SendingDomain;
  /** Keyed by the record's id. */
  readonly verdicts: ReadonlyMap<number, RecordVerdict>;
}

/** A check that was requested and never ran is requested again after this long. */
const ASK_AGAIN_MS = 15 * 60_000;
const BATCH = 100;
const CHECKS_KEPT_MS = 60 * 60_000;

/** Checks the DNS of domains. Runs in the worker. */
@Injectable()
export class DomainChecksService {
  #hasSeenSettings = false;

  constructor(
    private readonly environments: EnvironmentsQuery,
    private readonly domains: SendingDomainRepository,
    private readonly requests: DomainVerificationService,
    private readonly dns: DnsReaderService,
    private readonly publisher: Publisher,
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Runs a check that was requested, once; nothing if it is done or the domain is gone. Stops between looks if aborted. */
  @ResumableJob(checkDomain)
  async run(
    scope: ProjectScope,
    { checkId }: { checkId: string },
    { signal }: Pick<JobContext, 'signal'>,
  ): Promise<JobResult> {
    while (!signal.aborted && (await this.requests.state(scope, checkId)) === 'PENDING') {
      const look = await this.#look(scope);
      // No transaction waits for DNS: if the name or the required records changed meanwhile, it looks again.
      if (look === null || (await this.#save(scope, checkId, look))) return done;
    }
    return doneUnlessAborted(signal);
  }

  /** Requests the checks that are due by the schedule. */
  @Periodic('due-domain-checks', { everyMs: 10_000 })
  async requestDue(): Promise<void> {
    if (!this.#hasSeenSettings) await this.#bringForward();
    this.#hasSeenSettings = true;
    await drain(BATCH, () => this.#askForBatch());
  }

  /** Removes checks that nobody waits for any more, and keys whose last mail has long arrived. */
  @Periodic('remove-old-domain-data', { everyMs: 10 * 60_000 })
  removeOld(): Promise<void> {
    const now = this.clock.now();
    return removeOldRows(
      this.database,
      { table: 'deliverability.domain_checks', where: sql`created_at < ${before(now, CHECKS_KEPT_MS)}` },
      { table: 'deliverability.dkim_keys', where: sql`retired_at < ${before(now, RETIRED_KEY_KEPT_MS)}` },
    );
  }

  async #look(scope: ProjectScope): Promise<DomainFindings | null> {
    const domain = await this.#find(scope);
    if (domain === null) return null;
    const verdicts = await Promise.all(
      domain.requiredRecords.map(async (record) => [record.id, await checkRecord(this.dns, record)] as const),
    );
    return { domain, verdicts: new Map(verdicts) };
  }

  /** The domain, its records adapted to the current BOUNCE_HOST and SPF_INCLUDE. */
  #find(scope: ProjectScope): Promise<SendingDomain | null> {
    return this.database.transaction(scope, async () => {
      const domain = await this.domains.lock(scope);
      if (domain?.follow(recordsOfSettings(this.config), this.clock.now()) === true) {
        const { projectId, environment } = scope;
        this.logger.warn(
          { domainId: domain.id, projectId, environment },
          'records of a domain follow the settings',
        );
      }
      return domain;
    });
  }

  /** Saves the verdicts. False if the domain, its name or the records that it needs have changed since. */
  #save(scope: ProjectScope, checkId: string, { domain, verdicts }: DomainFindings): Promise<boolean> {
    return this.database.transaction(scope, async () => {
      const current = await this.domains.lock(scope);
      if (current?.id !== domain.id || current.revision !== domain.revision) return false;
      if (current.requiredRecords.some(({ id }) => !verdicts.has(id))) return false;
      if ((await this.requests.state(scope, checkId)) !== 'PENDING') return true;
      const { status, domainName } = current;
      const isAnothers = !isVerified(status) && (await this.domains.isVerifiedElsewhere(scope, domainName));
      current.check(verdicts, isAnothers, this.clock.now());
      if (current.status !== status) await this.#announce(scope, current);
      await this.requests.finish(scope, checkId);
      return true;
    });
  }

  /** Publishes that it may send from now on, or may not any more. */
  async #announce(scope: ProjectScope, { domainName, status }: SendingDomain): Promise<void> {
    const type =
      status === 'ACTIVE' ? 'domain.verified' : FAILED_STATUSES.has(status) ? 'domain.failed' : null;
    if (type !== null) await this.publisher.publish(scope, { type, data: { domainName, status } });
  }

  /** Makes the checks due whose domains ask for hosts that the settings name no more: a check brings their records up to date. */
  async #bringForward(): Promise<void> {
    const { SPF, MX } = recordsOfSettings(this.config);
    const outdated = await this.database.system(() =>
      this.database
        .tables<DeliverabilityTables>()
        .selectFrom('deliverability.dns_records')
        .select('environmentId')
        .distinct()
        .where((eb) =>
          eb.or([
            eb.and([eb('purpose', '=', 'SPF'), eb('expectedValue', '<>', SPF)]),
            eb.and([eb('purpose', '=', 'MX'), eb('expectedValue', '<>', MX)]),
          ]),
        )
        .execute(),
    );
    for (const { environmentId } of outdated) {
      await this.database.system(() =>
        this.database
          .tables<DeliverabilityTables>()
          .updateTable('deliverability.sending_domains')
          .set({ nextCheckAt: present })
          .where('environmentId', '=', environmentId)
          .where('nextCheckAt', '>', present)
          .execute(),
      );
    }
  }

  async #askForBatch(): Promise<number> {
    const due = await this.database.system(() =>
      this.database
        .tables<DeliverabilityTables>()
        .selectFrom('deliverability.sending_domains')
        .select('environmentId')
        .where('nextCheckAt', '<=', present)
        .orderBy('nextCheckAt')
        .limit(BATCH)
        .execute(),
    );
    let asked = 0;
    for (const { environmentId } of due) if (await this.#askFor(environmentId)) asked += 1;
    return asked;
  }

  /** An environment has one domain. False if another worker was faster. */
  #askFor(environmentId: number): Promise<boolean> {
    return this.database.system(async () => {
      const domain = await this.database
        .tables<DeliverabilityTables>()
        .updateTable('deliverability.sending_domains')
        .set({ nextCheckAt: presentAnd(ASK_AGAIN_MS) })
        .where('environmentId', '=', environmentId)
        .where('nextCheckAt', '<=', present)
        .returning('id')
        .executeTakeFirst();
      if (domain === undefined) return false;
      const scope = await this.environments.find(environmentId);
      if (scope !== null) await this.requests.add(scope, domain.id, 'SCHEDULE');
      return true;
    });
  }
}
