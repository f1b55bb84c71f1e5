import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import type { Clock } from '#kernel';
import {
  type Config,
  CONFIG,
  ConfigurationError,
  createLogger,
  Database,
  DatabaseClock,
  databaseFailure,
  logDatabaseOutages,
  describeError,
  excessiveRights,
  listenFailure,
  LOGGER,
  NestLogger,
  refuseUnfitDatabase,
  UnfitDatabaseError,
} from '#platform';
import { createHttpAdapter, useHttpKit } from '#platform/http';
import { ApiModule } from './api.module.js';
import { dropTrailingSlash, showNowhere } from './docs/docs.controller.js';
import { ApiDocument } from './openapi/api-document.js';
import { registerFormParsers } from './public-pages/form-body.js';
import { answerTrackedRequests } from './public-pages/tracking.controller.js';
import { CustomerHostsService, keepCustomerHostsApart } from './public-pages/customer-hosts.service.js';

/** A configuration with a real port, reserved until it is released. */
interface HeldPort {
  readonly config: Config;
  /** Call it right before listening on the port. Calling it again does nothing. */
  release(): Promise<void>;
}

/**
 * The public URL is part of links and problems from the first request on, so the port must be known before the api is
 * built: listening on port 0 is too late. Building takes seconds, so the port is held until then.
 */
async function holdRealPort(config: Config): Promise<HeldPort> {
  if (config.PORT !== 0) return { config, release: () => Promise.resolve() };
  const server = createServer((socket) => socket.destroy()).listen(0, config.HOST);
  await once(server, 'listening').catch((error: unknown) => {
    throw startErrorOf(error, config);
  });
  const { port } = server.address() as AddressInfo;
  const isDefaultUrl = config.PUBLIC_URL === 'http://localhost:0';
  const PUBLIC_URL = isDefaultUrl ? `http://localhost:${port}` : config.PUBLIC_URL;
  return {
    config: { ...config, PORT: port, PUBLIC_URL },
    release: async () => {
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}

interface ApiOptions {
  /** Default: the database's time. */
  readonly clock?: Clock;
}

/** Builds the api, ready to `listen` on the configured port, which must not be 0. */
async function createApi(config: Config, options: ApiOptions = {}): Promise<NestFastifyApplication> {
  const clock = options.clock ?? new DatabaseClock();
  const logger = createLogger(config, 'api');
  const app = await NestFactory.create<NestFastifyApplication>(
    ApiModule.register({ config, logger, clock }),
    createHttpAdapter({ config, clock, logger }),
    { bodyParser: false, logger: new NestLogger(logger), abortOnError: false },
  );
  keepCustomerHostsApart(app);
  dropTrailingSlash(app.getHttpAdapter().getInstance());
  useHttpKit(app);
  registerFormParsers(app.getHttpAdapter().getInstance());
  answerTrackedRequests(app);
  const hosts = app.get(CustomerHostsService);
  showNowhere(app.getHttpAdapter().getInstance(), ({ headers }) => hosts.atHand(headers.host) === null);
  app.get(ApiDocument).describe(app);
  return app;
}

/** The api cannot start; the message tells the operator why. */
class StartError extends Error {}

export interface RunningApi {
  readonly app: NestFastifyApplication;
  readonly url: string;
  readonly port: number;
}

/**
 * Builds the api and listens; throws an `UnfitDatabaseError`, or a `StartError` when it cannot listen. A PORT of 0
 * is replaced by a free one; `app.get(CONFIG)` knows it.
 */
export async function startApi(given: Config, options: ApiOptions = {}): Promise<RunningApi> {
  const held = await holdRealPort(given);
  try {
    return await startOn(held, options);
  } catch (error) {
    if (given.PORT !== 0 || !wasTaken(held.config.PORT, error)) throw error;
  } finally {
    await held.release();
  }
  // Between its release and our listening the system gave the port that we chose to somebody else.
  return startApi(given, options);
}

const wasTaken = (port: number, error: unknown): boolean =>
  error instanceof StartError &&
  error.cause instanceof Error &&
  'port' in error.cause &&
  error.cause.port === port;

async function startOn(held: HeldPort, options: ApiOptions): Promise<RunningApi> {
  const app = await createApi(held.config, options);
  const { HOST, PORT } = app.get<Config>(CONFIG);
  try {
    const database = app.get(Database);
    await refuseUnfitDatabase(database.pool);
    const excessive = await excessiveRights(database.pool);
    const logger = app.get<Logger>(LOGGER);
    if (excessive !== null) logger.warn(excessive);
    await app.init();
    await held.release();
    // Nest's own listen would log a taken port, too.
    await app.getHttpAdapter().getInstance().listen({ port: PORT, host: HOST });
    logDatabaseOutages(database, logger);
  } catch (error) {
    await app.close();
    throw startErrorOf(error, app.get<Config>(CONFIG));
  }
  return { app, url: `http://${HOST.includes(':') ? `[${HOST}]` : HOST}:${PORT}`, port: PORT };
}

/** A `StartError` where the api cannot listen, else the error itself. */
function startErrorOf(error: unknown, { HOST, PORT, OPERATIONS_PORT, METRICS_PORT }: Config): unknown {
  const refused = listenFailure(error, HOST, { PORT, OPERATIONS_PORT, METRICS_PORT });
  return refused === null ? error : new StartError(refused, { cause: error });
}

/** The message for the operator about an error at start. */
export function startFailure(error: unknown): string {
  if (error instanceof ConfigurationError || error instanceof UnfitDatabaseError) return error.message;
  if (error instanceof StartError) return error.message;
  return `The api could not start: ${databaseFailure(error)?.message ?? describeError(error)}`;
}
