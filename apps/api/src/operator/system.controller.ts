import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Body, Controller, Get, Header, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sql } from 'kysely';
import { z } from 'zod';
import { EnvironmentsQuery, OperatorKeysService } from '#access';
import { CountersService } from '#audience';
import { CreditsQuery, StripeSubscriptionsService } from '#billing';
import { DomainControlService, SENDING_DOMAIN_STATUSES, SendingDomainsQuery } from '#deliverability';
import { Clock, NotFoundError, type ProjectScope } from '#kernel';
import { automationDiscrepancies, OverviewQuery, statisticsDiscrepancies } from '#messaging';
import {
  AuditTrail,
  checkAuditLogs,
  type Config,
  CONFIG,
  Database,
  describeError,
  Operations,
  projectRoot,
} from '#platform';
import {
  type AuthenticatedCaller,
  Caller,
  Draining,
  int64,
  Operation,
  OperatorController,
  pageOf,
  pageQuery,
  PLACES,
  strictBody,
  timestamp,
  toPage,
} from '#platform/http';
import { sendingDomainView, toSendingDomainView } from '../deliverability/sending-domain.dto.js';
import { prose } from '../fields.js';
import { DOCS_POLICY, HTML } from '../docs/docs-frame.js';
import { idParam } from './accounts.dto.js';

const PLACE = { tenantKey: z.string(), projectKey: z.string(), environment: z.enum(['LIVE', 'TEST']) };

const domainListQuery = pageQuery({ status: z.enum(SENDING_DOMAIN_STATUSES).optional() }, [
  PLACES.time,
  PLACES.number,
]);
export const domainPage = pageOf(
  z
    .object({
      id: int64,
      environmentId: int64,
      ...PLACE,
      domainName: z.string(),
      status: z.enum(SENDING_DOMAIN_STATUSES),
      sendingAllowed: z.boolean(),
      suspensionReason: z.string().nullable(),
      healthScore: z.int().nullable(),
      lastCheckedAt: timestamp.nullable(),
      createdAt: timestamp,
      updatedAt: timestamp,
    })
    .meta({ id: 'OperatedDomain' }),
  'OperatedDomainPage',
);
export const suspendBody = strictBody({
  reason: prose(500)
    .refine((text) => text.trim() !== '', 'must not be empty')
    .meta({ minLength: 1, maxLength: 500, description: 'Shown to the customer.' }),
}).meta({ id: 'SuspendDomain' });

@OperatorController('sending-domains', { tag: 'Operated domains' })
export class OperatedDomainsController {
  constructor(
    private readonly environments: EnvironmentsQuery,
    private readonly domains: SendingDomainsQuery,
    private readonly control: DomainControlService,
  ) {}

  @Get()
  @Operation({
    operationId: 'listOperatedDomains',
    sdk: 'sendingDomains.all',
    summary: 'List sending domains of all projects, newest first',
    scope: 'domains:read',
    query: domainListQuery,
    response: { status: 200, schema: domainPage },
  })
  async list(@Query({ schema: domainListQuery }) { status, ...asked }: z.output<typeof domainListQuery>) {
    return toPage(asked, await this.domains.pageOfAll(status, asked));
  }

  @Get(':environmentId')
  @Operation({
    operationId: 'getOperatedDomain',
    sdk: 'sendingDomains.get',
    summary: 'Get the sending domain of an environment, with its DNS records',
    scope: 'domains:read',
    response: { status: 200, schema: sendingDomainView },
  })
  async get(@Param('environmentId', { schema: idParam }) environmentId: number) {
    return this.#view(await this.#scope(environmentId));
  }

  @Post(':environmentId/suspend')
  @Operation({
    operationId: 'suspendDomain',
    sdk: 'sendingDomains.suspend',
    summary: 'Stop the mail of a sending domain',
    description: 'Its owner cannot change or remove it meanwhile.',
    scope: 'domains:write',
    body: suspendBody,
    response: { status: 200, schema: sendingDomainView },
    problems: [409],
  })
  suspend(
    @Param('environmentId', { schema: idParam }) environmentId: number,
    @Body({ schema: suspendBody }) { reason }: z.output<typeof suspendBody>,
  ) {
    return this.#change(environmentId, (scope) => this.control.suspend(scope, reason.trim()));
  }

  @Post(':environmentId/resume')
  @Operation({
    operationId: 'resumeDomain',
    sdk: 'sendingDomains.resume',
    summary: 'Resume a suspended sending domain',
    description: 'Its status then follows from its DNS records.',
    scope: 'domains:write',
    response: { status: 200, schema: sendingDomainView },
    problems: [409],
  })
  resume(@Param('environmentId', { schema: idParam }) environmentId: number) {
    return this.#change(environmentId, (scope) => this.control.resume(scope));
  }

  async #change(environmentId: number, change: (scope: ProjectScope) => Promise<void>) {
    const scope = await this.#scope(environmentId);
    await AuditTrail.inEnvironment(environmentId, () => change(scope));
    return this.#view(scope);
  }

  async #scope(environmentId: number): Promise<ProjectScope> {
    const scope = await this.environments.find(environmentId);
    if (scope === null) throw new NotFoundError();
    return scope;
  }

  async #view(scope: ProjectScope) {
    return toSendingDomainView(scope, await this.domains.ofScope(scope));
  }
}

const OPEN = {
  due: z.int().meta({ description: 'Mails whose time has come.' }),
  later: z.int().meta({ description: 'Mails whose time is to come.' }),
  deferred: z.int().meta({ description: 'Mails that were refused for now and are tried again.' }),
  inFlight: z.int().meta({ description: 'Mails that a worker has.' }),
  oldestDueAt: timestamp.nullable().meta({ description: 'Since when the first of them is due.' }),
};
const SENT = {
  sent: z.int().meta({ description: 'Marketing mails of this hour and the one before.' }),
  bounced: z.int(),
  complained: z.int(),
};
const text = z.string().nullable();

export const overviewView = z
  .object({
    at: timestamp,
    isPartial: z
      .boolean()
      .meta({ description: 'More mails are open than the 5 000 that are counted of each campaign or kind.' }),
    checks: z.array(
      z.object({ name: z.string(), state: z.enum(['ok', 'failed', 'timed out']), reason: text }),
    ),
    workerSeenAt: timestamp.nullable().meta({ description: 'Last sign of life of any worker.' }),
    open: z.object(OPEN),
    minutes: z
      .array(z.object({ minute: timestamp, sent: z.int() }))
      .meta({ description: 'Mails that left in each of the last 15 minutes.' }),
    deferrals: z
      .array(
        z.object({
          reason: z.string(),
          mails: z.int(),
          providers: z.array(z.string()),
          projects: z.array(z.string()),
        }),
      )
      .meta({ description: 'Why mails were deferred, the most frequent first; without addresses and ids.' }),
    projects: z.array(z.object({ ...PLACE, ...OPEN, ...SENT, stoppedFor: text })),
    installationRelay: z
      .object({
        isConfigured: z.boolean().meta({ description: 'SMTP_URL is set; without it, this mail waits.' }),
        ...OPEN,
        ...SENT,
      })
      .meta({ description: 'Live mail by the installation’s relay: by no relay of a project’s own.' }),
    relays: z.array(
      z.object({
        ...PLACE,
        relayKey: z.string(),
        name: z.string(),
        status: z.string(),
        lastError: text,
        retryAt: timestamp.nullable(),
        ...OPEN,
        sent: SENT.sent,
      }),
    ),
    providers: z.array(z.object({ provider: z.string(), slowUntil: timestamp.nullable(), ...OPEN, ...SENT })),
    domains: z
      .array(z.object({ ...PLACE, domainName: z.string(), status: z.string(), reason: text }))
      .meta({ description: 'Sending domains that are not ACTIVE.' }),
    lateJobs: z
      .array(z.object({ name: z.string(), jobs: z.int(), dueSince: timestamp, lastError: text }))
      .meta({ description: 'Jobs that are due for more than a minute.' }),
    failedJobs: z
      .array(z.object({ name: z.string(), jobs: z.int(), lastError: text }))
      .meta({ description: 'Jobs that failed for good in the last hour.' }),
  })
  .meta({ id: 'Overview' });

const EVENT_STREAM = 'text/event-stream';
const EVERY_MS = 3_000;
/** A process that is to end waits no longer for its streams. */
const TICK_MS = 500;

@OperatorController('overview', { tag: 'System' })
export class OverviewController {
  constructor(
    private readonly overview: OverviewQuery,
    private readonly operations: Operations,
    private readonly keys: OperatorKeysService,
    private readonly draining: Draining,
    @Inject(CONFIG) private readonly config: Pick<Config, 'SMTP_URL'>,
  ) {}

  @Get()
  @Operation({
    operationId: 'getOverview',
    sdk: 'overview.get',
    summary: 'Get the state of the installation at a glance',
    description:
      'Mail that is due, sent and deferred, by project, relay and mailbox provider; domains, jobs and checks.',
    scope: 'system:read',
    response: { status: 200, schema: overviewView },
  })
  get() {
    return this.#read();
  }

  @Get('stream')
  @Operation({
    operationId: 'streamOverview',
    summary: 'Follow the state of the installation',
    description:
      'Server-sent events `overview` every three seconds, with the JSON of `GET /overview`; `failed` with a `detail` while it cannot be read. ' +
      'It ends when the key does, and with the process: connect again.',
    scope: 'system:read',
    response: { status: 200, contentType: EVENT_STREAM },
  })
  stream(@Caller() { keyId }: AuthenticatedCaller, @Res({ passthrough: true }) reply: FastifyReply) {
    reply.type(EVENT_STREAM).header('x-accel-buffering', 'no');
    return Readable.from(this.#events(keyId), { objectMode: false });
  }

  async #read() {
    const [overview, { checks, reasons = {} }] = await Promise.all([
      this.overview.latest(),
      this.operations.readiness(),
    ]);
    const named = Object.entries(checks).map(([name, state]) => ({
      name,
      state,
      reason: reasons[name] ?? null,
    }));
    const isConfigured = this.config.SMTP_URL !== undefined;
    return {
      ...overview,
      checks: named,
      installationRelay: { isConfigured, ...overview.installationRelay },
    };
  }

  async *#events(keyId: string): AsyncGenerator<string> {
    while (!this.draining.isOn) {
      try {
        if (!(await this.keys.isUsable(keyId))) return;
        yield `event: overview\ndata: ${JSON.stringify(await this.#read())}\n\n`;
      } catch (error) {
        yield `event: failed\ndata: ${JSON.stringify({ detail: describeError(error) })}\n\n`;
      }
      for (let waited = 0; waited < EVERY_MS && !this.draining.isOn; waited += TICK_MS) await delay(TICK_MS);
    }
  }
}

const CHECKS = ['audit', 'automations', 'counters', 'credits', 'statistics', 'stripe'] as const;

export const checkView = z
  .object({
    name: z.enum(CHECKS),
    isCorrect: z.boolean(),
    discrepancyCount: int64.meta({ description: 'All that were found.' }),
    discrepancies: z
      .array(z.record(z.string(), z.unknown()))
      .meta({ description: 'A row for each, at most 1 000.' }),
  })
  .meta({ id: 'CheckResult' });
const MOST_DISCREPANCIES = 1_000;
const CHECK_MS = 600_000;

@OperatorController('checks', { tag: 'System' })
export class ChecksController {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly counters: CountersService,
    private readonly credits: CreditsQuery,
    private readonly stripe: StripeSubscriptionsService,
  ) {}

  @Post(':name')
  @Operation({
    operationId: 'runCheck',
    sdk: 'checks.run',
    summary: 'Compare stored figures with the rows that they stand for',
    description:
      `One of ${CHECKS.map((name) => `\`${name}\``).join(', ')}, as the command \`check:…\` does, which alone repairs. ` +
      'It reads all rows, and has 10 minutes for it: give the client, and a proxy in between, that long. Whoever lost the answer sends the ' +
      'request again with the same `Idempotency-Key`: 409 while it runs, then the answer. What takes longer (503) is for the command.',
    scope: 'system:read',
    response: { status: 200, schema: checkView },
    mutates: false,
    timeoutMs: CHECK_MS,
  })
  async run(@Param('name') name: string) {
    const check = CHECKS.find((known) => known === name);
    if (check === undefined) throw new NotFoundError();
    const found = await this.#find(check);
    return {
      name: check,
      isCorrect: found.length === 0,
      discrepancyCount: found.length,
      discrepancies: found.slice(0, MOST_DISCREPANCIES).map((row) => ({ ...row })),
    };
  }

  async #find(name: (typeof CHECKS)[number]): Promise<readonly object[]> {
    switch (name) {
      case 'audit':
        return (await checkAuditLogs(this.database, this.clock.now())).faults;
      case 'automations':
        return this.#patiently(() => automationDiscrepancies(this.database));
      case 'counters': {
        const found = await this.#patiently(() => this.counters.check());
        return [...found.differences, ...found.statusDifferences, ...found.strayConsents];
      }
      case 'credits':
        return this.#patiently(() => this.credits.discrepancies());
      case 'statistics':
        return this.#patiently(() => statisticsDiscrepancies(this.database));
      case 'stripe':
        return this.stripe.strays();
    }
  }

  /** Gives the statements of a check as long as its request has. */
  #patiently<T>(check: () => Promise<T>): Promise<T> {
    return this.database.system(async () => {
      const patience = sql`select set_config('statement_timeout', ${String(CHECK_MS)}, true)`;
      await patience.execute(this.database.tables());
      return check();
    });
  }
}

/** The operator's page: on OPERATIONS_PORT, or, outside of production, on PORT where there is none. */
@Controller('operator')
@ApiExcludeController()
export class OperatorPageController {
  constructor(
    @Inject(CONFIG) private readonly config: Pick<Config, 'OPERATIONS_PORT' | 'PORT' | 'NODE_ENV'>,
  ) {}

  @Get()
  @Header('content-type', HTML)
  @Header('content-security-policy', DOCS_POLICY)
  page(@Req() request: FastifyRequest): string {
    return this.#file(request, 'operator.html');
  }

  @Get('operator.js')
  @Header('content-type', 'text/javascript; charset=utf-8')
  script(@Req() request: FastifyRequest): string {
    return this.#file(request, 'operator.js');
  }

  #file({ socket }: FastifyRequest, name: string): string {
    const { OPERATIONS_PORT, PORT, NODE_ENV } = this.config;
    const isHere = OPERATIONS_PORT === undefined ? NODE_ENV !== 'production' : socket.localPort !== PORT;
    if (!isHere) throw new NotFoundError();
    return readFileSync(join(projectRoot(), 'assets', name), 'utf8');
  }
}
