import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import sharp from 'sharp';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { openApiDocument } from '#testing/http/openapi-validation';
import { expectProblem } from '#testing/http/problems';
import { sharedSystem, type SharedSystem, type SystemProject } from '#testing/programs/system';

interface MutatingOperation {
  readonly operationId: string;
  readonly 'x-mutates'?: false;
  readonly 'x-required-scope': string | null;
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly example?: unknown }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
}

/** The example without the tracking host, which one project of an installation alone may have. */
function withoutHost(example: unknown): unknown {
  if (typeof example !== 'object' || example === null) return example;
  return Object.fromEntries(Object.entries(example).filter(([name]) => name !== 'trackingHost'));
}

/** An operation that changes something, as a request with the examples of the document. */
interface Example {
  readonly operationId: string;
  readonly isScoped: boolean;
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

interface Entry {
  readonly sequence: number;
  readonly action: string;
  readonly actor: Readonly<Record<string, string | null>>;
  readonly requestId: string;
  readonly target: { readonly type: string; readonly id: string | null };
  readonly outcome: string;
  readonly problem: string | null;
  readonly items: number | null;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
  readonly previousHash: string;
  readonly hash: string;
}

const NO_HASH = '0'.repeat(64);

/** The chain of an export, as anybody can compute it from its lines. */
function expectChain(lines: readonly string[]): void {
  for (const [index, line] of lines.entries()) {
    const { hash, previousHash, sequence } = JSON.parse(line) as Entry;
    const content = line.replace(/,"hash":"[0-9a-f]{64}"\}$/, '}');
    expect(createHash('sha256').update(content).digest('hex')).toBe(hash);
    const before = index === lines.length - 1 ? null : (JSON.parse(lines[index + 1]!) as Entry);
    expect(previousHash).toBe(before?.hash ?? NO_HASH);
    expect(sequence).toBe((before?.sequence ?? 0) + 1);
  }
}

describe('the audit log', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let examples: readonly Example[];

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project('APIT');
    client = await project.client('TEST');
    const { paths } = await openApiDocument(system.baseUrl);
    examples = examplesOf(paths as unknown as Parameters<typeof examplesOf>[0]);
  });
  afterAll(() => system?.stop());

  function examplesOf(
    paths: Readonly<Record<string, Readonly<Record<string, MutatingOperation>>>>,
  ): readonly Example[] {
    return Object.entries(paths).flatMap(([template, methods]) =>
      Object.entries(methods)
        .filter(([method, operation]) => method !== 'get' && operation['x-mutates'] !== false)
        .map(([method, { operationId, parameters = [], requestBody, ...operation }]) => ({
          operationId,
          isScoped: operation['x-required-scope'] !== null,
          method: method.toUpperCase(),
          path: parameters
            .filter((parameter) => parameter.in === 'path')
            .reduce(
              (path, { name, example }) => path.replace(`{${name}}`, encodeURIComponent(String(example))),
              template.replace('/api/v1', ''),
            ),
          body: withoutHost(requestBody?.content['application/json']?.example),
        })),
    );
  }

  const ask = (asking: ApiClient, { method, path, body }: Example) =>
    asking.request(method, path, body === undefined ? {} : { body });
  const list = async (query: string): Promise<readonly Entry[]> =>
    (await client.get(`/audit-log?${query}`)).at<readonly Entry[]>('data');
  const entriesOf = (answer: ApiAnswer) => list(`requestId=${answer.headers.get('x-request-id')}`);
  async function entryOf(answer: ApiAnswer): Promise<Entry> {
    const entries = await entriesOf(answer);
    expect(entries).toHaveLength(1);
    return entries[0]!;
  }
  const topic = (name: string) => client.post('/topics', { name });
  const outcomeOf = (status: number) => (status < 400 ? 'SUCCEEDED' : 'REFUSED');

  it('has exactly one entry of each request that changes something, refused ones too', async () => {
    expect(examples.length).toBeGreaterThanOrEqual(65);
    const without = await project.client('TEST', { scopes: [] });
    const outcomes = new Set<string>();
    for (const example of examples) {
      const { operationId: action } = example;
      const answer = await ask(client, example);
      const { outcome, problem, target } = await entryOf(answer);
      const slug = answer.status < 400 ? null : answer.at('type').split('/').at(-1);
      expect([action, outcome, problem]).toEqual([action, outcomeOf(answer.status), slug]);
      outcomes.add(`${action} ${outcome}`);
      const [, made] = answer.headers.get('location')?.split(`/api/v1${example.path}/`) ?? [];
      if (made !== undefined && !['subscriber', 'suppression'].includes(target.type))
        expect([action, target.id]).toEqual([action, made]);
      const refused = await ask(without, example);
      if (!example.isScoped) continue;
      const entry = await entryOf(refused);
      expect(entry).toMatchObject({ action, outcome: 'REFUSED', problem: 'insufficient-scope', after: null });
    }
    expect([...outcomes].filter((one) => one.endsWith('SUCCEEDED')).length).toBeGreaterThanOrEqual(20);
  });

  it('has none of reads, of previews and of requests without a valid key', async () => {
    const read = await client.get('/topics');
    const preview = await client.post('/templates/validate', { contentText: 'Hello' });
    const stranger = await fetch(`${system.baseUrl}/api/v1/topics`, { method: 'POST' });
    expect([read.status, preview.status, stranger.status]).toEqual([200, 200, 401]);
    for (const { headers } of [read, preview, stranger])
      expect(await list(`requestId=${headers.get('x-request-id')}`)).toEqual([]);
  });

  it('tells who asked, what for and of what', async () => {
    const made = await topic('News');
    const key = made.at('topicKey');
    const changed = await client.patch(`/topics/${key}`, { name: 'More news' });
    const [creation, change] = [await entryOf(made), await entryOf(changed)];
    expect(creation).toMatchObject({
      action: 'createTopic',
      target: { type: 'topic', id: key },
      actor: { type: 'KEY', keyName: expect.any(String), network: '127.0.0.0/24' },
      before: null,
      after: { name: 'News', topicKey: key, doubleOptInEnabled: true },
    });
    expect(change).toMatchObject({
      action: 'updateTopic',
      target: { type: 'topic', id: key },
      before: { name: 'News' },
      after: { name: 'More news' },
    });
    expect(await list(`targetType=topic&targetId=${key}`)).toEqual([change, creation]);
    expect(await list(`keyId=${creation.actor['keyId']}&action=updateTopic&size=1`)).toEqual([change]);
    const [refused] = await list('outcome=REFUSED&size=1');
    expect(refused).toMatchObject({ outcome: 'REFUSED' });
  });

  it('names people by their ids, and bulk requests by their number of items', async () => {
    const topicKey = (await client.post('/topics', { name: 'Offers', doubleOptInEnabled: false })).at(
      'topicKey',
    );
    const email = 'ada.audit@example.com';
    const person = await client.post('/subscribers', {
      email,
      topicKeys: [topicKey],
      consent: { source: 'form' },
    });
    const id = person.at('id');
    const acts = [
      person,
      await client.patch(`/subscribers/${email}`, { firstName: 'Ada' }),
      await client.delete(`/subscribers/${email}/consents/${topicKey}`),
      await client.post('/suppressions', { email }),
      await client.delete(`/suppressions/${email}`, { headers: { 'x-confirm-unsuppress': 'true' } }),
      await client.delete(`/subscribers/${email}`),
    ];
    expect(acts.map(({ status }) => status)).toEqual([201, 200, 204, 201, 204, 204]);
    for (const act of acts) expect(await entryOf(act)).toMatchObject({ target: { id }, after: null });
    const events = [
      { email, name: 'order' },
      { externalId: '7', name: 'order' },
    ];
    const batch = await entryOf(await client.post('/subscriber-events/batch', { events }));
    expect(batch).toMatchObject({ items: 2, target: { type: 'subscriber-event', id: null } });
  });

  it('names what was made, or whom it is about, wherever the id is known', async () => {
    const email = 'made.audit@example.com';
    const topicKey = (await client.post('/topics', { name: 'Made', doubleOptInEnabled: false })).at(
      'topicKey',
    );
    const consent = { source: 'form' };
    const put = () =>
      client.request('PUT', `/subscribers/${email}`, {
        body: { firstName: 'Ada', topicKeys: [topicKey], consent },
      });
    const upserted = await put();
    const png = await sharp({ create: { width: 4, height: 4, channels: 3, background: '#c33' } })
      .png()
      .toBuffer();
    const message = {
      to: 'receipt.audit@example.com',
      purpose: 'An order',
      subject: 'Receipt',
      text: 'Thank you.',
    };
    const rows = 'email\nimported.audit@example.com';
    const csv = { headers: { 'content-type': 'text/csv' } };
    const person = upserted.at('id');
    const acts: readonly (readonly [string, ApiAnswer, number, string?])[] = [
      ['upsertSubscriber', upserted, 201],
      ['upsertSubscriber', await put(), 200],
      [
        'recordSubscriberEvent',
        await client.post(`/subscribers/${email}/events`, { name: 'order' }),
        202,
        person,
      ],
      [
        'recordSubscriberEvent',
        await client.post(`/subscribers/${person}/events`, { name: 'order' }),
        202,
        person,
      ],
      ['sendMessage', await client.post('/messages', message), 202],
      ['uploadMedia', await client.post('/media', png, { headers: { 'content-type': 'image/png' } }), 201],
      [
        'importSubscribers',
        await client.post(`/subscriber-imports?topicKeys=${topicKey}&consent.source=form`, rows, csv),
        202,
      ],
      ['importSuppressions', await client.post('/suppression-imports', rows, csv), 202],
    ];
    for (const [action, answer, status, id = answer.at('id')] of acts) {
      expect([action, answer.status]).toEqual([action, status]);
      expect(await entryOf(answer)).toMatchObject({ action, outcome: 'SUCCEEDED', target: { id } });
    }
  });

  it('says of secrets, addresses and content only that they changed', async () => {
    const relay = await client.post('/relays', {
      kind: 'SMTP',
      name: 'Own',
      host: '127.0.0.1',
      port: 2525,
      username: 'ada@example.com',
      password: 'a password',
    });
    expect((await entryOf(relay)).after).toMatchObject({
      host: '127.0.0.1',
      username: 'changed',
      password: 'changed',
      streams: expect.any(Array),
    });
    const removed = await client.delete(`/relays/${relay.at('relayKey')}`);
    const { before, after } = await entryOf(removed);
    expect([before, after]).toMatchObject([{ name: 'Own', password: 'changed' }, null]);
    const settings = await entryOf(
      await client.patch('/project', { replyTo: 'other@example.com', timeZone: 'Asia/Tokyo' }),
    );
    expect(settings.after).toMatchObject({ replyTo: 'changed', timeZone: 'Asia/Tokyo' });
    const template = await client.post('/templates', {
      name: 'Receipt',
      kind: 'MESSAGE',
      subject: 'A',
      contentText: 'B',
    });
    const published = await client.post(`/templates/${template.at('templateKey')}/publish`, {});
    expect((await entryOf(template)).after).toMatchObject({ draft: 'changed' });
    expect(await entryOf(published)).toMatchObject({
      before: { publishedVersion: null },
      after: { publishedVersion: 1 },
    });
    const deleted = await client.delete(`/templates/${template.at('templateKey')}`);
    expect(await entryOf(deleted)).toMatchObject({
      before: { name: 'Receipt', kind: 'MESSAGE' },
      after: null,
    });
    const field = { key: 'audited', displayName: 'Audited', type: 'TEXT' };
    const made = await entryOf(await client.post('/custom-fields', field));
    expect([made.before, made.after]).toEqual([
      null,
      expect.objectContaining({ ...field, status: 'ACTIVE' }),
    ]);
    const texts = { 'optIn.subject': 'Please press the button of {project}' };
    const worded = await entryOf(await client.request('PUT', '/project/texts/de', { body: { texts } }));
    expect(worded).toMatchObject({ before: { locale: 'de' }, after: texts });
  });

  it('tells replays of an idempotent request, and requests over the limit once a minute', async () => {
    const request = { headers: { 'Idempotency-Key': 'audited' } };
    const first = await client.post('/topics', { name: 'Once' }, request);
    const second = await client.post('/topics', { name: 'Once' }, request);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect([(await entryOf(first)).outcome, (await entryOf(second)).outcome]).toEqual([
      'SUCCEEDED',
      'REPLAYED',
    ]);
    const slow = await project.client('TEST', { rateLimitPerMinute: 1 });
    const answers: ApiAnswer[] = [];
    for (let n = 0; n < 5; n += 1) answers.push(await slow.post('/topics', { name: 'Too many' }));
    const limited = answers.filter(({ status }) => status === 429);
    expect(limited.length).toBeGreaterThanOrEqual(3);
    const entries = await Promise.all(limited.map(entriesOf));
    expect(entries.flat()).toMatchObject([{ outcome: 'REFUSED', problem: 'rate-limited' }]);
  });

  it('says REFUSED alone of a file that turns out to be none', async () => {
    const csv = { headers: { 'content-type': 'text/csv' } };
    const refused = await client.post('/suppression-imports', 'email\na@example.com\n"', csv);
    const unread = await client.post('/suppression-imports', 'email,when\na@example.com,1', csv);
    const taken = await client.post('/suppression-imports', 'email\na@example.com', csv);
    for (const answer of [refused, unread, taken])
      expect(await entryOf(answer)).toMatchObject({
        action: 'importSuppressions',
        outcome: outcomeOf(answer.status),
      });
    expect([unread.status, taken.status]).toEqual([422, 202]);
  });

  it('tells of bodies that cannot be read', async () => {
    const answer = await client.request('POST', '/topics', { body: '{"name":' });
    expectProblem(answer, 400, 'malformed-json');
    expect(await entryOf(answer)).toMatchObject({ action: 'createTopic', problem: 'malformed-json' });
  });

  it('is one chain, whoever writes at the same time', async () => {
    const made = await Promise.all(Array.from({ length: 40 }, (_unused, n) => topic(`Topic ${n}`)));
    expect(made.every(({ status }) => status === 201)).toBe(true);
    const [exported, listed] = await Promise.all([client.get('/audit-log/export'), list('size=100')]);
    expect(exported.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
    const lines = exported.text.trimEnd().split('\n');
    expectChain(lines);
    expect(lines.slice(0, listed.length).map((line) => JSON.parse(line) as Entry)).toEqual(listed);
    const ids = new Set(lines.map((line) => (JSON.parse(line) as Entry).requestId));
    expect(made.every(({ headers }) => ids.has(headers.get('x-request-id')!))).toBe(true);
    const page = await client.get('/audit-log');
    expect(page.at('pagination', 'totalElements')).toBe(lines.length);
  });

  it('is chained by a worker, too', async () => {
    await topic('Chained');
    await eventually('nothing waits', async () => {
      const waiting = await system.database.query(
        'select from platform.audit_inbox where environment_id = $1',
        [project.test.environmentId],
      );
      return waiting.length === 0;
    });
  });

  it('refuses a span that is longer than it is kept, and wrong filters', async () => {
    const years = await client.get('/audit-log?from=2016-01-01T00:00:00Z&to=2026-01-01T00:00:00Z');
    expectProblem(years, 422, 'domain-validation', {
      errors: { to: 'must be at most 400 days, for which entries are kept, after from' },
    });
    const open = await client.get('/audit-log/export?from=2016-01-01T00:00:00Z');
    expectProblem(open, 422, 'domain-validation', {
      errors: { from: 'must be at most 400 days, for which entries are kept, before now' },
    });
    const future = await client.get('/audit-log?from=2999-01-01T00:00:00Z');
    expectProblem(future, 422, 'domain-validation', { errors: { from: 'must be a time before now' } });
    const turned = await client.get('/audit-log?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z');
    expectProblem(turned, 422, 'domain-validation', {
      errors: { to: 'must be a time after from' },
    });
    expectProblem(await client.get('/audit-log?targetType=topic'), 400, 'validation-error', {
      errors: { targetId: 'is required with targetType' },
    });
    const now = new Date();
    const ago = new Date(now.getTime() - 60_000).toISOString();
    expect((await list(`from=${ago}`)).length).toBeGreaterThan(0);
    expect(await list(`to=2020-01-01T00:00:00Z`)).toEqual([]);
  });

  it('is changed by nobody who works for the programs', async () => {
    await topic('Kept');
    const [entry] = await list('size=1');
    const login = new pg.Client({ connectionString: system.database.url });
    await login.connect();
    const refusal = async (role: string, statement: string): Promise<string> => {
      await login.query(
        `begin; set local role ${role}; set local mailwright.environment_id = '${project.test.environmentId}'`,
      );
      const said = await login.query(statement).then(
        () => 'nothing',
        (error: Error) => error.message,
      );
      await login.query('rollback');
      return said;
    };
    const of = `where environment_id = ${project.test.environmentId} and sequence = ${entry!.sequence}`;
    const denied = /permission denied for table audit_log/;
    const update = `update platform.audit_log set outcome = 'FAILED' ${of}`;
    for (const role of ['mailwright_app', 'mailwright_system'])
      for (const statement of [update, 'truncate platform.audit_log'])
        expect(await refusal(role, statement)).toMatch(denied);
    const removal = `delete from platform.audit_log ${of}`;
    expect(await refusal('mailwright_app', removal)).toMatch(denied);
    expect(await refusal('mailwright_system', removal)).toMatch(/are kept for 13 months/);
    for (const statement of ['update platform.audit_inbox set id = id', 'delete from platform.audit_inbox'])
      expect(await refusal('mailwright_app', statement)).toMatch(/permission denied for table audit_inbox/);
    await login.end();
  });

  it('says REFUSED alone of a campaign that keeps the verdict of its checks', async () => {
    const campaign = await client.post('/campaigns', {
      name: 'To nobody',
      subject: 'Hello',
      contentText: 'Hello',
    });
    const refused = await client.post(`/campaigns/${campaign.at('campaignKey')}/send`);
    expect((await client.get(`/campaigns/${campaign.at('campaignKey')}`)).at('preSendStatus')).toBe('FAILED');
    expect(await entryOf(refused)).toMatchObject({ outcome: 'REFUSED', problem: 'pre-send-rejected' });
  });

  it('holds no address, and one entry a request, in all that was logged by now', async () => {
    const rows = await system.database.query<{ line: string }>(
      `select l::text as line from platform.audit_log l where l::text like '%@%'
       union all select i::text from platform.audit_inbox i where i::text like '%@%'`,
    );
    expect(rows).toEqual([]);
    const repeated = await system.database.query(
      `select l.environment_id, l.request_id, array_agg(l.action || ' ' || l.outcome) from platform.audit_log l
       where l.request_id is not null group by 1, 2 having count(*) > 1 and count(distinct l.action) = 1`,
    );
    expect(repeated).toEqual([]);
  });

  describe('beside the log of requests', () => {
    it('which has reads, too, by the names of their routes', async () => {
      const answers = [
        await client.get('/topics/APIT-999?fields=name'),
        await client.get('/subscribers/nobody@example.com'),
        await topic('Requested'),
        await client.get('/nothing-here'),
      ];
      const ids = answers.map(({ headers }) => headers.get('x-request-id'));
      const logged = await eventually('they are written', async () => {
        const rows = (await client.get('/requests?size=100')).at<readonly Record<string, unknown>[]>('data');
        const found = ids.map((id) => rows.find(({ requestId }) => requestId === id));
        return found.every((row) => row !== undefined) && found;
      });
      expect(logged.map((row) => [row?.['method'], row?.['route'], row?.['status']])).toEqual([
        ['GET', '/api/v1/topics/{topicKey}', 404],
        ['GET', '/api/v1/subscribers/{email}', 404],
        ['POST', '/api/v1/topics', 201],
        ['GET', null, 404],
      ]);
      const one = await client.get(`/requests?requestId=${ids[0]}&status=404`);
      expect(one.at('data')).toEqual([logged[0]]);
      expect((await client.get('/requests?status=599')).at('data')).toEqual([]);
    });
  });
});
