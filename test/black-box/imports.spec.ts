import { once } from 'node:events';
import { request } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const CONSENT = 'consent.source=old-system';

describe('importing subscribers', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let topicKey: string;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    topicKey = (await client.post('/topics', { name: 'News', doubleOptInEnabled: false })).at('topicKey');
  });

  afterAll(() => system?.stop());

  const importCsv = (
    file: string,
    query = '',
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ApiAnswer> =>
    client.post(`/subscriber-imports?topicKeys=${topicKey}&${CONSENT}${query}`, file, {
      headers: { 'content-type': 'text/csv', ...headers },
    });

  const ended = (id: string): Promise<ApiAnswer> =>
    eventually('the import ends', async () => {
      const found = await client.get(`/subscriber-imports/${id}`);
      return ['COMPLETED', 'FAILED'].includes(found.at('status')) ? found : null;
    });

  it('takes CSV, and tells how it went and which rows were wrong', async () => {
    const accepted = await importCsv('email;firstName\r\nada@example.com;Ada\r\nnobody;Nobody\r\n');
    expect(accepted.status).toBe(202);
    const id = accepted.at('id');
    expect(accepted.headers.get('location')).toBe(`/api/v1/subscriber-imports/${id}`);
    expect(accepted.body).toEqual({
      id,
      status: 'QUEUED',
      counts: { total: 2, created: 0, updated: 0, skipped: 0, failed: 0 },
    });
    const found = await ended(id);
    expect(found.body).toEqual({
      id,
      status: 'COMPLETED',
      counts: { total: 2, created: 1, updated: 0, skipped: 0, failed: 1 },
      failureReason: null,
      createdAt: expect.any(String),
      completedAt: expect.any(String),
    });
    const errors = await client.get(`/subscriber-imports/${id}/errors`);
    expect(errors.at('data')).toEqual([
      { row: 2, line: 3, email: null, errors: { email: 'is not an e-mail address' } },
    ]);
    expect((await client.get('/subscribers/ada%40example.com')).body).toMatchObject({
      firstName: 'Ada',
      source: 'IMPORT',
      status: 'ACTIVE',
    });
    expect((await client.get(`/topics/${topicKey}`)).at('subscriberCount')).toBe(1);
  });

  it('takes a list', async () => {
    const accepted = await client.post('/subscriber-imports', {
      rows: [
        { email: 'grace@example.com', 'Given name': 'Grace' },
        { email: 'ada@example.com', 'Given name': 'A.' },
      ],
      topicKeys: [topicKey],
      consent: { source: 'fair', ipAddress: '203.0.113.7' },
      onConflict: 'SKIP',
      mapping: { 'Given name': 'firstName' },
    });
    expect(accepted.status).toBe(202);
    expect((await ended(accepted.at('id'))).at('counts')).toEqual({
      total: 2,
      created: 1,
      updated: 0,
      skipped: 1,
      failed: 0,
    });
    expect((await client.get('/subscribers/grace%40example.com')).at('firstName')).toBe('Grace');
    expect((await client.get('/subscribers/ada%40example.com')).at('firstName')).toBe('Ada');
  });

  it('says what of the consent it did not keep, and imports everybody all the same', async () => {
    const bad = { sourceUrl: 'our form', ipAddress: 'localhost', userAgent: 'a'.repeat(501) };
    const errors = {
      'consent.sourceUrl': 'was dropped: must be an http or https URL',
      'consent.ipAddress': 'was dropped: must be an IPv4 or IPv6 address',
      'consent.userAgent': 'was cut: must have at most 500 characters',
    };
    const query = new URLSearchParams(
      Object.entries(bad).map(([name, value]) => [`consent.${name}`, value] as [string, string]),
    );
    const byCsv = await importCsv('email\nproof-1@example.com\nnobody\n', `&${query.toString()}`);
    const byList = await client.post('/subscriber-imports', {
      rows: [{ email: 'proof-2@example.com' }],
      topicKeys: [topicKey],
      consent: { source: 'fair', ...bad },
    });
    expect((await ended(byCsv.at('id'))).at('counts')).toMatchObject({ total: 2, created: 1, failed: 1 });
    expect((await ended(byList.at('id'))).at('counts')).toMatchObject({ total: 1, created: 1, failed: 0 });
    const whole = { row: 0, line: null, email: null, errors };
    const [ofCsv, ofList] = await Promise.all(
      [byCsv, byList].map((each) => client.get(`/subscriber-imports/${each.at('id')}/errors`)),
    );
    expect(ofCsv?.at('data')).toEqual([whole, expect.objectContaining({ row: 2, line: 3 })]);
    expect(ofList?.at('data')).toEqual([whole]);
    const good = await importCsv(
      'email\nproof-3@example.com\n',
      '&consent.sourceUrl=https://acme.example/f&consent.ipAddress=203.0.113.7:4711',
    );
    await ended(good.at('id'));
    expect((await client.get(`/subscriber-imports/${good.at('id')}/errors`)).at('data')).toEqual([]);
  });

  it('leaves off a topic those who unsubscribed from it, unless resubscribe says that they asked for it', async () => {
    const email = 'left@example.com';
    const status = async () =>
      (await client.get(`/subscribers/${email}/consents`)).at('consents', 0, 'status');
    const leave = async () => {
      expect((await client.delete(`/subscribers/${email}/consents/${topicKey}`)).status).toBe(204);
    };
    const list = (options: object) =>
      client.post('/subscriber-imports', {
        rows: [{ email }],
        topicKeys: [topicKey],
        consent: { source: 'fair' },
        ...options,
      });
    await ended((await importCsv(`email\n${email}`)).at('id'));
    const ways = [
      [() => importCsv(`email\n${email}`), () => importCsv(`email\n${email}`, '&resubscribe=true')],
      [() => list({ resubscribe: false }), () => list({ resubscribe: true })],
    ] as const;
    for (const [without, withIt] of ways) {
      await leave();
      const { id } = (await without()).body as { id: string };
      await ended(id);
      expect(await status()).toBe('UNSUBSCRIBED');
      const noted = await client.get(`/subscriber-imports/${id}/errors`);
      expect(noted.at('data')).toMatchObject([
        { row: 1, email, errors: { 'topicKeys[0]': expect.stringMatching(/unsubscribed/i) } },
      ]);
      const again = await withIt();
      expect(again.status).toBe(202);
      await ended(again.at('id'));
      expect(await status()).toBe('SUBSCRIBED');
      expect((await client.get(`/subscriber-imports/${again.at('id')}/errors`)).at('data')).toEqual([]);
    }
    const wrong = await importCsv(`email\n${email}`, '&resubscribe=maybe');
    expect([wrong.status, wrong.at('errors', 'resubscribe')]).toEqual([400, expect.any(String)]);
  });

  it('takes a list of 10 000 rows, and no longer one', async () => {
    const rows = Array.from({ length: 10_000 }, (_, index) => ({
      email: `list-${index}@example.com`,
      firstName: 'x'.repeat(50),
      lastName: 'y'.repeat(50),
      phone: '+49 30 1234567',
    }));
    const options = { topicKeys: [topicKey], consent: { source: 'fair' } };
    expect((await client.post('/subscriber-imports', { rows, ...options })).status).toBe(202);
    const refused = await client.post('/subscriber-imports', { rows: [...rows, rows[0]], ...options });
    expect([refused.status, refused.at('errors', 'rows')]).toEqual([400, 'must have at most 10000 items']);
    const tooLarge = await client.post('/subscriber-imports', {
      rows: [{ email: 'x'.repeat(17 * 1024 * 1024) }],
      ...options,
    });
    expect(tooLarge.status).toBe(413);
  });

  it('names all that is wrong with the options, wherever they are', async () => {
    const inBody = await client.post('/subscriber-imports', {
      rows: [{ email: 'ada@example.com', customFields: 'pro' }],
      topicKeys: [],
      consent: { ipAddress: 7 },
      onConflict: 'REPLACE',
      extra: 1,
    });
    expect(inBody.status).toBe(400);
    expect(inBody.at('errors')).toEqual({
      'rows[0].customFields': 'must be an object',
      topicKeys: 'must have at least 1 item',
      'consent.source': 'is required',
      'consent.ipAddress': 'must be a string',
      onConflict: 'must be one of UPSERT, SKIP',
      extra: 'is not a known field',
    });
    const inQuery = await client.post('/subscriber-imports?onConflict=REPLACE&mapping={', 'email\n', {
      headers: { 'content-type': 'text/csv' },
    });
    expect(inQuery.status).toBe(400);
    expect(inQuery.at('errors')).toEqual({
      topicKeys: 'is required',
      'consent.source': 'is required',
      onConflict: 'must be one of UPSERT, SKIP',
      mapping: 'must be an object',
    });
    const unknown = await importCsv('email,plan\n', '&topicKeys=APIT-99');
    expect([unknown.status, unknown.at('errors')]).toEqual([422, { 'topicKeys[1]': 'is not a known topic' }]);
    const column = await importCsv('email,plan\nada@example.com,pro\n');
    expect([column.status, column.at('errors')]).toEqual([
      422,
      { 'columns[1]': 'is not a known column: plan; mapping names its field, or null to leave it out' },
    ]);
    expect((await importCsv('firstName\nAda\n')).status).toBe(400);
    const inKlingon = await importCsv('email\n', '', { 'content-type': 'text/csv; charset=klingon' });
    expect([inKlingon.status, inKlingon.at('detail')]).toEqual([
      415,
      expect.stringContaining('The charset of the Content-Type is not known'),
    ]);
    const besideJson = await client.post('/subscriber-imports?onConflict=SKIP', {
      rows: [{ email: 'ada@example.com' }],
      topicKeys: [topicKey],
      consent: { source: 'fair' },
    });
    expect([besideJson.status, besideJson.at('errors')]).toEqual([
      400,
      { onConflict: 'goes with CSV only: put it into the body' },
    ]);
    const plain = await importCsv('email\n', '', { 'content-type': 'text/plain' });
    expect([plain.status, plain.at('detail')]).toEqual([
      415,
      'Send JSON with Content-Type: application/json, or text/csv.',
    ]);
  });

  it('says of a file without any text that it is empty, and nothing of the JSON that it is not', async () => {
    for (const file of ['', '\n\n', '\ufeff']) {
      const empty = await importCsv(file);
      expect([empty.status, empty.at('errors')]).toEqual([
        400,
        { body: 'is empty: the first row must name the columns' },
      ]);
    }
  });

  it('takes the consent of a file as JSON, too, as the mapping is', async () => {
    const importWith = (consent: unknown, query = '') =>
      client.post(
        `/subscriber-imports?topicKeys=${topicKey}&consent=${encodeURIComponent(JSON.stringify(consent))}${query}`,
        'email\njson@example.com\n',
        { headers: { 'content-type': 'text/csv' } },
      );
    const accepted = await importWith({ source: 'old-system', formVersion: '7' });
    expect(accepted.status).toBe(202);
    expect((await ended(accepted.at('id'))).at('counts')).toMatchObject({ created: 1, failed: 0 });
    expect((await importWith({ formVersion: '7' }, '&consent.source=old-system')).status).toBe(202);
    for (const [consent, errors] of [
      [{ source: '', ipAddress: 7, extra: 1 }, ['consent.source', 'consent.ipAddress', 'consent.extra']],
      ['old-system', ['consent']],
    ] as const) {
      const refused = await importWith(consent);
      expect([refused.status, Object.keys(refused.at<object>('errors'))]).toEqual([400, errors]);
    }
  });

  it('refuses a large file for its first line and still answers', async () => {
    const refused = await importCsv(`mail\n${'ada@example.com\n'.repeat(1_000_000)}`);
    expect([refused.status, refused.at('errors', 'columns[0]')]).toEqual([
      400,
      'is not a known column: mail; mapping names its field, or null to leave it out',
    ]);
  });

  it('gives a repeated file the answer of the first', async () => {
    const file = `email\n${Array.from({ length: 5_000 }, (_, index) => `again-${index}@example.com`).join('\n')}`;
    const headers = { 'idempotency-key': 'import-1' };
    const first = await importCsv(file, '', headers);
    const again = await importCsv(file, '', headers);
    expect([first.status, again.status]).toEqual([202, 202]);
    expect(again.at('id')).toBe(first.at('id'));
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect((await importCsv(`${file}\nmore@example.com`, '', headers)).status).toBe(422);
    expect((await importCsv(file, '&onConflict=SKIP', headers)).status).toBe(422);
    await ended(first.at('id'));
  });

  it('is seen by the keys of its own environment alone', async () => {
    const { id } = (await importCsv('email\nown@example.com\n')).body as { id: string };
    const strangers = [await project.client('LIVE'), await (await system.project('OTHER')).client('TEST')];
    for (const stranger of strangers) {
      expect((await stranger.get(`/subscriber-imports/${id}`)).status).toBe(404);
      expect((await stranger.get(`/subscriber-imports/${id}/errors`)).status).toBe(404);
      expect((await stranger.get('/subscribers/own%40example.com')).status).toBe(404);
    }
    expect((await client.get('/subscriber-imports/no-uuid')).status).toBe(404);
    const reader = await project.client('TEST', { scopes: ['subscribers:read'] });
    expect((await reader.post('/subscriber-imports', {})).at('requiredScope')).toBe('subscribers:write');
    await ended(id);
  });

  it('leaves nothing of a file whose sender goes away', async () => {
    const mine = [project.test.environmentId];
    const imports = async () =>
      (
        await system.database.query(
          `select from audience.imports where status <> 'COMPLETED' and environment_id = $1`,
          mine,
        )
      ).length;
    const stored = async () =>
      (
        await system.database.query(
          'select from audience.import_rows where environment_id = $1 limit 1',
          mine,
        )
      ).length;
    await eventually(
      'all imports before are done',
      async () => (await imports()) === 0 && (await stored()) === 0,
    );
    const upload = request(`${system.baseUrl}/api/v1/subscriber-imports?topicKeys=${topicKey}&${CONSENT}`, {
      method: 'POST',
      headers: { 'content-type': 'text/csv', 'x-api-key': client.key ?? '' },
    });
    const broken = once(upload, 'error');
    upload.write('email\n');
    for (let row = 0; (await stored()) === 0; row += 1) {
      if (!upload.write(`gone-${row}@example.com\n`.repeat(1_000))) await once(upload, 'drain');
      await nextTurn();
    }
    upload.destroy(new Error('the sender is gone'));
    await broken;
    await eventually('nothing is left', async () => (await imports()) === 0 && (await stored()) === 0);
  });

  it('sends one mail to each person who has to confirm', async () => {
    const topics = await Promise.all(
      ['Offers', 'Tips'].map(async (name) => (await client.post('/topics', { name })).at('topicKey')),
    );
    const people = Array.from({ length: 40 }, (_, index) => `asked-${index}@example.com`);
    const { id } = (await importCsv(`email\n${people.join('\n')}`, `&topicKeys=${topics.join(',')}`))
      .body as {
      id: string;
    };
    await ended(id);
    const mails = () =>
      system.database.query<{ address: string }>(
        `select address from messaging.deliveries where kind = 'OPT_IN' and address like 'asked-%' and environment_id = $1`,
        [project.test.environmentId],
      );
    await eventually('all mails are on their way', async () => (await mails()).length >= people.length);
    expect((await mails()).map(({ address }) => address).sort()).toEqual(people.toSorted());
  });

  describe('of addresses to suppress', () => {
    const suppress = (file: string, query = ''): Promise<ApiAnswer> =>
      client.post(`/suppression-imports${query}`, file, { headers: { 'content-type': 'text/csv' } });

    it('suppresses each as by the list, and tells which rows were wrong or known', async () => {
      const person = { email: 'Sue@example.com', topicKeys: [topicKey], consent: { source: 'form' } };
      expect((await client.post('/subscribers', person)).status).toBe(201);
      await client.post('/suppressions', { email: 'known@example.com', reason: 'SPAM_COMPLAINT' });
      const mapping = encodeURIComponent(JSON.stringify({ 'Email Address': 'email', When: null }));
      const accepted = await suppress(
        'Email Address,reason,When\nsue@example.com,,1\nhard@example.com,hard_bounce,2\nknown@example.com,HARD_BOUNCE,3\n' +
          'nobody,,4\nodd@example.com,TIRED,5\nTwice@example.com,BLOCKED,6\ntwice@example.com,,7\n',
        `?mapping=${mapping}`,
      );
      const path = `/suppression-imports/${accepted.at('id')}`;
      expect([accepted.status, accepted.headers.get('location')]).toEqual([202, `/api/v1${path}`]);
      const found = await eventually('the import ends', async () => {
        const seen = await client.get(path);
        return seen.at('status') === 'COMPLETED' && seen;
      });
      expect(found.at('counts')).toEqual({ total: 7, suppressed: 3, skipped: 2, failed: 2 });
      expect((await client.get(`${path}/errors`)).at('data')).toEqual([
        { row: 4, line: 5, email: null, errors: { email: expect.any(String) } },
        {
          row: 5,
          line: 6,
          email: 'odd@example.com',
          errors: { reason: 'must be one of GLOBAL_UNSUBSCRIBE, SPAM_COMPLAINT, HARD_BOUNCE, BLOCKED' },
        },
      ]);
      const stored = async (email: string) => {
        const { suppressed, reason, streams } = (await client.get(`/suppressions/${email}`)).body as Record<
          string,
          unknown
        >;
        return [suppressed, reason, streams];
      };
      expect(await stored('sue@example.com')).toEqual([true, 'GLOBAL_UNSUBSCRIBE', 'MARKETING']);
      expect(await stored('hard@example.com')).toEqual([true, 'HARD_BOUNCE', 'ALL']);
      expect(await stored('known@example.com')).toEqual([true, 'SPAM_COMPLAINT', 'ALL']);
      expect(await stored('twice@example.com')).toEqual([true, 'BLOCKED', 'ALL']);
      expect((await client.get('/suppressions/twice@example.com')).at('email')).toBe('Twice@example.com');
      expect((await client.get('/suppressions/odd@example.com')).at('suppressed')).toBe(false);
      const { consents } = (await client.get('/subscribers/sue@example.com/consents')).body as {
        consents: { status: string }[];
      };
      expect(consents.map(({ status }) => status)).toEqual(['UNSUBSCRIBED']);
      expect((await client.get(`/subscriber-imports/${accepted.at('id')}`)).status).toBe(404);
    });

    it('does what each row of an address says, in their order', async () => {
      const person = { email: 'both@example.com', topicKeys: [topicKey], consent: { source: 'form' } };
      expect((await client.post('/subscribers', person)).status).toBe(201);
      const addresses = Array.from({ length: 1_000 }, (_, n) => `far${n}@example.com`);
      const accepted = await suppress(
        `email,reason\nboth@example.com,HARD_BOUNCE\nboth@example.com,HARD_BOUNCE\nboth@example.com,GLOBAL_UNSUBSCRIBE\n${addresses.join(',\n')},\nfar0@example.com,BLOCKED\n`,
      );
      const found = await eventually('the import ends', async () => {
        const seen = await client.get(`/suppression-imports/${accepted.at('id')}`);
        return seen.at('status') === 'COMPLETED' && seen;
      });
      expect(found.at('counts')).toEqual({ total: 1_004, suppressed: 1_001, skipped: 3, failed: 0 });
      expect((await client.get('/suppressions/both@example.com')).body).toMatchObject({
        reason: 'HARD_BOUNCE',
        streams: 'ALL',
      });
      expect((await client.get('/subscribers/both@example.com/consents')).at('consents', 0, 'status')).toBe(
        'UNSUBSCRIBED',
      );
      expect((await client.get('/suppressions/far0@example.com')).body).toMatchObject({
        reason: 'GLOBAL_UNSUBSCRIBE',
        streams: 'ALL',
      });
    });

    it('names what cannot be read, and suppresses nobody', async () => {
      const unknown = await suppress('email,When\nno@example.com,1\n');
      expect([unknown.status, unknown.at('errors')]).toEqual([
        422,
        { 'columns[1]': 'is not a known column: When; mapping names its field, or null to leave it out' },
      ]);
      const wrong = await suppress('email\nno@example.com\n', '?reason=TIRED&mapping=x');
      expect([wrong.status, Object.keys(wrong.at('errors'))]).toEqual([400, ['reason']]);
      const unmapped = await suppress('email\nno@example.com\n', '?mapping=x');
      expect([unmapped.status, Object.keys(unmapped.at('errors'))]).toEqual([400, ['mapping']]);
      expect((await suppress('')).status).toBe(400);
      expect((await client.post('/suppression-imports', { rows: [] })).status).toBe(415);
      expect((await client.get('/suppressions/no@example.com')).at('suppressed')).toBe(false);
    });
  });
});
