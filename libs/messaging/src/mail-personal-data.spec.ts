import { type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import {
  AddressDigestsService,
  audienceEntities,
  consentProof,
  PersonalDataService,
  SignUpService,
  TopicsService,
} from '#audience';
import { type EmailAddress, newId, parseEmailAddress, type ProjectScope } from '#kernel';
import { ManualClock } from '#testing/time/clocks';
import { Database, loadConfig, PlatformModule } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { createProject } from '#testing/fixtures/fixtures';
import { tracesOf } from '#testing/postgres/traces';
import { messagingEntities } from './messaging-tables.js';
import { MailPreparationService } from './sending/mails/mail-preparation.service.js';
import { DeliveryClaimsQuery } from './sending/engine/delivery-claims.query.js';
import { DeliveryStoreRepository } from './sending/engine/delivery-store.repository.js';
import type { DeliveryOutcome } from './sending/delivery-outcome.js';
import { MessagingWorkerModule } from './messaging-worker.module.js';
import { MailPersonalDataService } from './mail-personal-data.service.js';

const NOW = new Date('2026-11-21T06:00:00.000Z');
const LATER = new Date('2026-11-22T06:00:00.000Z');
const QUEUED_ON = '2026-11-21';
const PROOF = consentProof('API_KEY', null);

describe('erasure from mail', () => {
  let test: TestDatabase;
  let context: INestApplicationContext;
  let scope: ProjectScope;
  const clock = new ManualClock(NOW);

  beforeAll(async () => {
    test = await createTestDatabase();
    scope = (await createProject(test)).test;
    const config = loadConfig({ NODE_ENV: 'test', DATABASE_URL: test.url });
    const options = {
      config,
      logger: pino({ level: 'silent' }),
      entities: [...audienceEntities, ...messagingEntities],
      applicationName: 'spec',
    };
    @Module({ imports: [PlatformModule.register({ ...options, clock }), MessagingWorkerModule] })
    class Root {}
    context = await NestFactory.createApplicationContext(Root, { logger: false, abortOnError: false });
  });
  afterAll(async () => {
    await context.close();
    await test.drop();
  });

  const get = <T>(type: Type<T>): T => context.get(type, { strict: false });

  async function reader(name: string) {
    const parsed = parseEmailAddress(`${name}-${newId()}@lovelace.example`);
    if (!('address' in parsed)) throw new Error(parsed.fault);
    const { address } = parsed;
    const topic = await get(TopicsService).create(scope, { name: 'News', doubleOptInEnabled: false });
    const { id } = await get(SignUpService).create(
      scope,
      { address, topicKeys: [topic.topicKey], source: 'API', firstName: 'Ada' },
      PROOF,
    );
    return { id, address, topicId: topic.id };
  }

  /** A campaign that is being sent to these people. Returns the deliveries' ids. */
  async function send(
    topicId: string,
    people: readonly { id: string; address: EmailAddress }[],
    state = 'PENDING',
  ) {
    const campaignId = newId();
    await test.query(
      `insert into messaging.campaigns (id, environment_id, campaign_key, name, subject, content_text, topic_ids, status,
         queued_at, expanded_at, created_at, updated_at)
       values ($1::uuid, $2, 'APIT-' || $1, 'News', 'News', 'Hello', $3, 'SENDING', $4, $4, $4, $4)`,
      [campaignId, scope.environmentId, [topicId], NOW],
    );
    const ids = people.map(() => newId());
    for (const [index, { id, address }] of people.entries()) {
      await test.query(
        `insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address, address_key,
           message_id, state, next_attempt_at, created_at, finished_at, last_error)
         values ($1, $2, $3, 'CAMPAIGN', $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
        [
          ids[index],
          QUEUED_ON,
          scope.environmentId,
          campaignId,
          id,
          address.value,
          address.key,
          `<${ids[index]}@example.net>`,
          state,
          state === 'DEFERRED' ? LATER : NOW,
          NOW,
          state === 'SENT' ? NOW : null,
          state === 'DEFERRED' ? `450 try later, ${address.value}` : null,
        ],
      );
    }
    return {
      ids,
      under: {
        id: campaignId,
        scope,
        queuedOn: QUEUED_ON,
        ambiguousPolicy: 'RESEND',
        byOwnRelays: false,
        usagePeriod: null,
        isDue: true,
      } as const,
    };
  }

  /** As the request and then the worker's job do it. */
  async function erase({ id, address }: { id: string; address: EmailAddress }): Promise<void> {
    await get(PersonalDataService).erase(scope, address, PROOF);
    const addressDigest = get(AddressDigestsService).of(scope, address.key).toString('hex');
    await context
      .get(Database)
      .transaction(scope, () =>
        get(MailPersonalDataService).erase(scope, { subscriberId: id, addressDigest }),
      );
  }

  const deliveries = (ids: readonly string[]) =>
    test.query(
      'select state, reason, subscriber_id, address, address_key, last_error from messaging.deliveries where id = any($1) order by id',
      [ids],
    );
  const nobody = (id: string) => ({
    subscriber_id: null,
    address: '',
    address_key: `erased:${id}`,
    last_error: null,
  });
  const traces = () => tracesOf(test, 'lovelace.example');

  it('leaves deliveries that tell of nobody, each with a key of its own', async () => {
    const [ada, grace] = [await reader('ada'), await reader('grace')];
    const sent = await send(ada.topicId, [ada, grace], 'SENT');
    const deferred = await send(ada.topicId, [ada], 'DEFERRED');
    await test.query(
      `insert into messaging.delivery_events (id, occurred_at, environment_id, campaign_id, delivery_id, subscriber_id, type)
       values ($1, $2, $3, $4, $5, $6, 'UNSUBSCRIBED')`,
      [newId(), NOW, scope.environmentId, sent.under.id, sent.ids[0], ada.id],
    );
    for (const person of [ada, grace]) await erase(person);
    expect(await traces()).toEqual([]);
    expect(await deliveries(sent.ids)).toEqual(
      sent.ids.map((id) => ({ state: 'SENT', reason: null, ...nobody(id) })),
    );
    expect(await deliveries(deferred.ids)).toEqual(
      deferred.ids.map((id) => ({ state: 'DEFERRED', reason: null, ...nobody(id) })),
    );
    const events = await test.query(
      'select subscriber_id, type from messaging.delivery_events where delivery_id = $1',
      [sent.ids[0]],
    );
    expect(events).toEqual([{ subscriber_id: null, type: 'UNSUBSCRIBED' }]);
  });

  it('stops a mail that a sender has in hand, composed already', async () => {
    const ada = await reader('ada');
    const { ids, under } = await send(ada.topicId, [ada]);
    const [claims, store] = [get(DeliveryClaimsQuery), get(DeliveryStoreRepository)];
    const claimed = await claims.claimCampaign(under, 10, newId());
    const work = claimed.map(
      (delivery) => ({ scope, delivery, ambiguousPolicy: 'RESEND', usagePeriod: null }) as const,
    );
    const composed = await eventually('the campaign is compiled', async () => {
      const [first] = await get(MailPreparationService).campaigns(work);
      return first !== undefined && 'mail' in first && first;
    });
    expect(composed).toMatchObject({ mail: { to: ada.address.value } });
    await erase(ada);
    const { marked } = await store.write(
      scope,
      { outcomes: [], starting: claimed, usagePeriod: null, flushed: true },
      clock.now(),
    );
    expect([...marked]).toEqual([]);
    await store.release(scope, claimed);

    const [again] = await claims.claimCampaign(under, 10, newId());
    expect(again).toMatchObject({ id: ids[0], subscriberId: null, address: '' });
    const [prepared] = await get(MailPreparationService).campaigns([{ ...work[0]!, delivery: again! }]);
    expect(prepared).toMatchObject({ outcome: { state: 'SKIPPED', reason: 'erased' } });
    const outcomes = [(prepared as { outcome: DeliveryOutcome }).outcome];
    await store.write(scope, { outcomes, starting: [], usagePeriod: null, flushed: true }, clock.now());
    expect(await deliveries(ids)).toEqual([{ state: 'SKIPPED', reason: 'erased', ...nobody(ids[0]!) }]);
  });

  it('is not undone by a bounce of a mail that was on its way', async () => {
    const ada = await reader('ada');
    const { ids, under } = await send(ada.topicId, [ada]);

    const claimed = await get(DeliveryClaimsQuery).claimCampaign(under, 10, newId());
    await get(DeliveryStoreRepository).write(
      scope,
      { outcomes: [], starting: claimed, usagePeriod: null, flushed: true },
      clock.now(),
    );
    await erase(ada);
    const bounce: DeliveryOutcome = {
      delivery: claimed[0]!,
      state: 'FAILED',
      reason: 'hard',
      lastError: '550 5.1.1 no such user',
      nextAttemptAt: null,
      possibleDuplicate: false,
      tried: true,
      uncounted: false,
      providerMessageId: null,
      reply: null,
      dueSince: null,
    };
    await get(DeliveryStoreRepository).write(
      scope,
      { outcomes: [bounce], starting: [], usagePeriod: null, flushed: true },
      clock.now(),
    );
    expect(await deliveries(ids)).toEqual([
      expect.objectContaining({ state: 'FAILED', subscriber_id: null, address: '' }),
    ]);
    expect(await traces()).toEqual([]);
  });

  it('takes mails to the address from the test inbox, those of no subscriber too', async () => {
    const [ada, grace] = [await reader('ada'), await reader('grace')];
    const { ids } = await send(ada.topicId, [ada, grace], 'SENT');
    await test.query(
      `update messaging.deliveries set kind = 'TEST', subscriber_id = null where id = any($1)`,
      [ids],
    );
    for (const [index, { address }] of [ada, grace].entries()) {
      await test.query(
        `insert into messaging.test_inbox_messages (id, environment_id, delivery_id, kind, to_address, to_key, from_address,
           subject, links, raw, received_at)
         values ($1, $2, $3, 'TEST', $4, $5, 'news@example.net', 'Hello', '{}', 'Hello', $6)`,
        [newId(), scope.environmentId, ids[index], address.value, address.key, NOW],
      );
    }
    await erase(ada);
    const inbox = await test.query<{ to_key: string }>(
      'select to_key from messaging.test_inbox_messages where environment_id = $1',
      [scope.environmentId],
    );
    expect(inbox).toEqual([{ to_key: grace.address.key }]);
    expect(await tracesOf(test, ada.address.key)).toEqual([]);
  });
});
