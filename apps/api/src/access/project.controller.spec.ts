import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { accessEntities, ApiKeysService } from '#access';
import { ManualClock } from '#testing/time/clocks';
import { loadConfig, Notifications, PlatformModule } from '#platform';
import { createHttpAdapter, HttpKitModule, useHttpKit } from '#platform/http';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { createProject, type TestProject } from '#testing/fixtures/fixtures';
import { AccessApiModule } from './access-api.module.js';

const NOW = new Date('2026-03-01T00:00:00.000Z');

describe('GET /project', () => {
  let test: TestDatabase;
  let app: NestFastifyApplication;
  let project: TestProject;

  beforeAll(async () => {
    test = await createTestDatabase();
    project = await createProject(test);
    await test.query(`update access.projects set created_at = $1, updated_at = $1`, [NOW]);
    const config = loadConfig({ NODE_ENV: 'test', DATABASE_URL: test.url, RATE_LIMIT_PER_MINUTE: '10000' });
    const logger = pino({ level: 'silent' });
    const clock = new ManualClock(NOW);
    const platform = PlatformModule.register({
      config,
      logger,
      entities: accessEntities,
      applicationName: 'spec',
      clock,
    });
    @Module({ imports: [platform, HttpKitModule, AccessApiModule] })
    class ProjectApiModule {}
    app = await NestFactory.create<NestFastifyApplication>(
      ProjectApiModule,
      createHttpAdapter({ config, clock, logger }),
      {
        bodyParser: false,
        logger: false,
        abortOnError: false,
      },
    );
    useHttpKit(app);
    await app.get(Notifications).start();
    await app.listen(0, '127.0.0.1');
  });

  afterAll(async () => {
    await app.close();
    await test.drop();
  });

  const get = async (key: string) =>
    fetch(`${await app.getUrl()}/api/v1/project`, { headers: { 'x-api-key': key } });
  const makeKey = (environment: 'live' | 'test') =>
    app.get(ApiKeysService).create(project[environment], { name: 'Website', scopes: ['topics:read'] });

  it.each(['live', 'test'] as const)(
    'shows the project of a %s key, whatever its scopes',
    async (environment) => {
      const { key } = await makeKey(environment);
      const answer = await get(key);
      expect(answer.status).toBe(200);
      expect(await answer.json()).toEqual({
        id: project.live.projectId,
        projectKey: 'APIT',
        name: 'Acme News',
        description: null,
        senderName: 'Acme',
        fromEmail: null,
        replyTo: null,
        postalAddress: expect.any(String),
        defaultLocale: 'en',
        timeZone: 'UTC',
        trackingHost: null,
        privacyUrl: null,
        contactEmail: null,
        trackingHostStatus: null,
        brand: { logoUrl: null, color: null },
        selected: true,
        aiSegmentSuggestionsEnabled: false,
        environment: environment.toUpperCase(),
        createdAt: NOW.toISOString(),
        updatedAt: NOW.toISOString(),
      });
    },
  );

  it('is refused without a valid key, and with one soon after it was revoked', async () => {
    expect((await get('mw_live_nothing')).status).toBe(401);
    const { id, key } = await makeKey('live');
    expect((await get(key)).status).toBe(200);
    await app.get(ApiKeysService).revoke(project.live, id);
    await eventually('the revoked key is refused', async () => (await get(key)).status === 401);
  });
});
