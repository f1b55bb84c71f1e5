import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock, type ProjectScope } from '#kernel';
import { type Config, CONFIG, Database, LOGGER } from '#platform';
import { RecordChecks } from '../dns/record-checks.service.js';
import { DomainCheckRequests } from './domain-check-requests.query.js';
import { recordsOfSettings } from './domain-records-maker.service.js';
import { type DomainLook, DomainVerdicts } from './domain-verdicts.service.js';
import type { SendingDomain } from './sending-domain.js';
import { SendingDomainRepository } from './sending-domain.repository.js';

/** Looks at the DNS of domains. Runs in the worker. */
@Injectable()
export class DomainChecksService {
  constructor(
    private readonly domains: SendingDomainRepository,
    private readonly requests: DomainCheckRequests,
    private readonly checks: RecordChecks,
    private readonly verdicts: DomainVerdicts,
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Does what was asked for, once; nothing when it is done or the domain is gone. Stops between looks when aborted. */
  async run(scope: ProjectScope, checkId: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.requests.state(scope, checkId)) === 'PENDING') {
      const look = await this.#look(scope);
      // No transaction waits for DNS: if the name or what is needed was changed meanwhile, it looks again.
      if (look === null || (await this.verdicts.save(scope, checkId, look))) return;
    }
  }

  async #look(scope: ProjectScope): Promise<DomainLook | null> {
    const domain = await this.#find(scope);
    if (domain === null) return null;
    const verdicts = await Promise.all(
      domain.requiredRecords.map(async (record) => [record.id, await this.checks.check(record)] as const),
    );
    return { domain, verdicts: new Map(verdicts) };
  }

  /** The domain, whose records ask for what BOUNCE_HOST and SPF_INCLUDE say now. */
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
}
