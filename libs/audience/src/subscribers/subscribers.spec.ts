import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DomainValidationError, NotFoundError } from '#kernel';
import { address, AudienceFixture, PROOF } from '../audience.fixture.js';
import { SignUpService } from '../sign-up/sign-up.service.js';
import { SubscriberExistsError } from './subscriber.errors.js';
import { SuppressedError } from '../suppressions/suppression.js';
import { SuppressionsService } from '../suppressions/suppressions.service.js';
import { SubscribersQuery } from './subscribers.query.js';
import { SubscribersService } from './subscribers.service.js';

const FIRST_PAGE = { page: 0, size: 20 };

describe('subscribers', () => {
  let audience: AudienceFixture;
  let service: SubscribersService;
  let query: SubscribersQuery;

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    service = audience.get(SubscribersService);
    query = audience.get(SubscribersQuery);
  });
  afterAll(() => audience.close());

  it('are made with their consents, a record of them and the status that follows', async () => {
    const scope = await audience.scope();
    const single = await audience.topic(scope);
    const double = await audience.topic(scope, { doubleOptInEnabled: true });
    const ada = await audience.subscribe(scope, 'Ada@Example.com', single, double, single);
    expect(ada).toMatchObject({
      subscriberKey: 'APIT-1',
      email: 'Ada@Example.com',
      firstName: null,
      status: 'ACTIVE',
      source: 'API',
      customFields: {},
    });
    expect(await query.get(scope, address('ada@example.COM'))).toEqual(ada);
    expect(await audience.ledger(ada.id)).toEqual(
      expect.arrayContaining(['none → SUBSCRIBED (API_KEY)', 'none → PENDING_CONFIRMATION (API_KEY)']),
    );
    expect(await audience.requestedMails(scope)).toHaveLength(1);
  });

  it('wait for their confirmation when all their topics are double opt-in', async () => {
    const scope = await audience.scope();
    const topics = [
      await audience.topic(scope, { doubleOptInEnabled: true }),
      await audience.topic(scope, { doubleOptInEnabled: true }),
    ];
    expect((await audience.subscribe(scope, 'a@example.com', ...topics)).status).toBe('PENDING_CONFIRMATION');
    expect(await audience.requestedMails(scope)).toHaveLength(1);
  });

  it('are refused with all that is wrong at once', async () => {
    const scope = await audience.scope();
    const good = await audience.topic(scope);
    const archived = await audience.topic(scope, { status: 'ARCHIVED' });
    const inactive = await audience.topic(scope, { status: 'INACTIVE' });
    const attempt = audience.get(SignUpService).create(
      scope,
      {
        address: address('a@example.com'),
        topicKeys: [good.topicKey, 'APIT-999', archived.topicKey, inactive.topicKey, 'no \u0000 key'],
        customFields: { plan: 'pro', age: null },
        source: 'API',
      },
      PROOF,
    );
    await expect(attempt).rejects.toMatchObject({
      constructor: DomainValidationError,
      errors: {
        'topicKeys[1]': 'is not a known topic',
        'topicKeys[2]': 'is an archived topic',
        'topicKeys[3]': 'is an inactive topic',
        'topicKeys[4]': 'is not a known topic',
        'customFields.plan': 'is not a known field',
        'customFields.age': 'is not a known field',
      },
    });
    await expect(query.get(scope, address('a@example.com'))).rejects.toThrow(NotFoundError);
  });

  it('have one address each, in whatever spelling, even when two are made at the same moment', async () => {
    const scope = await audience.scope();
    const topic = await audience.topic(scope);
    const outcomes = await Promise.allSettled([
      audience.subscribe(scope, 'twin@bücher.example', topic),
      audience.subscribe(scope, 'TWIN@xn--bcher-kva.example', topic),
    ]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const rejected = outcomes.find((outcome) => outcome.status === 'rejected');
    expect(rejected?.reason).toBeInstanceOf(SubscriberExistsError);
  });

  it('are not made for a suppressed address, not even when it is suppressed at the same moment', async () => {
    const scope = await audience.scope();
    const topic = await audience.topic(scope);
    const suppressions = audience.get(SuppressionsService);
    await suppressions.suppress(scope, address('out@example.com'), 'GLOBAL_UNSUBSCRIBE', PROOF);
    await expect(audience.subscribe(scope, 'Out@example.com', topic)).rejects.toThrow(SuppressedError);

    await Promise.allSettled(
      Array.from({ length: 5 }, (_, index) => `race${index}@example.com`).flatMap((email) => [
        audience.subscribe(scope, email, topic),
        suppressions.suppress(scope, address(email), 'GLOBAL_UNSUBSCRIBE', PROOF),
      ]),
    );
    const subscribed = await audience.test.query(
      `select c.status from audience.consents c join audience.suppressions s using (environment_id)
       join audience.subscribers b 
         on b.id = c.subscriber_id and b.email_key = s.email_key and b.environment_id = c.environment_id
       where c.environment_id = $1 and (c.status = 'SUBSCRIBED' or b.status <> 'SUPPRESSED')`,
      [scope.environmentId],
    );
    expect(subscribed).toEqual([]);
  });

  it('change as a merge-patch says, and not at all when it says nothing', async () => {
    const scope = await audience.scope();
    const created = await audience.subscribe(scope, 'a@example.com', await audience.topic(scope));
    const ofA = address('a@example.com');
    audience.clock.advance(1_000);
    expect(await service.update(scope, ofA, {}, PROOF)).toEqual(created);
    const named = await service.update(scope, ofA, { firstName: 'Ada', phone: '+441234' }, PROOF);
    expect(named).toMatchObject({ firstName: 'Ada', lastName: null, phone: '+441234' });
    expect(named.updatedAt).toEqual(audience.clock.now());
    expect(await service.update(scope, ofA, { firstName: null }, PROOF)).toMatchObject({
      firstName: null,
      phone: '+441234',
    });
    await expect(service.update(scope, ofA, { customFields: { plan: null } }, PROOF)).rejects.toMatchObject({
      errors: { 'customFields.plan': 'is not a known field' },
    });
    await expect(
      service.update(scope, address('b@example.com'), { customFields: { plan: 1 } }, PROOF),
    ).rejects.toThrow(NotFoundError);
  });

  it('are listed newest first, page by page, with the total on every page', async () => {
    const scope = await audience.scope();
    const topic = await audience.topic(scope);
    for (let index = 0; index < 5; index += 1) {
      if (index > 2) audience.clock.advance(1);
      await audience.subscribe(scope, `s${index}@example.com`, topic);
    }
    const pages = await Promise.all([0, 1, 2, 3].map((page) => query.page(scope, {}, { page, size: 2 })));
    expect(pages.map(({ totalElements }) => totalElements)).toEqual([5, 5, 5, 5]);
    expect(pages.map(({ items }) => items.map(({ email }) => email[1]).join(''))).toEqual([
      '43',
      '21',
      '0',
      '',
    ]);
    expect(await query.page(await audience.scope(), {}, FIRST_PAGE)).toEqual({
      items: [],
      totalElements: 0,
      next: null,
    });
  });

  it('are found by status, topic, time and how their address or name begins', async () => {
    const scope = await audience.scope();
    const news = await audience.topic(scope);
    const offers = await audience.topic(scope, { doubleOptInEnabled: true });
    await audience.subscribe(scope, 'Ada.L@example.com', news);
    await service.update(
      scope,
      address('ada.l@example.com'),
      { firstName: 'Ada', lastName: 'Lovelace' },
      PROOF,
    );
    const middle = audience.clock.now();
    audience.clock.advance(1_000);
    await audience.subscribe(scope, '100%_sure@bücher.example', offers);
    await service.update(scope, address('100%_sure@bücher.example'), { firstName: 'Émile' }, PROOF);
    const found = async (filter: Parameters<SubscribersQuery['page']>[1]) =>
      (await query.page(scope, filter, FIRST_PAGE)).items.map(({ email }) => email);

    expect(await found({ status: 'ACTIVE' })).toEqual(['Ada.L@example.com']);
    expect(await found({ status: 'PENDING_CONFIRMATION' })).toEqual(['100%_sure@bücher.example']);
    expect(await found({ topicKey: news.topicKey })).toEqual(['Ada.L@example.com']);
    expect(await found({ topicKey: offers.topicKey })).toEqual(['100%_sure@bücher.example']);
    expect(await found({ topicKey: 'no \u0000 key' })).toEqual([]);
    expect(await found({ createdAfter: middle })).toEqual(['100%_sure@bücher.example']);
    expect(await found({ createdBefore: audience.clock.now() })).toEqual(['Ada.L@example.com']);
    expect(await found({ updatedAfter: middle })).toEqual(['100%_sure@bücher.example']);
    for (const q of ['ada', 'ADA.L@EX', 'love']) expect(await found({ q })).toEqual(['Ada.L@example.com']);
    for (const q of ['100%', '100%_SURE@bücher.example', '100%_sure@BÜ', '100%_sure@xn--b', 'émi']) {
      expect(await found({ q })).toEqual(['100%_sure@bücher.example']);
    }
    for (const q of ['%', '_da', 'ada_l', 'lace', '\\', 'ada\u{10ffff}'])
      expect(await found({ q })).toEqual([]);
    expect(await found({ q: 'ada', topicKey: offers.topicKey })).toEqual([]);
  });

  it('of other projects and of the other environment do not exist', async () => {
    const { live, test } = await audience.project('ONE');
    const other = await audience.scope('TWO');
    const topic = await audience.topic(test);
    await audience.subscribe(test, 'a@example.com', topic);
    for (const stranger of [live, other]) {
      await expect(query.get(stranger, address('a@example.com'))).rejects.toThrow(NotFoundError);
      await expect(
        service.update(stranger, address('a@example.com'), { firstName: 'X' }, PROOF),
      ).rejects.toThrow(NotFoundError);
      expect((await query.page(stranger, { q: 'a' }, FIRST_PAGE)).totalElements).toBe(0);
      await expect(audience.subscribe(stranger, 'a@example.com', topic)).rejects.toThrow(
        DomainValidationError,
      );
      const own = await audience.topic(stranger);
      expect((await audience.subscribe(stranger, 'a@example.com', own)).status).toBe('ACTIVE');
    }
  });
});
