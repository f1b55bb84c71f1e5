import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CompiledQuery } from 'kysely';
import { NotFoundError, type ProjectScope } from '#kernel';
import { statementText, textsCompiledBy } from '#testing/postgres/statement-text';
import { address, AudienceFixture, HOUR, PROOF, QueuedOptInMails } from '../audience.fixture.js';
import type { CustomFieldType } from '../custom-fields/custom-field.js';
import { CustomFieldsService } from '../custom-fields/custom-fields.service.js';
import { PersonalDataService } from '../personal-data.service.js';
import { ConsentsService } from '../sign-up/consents.service.js';
import { SubscribersQuery } from '../subscribers/subscribers.query.js';
import { ErasedAddressesRepository } from '../suppressions/erased-addresses.repository.js';
import { SuppressionsService } from '../suppressions/suppressions.service.js';
import type { TopicView } from '../topics/topics.query.js';
import { TopicsService } from '../topics/topics.service.js';
import type { ImportContent } from './import-content.js';
import { ImportRunsService } from './import-runs.service.js';
import type { ImportView } from './import.js';
import { ImportsQuery } from './imports.query.js';
import { type ImportOptions, ImportsService } from './imports.service.js';

const IMPORT_STATEMENTS = ['set_repeated_rows_aside', 'import_new_subscribers', 'import_decided_subscribers'];

const notUtf8 = (line: number) =>
  `is not UTF-8, in line ${line} or behind it: name its encoding, as in Content-Type: text/csv; charset=windows-1252`;

describe('an import', () => {
  let fixture: AudienceFixture;
  let scope: ProjectScope;
  let news: TopicView;
  const never = new AbortController().signal;

  beforeAll(async () => {
    fixture = await AudienceFixture.open();
  });
  afterAll(() => fixture?.close());
  beforeEach(async () => {
    scope = await fixture.scope();
    news = await fixture.topic(scope);
  });

  const encoded = (charset: string, ...pieces: readonly (string | Buffer)[]): ImportContent => ({
    csv: Readable.from(pieces.map((piece) => Buffer.from(piece))),
    charset,
  });
  const csv = (...pieces: readonly (string | Buffer)[]) => encoded('utf-8', ...pieces);

  function accept(content: ImportContent, options: Partial<ImportOptions> = {}): Promise<ImportView> {
    const {
      topicKeys = [news.topicKey],
      consent = { source: 'old-system' },
      onConflict = 'UPSERT',
      resubscribe = false,
      mapping = {},
      notes = {},
    } = options;
    return fixture
      .get(ImportsService)
      .accept(scope, { topicKeys, consent, onConflict, resubscribe, mapping, notes }, content, never);
  }

  async function run(content: ImportContent, options?: Partial<ImportOptions>): Promise<ImportView> {
    const { id } = await accept(content, options);
    await fixture.get(ImportRunsService).run(scope, id, never);
    return fixture.get(ImportsQuery).byId(scope, id);
  }

  const find = (email: string) => fixture.get(SubscribersQuery).get(scope, address(email));

  async function errorsOf({ id }: ImportView): Promise<[number, Readonly<Record<string, string>>][]> {
    const { items } = await fixture.get(ImportsQuery).errors(scope, id, { page: 0, size: 100 });
    return items.map(({ row, errors }) => [row, errors]);
  }

  const stagedRows = () => fixture.test.query(`select 1 from audience.import_rows`);

  async function makeField(key: string, type: CustomFieldType, isRequired = false): Promise<void> {
    await fixture.get(CustomFieldsService).create(scope, { key, type, displayName: key, isRequired });
  }

  it('makes subscribers of the rows, with their consent and its record', async () => {
    const ended = await run(
      csv(
        'email,first_name,Last Name,phone\r\nAda@Example.com,Ada,Lovelace,+44 20\r\ngrace@example.com,,,\r\n',
      ),
    );
    expect(ended).toMatchObject({
      status: 'COMPLETED',
      counts: { total: 2, created: 2, updated: 0, skipped: 0, failed: 0 },
      completedAt: fixture.clock.now(),
    });
    const ada = await find('ada@example.com');
    expect(ada).toMatchObject({
      email: 'Ada@Example.com',
      firstName: 'Ada',
      lastName: 'Lovelace',
      phone: '+44 20',
      source: 'IMPORT',
      status: 'ACTIVE',
    });
    expect(await find('grace@example.com')).toMatchObject({ firstName: null, lastName: null, phone: null });
    expect(await fixture.ledger(ada.id)).toEqual(['none → SUBSCRIBED (IMPORT)']);
    const [entry] = await fixture.test.query(
      'select actor_id, source from audience.consent_ledger where subscriber_id = $1',
      [ada.id],
    );
    expect(entry).toEqual({ actor_id: ended.id, source: 'old-system' });
    expect(await stagedRows()).toHaveLength(0);
  });

  it('asks each person once for the consents that have to be confirmed', async () => {
    const offers = await fixture.topic(scope, { name: 'Offers', doubleOptInEnabled: true });
    const tips = await fixture.topic(scope, { name: 'Tips', doubleOptInEnabled: true });
    await run(csv('email\nada@example.com\ngrace@example.com\n'), {
      topicKeys: [offers.topicKey, tips.topicKey],
    });
    expect(await fixture.statusOf(scope, 'ada@example.com')).toBe('PENDING_CONFIRMATION');
    expect(await fixture.requestedMails(scope)).toHaveLength(2);
    const consents = await fixture.consentsOf(scope, 'ada@example.com');
    expect([...consents.values()].map(({ status }) => status)).toEqual([
      'PENDING_CONFIRMATION',
      'PENDING_CONFIRMATION',
    ]);
    await run(csv('email\nada@example.com\n'), { topicKeys: [offers.topicKey, news.topicKey] });
    expect(await fixture.requestedMails(scope)).toHaveLength(2);
    expect(await fixture.statusOf(scope, 'ada@example.com')).toBe('ACTIVE');
  });

  it('asks for the mails of many people at once, a mail for each', async () => {
    const offers = await fixture.topic(scope, { name: 'Offers', doubleOptInEnabled: true });
    await fixture.subscribe(scope, 'person-7@example.com', news);
    const before = fixture.get(QueuedOptInMails).batches.length;
    const people = Array.from({ length: 1_200 }, (_, index) => `person-${index}@example.com`);
    await run(csv(`email\n${people.join('\n')}\n`), { topicKeys: [offers.topicKey] });
    expect(new Set(await fixture.requestedMails(scope)).size).toBe(1_200);
    // The person who was there before is asked apart from those who are new.
    expect(
      fixture
        .get(QueuedOptInMails)
        .batches.slice(before)
        .toSorted((a, b) => a - b),
    ).toEqual([1, 200, 999]);
    const due = await fixture.test.query(
      `select next_attempt_at as at, count(*)::int as mails from messaging.deliveries
       where environment_id = $1 group by at order by at`,
      [scope.environmentId],
    );
    const now = fixture.clock.now();
    expect(due).toEqual([
      { at: now, mails: 1_000 },
      { at: new Date(now.getTime() + 2_000), mails: 200 },
    ]);
  });

  it.each(['archived', 'made anew with another type', 'made required'])(
    'goes by the custom fields as they are when a row is applied, after one was %s',
    async (change) => {
      await makeField('plan', 'TEXT');
      const { id } = await accept(csv('email,plan\nada@example.com,pro\ngrace@example.com,\n'));
      const fields = fixture.get(CustomFieldsService);
      if (change === 'made required') await fields.updateDetails(scope, 'plan', { isRequired: true });
      else await fixture.get(CustomFieldsService).archive(scope, 'plan');
      if (change === 'made anew with another type') await makeField('plan', 'NUMBER');
      await fixture.get(ImportRunsService).run(scope, id, never);
      const ended = await fixture.get(ImportsQuery).byId(scope, id);
      expect(ended.counts).toMatchObject({ created: 1, failed: 1 });
      expect(await errorsOf(ended)).toEqual([
        {
          archived: [1, { 'customFields.plan': 'is not a known field' }],
          'made anew with another type': [1, { 'customFields.plan': 'must be an integer' }],
          'made required': [2, { 'customFields.plan': 'is required' }],
        }[change],
      ]);
    },
  );

  it('changes what a row names and leaves the rest, for subscribers who are there', async () => {
    await makeField('plan', 'TEXT');
    await run(csv('email,firstName,phone,plan\nada@example.com,Ada,123,pro\n'));
    const before = await find('ada@example.com');
    fixture.clock.advance(HOUR);
    const ended = await run(csv('email,firstName,phone,customFields.plan\nADA@example.com,,456,team\n'));
    expect(ended.counts).toMatchObject({ created: 0, updated: 1 });
    expect(await find('ada@example.com')).toEqual({
      ...before,
      phone: '456',
      customFields: { plan: 'team' },
      updatedAt: fixture.clock.now(),
    });
    await run({ rows: [{ email: 'ada@example.com', phone: null, customFields: { plan: null } }] });
    expect(await find('ada@example.com')).toMatchObject({ firstName: 'Ada', phone: null, customFields: {} });
  });

  it('leaves subscribers alone who are there, when it is told so', async () => {
    const offers = await fixture.topic(scope, { name: 'Offers' });
    await fixture.subscribe(scope, 'ada@example.com', news);
    const before = await find('ada@example.com');
    const ended = await run(csv('email,firstName\nada@example.com,Ada\ngrace@example.com,Grace\n'), {
      onConflict: 'SKIP',
      topicKeys: [offers.topicKey],
    });
    expect(ended.counts).toEqual({ total: 2, created: 1, updated: 0, skipped: 1, failed: 0 });
    expect(await find('ada@example.com')).toEqual(before);
    expect((await fixture.consentsOf(scope, 'ada@example.com')).has(offers.topicKey)).toBe(false);
  });

  it('lifts no suppression', async () => {
    await fixture.subscribe(scope, 'ada@example.com', news);
    for (const email of ['ada@example.com', 'unknown@example.com']) {
      await fixture.get(SuppressionsService).suppress(scope, address(email), 'GLOBAL_UNSUBSCRIBE', PROOF);
    }
    const ended = await run(csv('email,firstName\nada@example.com,Ada\nUnknown@example.com,U\n'));
    expect(ended.counts).toEqual({ total: 2, created: 0, updated: 0, skipped: 2, failed: 0 });
    expect(await errorsOf(ended)).toEqual([
      [1, { email: 'is suppressed' }],
      [2, { email: 'is suppressed' }],
    ]);
    expect(await find('ada@example.com')).toMatchObject({ status: 'SUPPRESSED', firstName: null });
    await expect(find('unknown@example.com')).rejects.toThrow(NotFoundError);
  });

  it('subscribes nobody again to a topic that they left before they were deleted, and says so', async () => {
    const offers = await fixture.topic(scope, { name: 'Offers', doubleOptInEnabled: true });
    const tips = await fixture.topic(scope, { name: 'Tips' });
    const leave = async (email: string, ...left: readonly TopicView[]) => {
      await fixture.subscribe(scope, email, news, offers);
      for (const { topicKey } of left) {
        const consents = fixture.get(ConsentsService);
        await consents.revoke(scope, address(email), topicKey, PROOF);
      }
      await fixture.get(PersonalDataService).erase(scope, address(email), PROOF);
    };
    await leave('all@example.com', news, offers);
    await leave('one@example.com', news);
    await leave('none@example.com');
    const file = () => csv('email\nall@example.com\nOne@example.com\nnone@example.com\nnew@example.com\n');
    const topicKeys = [news.topicKey, tips.topicKey];
    const left = 'was unsubscribed before, and stays so';
    const first = await run(file());
    expect(first.counts).toEqual({ total: 4, created: 2, updated: 0, skipped: 0, failed: 2 });
    expect(await errorsOf(first)).toEqual([
      [1, { 'topicKeys[0]': left }],
      [2, { 'topicKeys[0]': left }],
    ]);
    await expect(find('all@example.com')).rejects.toThrow(NotFoundError);

    const second = await run(file(), { topicKeys });
    expect(second.counts).toEqual({ total: 4, created: 2, updated: 2, skipped: 0, failed: 0 });
    expect(await errorsOf(second)).toEqual([
      [1, { 'topicKeys[0]': left }],
      [2, { 'topicKeys[0]': left }],
    ]);
    const statuses = async (email: string) => {
      const consents = await fixture.consentsOf(scope, email);
      return [news, offers, tips].map(({ topicKey }) => consents.get(topicKey)?.status ?? null);
    };
    expect(await statuses('all@example.com')).toEqual(['UNSUBSCRIBED', 'UNSUBSCRIBED', 'SUBSCRIBED']);
    expect(await statuses('one@example.com')).toEqual(['UNSUBSCRIBED', null, 'SUBSCRIBED']);
    expect(await statuses('none@example.com')).toEqual(['SUBSCRIBED', null, 'SUBSCRIBED']);

    // The address is somebody's again, and stays off what it left.
    const third = await run(file(), { topicKeys: [news.topicKey, offers.topicKey] });
    expect(third.counts).toMatchObject({ updated: 4, failed: 0 });
    expect(await errorsOf(third)).toEqual([
      [1, { 'topicKeys[0]': left, 'topicKeys[1]': left }],
      [2, { 'topicKeys[0]': left }],
    ]);
    expect(await statuses('all@example.com')).toEqual(['UNSUBSCRIBED', 'UNSUBSCRIBED', 'SUBSCRIBED']);
    expect((await find('all@example.com')).status).toBe('ACTIVE');
  });

  it('subscribes again who left, deleted since or not, where it says that they asked for it', async () => {
    const offers = await fixture.topic(scope, { name: 'Offers', doubleOptInEnabled: true });
    for (const email of ['gone@example.com', 'here@example.com']) {
      await fixture.subscribe(scope, email, news, offers);
      for (const { topicKey } of [news, offers])
        await fixture.get(ConsentsService).revoke(scope, address(email), topicKey, PROOF);
    }
    await fixture.get(PersonalDataService).erase(scope, address('gone@example.com'), PROOF);
    const ended = await run(csv('email\ngone@example.com\nhere@example.com\n'), {
      topicKeys: [news.topicKey, offers.topicKey],
      resubscribe: true,
    });
    expect(ended.counts).toMatchObject({ created: 1, updated: 1, failed: 0 });
    expect(await errorsOf(ended)).toEqual([]);
    for (const email of ['gone@example.com', 'here@example.com']) {
      const consents = await fixture.consentsOf(scope, email);
      expect([news, offers].map(({ topicKey }) => consents.get(topicKey)?.status)).toEqual([
        'SUBSCRIBED',
        'PENDING_CONFIRMATION',
      ]);
    }
  });

  it('forgets after 365 days what an address left before it was deleted', async () => {
    await fixture.subscribe(scope, 'ada@example.com', news);
    await fixture.get(ConsentsService).revoke(scope, address('ada@example.com'), news.topicKey, PROOF);
    await fixture.get(PersonalDataService).erase(scope, address('ada@example.com'), PROOF);
    const kept = () =>
      fixture.test.query('select 1 from audience.erased_addresses where environment_id = $1', [
        scope.environmentId,
      ]);
    const erased = fixture.get(ErasedAddressesRepository);
    fixture.clock.advance(364 * 24 * HOUR);
    await erased.removeOld();
    expect((await run(csv('email\nada@example.com\n'))).counts).toMatchObject({ created: 0, failed: 1 });
    fixture.clock.advance(24 * HOUR);
    expect((await run(csv('email\nada@example.com\n'))).counts).toMatchObject({ created: 1, failed: 0 });
    await fixture.get(PersonalDataService).erase(scope, address('ada@example.com'), PROOF);
    expect(await kept()).toHaveLength(1);
    fixture.clock.advance(60 * 24 * HOUR);
    await erased.removeOld();
    expect(await kept()).toHaveLength(0);
  });

  it('does not bring back who was erased, whether the rows came before or after that', async () => {
    for (const email of ['ada@example.com', 'grace@example.com']) await fixture.subscribe(scope, email, news);
    await fixture
      .get(SuppressionsService)
      .suppress(scope, address('ada@example.com'), 'GLOBAL_UNSUBSCRIBE', PROOF);
    const { id } = await accept(csv('email\nada@example.com\ngrace@example.com\n'));
    await fixture.get(PersonalDataService).erase(scope, address('ada@example.com'), PROOF);
    await fixture.get(PersonalDataService).erase(scope, address('grace@example.com'), PROOF);
    await fixture.get(ImportRunsService).run(scope, id, never);
    const ended = await fixture.get(ImportsQuery).byId(scope, id);
    expect(ended).toMatchObject({ status: 'COMPLETED', counts: { total: 2, created: 0, failed: 2 } });
    expect(await errorsOf(ended)).toEqual([
      [1, { row: 'was erased before it was imported' }],
      [2, { row: 'was erased before it was imported' }],
    ]);
    const again = await run(csv('email\nada@example.com\ngrace@example.com\n'));
    expect(again.counts).toMatchObject({ created: 1, skipped: 1 });
    expect(await errorsOf(again)).toEqual([[1, { email: 'is suppressed' }]]);
  });

  it('leaves a consent taken back that its owner took back, and says so', async () => {
    const offers = await fixture.topic(scope, { name: 'Offers' });
    await fixture.subscribe(scope, 'ada@example.com', news);
    await fixture.get(ConsentsService).revoke(scope, address('ada@example.com'), news.topicKey, PROOF);
    const ended = await run(csv('email,firstName\nada@example.com,Ada\n'), {
      topicKeys: [offers.topicKey, news.topicKey],
    });
    expect(ended.counts).toMatchObject({ updated: 1, skipped: 0, failed: 0 });
    expect(await errorsOf(ended)).toEqual([[1, { 'topicKeys[1]': 'was unsubscribed before, and stays so' }]]);
    const consents = await fixture.consentsOf(scope, 'ada@example.com');
    expect(consents.get(news.topicKey)?.status).toBe('UNSUBSCRIBED');
    expect(consents.get(offers.topicKey)?.status).toBe('SUBSCRIBED');
  });

  it('grants a consent anew that nobody confirmed in time', async () => {
    const offers = await fixture.topic(scope, { name: 'Offers', doubleOptInEnabled: true });
    const { id } = await fixture.subscribe(scope, 'ada@example.com', offers);
    await fixture.test.query(`update audience.consents set status = 'EXPIRED' where subscriber_id = $1`, [
      id,
    ]);
    await run(csv('email\nada@example.com\n'), { topicKeys: [offers.topicKey] });
    expect(await fixture.ledger(id)).toEqual([
      'none → PENDING_CONFIRMATION (API_KEY)',
      'EXPIRED → PENDING_CONFIRMATION (IMPORT)',
    ]);
    expect(await fixture.requestedMails(scope)).toHaveLength(2);
  });

  it('takes the last row of several with one address', async () => {
    const ended = await run(
      csv('email,firstName\nada@example.com,A\ngrace@example.com,G\nADA@Example.com,B\nada@example.com,C\n'),
    );
    expect(ended.counts).toEqual({ total: 4, created: 2, updated: 0, skipped: 2, failed: 0 });
    expect(await errorsOf(ended)).toEqual([
      [1, { row: 'has the address of row 4 in line 5, which counts' }],
      [3, { row: 'has the address of row 4 in line 5, which counts' }],
    ]);
    expect(await find('ada@example.com')).toMatchObject({ firstName: 'C' });
  });

  it('tells all that is wrong with a row, and imports the others', async () => {
    await makeField('age', 'NUMBER', true);
    const ended = await run(
      csv(
        'email,firstName,phone,age\n',
        'ada@example,Ada,123456789012345678901,41\n',
        `grace@example.com,${'x'.repeat(51)},1,41\n`,
        ',Nobody,1,41\n',
        'alan@example.com,A\u0000lan,1,41\n',
        'edsger@example.com,E,1\n',
        `barbara@example.com,"${'b'.repeat(1_000_000)}",1,41\n`,
        'donald@example.com,D,1,old\n',
        'tony@example.com,T,1,\n',
        '"jean@example.com"x,J,1,41\n',
        'ken@example.com,Ken,1,41\n',
      ),
    );
    expect(ended.counts).toEqual({ total: 10, created: 1, updated: 0, skipped: 0, failed: 9 });
    expect(await errorsOf(ended)).toEqual([
      [1, { email: 'does not have a valid domain', phone: 'must be at most 20 characters' }],
      [2, { firstName: 'must be at most 50 characters' }],
      [3, { email: 'is required' }],
      [4, { firstName: 'must not contain control characters' }],
      [5, { row: 'has 3 cells instead of 4' }],
      [6, { row: 'has a cell that is too long' }],
      [7, { 'customFields.age': 'must be an integer' }],
      [8, { 'customFields.age': 'is required' }],
      [9, { row: 'has text after a closing quote' }],
    ]);
    expect(await find('ken@example.com')).toMatchObject({ customFields: { age: 41 } });
  });

  it('loses nobody to a stray quote, and names the line of the file', async () => {
    await makeField('note', 'LONG_TEXT');
    const people = Array.from({ length: 60 }, (_, n) => `big${n}@d.example,First${n},Note ${n}`);
    people[10] = 'big10@d.example,"First10,Note 10';
    people[30] = 'big30@d.example,First30,"Note 30';
    people[57] = 'big57@d.example,First57,Note 57"';
    const ended = await run(csv(`email,firstName,note\n\n${people.join('\n')}\n`));
    expect(ended).toMatchObject({ status: 'COMPLETED', counts: { total: 60, created: 58, failed: 2 } });
    const { items } = await fixture.get(ImportsQuery).errors(scope, ended.id, { page: 0, size: 10 });
    expect(items.map(({ row, line, email }) => [row, line, email])).toEqual([
      [11, 13, null],
      [31, 33, null],
    ]);
    expect(await find('big29@d.example')).toMatchObject({ customFields: { note: 'Note 29' } });
    expect(await find('big56@d.example')).toMatchObject({ firstName: 'First56' });
  });

  it('keeps a note of 10 000 characters on many lines as it is', async () => {
    await makeField('note', 'LONG_TEXT');
    const note = 'Call ada@example.com, or bob; not "before" nine.\r\n\r\n'.repeat(300).slice(0, 10_000);
    await run(csv(`email,note\r\nann@example.com,"${note.replaceAll('"', '""')}"\r\nbob@example.com,x\r\n`));
    expect(await find('ann@example.com')).toMatchObject({ customFields: { note } });
    expect(await find('bob@example.com')).toMatchObject({ customFields: { note: 'x' } });
  });

  it('reads names and languages as programs write them', async () => {
    await run(
      csv(
        'email,firstName,lastName,locale\n',
        'ada@example.com," Ada ","""Lovelace""",en_US\n',
        'jose@example.com,Jose\u0301,\u00a0García,zh_CN\n',
        'none@example.com,""" """,,de_DE.UTF-8\n',
      ),
    );
    expect(await find('ada@example.com')).toMatchObject({
      firstName: 'Ada',
      lastName: 'Lovelace',
      locale: 'en-US',
    });
    expect(await find('jose@example.com')).toMatchObject({
      firstName: 'José',
      lastName: 'García',
      locale: 'zh-CN',
    });
    expect(await find('none@example.com')).toMatchObject({ firstName: null, locale: 'de-DE' });
    fixture.clock.advance(HOUR);
    const before = await find('ada@example.com');
    await run(csv('email,firstName\nada@example.com, "Ada"\n'));
    expect(await find('ada@example.com')).toEqual(before);
  });

  const umlauts = 'email;firstName\r\njorg@example.com;Jörg\r\n';
  const swapped = (text: string) => Buffer.from(text, 'utf16le').swap16();
  it.each([
    ['UTF-16 with a mark', 'utf-8', Buffer.from(`\ufeff${umlauts}`, 'utf16le')],
    ['big-endian UTF-16 with a mark', 'utf-8', swapped(`\ufeff${umlauts}`)],
    ['UTF-16 that the client names', 'utf-16le', Buffer.from(umlauts, 'utf16le')],
    ['Windows-1252 that the client names', 'windows-1252', Buffer.from(umlauts, 'latin1')],
    ['UTF-8 with a mark, whatever the client names', 'windows-1252', Buffer.from(`\ufeff${umlauts}`)],
    ['UTF-8 behind a line of Excel', 'utf-8', Buffer.from(`\ufeffsep=;\r\n${umlauts}`)],
  ])('reads %s', async (_what, charset, bytes) => {
    const pieces = Array.from(bytes, (byte) => Buffer.from([byte]));
    expect((await run(encoded(charset, ...pieces))).counts).toMatchObject({ total: 1, created: 1 });
    expect(await find('jorg@example.com')).toMatchObject({ firstName: 'Jörg' });
  });

  it('keeps no address in its errors that an erasure could not find', async () => {
    const cells = [
      'Ada <ada@example.com>',
      'mailto:ada@example.com',
      '"ada@example.com, bob@example.com"',
      'ada@example.com',
      'x',
    ];
    const ended = await run(
      csv(`email,phone\n${cells.map((cell) => `${cell},${'1'.repeat(30)}`).join('\n')}\n`),
    );
    await fixture.subscribe(scope, 'ada@example.com', news);
    const emails = async () =>
      (await fixture.get(ImportsQuery).errors(scope, ended.id, { page: 0, size: 10 })).items.map(
        ({ line, email }) => [line, email],
      );
    const others = [2, 3, 4, 6].map((line) => [line, null]);
    expect(await emails()).toEqual([...others.slice(0, 3), [5, 'ada@example.com'], ...others.slice(3)]);
    await fixture.get(PersonalDataService).erase(scope, address('ada@example.com'), PROOF);
    expect(await emails()).toEqual(others);
  });

  it('keeps every character of what it is given', async () => {
    const rows = [
      { email: 'a@example.com', firstName: String.raw`back\slash \N \. \t`, lastName: 'Ünï — 日本 👩‍👩‍👧' },
      { email: 'b@example.com', firstName: '"; drop table', lastName: "O'Hara, {a}" },
    ];
    expect((await run({ rows })).counts.created).toBe(2);
    for (const row of rows) expect(await find(row.email)).toMatchObject(row);
  });

  it('refuses what a list cannot hold, row by row', async () => {
    const ended = await run({
      rows: [
        { email: 7 },
        { email: 'ada@example.com', firstName: 7 },
        { firstName: 'Ada' },
        { email: 'a\ud800@example.com' },
      ],
    });
    expect(ended.counts).toMatchObject({ failed: 4 });
    expect(await errorsOf(ended)).toEqual([
      [1, { email: 'must be a string' }],
      [2, { firstName: 'must be a string' }],
      [3, { email: 'is required' }],
      [4, { email: 'is not an e-mail address' }],
    ]);
  });

  it.each([
    ['nothing', '', { body: 'is empty: the first row must name the columns' }],
    ['empty lines', '\r\n\r\n', { body: 'is empty: the first row must name the columns' }],
    [
      'a header without e-mail',
      'firstName\nAda\n',
      { columns: 'has no email: the first row must name the columns' },
    ],
    [
      'no header',
      'ada@example.com,Ada\n',
      {
        columns: 'has no email: the first row must name the columns',
        'columns[0]':
          'is not a known column: ada@example.com; mapping names its field, or null to leave it out',
        'columns[1]': 'is not a known column: Ada; mapping names its field, or null to leave it out',
      },
    ],
    ['a column twice', 'email,firstName,first_name\n', { 'columns[2]': 'holds firstName again' }],
    [
      'text that is not UTF-8',
      Buffer.from('email,firstName\na@example.com,J\xf6rg\n', 'latin1'),
      { body: notUtf8(2) },
    ],
    [
      'a column without a name behind another fault',
      'firstName,\n',
      {
        columns: 'has no email: the first row must name the columns',
        'columns[1]': 'has no name: give it one, or leave it out with "" in mapping',
      },
    ],
    [
      'the bytes of a workbook',
      Buffer.from('PK\x03\x04\x14\0\x06\0', 'latin1'),
      { body: 'is an Excel workbook or a ZIP archive: save the sheet as CSV' },
    ],
    [
      'the bytes of an old workbook',
      Buffer.from('\xd0\xcf\x11\xe0\xa1\xb1', 'latin1'),
      { body: 'is an Excel workbook: save the sheet as CSV' },
    ],
    [
      'compressed bytes',
      gzipSync('email\na@example.com\n'),
      { body: 'is compressed with gzip: send it uncompressed' },
    ],
    [
      'half a character at its end',
      Buffer.from('email\na@example.com\n\xc3', 'latin1'),
      { body: notUtf8(3) },
    ],
  ])('refuses a file with %s, and keeps nothing of it', async (_what, file, errors) => {
    await expect(accept(csv(file))).rejects.toMatchObject({ code: 'validation-error', errors });
    expect(await stagedRows()).toHaveLength(0);
    expect(
      await fixture.test.query('select 1 from audience.imports where environment_id = $1', [
        scope.environmentId,
      ]),
    ).toHaveLength(0);
  });

  it('leaves out columns without a name where the mapping says so', async () => {
    const file = csv('email,,firstName,\nada@example.com,1,Ada,\n');
    expect((await run(file, { mapping: { '': null } })).counts).toMatchObject({ created: 1 });
    expect(await find('ada@example.com')).toMatchObject({ firstName: 'Ada' });
  });

  it('takes a file with a byte order mark, semicolons and a header alone', async () => {
    expect(
      (await run(csv('\ufeffemail;firstName\r\nada@example.com;"Ada;\r\nCountess"\r\n'))).counts,
    ).toMatchObject({ total: 1, failed: 1 });
    expect(
      (await run(csv('\ufeffE-Mail;First name\r\nada@example.com;"Ada; ""C"""\r\n'))).counts,
    ).toMatchObject({ created: 1 });
    expect(await find('ada@example.com')).toMatchObject({ firstName: 'Ada; "C"' });
    expect(await run(csv('email'))).toMatchObject({ status: 'COMPLETED', counts: { total: 0 } });
  });

  it('takes rows of a list that write the same field in different ways, but no row that has it twice', async () => {
    await makeField('plan', 'TEXT');
    const ended = await run({
      rows: [
        { email: 'ada@example.com', firstName: 'Ada', plan: 'pro' },
        { 'E-Mail': 'grace@example.com', first_name: 'Grace', customFields: { plan: 'team' } },
      ],
    });
    expect(ended.counts).toMatchObject({ created: 2, failed: 0 });
    for (const [name, plan] of [
      ['Ada', 'pro'],
      ['Grace', 'team'],
    ]) {
      expect(await find(`${name?.toLowerCase()}@example.com`)).toMatchObject({
        firstName: name,
        customFields: { plan },
      });
    }
    for (const first of ['first_name', 'firstName', 'First Name']) {
      await expect(
        accept({
          rows: [
            { email: 'ada@example.com', [first]: 'Ada' },
            { email: 'grace@example.com', first_name: 'Amazing', firstName: 'Grace' },
          ],
        }),
      ).rejects.toMatchObject({
        members: {
          errors: {
            [`rows[1].${first === 'firstName' ? 'first_name' : 'firstName'}`]: 'holds firstName again',
          },
        },
      });
    }
  });

  it('refuses columns and topics that the project does not know, unless they are mapped', async () => {
    await makeField('plan', 'TEXT');
    const file = () => csv('Mail,Tariff,Notes\nada@example.com,pro,nice\n');
    await expect(accept(file(), { mapping: { Mail: 'email' } })).rejects.toMatchObject({
      code: 'domain-validation',
      errors: {
        'columns[1]': 'is not a known column: Tariff; mapping names its field, or null to leave it out',
        'columns[2]': 'is not a known column: Notes; mapping names its field, or null to leave it out',
      },
    });
    await expect(
      accept(file(), { mapping: { Mail: 'email', Tariff: 'price', Notes: null, Other: null } }),
    ).rejects.toMatchObject({
      code: 'validation-error',
      errors: { 'mapping.Tariff': 'is not a known field', 'mapping.Other': 'is not a column' },
    });
    await expect(accept(file(), { topicKeys: [news.topicKey, 'APIT-99'] })).rejects.toMatchObject({
      code: 'domain-validation',
      errors: { 'topicKeys[1]': 'is not a known topic' },
    });
    await run(file(), { mapping: { Mail: 'email', Tariff: 'plan', Notes: null } });
    expect(await find('ada@example.com')).toMatchObject({ customFields: { plan: 'pro' } });
    await expect(
      accept({ rows: [{ email: 'a@example.com', 'customFields.plan': 'a', customFields: { plan: 'b' } }] }),
    ).rejects.toMatchObject({
      errors: { 'rows[0].customFields.plan': 'holds customFields.plan again' },
    });
    await expect(
      accept({ rows: [{ email: 'a@example.com' }, { email: 'b@example.com', age: 4 }] }),
    ).rejects.toMatchObject({
      errors: {
        'rows[1].age': 'is not a known column: age; mapping names its field, or null to leave it out',
      },
    });
  });

  it('keeps nothing when the rest of the file never arrives', async () => {
    async function* broken() {
      yield Buffer.from('email\n');
      for (let row = 0; row < 20_000; row += 1) yield Buffer.from(`person-${row}@example.com\n`);
      await Promise.reject(new Error('aborted'));
    }
    await expect(accept({ csv: broken(), charset: 'utf-8' })).rejects.toThrow('aborted');
    expect(await stagedRows()).toHaveLength(0);
    expect(
      await fixture.test.query('select 1 from audience.imports where environment_id = $1', [
        scope.environmentId,
      ]),
    ).toHaveLength(0);
  });

  it('goes on where it stood, and does no row twice', async () => {
    const rows = Array.from({ length: 3_500 }, (_, index) => `person-${index}@example.com`);
    const { id } = await accept(csv(`email\n${rows.join('\n')}\n`));
    const stop = new AbortController();
    const running = fixture.get(ImportRunsService).run(scope, id, stop.signal);
    stop.abort();
    await running;
    const half = await fixture.get(ImportsQuery).byId(scope, id);
    expect(half.status).toBe('IN_PROGRESS');
    expect(half.counts.created).toBeLessThan(3_500);
    await fixture.get(ImportRunsService).run(scope, id, never);
    await fixture.get(ImportRunsService).run(scope, id, never);
    const whole = await fixture.get(ImportsQuery).byId(scope, id);
    expect(whole).toMatchObject({ status: 'COMPLETED', counts: { total: 3_500, created: 3_500 } });
    const [ledger] = await fixture.test.query(
      'select count(*)::int as entries from audience.consent_ledger where environment_id = $1',
      [scope.environmentId],
    );
    expect(ledger).toEqual({ entries: 3_500 });
  });

  it('imports the same people once when two imports of them run at once', async () => {
    const rows = Array.from({ length: 2_500 }, (_, index) => ({ email: `person-${index}@example.com` }));
    const [one, other] = await Promise.all([accept({ rows }), accept({ rows: rows.toReversed() })]);
    await Promise.all([one, other].map(({ id }) => fixture.get(ImportRunsService).run(scope, id, never)));
    const ended = await Promise.all([one, other].map(({ id }) => fixture.get(ImportsQuery).byId(scope, id)));
    expect(ended.reduce((sum, { counts }) => sum + counts.created, 0)).toBe(2_500);
    expect(ended.reduce((sum, { counts }) => sum + counts.updated, 0)).toBe(2_500);
  });

  it('ends when a topic was archived meanwhile', async () => {
    const { id } = await accept(csv('email\nada@example.com\n'));
    await fixture.get(TopicsService).update(scope, news.topicKey, { status: 'ARCHIVED' });
    await fixture.get(ImportRunsService).run(scope, id, never);
    expect(await fixture.get(ImportsQuery).byId(scope, id)).toMatchObject({
      status: 'FAILED',
      failureReason: `${news.topicKey} is an archived topic`,
      counts: { total: 1, created: 0 },
    });
    expect(await stagedRows()).toHaveLength(0);
  });

  it('writes its rows by the statements of test/statements', async () => {
    await run(csv('email\nknown@example.com\n'));
    const texts = await textsCompiledBy(async () => {
      await makeField('plan', 'TEXT', true);
      await run(csv('email,plan\nknown@example.com,pro\nknown@example.com,free\nnew@example.com,free\n'));
      await fixture.get(PersonalDataService).erase(scope, address('new@example.com'), PROOF);
      await run(csv('email,plan\nnew@example.com,free\n'));
    });
    for (const name of IMPORT_STATEMENTS) {
      const { now, committed } = await statementText(name, texts);
      expect(now).toBe(committed);
    }
  });

  it('belongs to one environment', async () => {
    const other = await fixture.scope('OTHER');
    const { id } = await accept(csv('email\nada@example.com\nnobody\n'));
    await expect(fixture.get(ImportsQuery).byId(other, id)).rejects.toThrow(NotFoundError);
    await expect(fixture.get(ImportsQuery).errors(other, id, { page: 0, size: 1 })).rejects.toThrow(
      NotFoundError,
    );
    await fixture.get(ImportRunsService).run(other, id, never);
    expect((await fixture.get(ImportsQuery).byId(scope, id)).status).toBe('QUEUED');
    await fixture.get(ImportRunsService).run(scope, id, never);
    expect((await fixture.get(ImportsQuery).byId(scope, id)).counts).toMatchObject({ created: 1, failed: 1 });
  });

  it('lets the app add waiting rows to its own environment alone, and neither read nor change them there', async () => {
    const partition = (statement: string) =>
      fixture.database.transaction(scope, () =>
        fixture.database.tables().executeQuery(CompiledQuery.raw(statement)),
      );
    const added = (environmentId: number) =>
      `insert into audience.import_rows_staged (import_id, row_number, environment_id, cells)
       values (platform.new_id(), 1, ${environmentId}, '[]')`;
    await expect(partition(added(scope.environmentId + 1))).rejects.toThrow('another environment');
    await expect(partition('select 1 from audience.import_rows_staged')).rejects.toThrow('permission denied');
    await expect(partition('delete from audience.import_rows_staged')).rejects.toThrow('permission denied');
  });

  it('forgets what was wrong with its rows after 30 days, and rows whose request died after an hour', async () => {
    const ended = await run(csv('email\nnobody\n'));
    await fixture.test.query(
      `insert into audience.imports (id, environment_id, status, on_conflict, topic_keys, proof, created_at)
       values ($1, $2, 'RECEIVING', 'SKIP', '{}', '{}', $3)`,
      ['019aa3b5-0000-7000-8000-000000000000', scope.environmentId, fixture.clock.now()],
    );
    await fixture.database.copy(
      scope,
      'copy audience.import_rows_staged (environment_id, import_id, row_number, cells) from stdin',
      Buffer.from(`${scope.environmentId}\t019aa3b5-0000-7000-8000-000000000000\t1\t[]\n`),
    );
    const imports = fixture.get(ImportsService);
    await imports.removeOld();
    expect(await errorsOf(ended)).toHaveLength(1);
    expect(await stagedRows()).toHaveLength(1);
    fixture.clock.advance(2 * HOUR);
    await imports.removeOld();
    expect(await stagedRows()).toHaveLength(0);
    fixture.clock.advance(30 * 24 * HOUR);
    await imports.removeOld();
    expect(await errorsOf(ended)).toHaveLength(0);
    expect((await fixture.get(ImportsQuery).byId(scope, ended.id)).counts).toMatchObject({ failed: 1 });
  });
});
