import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { accessEntities, ApiKeysService } from '#access';
import { audienceEntities, AudiencePortsModule } from '#audience';
import { API_SCOPES } from '#kernel';
import { OptInMailQueue, OptInMailsModule } from '#messaging';
import { ManualClock } from '#testing/time/clocks';
import { loadConfig, PlatformModule } from '#platform';
import { createHttpAdapter, HttpKitModule, useHttpKit } from '#platform/http';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { createProject } from '#testing/fixtures/fixtures';
import { AccessApiModule } from '../access/access-api.module.js';
import { AudienceApiModule } from './audience-api.module.js';

const NOW = '2026-11-21T06:00:00.000Z';
const IN_48_HOURS = '2026-11-23T06:00:00.000Z';
const CONSENT = { source: 'signup-form' };

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

describe('the audience over HTTP', () => {
  let test: TestDatabase;
  let app: NestFastifyApplication;
  const clock = new ManualClock(new Date(NOW));

  beforeAll(async () => {
    test = await createTestDatabase();
    const config = loadConfig({ NODE_ENV: 'test', DATABASE_URL: test.url, RATE_LIMIT_PER_MINUTE: '10000' });
    const logger = pino({ level: 'silent' });
    const platform = PlatformModule.register({
      config,
      logger,
      entities: [...accessEntities, ...audienceEntities],
      applicationName: 'spec',
      clock,
    });
    const ports = AudiencePortsModule.by([OptInMailsModule], { optInMails: OptInMailQueue });
    @Module({ imports: [platform, ports, HttpKitModule, AccessApiModule, AudienceApiModule] })
    class Root {}
    const options = { bodyParser: false, logger: false, abortOnError: false } as const;
    app = await NestFactory.create<NestFastifyApplication>(
      Root,
      createHttpAdapter({ config, clock, logger }),
      options,
    );
    useHttpKit(app);
    await app.listen(0, '127.0.0.1');
  });

  afterAll(async () => {
    await app.close();
    await test.drop();
  });

  /** Calls the API with a key that may do everything in a project of its own. */
  async function client() {
    const { test: scope } = await createProject(test);
    const { key } = await app.get(ApiKeysService).create(scope, { name: 'spec', scopes: API_SCOPES });
    const base = `${await app.getUrl()}/api/v1`;
    return async (
      method: string,
      path: string,
      body?: unknown,
      headers: Record<string, string> = {},
    ): Promise<Answer> => {
      const type = body === undefined ? {} : { 'content-type': 'application/json' };
      const response = await fetch(base + path, {
        method,
        headers: { 'x-api-key': key, ...type, ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: text === '' ? null : JSON.parse(text),
      };
    };
  }

  it('makes, lists and changes topics', async () => {
    const call = await client();
    const created = await call('POST', '/topics', {
      name: 'News',
      doubleOptInEnabled: false,
      priority: null,
    });
    expect(created.status).toBe(201);
    expect(created.headers.get('location')).toBe('/api/v1/topics/APIT-1');
    expect(created.body).toEqual({
      id: expect.any(String),
      topicKey: 'APIT-1',
      name: 'News',
      description: null,
      status: 'ACTIVE',
      visibility: 'PUBLIC',
      priority: null,
      icon: null,
      doubleOptInEnabled: false,
      optInTemplateKey: null,
      translations: {},
      metadata: {},
      subscriberCount: 0,
      activeSubscriberCount: 0,
      createdAt: NOW,
    });
    expect(await call('GET', '/topics/APIT-1')).toMatchObject({ status: 200, body: created.body });
    expect(await call('GET', '/topics?status=ACTIVE')).toMatchObject({
      status: 200,
      body: { data: [created.body], pagination: { page: 0, size: 20, totalElements: 1 } },
    });
    expect(await call('PATCH', '/topics/APIT-1', {})).toMatchObject({ status: 200, body: created.body });
    expect(
      await call('PATCH', '/topics/APIT-1', { status: 'ARCHIVED', description: 'Line\nbreak' }),
    ).toMatchObject({
      status: 200,
      body: { status: 'ARCHIVED', description: 'Line\nbreak', name: 'News' },
    });
    expect((await call('GET', '/topics/APIT-2')).status).toBe(404);
    expect((await call('GET', '/topics/a%00b')).status).toBe(404);
    expect((await call('PATCH', '/topics/APIT-2', { name: 'X' })).status).toBe(404);
  });

  it('says all that is wrong with a topic', async () => {
    const call = await client();
    const wrong = {
      name: ' ',
      description: 'x'.repeat(1_001),
      status: 'OPEN',
      priority: 1,
      doubleOptInEnabled: 1,
      color: 'red',
    };
    expect(await call('POST', '/topics', wrong)).toMatchObject({
      status: 400,
      body: {
        errors: {
          name: 'must not be empty',
          description: 'must be at most 1000 characters',
          status: 'must be one of ACTIVE, INACTIVE, ARCHIVED',
          priority: 'must be one of URGENT, HIGH, MEDIUM, LOW',
          doubleOptInEnabled: 'must be true or false',
          color: 'is not a known field',
        },
      },
    });
    expect(await call('POST', '/topics', {})).toMatchObject({
      status: 400,
      body: { errors: { name: 'is required' } },
    });
    expect(await call('PATCH', '/topics/APIT-1', { name: null })).toMatchObject({
      status: 400,
      body: { errors: { name: 'must be a string' } },
    });
    expect((await call('POST', '/topics', { name: 'a'.repeat(199) + '🎉' })).status).toBe(201);
    expect((await call('POST', '/topics', { name: '\ud800' })).status).toBe(400);
  });

  it('makes a subscriber, finds it in any spelling and changes it', async () => {
    const call = await client();
    await call('POST', '/topics', { name: 'News' });
    const body = {
      email: ' Ada+x@Example.com',
      topicKeys: ['APIT-1', 'APIT-1'],
      consent: CONSENT,
      firstName: 'Ada',
      customFields: {},
    };
    const created = await call('POST', '/subscribers', body);
    expect(created.status).toBe(201);
    expect(created.headers.get('location')).toBe('/api/v1/subscribers/Ada%2Bx%40Example.com');
    expect(created.body).toEqual({
      id: expect.any(String),
      subscriberKey: 'APIT-1',
      email: 'Ada+x@Example.com',
      externalId: null,
      firstName: 'Ada',
      lastName: null,
      phone: null,
      locale: null,
      timeZone: null,
      status: 'PENDING_CONFIRMATION',
      source: 'API',
      customFields: {},
      metadata: {},
      createdAt: NOW,
      updatedAt: NOW,
    });
    for (const email of ['ada+x@example.com', 'ADA%2Bx@EXAMPLE.com', '%20ada+x@example.com']) {
      expect(await call('GET', `/subscribers/${email}`)).toMatchObject({ status: 200, body: created.body });
    }
    expect(await call('POST', '/subscribers', body)).toMatchObject({
      status: 409,
      body: { type: expect.stringMatching(/already-exists$/) },
    });
    expect(
      await call('PATCH', '/subscribers/ada+x@example.com', { firstName: null, lastName: 'L' }),
    ).toMatchObject({
      status: 200,
      body: { firstName: null, lastName: 'L' },
    });
    expect(
      await call('GET', '/subscribers?q=AD&topicKey=APIT-1&createdBefore=2027-01-01T00:00:00Z'),
    ).toMatchObject({
      status: 200,
      body: { data: [{ email: 'Ada+x@Example.com' }], pagination: { totalElements: 1 } },
    });
  });

  it('says first what is wrong by itself, then what this project does not allow', async () => {
    const call = await client();
    const malformed = {
      email: 'nobody',
      topicKeys: [],
      consent: { source: '', sourceUrl: 1, ipAddress: 2, consentText: 7, other: 1 },
      firstName: 'A\u0007',
      lastName: 'x'.repeat(51),
      customFields: [],
      status: 'ACTIVE',
    };
    expect(await call('POST', '/subscribers', malformed)).toMatchObject({
      status: 400,
      body: {
        errors: {
          email: 'is not an e-mail address',
          topicKeys: 'must have at least 1 item',
          'consent.source': 'must not be empty',
          'consent.sourceUrl': 'must be a string',
          'consent.ipAddress': 'must be a string',
          'consent.consentText': 'must be a string',
          'consent.other': 'is not a known field',
          firstName: 'must not contain control characters',
          lastName: 'must be at most 50 characters',
          customFields: 'must be an object',
          status: 'is not a known field',
        },
      },
    });
    const disallowed = {
      email: 'a@example.com',
      topicKeys: ['APIT-9', 'x'],
      consent: CONSENT,
      customFields: { plan: null },
    };
    expect(await call('POST', '/subscribers', disallowed)).toMatchObject({
      status: 422,
      body: {
        errors: {
          'topicKeys[0]': 'is not a known topic',
          'topicKeys[1]': 'is not a known topic',
          'customFields.plan': 'is not a known field',
        },
      },
    });
    expect((await call('PATCH', '/subscribers/a@example.com', { customFields: { plan: 1 } })).status).toBe(
      404,
    );
    expect(await call('GET', '/subscribers/nobody')).toMatchObject({
      status: 400,
      body: { errors: { email: expect.any(String) } },
    });
    for (const query of [
      'status=OPEN',
      'createdAfter=yesterday',
      'q=%00',
      'topicKey=%00',
      'size=0',
      'page=-1',
    ]) {
      expect((await call('GET', `/subscribers?${query}`)).status).toBe(400);
    }
    for (const query of [
      'createdAfter=0001-01-01T00:00:00Z',
      'createdBefore=9999-12-31T23:59:59.999%2B00:00',
      'topicKey=APIT-999',
      'page=2147483647',
    ]) {
      expect((await call('GET', `/subscribers?${query}`)).status).toBe(200);
    }
  });

  it('grants, shows, resends and revokes consents', async () => {
    const call = await client();
    await call('POST', '/topics', { name: 'News', doubleOptInEnabled: false });
    await call('POST', '/topics', { name: 'Offers' });
    await call('POST', '/subscribers', { email: 'ada@example.com', topicKeys: ['APIT-1'], consent: CONSENT });
    const consents = '/subscribers/ada@example.com/consents';
    expect(
      await call('POST', consents, { topicKey: 'APIT-2', ...CONSENT, ipAddress: '2001:db8::1' }),
    ).toMatchObject({
      status: 201,
      body: {
        topicKey: 'APIT-2',
        status: 'PENDING_CONFIRMATION',
        requiresConfirmation: true,
        grantedAt: NOW,
        confirmedAt: null,
        tokenExpiresAt: IN_48_HOURS,
      },
    });
    expect((await call('POST', consents, { topicKey: 'APIT-2', ...CONSENT })).status).toBe(409);
    expect(await call('POST', consents, { topicKey: 'APIT-9', ...CONSENT })).toMatchObject({
      status: 422,
      body: { errors: { topicKey: 'is not a known topic' } },
    });
    expect(
      (await call('POST', '/subscribers/b@example.com/consents', { topicKey: 'APIT-9', ...CONSENT })).status,
    ).toBe(404);
    expect((await call('POST', `${consents}/APIT-2/resend`)).status).toBe(202);
    const tooSoon = await call('POST', `${consents}/APIT-2/resend`);
    expect(tooSoon).toMatchObject({ status: 429, body: { type: expect.stringMatching(/rate-limited$/) } });
    expect(tooSoon.headers.get('retry-after')).toBe('60');
    expect(await call('POST', `${consents}/APIT-1/resend`)).toMatchObject({
      status: 409,
      body: { currentState: 'SUBSCRIBED', allowedStates: ['PENDING_CONFIRMATION'] },
    });
    expect((await call('DELETE', `${consents}/APIT-1`)).status).toBe(204);
    expect((await call('DELETE', `${consents}/APIT-1`)).status).toBe(204);
    expect((await call('DELETE', `${consents}/APIT-9`)).status).toBe(404);
    const news = {
      topicKey: 'APIT-1',
      topicName: 'News',
      status: 'UNSUBSCRIBED',
      grantedAt: NOW,
      confirmedAt: null,
      revokedAt: NOW,
    };
    const offers = {
      topicKey: 'APIT-2',
      topicName: 'Offers',
      status: 'PENDING_CONFIRMATION',
      grantedAt: NOW,
      confirmedAt: null,
      revokedAt: null,
    };
    expect(await call('GET', consents)).toMatchObject({
      status: 200,
      body: { subscriberEmail: 'ada@example.com', globallySuppressed: false, consents: [offers, news] },
    });
  });

  it('suppresses addresses, and lifts it only when that is meant', async () => {
    const call = await client();
    await call('POST', '/topics', { name: 'News', doubleOptInEnabled: false });
    await call('POST', '/subscribers', { email: 'ada@example.com', topicKeys: ['APIT-1'], consent: CONSENT });
    const first = await call('POST', '/suppressions', { email: 'Ada@example.com' });
    const standing = {
      email: 'Ada@example.com',
      suppressed: true,
      reason: 'GLOBAL_UNSUBSCRIBE',
      streams: 'MARKETING',
      suppressedAt: NOW,
    };
    expect(first).toMatchObject({ status: 201, body: standing });
    const wider = { ...standing, streams: 'ALL' };
    expect(
      await call('POST', '/suppressions', { email: 'ada@example.com', reason: 'HARD_BOUNCE' }),
    ).toMatchObject({
      status: 201,
      body: wider,
    });
    expect(await call('GET', '/suppressions/ADA@example.com')).toMatchObject({ status: 200, body: wider });
    expect(await call('GET', '/suppressions?reason=GLOBAL_UNSUBSCRIBE')).toMatchObject({
      status: 200,
      body: { data: [wider], pagination: { totalElements: 1 } },
    });
    expect(await call('GET', '/subscribers/ada@example.com')).toMatchObject({
      body: { status: 'SUPPRESSED' },
    });
    const again = { topicKey: 'APIT-1', ...CONSENT };
    expect(await call('POST', '/subscribers/ada@example.com/consents', again)).toMatchObject({
      status: 409,
      body: { type: expect.stringMatching(/suppressed$/) },
    });
    expect(await call('DELETE', '/suppressions/ada@example.com')).toMatchObject({
      status: 400,
      body: { type: expect.stringMatching(/confirmation-required$/) },
    });
    for (let time = 0; time < 2; time += 1) {
      const lifted = await call('DELETE', '/suppressions/ada@example.com', undefined, {
        'X-Confirm-Unsuppress': 'true',
      });
      expect(lifted).toMatchObject({ status: 204, body: null });
    }
    expect(await call('GET', '/suppressions/ada@example.com')).toMatchObject({
      status: 200,
      body: { email: 'ada@example.com', suppressed: false, reason: null, streams: null, suppressedAt: null },
    });
    expect(await call('POST', '/suppressions', { reason: 'BORED' })).toMatchObject({
      status: 400,
      body: { errors: { email: 'is required', reason: expect.stringMatching(/^must be one of/) } },
    });
  });
});
