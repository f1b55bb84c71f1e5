import 'reflect-metadata';
import { type INestApplicationContext, Module, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { pino } from 'pino';
import {
  accessEntities,
  ApiKeysService,
  OperatorKeysService,
  ProjectsQuery,
  ProjectsService,
  TenantsService,
} from '#access';
import { audienceEntities } from '#audience';
import { billingEntities, SubscriptionsService } from '#billing';
import { deliverabilityEntities } from '#deliverability';
import { Clock } from '#kernel';
import { AccountsModule, AccountsService } from '#operator';
import {
  ConfigurationError,
  Database,
  loadConfig,
  PendingMigrationsError,
  PlatformModule,
  refuseUnfitDatabase,
  UnfitDatabaseError,
} from '#platform';
import { WebhookPublisherService, webhookEntities } from '#webhooks';
import { OperatorError } from './failures.js';

export type ContextModule = NonNullable<ModuleMetadata['imports']>[number];
type Variables = Readonly<Record<string, string | undefined>>;

/** The services of the operator's commands. */
export interface OperatorServices {
  readonly clock: Clock;
  readonly database: Database;
  readonly accounts: AccountsService;
  readonly tenants: TenantsService;
  readonly projects: ProjectsService;
  readonly projectList: ProjectsQuery;
  readonly apiKeys: ApiKeysService;
  readonly operatorKeys: OperatorKeysService;
  readonly subscriptions: SubscriptionsService;
  /** A service of one of the additional contexts. */
  readonly get: INestApplicationContext['get'];
}

@Module({})
class OperatorModule {}

/**
 * Runs `work` with the services of the access and billing contexts and of the contexts in `more`. Throws an
 * `OperatorError` when the configuration is not valid or the database has another version.
 */
export async function withOperatorServices<T>(
  env: Variables,
  work: (services: OperatorServices) => Promise<T>,
  more: readonly ContextModule[] = [],
): Promise<T> {
  const context = await start(env, more);
  try {
    await requireSchema(context.get(Database));
    return await work({
      clock: context.get(Clock),
      database: context.get(Database),
      accounts: context.get(AccountsService),
      tenants: context.get(TenantsService),
      projects: context.get(ProjectsService),
      projectList: context.get(ProjectsQuery),
      apiKeys: context.get(ApiKeysService),
      operatorKeys: context.get(OperatorKeysService),
      subscriptions: context.get(SubscriptionsService),
      get: context.get.bind(context),
    });
  } finally {
    await context.close();
  }
}

/** The configuration. Throws an `OperatorError` that lists everything wrong with it. */
export function configuration(env: Variables): ReturnType<typeof loadConfig> {
  try {
    return loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigurationError) throw new OperatorError('configuration', error.message);
    throw error;
  }
}

async function start(env: Variables, more: readonly ContextModule[]): Promise<INestApplicationContext> {
  // A command is no part of a trace.
  const config = { ...configuration(env), OTEL_EXPORTER_OTLP_ENDPOINT: undefined };
  // Takes as long to import as a fifth of the rest: only for commands that need more than access and billing.
  const { messagingEntities } = more.length === 0 ? { messagingEntities: [] } : await import('#messaging');
  const logger = pino({ level: 'warn' }, pino.destination(2));
  const platform = PlatformModule.register({
    config,
    logger,
    entities: [
      ...accessEntities,
      ...audienceEntities,
      ...billingEntities,
      ...deliverabilityEntities,
      ...webhookEntities,
      ...messagingEntities,
    ],
    applicationName: 'mailwright-cli',
    publisher: WebhookPublisherService,
  });
  const root = { module: OperatorModule, imports: [platform, AccountsModule, ...more] };
  return NestFactory.createApplicationContext(root, { logger: false, abortOnError: false });
}

async function requireSchema(database: Database): Promise<void> {
  await database.ping();
  try {
    await refuseUnfitDatabase(database.pool);
  } catch (error) {
    if (!(error instanceof UnfitDatabaseError)) throw error;
    const code = error instanceof PendingMigrationsError ? 'not-migrated' : 'unfit-database';
    throw new OperatorError(code, error.message);
  }
}
