import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import {
  type Config,
  CONFIG,
  ConfigurationError,
  Database,
  databaseFailure,
  databaseOutageLines,
  describeError,
  listenFailure,
  excessiveRights,
  LOGGER,
  refuseUnfitDatabase,
  UnfitDatabaseError,
} from '#platform';
import { type ApiOptions, createApi } from './create-api.js';
import { type HeldPort, holdRealPort } from './free-port.js';

/** The api cannot start; the message tells the operator why. */
export class StartError extends Error {}

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
    const { pool, outage } = app.get(Database);
    await refuseUnfitDatabase(pool);
    const excessive = await excessiveRights(pool);
    const logger = app.get<Logger>(LOGGER);
    if (excessive !== null) logger.warn(excessive);
    await app.init();
    await held.release();
    // Nest's own listen would log a taken port, too.
    await app.getHttpAdapter().getInstance().listen({ port: PORT, host: HOST });
    outage.tell(databaseOutageLines(logger));
  } catch (error) {
    await app.close();
    const { OPERATIONS_PORT, METRICS_PORT } = app.get<Config>(CONFIG);
    const refused = listenFailure(error, HOST, { PORT, OPERATIONS_PORT, METRICS_PORT });
    throw refused === null ? error : new StartError(refused, { cause: error });
  }
  return { app, url: `http://${HOST.includes(':') ? `[${HOST}]` : HOST}:${PORT}`, port: PORT };
}

/** The message for the operator about an error at start. */
export function startFailure(error: unknown): string {
  if (error instanceof ConfigurationError || error instanceof UnfitDatabaseError) return error.message;
  if (error instanceof StartError) return error.message;
  return `The api could not start: ${databaseFailure(error)?.message ?? describeError(error)}`;
}
