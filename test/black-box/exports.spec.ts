import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { readCsv } from '#testing/fixtures/csv';
import { eventually } from '#testing/time/eventually';
import { expectProblem } from '#testing/http/problems';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

type Order = Readonly<Record<string, string>>;

const CSV = { headers: { 'content-type': 'text/csv' } };
const consent = { source: 'shop', consentText: 'Send me "news", please' };

/** A field of each type, in an order that is not the alphabet's. */
const FIELDS = [
  { key: 'zeta', type: 'TEXT' },
  { key: 'note', type: 'LONG_TEXT' },
  { key: 'age', type: 'NUMBER' },
  { key: 'ratio', type: 'DECIMAL' },
  { key: 'vip', type: 'BOOLEAN' },
  { key: 'born', type: 'DATE' },
  { key: 'seen', type: 'DATETIME' },
  { key: 'other_mail', type: 'EMAIL' },
  { key: 'site', type: 'URL' },
  { key: 'mobile', type: 'PHONE' },
  { key: 'plan', type: 'SELECT', options: ['pro', 'free; 30 days', 'a,b'] },
  { key: 'likes', type: 'MULTI_SELECT', options: ['tea', 'c, d', '"e"'] },
  { key: 'locale', type: 'TEXT' },
] as const;

const PEOPLE = [
  {
    email: 'Ada+Test@Example.com',
    externalId: 'crm/1 "é", ü',
    firstName: 'Ada "the Countess"',
    lastName: "O’Neil, d'Arc; 李",
    phone: '+44 20 7946 0958',
    locale: 'pt-BR',
    timeZone: 'Europe/London',
    customFields: {
      zeta: ' =1+1, "q" ',
      note: 'line 1\r\nline 2\n\ttabbed, "quoted"\rend',
      age: -42,
      ratio: 0.000_000_12,
      vip: false,
      born: '1815-12-10',
      seen: '2026-03-01T10:00:00.123Z',
      other_mail: 'Ada@Ünï.example',
      site: 'https://example.com/a?b=1,2&c="x"',
      mobile: '+442079460958',
      plan: 'free; 30 days',
      likes: ['c, d', '"e"'],
      locale: '-5 %',
    },
  },
  { email: 'bob@example.com', firstName: '=HYPERLINK("https://evil.example")', customFields: { likes: [] } },
  { email: 'fanny@example.com', lastName: '🌱👩‍🔬', customFields: { ratio: 1.5, vip: true, plan: 'a,b' } },
  { email: 'zoe@example.com' },
  { email: 'Żółw@żółw.example', locale: 'zh-Hant', timeZone: 'Asia/Taipei' },
];

describe('An export', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  const topics = { open: '', confirmed: '' };

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    await defineFields(client);
    const open = await client.post('/topics', { name: 'Open', doubleOptInEnabled: false });
    const confirmed = await client.post('/topics', { name: 'Confirmed', doubleOptInEnabled: true });
    Object.assign(topics, { open: open.at('topicKey'), confirmed: confirmed.at('topicKey') });
    for (const person of PEOPLE) {
      const topicKeys = person.email.startsWith('bob') ? [topics.confirmed] : [topics.open];
      const made = await client.post('/subscribers', { ...person, topicKeys, consent });
      expect([person.email, made.status, made.status === 201 ? '' : made.text]).toEqual([
        person.email,
        201,
        '',
      ]);
    }
    // One each of who left, is suppressed, and waits for a confirmation (bob).
    await client.delete(`/subscribers/fanny@example.com/consents/${topics.open}`);
    await client.post('/suppressions', { email: 'zoe@example.com', reason: 'HARD_BOUNCE' });
  });
  afterAll(() => system?.stop());

  async function defineFields(of: ApiClient): Promise<void> {
    for (const { key, type, ...more } of FIELDS) {
      const options =
        'options' in more ? { options: more.options.map((value) => ({ value, label: value })) } : {};
      const made = await of.post('/custom-fields', { key, displayName: key, type, ...options });
      expect([key, made.status]).toEqual([key, 201]);
    }
  }

  async function completed(of: ApiClient, order: Order): Promise<ApiAnswer> {
    const ordered = await of.post('/exports', order);
    expect([ordered.status, ordered.at('status')]).toEqual([202, 'QUEUED']);
    expect(ordered.headers.get('location')).toBe(`/api/v1/exports/${ordered.at('id')}`);
    return eventually('the export is made', async () => {
      const found = await of.get(`/exports/${ordered.at('id')}`);
      return found.at('status') === 'COMPLETED' ? found : null;
    });
  }

  async function fileOf(of: ApiClient, order: Order): Promise<Buffer> {
    const made = await completed(of, order);
    const answer = await fetch(made.at('url'));
    expect(answer.status).toBe(200);
    return Buffer.from(await answer.arrayBuffer());
  }

  const rowsOf = (file: Buffer): Record<string, string>[] => {
    const [header = [], ...rows] = readCsv(file.toString());
    return rows.map((row) => Object.fromEntries(header.map((name, index) => [name, row[index] ?? ''])));
  };
  const linesOf = (file: Buffer): Record<string, unknown>[] =>
    file
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  it('of subscribers is imported unchanged, and the empty project’s own is the same byte for byte', async () => {
    const order = { what: 'SUBSCRIBERS', format: 'CSV' };
    const file = await fileOf(client, order);
    expect(file.toString().split('\r\n')[0]).toBe(
      'email,externalId,firstName,lastName,phone,locale,timeZone,' +
        FIELDS.map(({ key }) => `customFields.${key}`)
          .toSorted()
          .join(','),
    );
    expect(rowsOf(file).map(({ email }) => email)).toEqual(PEOPLE.map(({ email }) => email));
    const empty = await (await system.project()).client('TEST');
    await defineFields(empty);
    const topic = await empty.post('/topics', { name: 'Moved', doubleOptInEnabled: false });
    const query = `topicKeys=${topic.at('topicKey')}&consent.source=moved`;
    const started = await empty.post(`/subscriber-imports?${query}`, file.toString(), CSV);
    expect([started.status, started.text]).toEqual([202, expect.any(String)]);
    const ended = await eventually('the import ends', async () => {
      const found = await empty.get(`/subscriber-imports/${started.at('id')}`);
      return ['COMPLETED', 'FAILED'].includes(found.at('status')) ? found : null;
    });
    expect(ended.at('counts')).toMatchObject({ total: PEOPLE.length, created: PEOPLE.length, failed: 0 });
    const ada = await empty.get(`/subscribers/${encodeURIComponent(PEOPLE[0]!.email)}`);
    expect(ada.body).toMatchObject(PEOPLE[0]!);
    const again = await fileOf(empty, order);
    expect(again.toString()).toBe(file.toString());
    expect(again.equals(file)).toBe(true);
  });

  it('of subscribers as NDJSON has the rows that an import takes as JSON', async () => {
    const lines = linesOf(await fileOf(client, { what: 'SUBSCRIBERS', format: 'NDJSON' }));
    expect(lines).toHaveLength(PEOPLE.length);
    expect(lines[0]).toEqual(PEOPLE[0]);
  });

  it('of consents has their states and proofs, of suppressions their reasons', async () => {
    const consents = rowsOf(await fileOf(client, { what: 'CONSENTS', format: 'CSV' }));
    const stateOf = ({ email, subscriberStatus, topicName, status }: Record<string, string>) =>
      [email, subscriberStatus, topicName, status].join(' ');
    expect(consents.map(stateOf)).toEqual([
      'Ada+Test@Example.com ACTIVE Open SUBSCRIBED',
      'bob@example.com PENDING_CONFIRMATION Confirmed PENDING_CONFIRMATION',
      'fanny@example.com UNSUBSCRIBED Open UNSUBSCRIBED',
      'zoe@example.com BOUNCED Open SUBSCRIBED',
      'Żółw@żółw.example ACTIVE Open SUBSCRIBED',
    ]);
    expect(consents[0]).toMatchObject({ ...consent, topicKey: topics.open, revokedAt: '' });
    const suppressions = linesOf(await fileOf(client, { what: 'SUPPRESSIONS', format: 'NDJSON' }));
    const suppressedAt = expect.stringMatching(/Z$/);
    expect(suppressions).toEqual([
      { email: 'zoe@example.com', reason: 'HARD_BOUNCE', streams: 'ALL', suppressedAt },
    ]);
  });

  it('of events has what they say, of deliveries what became of them, and of a segment its people only', async () => {
    const properties = { total: 12.5, items: [{ sku: '=A1' }] };
    for (const email of ['bob@example.com', 'fanny@example.com'])
      await client.post(`/subscribers/${email}/events`, { name: 'order', properties });
    const rules = JSON.stringify({
      version: 1,
      where: { and: [{ field: 'email', op: 'eq', value: 'bob@example.com' }] },
    });
    const segment = await client.post('/segments', { name: 'Bob', rules });
    expect(segment.status).toBe(201);
    const events = rowsOf(await fileOf(client, { what: 'EVENTS', format: 'CSV' }));
    expect(events).toHaveLength(2);
    const segmentKey: string = segment.at('segmentKey');
    const ofBob = linesOf(await fileOf(client, { what: 'EVENTS', format: 'NDJSON', segmentKey }));
    expect(ofBob).toEqual([expect.objectContaining({ email: 'bob@example.com', name: 'order', properties })]);
    const open = await client.get(`/topics/${topics.open}`);
    const draft = { name: 'Spring', subject: 'Spring', contentText: 'Spring {{ links.unsubscribe }}' };
    const campaign = await client.post('/campaigns', { ...draft, topicIds: [open.at('id')] });
    const key: string = campaign.at('campaignKey');
    expect((await client.post(`/campaigns/${key}/send`)).status).toBe(200);
    await eventually(
      'it is sent',
      async () => (await client.get(`/campaigns/${key}`)).at('status') === 'SENT',
    );
    const order = { what: 'DELIVERIES', format: 'CSV' };
    const deliveries = rowsOf(await fileOf(client, order));
    expect(deliveries.map((row) => [row['email'], row['campaignKey'], row['status']])).toEqual(
      expect.arrayContaining([['Ada+Test@Example.com', key, 'SENT']]),
    );
    const masking = await project.client('TEST', { scopes: ['reports:read'] });
    const masked = rowsOf(await fileOf(masking, order));
    expect(masked.map(({ email = '' }) => email).sort()).toEqual(['A…@Example.com', 'Ż…@żółw.example']);
    const none = await fileOf(client, { ...order, segmentKey });
    expect(none.toString().split('\r\n')).toEqual([expect.stringMatching(/^id,kind,campaignKey/), '']);
  });

  it('has a link that needs no key and is good for an hour', async () => {
    const made = await completed(client, { what: 'SUPPRESSIONS', format: 'CSV' });
    expect(made.at('rows')).toBe(1);
    const url: string = made.at('url');
    const left = new Date(made.at('expiresAt')).getTime() - new Date(made.at('updatedAt')).getTime();
    expect(left).toBe(3_600_000);
    const answer = await fetch(url);
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('cache-control')]).toEqual([
      200,
      'text/csv; charset=utf-8',
      'no-store',
    ]);
    expect(answer.headers.get('content-disposition')).toMatch(
      /^attachment; filename="suppressions-\d{4}-\d\d-\d\d\.csv"$/,
    );
    await answer.text();
    expect((await fetch(`${url.slice(0, -1)}${url.endsWith('A') ? 'B' : 'A'}`)).status).toBe(404);
    await system.database.query(
      `update messaging.data_exports set expires_at = now() - interval '1 second' where id = $1`,
      [made.at('id')],
    );
    expect((await fetch(url)).status).toBe(404);
    const over = await client.get(`/exports/${made.at('id')}`);
    expect([over.at('status'), over.at('url')]).toEqual(['COMPLETED', null]);
  });

  it('needs the scope of its rows, and says what is wrong with an order', async () => {
    const readers = await project.client('TEST', { scopes: ['subscribers:read'] });
    for (const [what, requiredScope] of [
      ['CONSENTS', 'consents:manage'],
      ['SUPPRESSIONS', 'suppressions:manage'],
      ['DELIVERIES', 'reports:read'],
    ]) {
      const refused = await readers.post('/exports', { what, format: 'CSV' });
      expectProblem(refused, 403, 'insufficient-scope', { requiredScope });
    }
    const order = { what: 'CONSENTS', format: 'CSV' };
    const ordered = await client.post('/exports', order);
    const shown = await readers.get(`/exports/${ordered.at('id')}`);
    expectProblem(shown, 403, 'insufficient-scope', { requiredScope: 'consents:manage' });
    expectProblem(await client.post('/exports', { what: 'ALL', format: 'XLS' }), 400, 'validation-error', {
      errors: {
        what: 'must be one of SUBSCRIBERS, CONSENTS, SUPPRESSIONS, EVENTS, DELIVERIES',
        format: 'must be one of CSV, NDJSON',
      },
    });
    const suppressions = { what: 'SUPPRESSIONS', format: 'CSV', segmentKey: 'APIT-1' };
    expectProblem(await client.post('/exports', suppressions), 400, 'validation-error', {
      errors: { segmentKey: 'must not be given with SUPPRESSIONS, which are of addresses' },
    });
    expectProblem(
      await client.post('/exports', { ...order, segmentKey: 'APIT-999' }),
      422,
      'domain-validation',
      {
        errors: { segmentKey: 'is not a known segment' },
      },
    );
    expectProblem(await client.get('/exports/nothing'), 404, 'not-found');
  });

  it('that is asked for more often than 20 times an hour is refused with the time to wait', async () => {
    const other = await (await system.project()).client('TEST');
    const answers = [];
    for (const what of ['SUBSCRIBERS', 'CONSENTS', 'SUPPRESSIONS', 'EVENTS', 'DELIVERIES'])
      for (let turn = 0; turn < 5; turn += 1) {
        const ordered = await other.post('/exports', { what, format: 'CSV' });
        answers.push(ordered);
        if (ordered.status === 202)
          await system.database.query(`update messaging.data_exports set status = 'FAILED' where id = $1`, [
            ordered.at('id'),
          ]);
      }
    expect(answers.map(({ status }) => status)).toEqual([
      ...Array.from({ length: 20 }, () => 202),
      ...Array.from({ length: 5 }, () => 429),
    ]);
    expect(Number(answers.at(-1)?.headers.get('retry-after'))).toBeGreaterThan(3_000);
  });
});
