import { Writable } from 'node:stream';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type ApiScope, type Clock } from '#kernel';
import { SystemClock } from '../time/clocks.js';
import { type Config, createLogger, loadConfig, PlatformModule } from '#platform';
import {
  ApiKeyAuthenticator,
  type AuthenticatedCaller,
  createHttpAdapter,
  HttpKitModule,
  useHttpKit,
} from '#platform/http';
import { ParcelsController, SampleWork, ShelfController } from './sample-parcels.controller.js';

/** Knows the keys that a test has handed out. */
export class SampleKeys extends ApiKeyAuthenticator {
  readonly #callers = new Map<string, AuthenticatedCaller>();

  issue(key: string, caller: AuthenticatedCaller): void {
    this.#callers.set(key, caller);
  }

  override async authenticate(key: string): Promise<AuthenticatedCaller | null> {
    return this.#callers.get(key) ?? null;
  }

  override used(): void {
    // Nobody asks when.
  }
}

export interface SampleApi {
  readonly app: NestFastifyApplication;
  readonly keys: SampleKeys;
  readonly work: SampleWork;
  readonly url: string;
  close(): Promise<void>;
}

/** A caller with `scopes` in an environment that no other test uses. */
export function sampleCaller(
  scopes: readonly ApiScope[],
  rateLimitPerMinute: number | null = null,
): AuthenticatedCaller {
  const id = Math.floor(Math.random() * 1e9) + 1;
  return {
    keyId: crypto.randomUUID(),
    scope: { tenantId: id, projectId: id, environmentId: id, environment: 'TEST' },
    scopes: new Set(scopes),
    rateLimitPerMinute,
    isAllowedFrom: () => true,
  };
}

/** Boots the sample API on a free port of this machine. */
export async function startSampleApi(
  databaseUrl: string,
  env: Readonly<Record<string, string>> = {},
  { clock = new SystemClock(), log }: { readonly clock?: Clock; readonly log?: (line: string) => void } = {},
): Promise<SampleApi> {
  const config: Config = loadConfig({
    NODE_ENV: 'test',
    DATABASE_URL: databaseUrl,
    PUBLIC_URL: 'https://mail.example',
    LOG_LEVEL: log === undefined ? 'silent' : 'info',
    LOG_FORMAT: 'json',
    ...env,
  });
  const logger = createLogger(config, 'sample-api', linesTo(log));
  const keys = new SampleKeys();

  @Module({
    imports: [
      PlatformModule.register({ config, logger, entities: [], applicationName: 'sample-api', clock }),
      HttpKitModule,
    ],
    controllers: [ParcelsController, ShelfController],
    providers: [SampleWork, { provide: ApiKeyAuthenticator, useValue: keys }],
  })
  class SampleModule {}

  const app = await NestFactory.create<NestFastifyApplication>(
    SampleModule,
    createHttpAdapter({ config, clock, logger }),
    {
      bodyParser: false,
      logger: false,
      abortOnError: false,
    },
  );
  useHttpKit(app);
  await app.listen(0, '127.0.0.1');
  return { app, keys, work: app.get(SampleWork), url: await app.getUrl(), close: () => app.close() };
}

function linesTo(log: (line: string) => void = () => undefined): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      log(chunk.toString());
      done();
    },
  });
}

/** The problem that an answer holds. */
export async function problemIn(answer: Response): Promise<Record<string, unknown>> {
  return (await answer.json()) as Record<string, unknown>;
}
