import type { EntitySchema } from '@mikro-orm/postgresql';
import {
  type DynamicModule,
  Global,
  Inject,
  Module,
  type OnApplicationShutdown,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { Clock } from '#kernel';
import type { Config } from './config.js';
import { DatabaseClock } from './database/clock.js';
import { Database } from './database/database.js';
import { Notifications, type NotificationTransport } from './notifications.js';
import { isPublicAddress, OutgoingHttp, systemAddresses } from './outgoing-http.js';
import type { TracedProgram } from './otlp-tracer.js';
import { PostgresNotifications } from './postgres-notifications.js';
import { Publisher, SilentPublisher } from './publishing/publisher.js';
import { LinkTokens, MailSeals } from './secrets/link-tokens.js';
import { SecretBox } from './secrets/secret-box.js';
import { TrackingTokens } from './secrets/tracking-tokens.js';
import { type Tracer, useTracer } from './tracing.js';

/** Injects the `Config` of this process. */
export const CONFIG = Symbol('mailwright.config');
/** Injects the process's pino `Logger`. */
export const LOGGER = Symbol('mailwright.logger');
/** Injects the process's `Tracer`; null where nothing is traced. */
const TRACER = Symbol('mailwright.tracer');

export interface PlatformOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly entities: readonly EntitySchema[];
  readonly applicationName: string;
  /** Time-out of every SQL statement; the api must not wait for ever. */
  readonly statementTimeoutMs?: number;
  /** Publishes to the world outside. Default: nothing. */
  readonly publisher?: Type<Publisher>;
  /** Default: the database's time. A test's clock tells the time to the database. */
  readonly clock?: Clock;
}

/** Needs of every process: configuration, clock, database, tokens, metrics. */
@Global()
@Module({})
export class PlatformModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    private readonly clock: Clock,
    private readonly database: Database,
    private readonly notifications: Notifications,
    private readonly outgoingHttp: OutgoingHttp,
    @Inject(TRACER) private readonly tracer: Tracer | null,
  ) {}

  static register({
    config,
    logger,
    entities,
    applicationName,
    publisher = SilentPublisher,
    clock = new DatabaseClock(),
    statementTimeoutMs,
  }: PlatformOptions): DynamicModule {
    const addresses = {
      addressesOf: systemAddresses,
      ...(config.OUTGOING_PRIVATE_ADDRESSES ? {} : { allows: isPublicAddress }),
    };
    const providers = [
      { provide: CONFIG, useValue: config },
      { provide: LOGGER, useValue: logger },
      { provide: Clock, useValue: clock },
      { provide: LinkTokens, useFactory: () => new LinkTokens(config.TOKEN_SECRET) },
      { provide: MailSeals, useFactory: () => new MailSeals(config.TOKEN_SECRET) },
      { provide: TrackingTokens, useFactory: () => new TrackingTokens(config.TOKEN_SECRET) },
      { provide: SecretBox, useFactory: () => new SecretBox(config.MASTER_KEY, config.MASTER_KEY_PREVIOUS) },
      { provide: Publisher, useClass: publisher },
      { provide: Registry, useFactory: () => new Registry() },
      {
        provide: TRACER,
        inject: [Registry],
        useFactory: (registry: Registry) => tracerOf(config, { name: applicationName, registry, logger }),
      },
      { provide: OutgoingHttp, useFactory: () => new OutgoingHttp(addresses) },
      { provide: Notifications, useFactory: () => notificationsOf(config) },
      {
        provide: Database,
        useFactory: async () =>
          Database.connect({
            url: config.DATABASE_URL,
            readUrl: config.DATABASE_READ_URL,
            poolSize: config.DATABASE_POOL_SIZE,
            applicationName,
            entities,
            statementTimeoutMs,
            clock: clock instanceof DatabaseClock ? undefined : clock,
            notificationTransport: await transportOf(config),
          }),
      },
    ];
    return { module: PlatformModule, providers, exports: providers.map(({ provide }) => provide) };
  }

  async onModuleInit(): Promise<void> {
    if (this.clock instanceof DatabaseClock) await this.clock.follow(this.database);
  }

  /** Runs last of all, when nothing asks the database any more. */
  async onApplicationShutdown(): Promise<void> {
    if (this.clock instanceof DatabaseClock) await this.clock.stop();
    await this.outgoingHttp.close();
    await this.notifications.stop();
    await this.database.close();
    useTracer(undefined);
    await this.tracer?.close();
  }
}

// Clients of Redis and of a collector of traces are only loaded where there is one.

async function tracerOf(
  { OTEL_EXPORTER_OTLP_ENDPOINT, ...config }: Config,
  program: TracedProgram,
): Promise<Tracer | null> {
  if (OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return null;
  const { OtlpTracer } = await import('./otlp-tracer.js');
  const tracer = new OtlpTracer({ ...config, OTEL_EXPORTER_OTLP_ENDPOINT }, program);
  useTracer(tracer);
  return tracer;
}

async function transportOf({ REDIS_URL }: Config): Promise<NotificationTransport | undefined> {
  if (REDIS_URL === undefined) return undefined;
  const { redisTransport } = await import('./redis-notifications.js');
  return redisTransport(REDIS_URL);
}

async function notificationsOf({ DATABASE_URL, REDIS_URL }: Config): Promise<Notifications> {
  if (REDIS_URL === undefined) return new PostgresNotifications(DATABASE_URL);
  const { RedisNotifications } = await import('./redis-notifications.js');
  return new RedisNotifications(REDIS_URL);
}
