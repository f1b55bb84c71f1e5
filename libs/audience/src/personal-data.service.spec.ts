import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { newId, NotFoundError, type ProjectScope } from '#kernel';
import { tracesOf } from '#testing/postgres/traces';
import { address, AudienceFixture, PROOF } from './audience.fixture.js';
import { AddressChangesService } from './sign-up/address-changes.service.js';
import { consentProof } from './consents/consent.js';
import { SubscriberEventsService } from './subscribers/subscriber-events.service.js';
import { SubscribersService } from './subscribers/subscribers.service.js';
import { SignUpService } from './sign-up/sign-up.service.js';
import { SuppressedError } from './suppressions/suppression.js';
import { type FailureCause, SuppressionsService } from './suppressions/suppressions.service.js';
import { AddressDigestsService } from './suppressions/address-digests.service.js';
import { PersonalDataService } from './personal-data.service.js';

const ADA = 'Ada.Lovelace@example.com';
const BOUNCED: FailureCause = { reason: 'HARD_BOUNCE', streams: 'ALL' };
const COMPLAINED: FailureCause = { reason: 'SPAM_COMPLAINT', streams: 'MARKETING' };
const BY = consentProof('API_KEY', 'key-9', { source: 'erasure' });

describe('erasure', () => {
  let audience: AudienceFixture;
  let service: PersonalDataService;
  let suppressions: SuppressionsService;

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    service = audience.get(PersonalDataService);
    suppressions = audience.get(SuppressionsService);
  });
  afterAll(() => audience.close());

  const suppression = (scope: ProjectScope, email: string) =>
    audience.get(SuppressionsService).of(scope, address(email));

  /** Somebody about whom every table of the audience knows something. */
  async function wellKnown(scope: ProjectScope) {
    const topics = [await audience.topic(scope), await audience.topic(scope, { doubleOptInEnabled: true })];
    const proof = consentProof('API_KEY', 'key-1', {
      source: 'signup-form',
      sourceUrl: 'https://shop.example/?who=lovelace',
      ipAddress: '203.0.113.77',
      userAgent: 'Analytical Engine/1',
      consentText: 'I, Ada Lovelace, agree.',
      formVersion: 'v3',
    });
    const topicKeys = topics.map(({ topicKey }) => topicKey);
    const input = {
      address: address(ADA),
      topicKeys,
      source: 'API',
      firstName: 'Ada',
      lastName: 'Lovelace',
    } as const;
    const ada = await audience.get(SignUpService).create(scope, input, proof);
    await audience.get(SubscribersService).update(scope, address(ADA), { lastName: 'King' }, PROOF);
    await audience.get(SubscribersService).update(scope, address(ADA), { lastName: 'Lovelace' }, PROOF);
    const event = { name: 'order.completed', properties: { to: 'Lovelace, London' } };
    await audience.get(SubscriberEventsService).record(scope, address(ADA), event);
    const importId = newId();
    await audience.test.query(
      `insert into audience.imports (id, environment_id, status, on_conflict, topic_keys, proof, created_at)
       values ($1, $2, 'QUEUED', 'UPSERT', '{}', '{}', now())`,
      [importId, scope.environmentId],
    );
    const key = address(ADA).key;
    await audience.test.query(
      `insert into audience.import_errors (import_id, row_number, environment_id, email, email_key, errors)
       values ($1, 1, $2, $3, $4, '{"lastName":"Lovelace is too long"}')`,
      [importId, scope.environmentId, ADA, key],
    );
    await audience.test.query(
      `insert into audience.import_rows (import_id, row_number, environment_id, email_key, cells, locale, time_zone)
       values ($1, 2, $2, $3, $4, 'of Lovelace', 'of Lovelace'),
         ($1, 3, $2, 'other@example.com', '["other@example.com"]', null, null)`,
      [importId, scope.environmentId, key, JSON.stringify([ADA, 'Lovelace'])],
    );
    return { ada, topics };
  }

  const traces = () => tracesOf(audience.test, 'lovelace', '203.0.113.77', 'Analytical Engine');

  it('leaves no trace of a person in any table', async () => {
    const scope = await audience.scope();
    await wellKnown(scope);
    expect((await traces()).length).toBeGreaterThan(4);
    expect(await traces()).toContain('audience.field_changes');
    await service.erase(scope, address('ADA.lovelace@EXAMPLE.com'), BY);
    expect(await traces()).toEqual([]);
    await expect(audience.statusOf(scope, ADA)).rejects.toThrow(NotFoundError);
    await expect(service.erase(scope, address(ADA), BY)).rejects.toThrow(NotFoundError);
    const waiting = await audience.test.query(
      'select row_number::int as row, cells, fault from audience.import_rows where environment_id = $1 order by row_number',
      [scope.environmentId],
    );
    expect(waiting).toEqual([
      { row: 2, cells: '[]', fault: 'was erased before it was imported' },
      { row: 3, cells: '["other@example.com"]', fault: null },
    ]);
  });

  it('keeps in the consent record that there were consents, to their end, and nothing of whose', async () => {
    const scope = await audience.scope();
    const { ada, topics } = await wellKnown(scope);
    await service.erase(scope, address(ADA), BY);
    expect((await audience.ledger(ada.id)).sort()).toEqual([
      'PENDING_CONFIRMATION → UNSUBSCRIBED (API_KEY)',
      'SUBSCRIBED → UNSUBSCRIBED (API_KEY)',
      'none → PENDING_CONFIRMATION (API_KEY)',
      'none → SUBSCRIBED (API_KEY)',
    ]);
    const given = await audience.test.query(
      `select actor_id, source, source_url, ip_address, user_agent, consent_text, form_version
       from audience.consent_ledger where subscriber_id = $1 and topic_id = $2 and from_status is null`,
      [ada.id, topics[0]!.id],
    );
    expect(given).toEqual([
      {
        actor_id: 'key-1',
        source: 'signup-form',
        source_url: null,
        ip_address: null,
        user_agent: null,
        consent_text: null,
        form_version: 'v3',
      },
    ]);
  });

  it('tells others by ids and a keyed digest alone', async () => {
    const scope = await audience.scope();
    const { ada } = await wellKnown(scope);
    await service.erase(scope, address(ADA), BY);
    const events = await audience.test.query(
      `select payload from platform.jobs where environment_id = $1 and name = 'erasures.finish'`,
      [scope.environmentId],
    );
    const addressDigest = audience.get(AddressDigestsService).of(scope, address(ADA).key).toString('hex');
    const erasedAt = audience.clock.now().toISOString();
    expect(events).toEqual([{ payload: { subscriberId: ada.id, addressDigest, erasedAt } }]);
  });

  it.each([
    ['HARD_BOUNCE', 'ALL'],
    ['SPAM_COMPLAINT', 'MARKETING'],
    ['GLOBAL_UNSUBSCRIBE', 'MARKETING'],
    ['BLOCKED', 'ALL'],
  ] as const)(
    'of an address with a %s leaves it suppressed, for the same reason and streams (%s) since the same time',
    async (reason, streams) => {
      const scope = await audience.scope();
      const topic = await audience.topic(scope);
      await audience.subscribe(scope, ADA, topic);
      const standing = await suppressions.suppress(scope, address(ADA), reason, PROOF);
      audience.clock.advance(60_000);
      await service.erase(scope, address(ADA), BY);
      expect(await traces()).toEqual([]);
      const { suppressedAt } = standing;
      const email = 'ADA.lovelace@example.com';
      expect(await suppression(scope, email)).toEqual({
        email,
        suppressed: true,
        reason,
        streams,
        suppressedAt,
      });
      await expect(audience.subscribe(scope, email, topic)).rejects.toThrow(SuppressedError);
      const again = await suppressions.suppress(scope, address(email), 'GLOBAL_UNSUBSCRIBE', PROOF);
      expect(again).toEqual({ email, reason, streams, suppressedAt });
      expect(await traces()).toEqual([]);
      expect(await suppressions.isSuppressed(scope, address(ADA).key)).toBe(true);

      await suppressions.lift(scope, address(ADA));
      expect(await suppression(scope, ADA)).toMatchObject({ suppressed: false, reason: null });
      expect((await audience.subscribe(scope, ADA, topic)).status).toBe('ACTIVE');
      await service.erase(scope, address(ADA), BY);
      expect(await suppression(scope, ADA)).toMatchObject({ suppressed: false });
    },
  );

  it('concerns one environment only, and its digest means nothing in another', async () => {
    const { live, test } = await audience.project();
    for (const scope of [live, test]) {
      await audience.subscribe(scope, ADA, await audience.topic(scope));
      await suppressions.suppress(scope, address(ADA), 'HARD_BOUNCE', PROOF);
    }
    await service.erase(test, address(ADA), BY);
    expect(await audience.statusOf(live, ADA)).toBe('BOUNCED');
    await suppressions.lift(live, address(ADA));
    expect(await suppression(live, ADA)).toMatchObject({ suppressed: false });
    expect(await suppression(test, ADA)).toMatchObject({ suppressed: true });
    await service.erase(live, address(ADA), BY);
  });

  it('finds erased addresses among many by SQL, as one by one', async () => {
    const scope = await audience.scope();
    const topic = await audience.topic(scope);
    const emails = ['plain@example.com', 'jürgen@bücher.example', "o'hara+x@example.org"];
    for (const email of emails) {
      await audience.subscribe(scope, email, topic);
      await suppressions.suppress(scope, address(email), 'HARD_BOUNCE', PROOF);
      await service.erase(scope, address(email), BY);
    }
    const keys = [...emails, 'nobody@example.com'].map((email) => address(email).key);
    const digests = audience.get(AddressDigestsService);
    const rows = await audience.database.transaction(scope, async () => {
      const result = await sql<{ digest: Buffer }>`
        select ${digests.ofColumn(scope, sql`k.key`)} as digest from unnest(${keys}::text[]) with ordinality k(key, place)
        order by k.place
      `.execute(audience.database.tables());
      return result.rows;
    });
    expect(rows.map(({ digest }) => digest.toString('hex'))).toEqual(
      keys.map((key) => digests.of(scope, key).toString('hex')),
    );
  });

  it('and suppression at the same moment never leave the address in the open', async () => {
    const scope = await audience.scope();
    const topic = await audience.topic(scope);
    const emails = Array.from({ length: 8 }, (_, index) => `lovelace-${index}@example.com`);
    const ids = new Map<string, string>();
    for (const email of emails) ids.set(email, (await audience.subscribe(scope, email, topic)).id);
    const mailed = (email: string) => ({ ...address(email), subscriberId: ids.get(email)! });
    await Promise.all(
      emails.flatMap((email) => [
        suppressions.suppressAll(scope, [mailed(email)], BOUNCED),
        service.erase(scope, address(email), BY),
        suppressions.suppressAll(scope, [mailed(email)], COMPLAINED),
      ]),
    );
    expect(await traces()).toEqual([]);
  });

  it('reaches the addresses that the person had before, unless they are another’s now', async () => {
    const scope = await audience.scope();
    const topic = await audience.topic(scope);
    const { id } = await audience.subscribe(scope, 'first-lovelace@example.com', topic);
    const moves = audience.get(AddressChangesService);
    for (const to of [
      'second-lovelace@example.com',
      'third-lovelace@example.com',
      'last-lovelace@example.com',
    ])
      await moves.change(
        scope,
        { by: 'id', id },
        { address: address(to), emailConfirmed: null, patch: {} },
        PROOF,
      );
    await audience.subscribe(scope, 'second-lovelace@example.com', topic);
    const former = [
      'first-lovelace@example.com',
      'second-lovelace@example.com',
      'third-lovelace@example.com',
    ];
    const bounced = former.map((email) => ({ ...address(email), subscriberId: id }));
    await suppressions.suppressAll(scope, bounced, BOUNCED);
    await Promise.all([
      service.erase(scope, { by: 'id', id }, BY),
      suppressions.suppressAll(scope, bounced, BOUNCED),
    ]);
    for (const email of former) expect(await suppressions.isSuppressed(scope, email)).toBe(true);
    await service.erase(scope, address('second-lovelace@example.com'), BY);
    expect(await traces()).toEqual([]);
  });

  it('is the one change that the consent record allows, and only of the erased', async () => {
    const scope = await audience.scope();
    const { id } = await audience.subscribe(scope, 'stays@example.com', await audience.topic(scope));
    const attempts = [
      sql`update audience.consent_ledger set ip_address = null`,
      sql`delete from audience.consent_ledger`,
      sql`select audience.depersonalise_ledger()`,
    ];
    for (const attempt of attempts) {
      await expect(
        audience.database.transaction(scope, () => attempt.execute(audience.database.tables())),
      ).rejects.toThrow();
      await expect(
        audience.database.system(() => attempt.execute(audience.database.tables())),
      ).rejects.toThrow();
    }
    expect(
      await audience.test.query('select ip_address from audience.consent_ledger where subscriber_id = $1', [
        id,
      ]),
    ).toEqual([{ ip_address: '203.0.113.7' }]);
  });
});
