import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pino } from 'pino';
import { ManualClock } from '#testing/time/clocks';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { createProject } from '#testing/fixtures/fixtures';
import { Database } from '../database/database.js';
import { RequestLog } from './request-log.js';

describe('a log of requests', () => {
  let test: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    test = await createTestDatabase();
    database = await Database.connect({
      url: test.url,
      poolSize: 2,
      applicationName: 'request-log-spec',
      entities: [],
    });
  });
  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  it('tells once how many are missing, when PostgreSQL takes some again or with the last', async () => {
    const told: unknown[] = [];
    const logger = pino({}, { write: (line) => told.push(JSON.parse(line)) });
    const log = new RequestLog(database, new ManualClock(new Date()), logger);
    const { live: scope } = await createProject(test);
    const request = {
      caller: { scope, keyId: randomUUID() },
      method: 'GET',
      routeOptions: { url: '/api/v1/topics/:topicKey' },
      id: 'request',
    } as unknown as FastifyRequest;
    const write = (requests: number, isLast = false) => {
      for (let index = 0; index < requests; index += 1)
        log.add(request, { statusCode: 200, elapsedTime: 1 } as FastifyReply);
      return log.write(isLast);
    };
    const missing = (requests: number) =>
      expect.objectContaining({
        level: 40,
        requests,
        reason: expect.stringContaining('never'),
        msg: 'requests are missing in the log of requests',
      });

    await test.query('alter table platform.request_log add constraint never check (ms is null) not valid');
    await write(2);
    await write(3);
    expect(told).toEqual([]);
    await test.query('alter table platform.request_log drop constraint never');
    await write(1);
    expect(told).toEqual([missing(5)]);
    await test.query('alter table platform.request_log add constraint never check (ms is null) not valid');
    await write(1);
    await write(4, true);
    expect(told).toEqual([missing(5), missing(5)]);
    await write(0, true);
    expect(told).toHaveLength(2);
    expect(await test.query('select route from platform.request_log')).toEqual([
      { route: '/api/v1/topics/{topicKey}' },
    ]);
  });
});
