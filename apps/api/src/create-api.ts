import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Clock } from '#kernel';
import { type Config, createLogger, DatabaseClock, NestLogger } from '#platform';
import { createHttpAdapter, useHttpKit } from '#platform/http';
import { ApiModule } from './api.module.js';
import { ApiDocument } from './openapi/api-document.js';
import { registerFormParsers } from './public-pages/form-body.js';
import { answerTrackedRequests } from './public-pages/tracked-requests.js';
import { keepCustomerHostsApart } from './tracking-hosts/customer-hosts.js';

export interface ApiOptions {
  /** Default: the database's time. */
  readonly clock?: Clock;
}

/** Builds the api, ready to `listen` on the configured port, which must not be 0. */
export async function createApi(config: Config, options: ApiOptions = {}): Promise<NestFastifyApplication> {
  const clock = options.clock ?? new DatabaseClock();
  const logger = createLogger(config, 'api');
  const app = await NestFactory.create<NestFastifyApplication>(
    ApiModule.register({ config, logger, clock }),
    createHttpAdapter({ config, clock, logger }),
    { bodyParser: false, logger: new NestLogger(logger), abortOnError: false },
  );
  keepCustomerHostsApart(app);
  useHttpKit(app);
  registerFormParsers(app.getHttpAdapter().getInstance());
  answerTrackedRequests(app);
  app.get(ApiDocument).describe(app);
  return app;
}
