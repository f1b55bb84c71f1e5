import cluster from 'node:cluster';
import { NestFactory } from '@nestjs/core';
import type { INestApplicationContext } from '@nestjs/common';
import type { Logger } from 'pino';
import { AggregatorRegistry, Registry } from 'prom-client';
import { accessEntities } from '#access';
import { audienceEntities } from '#audience';
import { billingEntities } from '#billing';
import { deliverabilityEntities } from '#deliverability';
import { loadReportLocale, messagingEntities } from '#messaging';
import {
  collectProcessMetrics,
  type Config,
  createLogger,
  Database,
  databaseChecks,
  logDatabaseOutages,
  excessiveRights,
  HealthChecks,
  LOGGER,
  NestLogger,
  Notifications,
  Operations,
  OperationsServer,
  type QueueBackend,
  refuseUnfitDatabase,
} from '#platform';
import { WebhookPublisherService, webhookEntities } from '#webhooks';
import { BounceServer } from './deliverability/bounce-server.js';
import { listen, QUEUE_BACKEND, Worker } from './worker.js';
import { WorkerModule } from './worker.module.js';

/** A running worker. */
export interface RunningWorker {
  /** The port of health and metrics. */
  readonly port: number;
  /** The port of the bounce server, if any. */
  readonly bouncePort: number | null;
  /** Resolves when work in flight is finished or released, and every connection is closed. */
  stop(): Promise<void>;
}

/** Starts jobs, periodic tasks and senders, and reports their health on `WORKER_PORT`. */
export async function startWorker(config: Config): Promise<RunningWorker> {
  // Before Nest, which would log a stack.
  loadReportLocale(config.AI_REPORT_LOCALE);
  const logger = createLogger(config, 'worker');
  const options = {
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
    applicationName: 'mailwright-worker',
    publisher: WebhookPublisherService,
  };
  const app = await NestFactory.createApplicationContext(WorkerModule.register(options), {
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  const server = new OperationsServer(operationsOf(app));
  const port = await readyToListen(app, server, config);
  await app.get(Notifications).start();
  const worker = app.get(Worker);
  try {
    await worker.start();
  } catch (error) {
    await worker.stop();
    await server.close();
    await app.close();
    throw error;
  }
  return {
    port,
    bouncePort: app.get(BounceServer).port,
    stop: async () => {
      await worker.stop();
      await server.close();
      await app.close();
    },
  };
}

/** Runs the checks that can refuse the start, before any work begins. */
async function readyToListen(
  app: INestApplicationContext,
  server: OperationsServer,
  config: Config,
): Promise<number> {
  try {
    const database = app.get(Database);
    await refuseUnfitDatabase(database.pool);
    const excessive = await excessiveRights(database.pool);
    const logger = app.get<Logger>(LOGGER);
    if (excessive !== null) logger.warn(excessive);
    await app.get(BounceServer).checkCertificate();
    const port = await listen(server, config);
    logDatabaseOutages(database, logger);
    return port;
  } catch (error) {
    await app.close();
    throw error;
  }
}

function operationsOf(app: INestApplicationContext): Operations {
  const database = app.get(Database);
  const backend = app.get<QueueBackend>(QUEUE_BACKEND);
  const registry = app.get<Registry>(Registry);
  collectProcessMetrics(registry, database);
  if (cluster.isWorker) reportMetrics(registry);
  const queue = {
    name: 'queue',
    check: () => backend.ping(),
    reasonOf: (error: unknown) => backend.reasonOf(error),
  };
  const checks = [...databaseChecks(database), queue];
  return new Operations(new HealthChecks(checks), registry);
}

/** Reports metrics to the process that adds them up. */
function reportMetrics(registry: Registry): void {
  AggregatorRegistry.setRegistries(registry);
  void new AggregatorRegistry();
}
