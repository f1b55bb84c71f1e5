import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DomainError, type ProjectScope } from '#kernel';
import { address, AudienceFixture, ConfirmationPages, HOUR, PROOF } from '../audience.fixture.js';
import { PersonalDataService } from '../personal-data.service.js';
import type { SubscriberPatch } from '../subscribers/subscriber.js';
import { ErasedAddressesRepository } from '../suppressions/erased-addresses.repository.js';
import { SuppressionsService } from '../suppressions/suppressions.service.js';
import type { TopicView } from '../topics/topics.query.js';
import { AddressChangesService } from './address-changes.service.js';
import { ConsentRecordsQuery } from './consent-records.query.js';
import { ConsentsService } from './consents.service.js';
import { PreferencesService } from './preferences.service.js';
import { UnsubscribeService } from './unsubscribe.service.js';

describe('a change of address', () => {
  let audience: AudienceFixture;
  let pages: ConfirmationPages;
  let scope: ProjectScope;
  let single: TopicView;
  let double: TopicView;

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    pages = new ConfirmationPages(audience);
  });
  afterAll(() => audience.close());
  beforeEach(async () => {
    scope = await audience.scope();
    single = await audience.topic(scope);
    double = await audience.topic(scope, { doubleOptInEnabled: true });
  });

  const proofOfAddress = () => ({ source: 'account-page', confirmedAt: audience.clock.now() });
  const move = (
    from: string,
    to: string,
    emailConfirmed: ReturnType<typeof proofOfAddress> | null = null,
    patch: SubscriberPatch = {},
  ) =>
    audience
      .get(AddressChangesService)
      .change(scope, address(from), { address: address(to), emailConfirmed, patch }, PROOF);
  const codeOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'done',
      (error: unknown) => (error instanceof DomainError ? error.code : String(error)),
    );
  const statuses = async (email: string) => {
    const consents = await audience.consentsOf(scope, email);
    return [consents.get(single.topicKey)?.status, consents.get(double.topicKey)?.status];
  };
  const confirmed = async (email: string) => {
    const person = await audience.subscribe(scope, email, single, double);
    const [first = ''] = await audience.requestedMails(scope);
    expect(await pages.confirm(scope, first, { ipAddress: '203.0.113.9', userAgent: null })).toBe(
      'confirmed',
    );
    return { person, first };
  };

  it('asks the owner of the new address about what the old one confirmed', async () => {
    const { person, first } = await confirmed('ada@example.com');
    audience.clock.advance(HOUR);
    const moved = await move('ada@example.com', 'Ada@Example.net', null, { firstName: 'Ada' });
    expect(moved).toMatchObject({
      id: person.id,
      email: 'Ada@Example.net',
      firstName: 'Ada',
      status: 'ACTIVE',
    });
    expect(await statuses('ada@example.net')).toEqual(['SUBSCRIBED', 'PENDING_CONFIRMATION']);
    expect(await audience.ledger(person.id)).toEqual([
      'none → SUBSCRIBED (API_KEY)',
      'none → PENDING_CONFIRMATION (API_KEY)',
      'PENDING_CONFIRMATION → SUBSCRIBED (SUBSCRIBER_PAGE)',
      'SUBSCRIBED → SUBSCRIBED (API_KEY)',
      'SUBSCRIBED → PENDING_CONFIRMATION (API_KEY)',
    ]);
    const mails = await audience.requestedMails(scope);
    expect(mails).toHaveLength(2);
    const second = mails.find((id) => id !== first)!;
    expect((await pages.describe(scope, first)).state).toBe('expired');
    const reader = { ipAddress: '203.0.113.9', userAgent: null };
    expect(await pages.confirm(scope, first, reader)).toBe('expired');
    expect(await pages.describe(scope, second)).toMatchObject({ state: 'open', email: 'Ada@Example.net' });
    expect(await pages.confirm(scope, second, reader)).toBe('confirmed');
    expect(await statuses('ada@example.net')).toEqual(['SUBSCRIBED', 'SUBSCRIBED']);
  });

  it('asks nobody where the caller has proof, and the record has both addresses and the proof', async () => {
    const { person } = await confirmed('ada@example.com');
    const agreed = await audience.consentsOf(scope, 'ada@example.com');
    const emailConfirmed = proofOfAddress();
    await move('ada@example.com', 'ada@example.net', emailConfirmed);
    expect(await audience.consentsOf(scope, 'ada@example.net')).toEqual(agreed);
    expect(await audience.requestedMails(scope)).toHaveLength(1);
    const { items } = await audience
      .get(ConsentRecordsQuery)
      .page(scope, { by: 'id', id: person.id }, { size: 2, page: 0, after: null });
    expect(items.map(({ addressChange, source }) => ({ addressChange, source }))).toEqual(
      [1, 2].map(() => ({
        addressChange: { from: 'ada@example.com', to: 'ada@example.net', emailConfirmed },
        source: 'signup-form',
      })),
    );
  });

  it('makes the links void that the old address got, and sends one mail to the new one', async () => {
    const person = await audience.subscribe(scope, 'ada@example.com', double);
    const [first = ''] = await audience.requestedMails(scope);
    await move('ada@example.com', 'ada@example.net', proofOfAddress());
    expect(await statuses('ada@example.net')).toEqual([undefined, 'PENDING_CONFIRMATION']);
    expect((await pages.describe(scope, first)).state).toBe('expired');
    expect(await audience.requestedMails(scope)).toHaveLength(2);
    audience.clock.advance(2 * HOUR);
    expect(await pages.requestAnother(scope, first)).toBe('sent');
    expect(await audience.statusOf(scope, 'ada@example.net')).toBe('PENDING_CONFIRMATION');
    expect(person.status).toBe('PENDING_CONFIRMATION');
  });

  it('is confirmed by no link of preferences, which the old address may have got, until the new one is', async () => {
    const { person } = await confirmed('ada@example.com');
    const other = await audience.topic(scope, { doubleOptInEnabled: true });
    await move('ada@example.com', 'ada@example.net');
    const preferences = audience.get(PreferencesService);
    const join = (topic: TopicView) => preferences.join(scope, person.id, topic.topicKey, PROOF);
    await join(double);
    await join(other);
    const statusOf = async (topic: TopicView) =>
      (await audience.consentsOf(scope, 'ada@example.net')).get(topic.topicKey)?.status;
    expect([await statusOf(double), await statusOf(other)]).toEqual([
      'PENDING_CONFIRMATION',
      'PENDING_CONFIRMATION',
    ]);
    const mails = await audience.requestedMails(scope);
    expect(await pages.confirm(scope, mails.at(-1)!, { ipAddress: '203.0.113.9', userAgent: null })).toBe(
      'confirmed',
    );
    await join(double);
    expect(await statusOf(double)).toBe('SUBSCRIBED');
  });

  it('leaves suppression and unsubscriptions with the old address', async () => {
    const person = await audience.subscribe(scope, 'ada@example.com', single);
    await audience.get(SuppressionsService).suppress(scope, address('ada@example.com'), 'HARD_BOUNCE', PROOF);
    expect(await audience.statusOf(scope, 'ada@example.com')).toBe('BOUNCED');
    await move('ada@example.com', 'ada@example.net');
    expect(await audience.statusOf(scope, 'ada@example.net')).toBe('ACTIVE');
    const suppressions = audience.get(SuppressionsService);
    expect(await suppressions.isSuppressed(scope, 'ada@example.com')).toBe(true);
    await audience.get(ConsentsService).revoke(scope, { by: 'id', id: person.id }, single.topicKey, PROOF);
    await move('ada@example.net', 'ada@example.org');
    expect(await statuses('ada@example.org')).toEqual(['UNSUBSCRIBED', undefined]);
    const erased = audience.get(ErasedAddressesRepository);
    const left = await audience.database.transaction(scope, () =>
      erased.among(scope, ['ada@example.net', 'ada@example.com']),
    );
    expect([...(left.get('ada@example.net') ?? [])]).toEqual([single.id]);
    expect([...(left.get('ada@example.com') ?? [])]).toEqual([]);
  });

  it('asks again about topics that the new address had left, whatever the proof', async () => {
    await audience.subscribe(scope, 'old@example.com', single, double);
    for (const { topicKey } of [single, double])
      await audience.get(ConsentsService).revoke(scope, address('old@example.com'), topicKey, PROOF);
    await audience.get(PersonalDataService).erase(scope, address('old@example.com'), PROOF);
    const other = await audience.topic(scope);
    const { id } = await audience.subscribe(scope, 'ada@example.com', single, other);
    await move('ada@example.com', 'old@example.com', proofOfAddress());
    expect(await statuses('old@example.com')).toEqual(['PENDING_CONFIRMATION', 'UNSUBSCRIBED']);
    expect(await audience.statusOf(scope, 'old@example.com')).toBe('ACTIVE');
    const erased = audience.get(ErasedAddressesRepository);
    expect(await erased.ownerOf(scope, erased.digestOf(scope, 'old@example.com'))).toBe(id);
    expect(await erased.ownerOf(scope, erased.digestOf(scope, 'ada@example.com'))).toBeNull();
  });

  it('is refused where the address is another’s or suppressed, and nothing of the request is done', async () => {
    await audience.subscribe(scope, 'ada@example.com', single);
    await audience.subscribe(scope, 'bob@example.com', single);
    await audience
      .get(SuppressionsService)
      .suppress(scope, address('no@example.com'), 'GLOBAL_UNSUBSCRIBE', PROOF);
    const patch = { firstName: 'Eve' };
    expect(await codeOf(move('ada@example.com', 'BOB@example.com', null, patch))).toBe('already-exists');
    expect(await codeOf(move('ada@example.com', 'no@example.com', null, patch))).toBe('suppressed');
    expect(await codeOf(move('nobody@example.com', 'new@example.com', null, patch))).toBe('not-found');
    const ahead = { source: 'x', confirmedAt: new Date(audience.clock.now().getTime() + HOUR) };
    const wrong = { customFields: { unknown: 1 } };
    await expect(move('ada@example.com', 'bob@example.com', ahead)).rejects.toMatchObject({
      errors: { 'emailConfirmed.confirmedAt': expect.any(String) },
    });
    await expect(move('ada@example.com', 'new@example.com', ahead, wrong)).rejects.toMatchObject({
      errors: {
        'emailConfirmed.confirmedAt': expect.any(String),
        'customFields.unknown': expect.any(String),
      },
    });
    const rows = await audience.test.query(
      'select email, first_name from audience.subscribers where environment_id = $1 order by email',
      [scope.environmentId],
    );
    expect(rows).toEqual([
      { email: 'ada@example.com', first_name: null },
      { email: 'bob@example.com', first_name: null },
    ]);
  });

  it('of the spelling alone changes nothing else', async () => {
    const { person } = await confirmed('ada@example.com');
    const before = await audience.ledger(person.id);
    expect(await move('ada@example.com', 'Ada@EXAMPLE.com')).toMatchObject({ email: 'Ada@EXAMPLE.com' });
    expect(await statuses('ada@example.com')).toEqual(['SUBSCRIBED', 'SUBSCRIBED']);
    expect(await audience.ledger(person.id)).toEqual(before);
    const again = await move('ada@example.com', 'Ada@EXAMPLE.com');
    expect(again.updatedAt).toEqual((await move('ada@example.com', 'Ada@EXAMPLE.com')).updatedAt);
  });

  it('to one address is made once, and two who swap theirs are refused in between', async () => {
    for (const name of ['a', 'b', 'c']) await audience.subscribe(scope, `${name}@example.com`, single);
    const toOne = await Promise.all(
      ['a', 'b', 'c'].map((name) => codeOf(move(`${name}@example.com`, 'new@example.com'))),
    );
    expect(toOne.toSorted()).toEqual(['already-exists', 'already-exists', 'done']);
    const [one, other] = ['a', 'b', 'c'].filter((_, index) => toOne[index] !== 'done') as [string, string];
    const [x, y] = [`${one}@example.com`, `${other}@example.com`];
    for (let turn = 0; turn < 5; turn += 1)
      expect(await Promise.all([codeOf(move(x, y)), codeOf(move(y, x))])).toEqual([
        'already-exists',
        'already-exists',
      ]);
    await move(x, 'third@example.com');
    await move(y, x);
    await move('third@example.com', y);
    expect(await audience.statusOf(scope, x)).toBe('ACTIVE');
    expect(await audience.statusOf(scope, y)).toBe('ACTIVE');
  });

  it('and a sign-up with the same address at once: one of them has it', async () => {
    for (let turn = 0; turn < 5; turn += 1) {
      await audience.subscribe(scope, `a${turn}@example.com`, single);
      const done = await Promise.all([
        codeOf(move(`a${turn}@example.com`, `b${turn}@example.com`)),
        codeOf(audience.subscribe(scope, `b${turn}@example.com`, single)),
      ]);
      expect(done.toSorted()).toEqual(['already-exists', 'done']);
    }
  });

  it('ends what could be undone by a link, and goes with the person', async () => {
    const person = await audience.subscribe(scope, 'ada@example.com', single);
    const leaving = audience.get(UnsubscribeService);
    const undoId = await leaving.leave(scope, person.id, single.topicKey, PROOF);
    await move('ada@example.com', 'ada@example.net');
    expect(await leaving.undo(scope, person.id, undoId!, PROOF)).toBeNull();
    await audience.get(PersonalDataService).erase(scope, address('ada@example.net'), PROOF);
    const rows = await audience.test.query(
      `select count(*)::int as entries, count(address_change)::int as moves, count(address_change->'from')::int as addresses
       from audience.consent_ledger where subscriber_id = $1`,
      [person.id],
    );
    expect(rows).toEqual([{ entries: 3, moves: 1, addresses: 0 }]);
  });
});
