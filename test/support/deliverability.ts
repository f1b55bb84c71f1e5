import { Global, type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { pino } from 'pino';
import { InUseError, type ProjectScope, type ResourceUser } from '#kernel';
import { ManualClock } from '#testing/clocks';
import { loadConfig, PlatformModule } from '#platform';
import {
  DeliverabilityWorkerModule,
  SendingDomainsModule,
} from '../../libs/deliverability/src/deliverability.module.js';
import { deliverabilityEntities } from '../../libs/deliverability/src/deliverability.schema.js';
import { DomainChecksService } from '../../libs/deliverability/src/sending-domains/domain-checks.service.js';
import { DomainVerificationService } from '../../libs/deliverability/src/sending-domains/domain-verification.service.js';
import {
  SendingDomainsQuery,
  type SendingDomainView,
} from '../../libs/deliverability/src/sending-domains/sending-domains.query.js';
import {
  DomainPlan,
  DomainUsage,
  SendingDomainsService,
} from '../../libs/deliverability/src/sending-domains/sending-domains.service.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import { type DnsServer, startDnsServer } from './dns-server.js';
import { createProject } from './fixtures.js';
import { publishRecords } from './published-records.js';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

interface WaitingCheck {
  readonly id: string;
  readonly environment_id: number;
}

/** The context on a database and a DNS server of its own, with a clock that the test moves. */
export class DeliverabilityFixture {
  readonly #scopes = new Map<number, ProjectScope>();
  /** Users that send under the domains. */
  senders: readonly ResourceUser[] = [];
  /** True if the plans include a sending domain. */
  isIncluded = true;

  private constructor(
    readonly database: TestDatabase,
    readonly dns: DnsServer,
    readonly clock: ManualClock,
    readonly variables: Readonly<Record<string, string>>,
    public app: INestApplicationContext,
  ) {}

  static async start(variables: Readonly<Record<string, string>> = {}): Promise<DeliverabilityFixture> {
    const database = await createTestDatabase();
    const dns = await startDnsServer();
    const clock = new ManualClock(new Date('2026-03-01T00:00:00.000Z'));
    const environment = {
      NODE_ENV: 'test',
      DATABASE_URL: database.url,
      DNS_SERVERS: dns.address,
      ...variables,
    };
    let fixture: DeliverabilityFixture | undefined;
    const app = await boot(environment, clock, () => fixture);
    fixture = new DeliverabilityFixture(database, dns, clock, environment, app);
    return fixture;
  }

  get get(): INestApplicationContext['get'] {
    return this.app.get.bind(this.app);
  }

  /** The same with other variables. */
  async restart(variables: Readonly<Record<string, string>>): Promise<void> {
    await this.app.close();
    this.app = await boot({ ...this.variables, ...variables }, this.clock, () => this);
  }

  async stop(): Promise<void> {
    await this.app.close();
    await this.dns.stop();
    await this.database.drop();
  }

  async project(): Promise<{ readonly live: ProjectScope; readonly test: ProjectScope }> {
    const { live, test } = await createProject(this.database);
    for (const scope of [live, test]) this.#scopes.set(scope.environmentId, scope);
    return { live, test };
  }

  /** A domain whose records all stand in DNS, checked once. */
  async verified(scope: ProjectScope, domainName: string): Promise<SendingDomainView> {
    await this.get(SendingDomainsService).create(scope, domainName);
    await this.publish(scope);
    return this.check(scope);
  }

  view(scope: ProjectScope): Promise<SendingDomainView> {
    return this.get(SendingDomainsQuery).ofScope(scope);
  }

  /** Puts into DNS what is asked for. */
  async publish(scope: ProjectScope): Promise<void> {
    publishRecords(this.dns, (await this.view(scope)).dnsRecords);
  }

  /** Has the domain looked at, as a client does. */
  async check(scope: ProjectScope): Promise<SendingDomainView> {
    const { id } = await this.view(scope);
    const checkId = await this.get(DomainVerificationService).request(scope, id, this.clock.now());
    if (checkId === null) throw new Error('The domain was removed.');
    await this.get(DomainChecksService).run(scope, { checkId }, new AbortController());
    return this.view(scope);
  }

  /** Does what the schedule has due now; how many checks that were. */
  async runDueChecks(): Promise<number> {
    await this.get(DomainChecksService).requestDue();
    const waiting = await this.database.query<WaitingCheck>(
      `select id, environment_id::int from deliverability.domain_checks where state = 'PENDING'`,
    );
    for (const { id, environment_id: environmentId } of waiting) {
      const scope = this.#scopes.get(environmentId);
      if (scope === undefined) throw new Error('This is no scope of the test.');
      await this.get(DomainChecksService).run(scope, { checkId: id }, new AbortController());
    }
    return waiting.length;
  }
}

function boot(
  variables: Readonly<Record<string, string>>,
  clock: ManualClock,
  world: () => DeliverabilityFixture | undefined,
): Promise<INestApplicationContext> {
  const usage: DomainUsage = {
    refuseIfUsed: () => {
      const users = world()?.senders ?? [];
      return users.length === 0
        ? Promise.resolve()
        : Promise.reject(new InUseError('The sending domain', users));
    },
  };
  const plan: DomainPlan = { includesDomain: () => Promise.resolve(world()?.isIncluded !== false) };
  @Global()
  @Module({
    providers: [
      { provide: DomainUsage, useValue: usage },
      { provide: DomainPlan, useValue: plan },
    ],
    exports: [DomainPlan, DomainUsage],
  })
  class UsageModule {}
  const platform = PlatformModule.register({
    config: loadConfig(variables),
    logger: pino({ level: 'silent' }),
    entities: deliverabilityEntities,
    applicationName: 'spec',
    clock,
  });
  @Module({
    imports: [platform, UsageModule, SendingDomainsModule, DeliverabilityWorkerModule],
  })
  class SpecModule {}
  return NestFactory.createApplicationContext(SpecModule, { logger: false, abortOnError: false });
}
