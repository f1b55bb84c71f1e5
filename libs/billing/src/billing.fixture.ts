import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { pino } from 'pino';
import { accessEntities } from '#access';
import { ManualClock } from '#testing/time/clocks';
import { Database, loadConfig, PlatformModule } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { billingEntities } from './billing-tables.js';
import { BillingModule } from './billing.module.js';

/** The billing context on a database of its own, with a clock that the test moves. */
export interface BillingFixture {
  readonly test: TestDatabase;
  readonly database: Database;
  clock: ManualClock;
  readonly get: INestApplicationContext['get'];
  /** Another process on the same database, with the same clock. */
  another(): Promise<INestApplicationContext>;
  close(): Promise<void>;
}

export async function startBilling(
  start: Date,
  variables: Readonly<Record<string, string>> = {},
): Promise<BillingFixture> {
  const test = await createTestDatabase();
  const time = { clock: new ManualClock(start) };
  const boot = () => {
    const config = loadConfig({
      NODE_ENV: 'test',
      DATABASE_URL: test.url,
      DATABASE_POOL_SIZE: '25',
      INVOICE_SELLER_NAME: 'Mailwright Ltd',
      INVOICE_SELLER_ADDRESS: '1 Harbour Road|Dublin',
      ...variables,
    });
    const logger = pino({ level: 'silent' });
    const platform = PlatformModule.register({
      config,
      logger,
      entities: [...accessEntities, ...billingEntities],
      applicationName: 'spec',
      clock: { now: () => time.clock.now() },
    });
    const root = { module: class Root {}, imports: [platform, BillingModule] };
    return NestFactory.createApplicationContext(root, { logger: false, abortOnError: false });
  };
  const contexts = [await boot()];
  const [app] = contexts;
  if (app === undefined) throw new Error('Nothing was started.');
  return Object.assign(time, {
    test,
    database: app.get(Database),
    get: app.get.bind(app),
    another: async () => {
      const context = await boot();
      contexts.push(context);
      return context;
    },
    close: async () => {
      await Promise.all(contexts.map((context) => context.close()));
      await test.drop();
    },
  });
}
