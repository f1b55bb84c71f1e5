import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { expectProblem } from '#testing/http/problems';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

describe('people', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let topicKey: string;
  let people = 0;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    topicKey = (await client.post('/topics', { name: 'News', doubleOptInEnabled: false })).at('topicKey');
  });

  afterAll(() => system?.stop());

  const at = (person: string) => `/subscribers/${encodeURIComponent(person)}`;
  const nobody = () => `person-${(people += 1)}@example.com`;
  const create = (fields: object, by = client): Promise<ApiAnswer> =>
    by.post('/subscribers', {
      email: nobody(),
      topicKeys: [topicKey],
      consent: { source: 'form' },
      ...fields,
    });
  const imported = async (rows: readonly object[], options: object = {}) => {
    const body = { rows, topicKeys: [topicKey], consent: { source: 'fair' }, ...options };
    const { body: accepted } = await client.post('/subscriber-imports', body);
    const { id } = accepted as { id: string };
    const ended = await eventually('the import ends', async () => {
      const found = await client.get(`/subscriber-imports/${id}`);
      return ['COMPLETED', 'FAILED'].includes(found.at('status')) ? found : null;
    });
    const errors = await client.get(`/subscriber-imports/${id}/errors`);
    return { counts: ended.at<object>('counts'), errors: errors.at<object[]>('data') };
  };

  describe('have an id of the client', () => {
    it('which is kept, changed and cleared', async () => {
      const created = await create({ externalId: 'Kunde 17/ä' });
      expect([created.status, created.at('externalId')]).toEqual([201, 'Kunde 17/ä']);
      const path = at(created.at('email'));
      expect((await client.patch(path, { firstName: 'Ada' })).at('externalId')).toBe('Kunde 17/ä');
      expect((await client.patch(path, { externalId: '17' })).at('externalId')).toBe('17');
      expect((await client.get(path)).at('externalId')).toBe('17');
      expect((await client.patch(path, { externalId: null })).at('externalId')).toBeNull();
      expect((await create({ externalId: '17' })).status).toBe(201);
    });

    it('which nobody else in the environment has', async () => {
      await create({ externalId: 'taken' });
      const email = nobody();
      const refused = await create({ externalId: 'taken', email });
      expectProblem(refused, 409, 'already-exists', { field: 'externalId' });
      expect((await client.get(at(email))).status).toBe(404);
      const other = await create({ externalId: 'Taken', firstName: 'Eve' });
      expect(other.status).toBe(201);
      const changed = await client.patch(at(other.at('email')), { externalId: 'taken', firstName: 'E.' });
      expectProblem(changed, 409, 'already-exists', { field: 'externalId' });
      expect((await client.get(at(other.at('email')))).body).toMatchObject({
        externalId: 'Taken',
        firstName: 'Eve',
      });
      const again = await create({ email: other.at('email') });
      expectProblem(again, 409, 'already-exists');
      const live = await project.client('LIVE');
      const topic = await live.post('/topics', { name: 'News', doubleOptInEnabled: false });
      expect((await create({ externalId: 'taken', topicKeys: [topic.at('topicKey')] }, live)).status).toBe(
        201,
      );
    });

    it('which one of two gets who want it at once', async () => {
      const both = await Promise.all([create({ externalId: 'raced' }), create({ externalId: 'raced' })]);
      expect(new Set(both.map(({ status }) => status))).toEqual(new Set([201, 409]));
    });

    it('in printable characters', async () => {
      const bad = ['', ' ', ' a', 'a\n', 'a\u0000', 'a\u200b', 'x'.repeat(129), 17];
      for (const externalId of bad) {
        const refused = await create({ externalId });
        expectProblem(refused, 400, 'validation-error', { errors: { externalId: expect.any(String) } });
      }
      expect((await create({ externalId: '😀'.repeat(128) })).status).toBe(201);
    });

    it('in imports, whose rows say which they may not have', async () => {
      const holder = await create({ externalId: 'i-held' });
      const [one, two, three, four] = [nobody(), nobody(), nobody(), nobody()];
      const first = await imported([
        { email: one, externalId: 'i-1' },
        { email: two, external_id: ' i-2 ' },
        { email: three, externalId: 'i-1' },
        { email: four, externalId: 'i-held', firstName: 'Eve' },
        { email: holder.at('email'), externalId: 'i-held', firstName: 'Ada' },
        { email: nobody(), externalId: 'x'.repeat(129) },
      ]);
      expect(first.counts).toEqual({ total: 6, created: 2, updated: 1, skipped: 0, failed: 3 });
      expect(first.errors).toEqual([
        expect.objectContaining({ row: 3, email: three, errors: { externalId: 'is that of row 1 already' } }),
        expect.objectContaining({
          row: 4,
          email: four,
          errors: { externalId: 'belongs to another subscriber' },
        }),
        expect.objectContaining({ row: 6, errors: { externalId: 'must be at most 128 characters' } }),
      ]);
      expect((await client.get(at(two))).at('externalId')).toBe('i-2');
      expect((await client.get(at(holder.at('email')))).body).toMatchObject({ firstName: 'Ada' });
      const second = await imported([
        { email: one, externalId: null },
        { email: two, firstName: 'Bob' },
      ]);
      expect(second.counts).toMatchObject({ updated: 2, failed: 0 });
      expect((await client.get(at(one))).at('externalId')).toBeNull();
      expect((await client.get(at(two))).at('externalId')).toBe('i-2');
    });

    it('in large imports of the same ids at once, each given once', async () => {
      const rows = Array.from({ length: 2_500 }, (_, index) => index);
      const rowsOf = (name: string) =>
        rows.map((index) => ({ email: `${name}-${index}@example.org`, externalId: `big-${index}` }));
      const ended = await Promise.all([imported(rowsOf('one')), imported(rowsOf('two'))]);
      const sum = (count: 'created' | 'failed') =>
        ended.reduce((total, { counts }) => total + (counts as Record<string, number>)[count]!, 0);
      expect([sum('created'), sum('failed')]).toEqual([2_500, 2_500]);
    });

    it('in rules of segments', async () => {
      const mine = await create({ externalId: 'Segment-A' });
      const rules = (op: string, value?: string) =>
        JSON.stringify({ version: 1, where: { field: 'externalId', op, ...(value && { value }) } });
      const equal = await client.post('/segments/preview', { rules: rules('eq', 'segment-a') });
      expect(equal.body).toMatchObject({ count: 1, sample: [{ email: mine.at('email') }] });
      const others = await client.post('/segments/preview', { rules: rules('startsWith', 'segment-') });
      expect(others.at('count')).toBe(1);
      expect((await client.post('/segments/preview', { rules: rules('notExists') })).status).toBe(200);
    });
  });

  describe('are found in paths', () => {
    const idsOf = (person: ApiAnswer) => [
      person.at('id'),
      person.at('id').toUpperCase(),
      person.at('subscriberKey'),
      `ext:${person.at('externalId')}`,
    ];

    it('by their ids as by their address', async () => {
      const ada = await create({ externalId: 'path/ü 1@example.com' });
      for (const path of idsOf(ada).map(at)) {
        expect((await client.get(path)).body).toEqual(ada.body);
        expect((await client.patch(path, { lastName: null })).at('id')).toBe(ada.at('id'));
        expect((await client.get(`${path}/consents`)).at('subscriberEmail')).toBe(ada.at('email'));
        expect((await client.post(`${path}/events`, { name: 'seen' })).status).toBe(202);
        expectProblem(
          await client.post(`${path}/consents`, { topicKey, source: 'form' }),
          409,
          'already-exists',
        );
        expectProblem(await client.post(`${path}/consents/${topicKey}/resend`), 409, 'invalid-state', {
          currentState: 'SUBSCRIBED',
          allowedStates: ['PENDING_CONFIRMATION'],
        });
        const suppression = path.replace('subscribers', 'suppressions');
        expect((await client.get(suppression)).body).toMatchObject({
          email: ada.at('email'),
          suppressed: false,
        });
        const confirmed = { headers: { 'x-confirm-unsuppress': 'true' } };
        expect((await client.delete(suppression, confirmed)).status).toBe(204);
      }
      expect((await client.delete(`${at(ada.at('id'))}/consents/${topicKey}`)).status).toBe(204);
      expect((await client.get(at(ada.at('email')))).at('status')).toBe('UNSUBSCRIBED');
    });

    it('and erased by them', async () => {
      for (const index of [0, 2, 3]) {
        const eve = await create({ externalId: `erased-${index}` });
        expect((await client.delete(at(idsOf(eve)[index]!))).status).toBe(204);
        expect((await client.get(at(eve.at('email')))).status).toBe(404);
        expect((await client.delete(at(idsOf(eve)[index]!))).status).toBe(404);
      }
    });

    it('but not by those of another environment, or of nobody', async () => {
      const ada = await create({ externalId: 'mine' });
      const other = await (await system.project()).client('TEST');
      const strange = ['ext:nobody', 'APIT-999999', '019aa3b5-0000-7000-8000-000000000000'];
      for (const person of [...idsOf(ada), ...strange])
        for (const path of [at(person), at(person).replace('subscribers', 'suppressions')])
          expectProblem(await other.get(path), 404, 'not-found');
    });

    it('and a path that can be nobody’s says so', async () => {
      for (const person of ['ext:', 'ext: a', `ext:${'x'.repeat(129)}`, 'nobody', 'apit-1', '019aa3b5'])
        expectProblem(await client.get(at(person)), 400, 'validation-error', {
          errors: { email: expect.any(String) },
        });
    });
  });

  describe('are created or changed in one request', () => {
    const consent = { source: 'shop' };
    const put = (person: string, body: object) => client.request('PUT', at(person), { body });

    it('whoever they are', async () => {
      const email = nobody();
      const created = await put(email, {
        firstName: 'Ada',
        externalId: 'put-1',
        topicKeys: [topicKey],
        consent,
      });
      expect([created.status, created.headers.get('location')]).toEqual([
        201,
        `/api/v1/subscribers/${encodeURIComponent(email)}`,
      ]);
      expect(created.body).toMatchObject({ email, firstName: 'Ada', status: 'ACTIVE', source: 'API' });
      const changed = await put('ext:put-1', { firstName: null, lastName: 'Lovelace' });
      expect([changed.status, changed.headers.get('location')]).toEqual([200, null]);
      expect(changed.body).toMatchObject({
        id: created.at('id'),
        firstName: null,
        lastName: 'Lovelace',
        externalId: 'put-1',
      });
      expectProblem(await put('ext:put-nobody', { topicKeys: [topicKey], consent }), 404, 'not-found');
    });

    it('and subscribed to the topics that they are not in', async () => {
      const double = await client.post('/topics', { name: 'Double', doubleOptInEnabled: true });
      const keys = [topicKey, double.at('topicKey')];
      const ada = await create({});
      const done = await put(ada.at('email'), { topicKeys: keys, consent });
      expect([done.status, done.at('status')]).toEqual([200, 'ACTIVE']);
      const read = async () =>
        (await client.get(`${at(ada.at('email'))}/consents`)).at<Record<string, string>[]>('consents');
      const first = await read();
      expect(new Set(first.map((one) => `${one['topicKey']} ${one['status']}`))).toEqual(
        new Set([`${keys[0]} SUBSCRIBED`, `${keys[1]} PENDING_CONFIRMATION`]),
      );
      expect((await put(ada.at('email'), { topicKeys: keys })).status).toBe(200);
      expect(await read()).toEqual(first);
      const mails = await eventually('the opt-in mail comes', async () => {
        const inbox = await client.get(`/test-inbox/messages?to=${encodeURIComponent(ada.at('email'))}`);
        return inbox.at<unknown[]>('data').length > 0 ? inbox : null;
      });
      expect(mails.at<unknown[]>('data')).toHaveLength(1);
    });

    it('with all that is wrong named, and nothing done', async () => {
      const email = nobody();
      expectProblem(
        await put(email, { firstName: 'Eve', customFields: { nothing: 1 } }),
        422,
        'domain-validation',
        {
          errors: {
            topicKeys: 'is required for a new subscriber',
            consent: 'is required for a new subscriber',
            'customFields.nothing': 'is not a known field',
          },
        },
      );
      expectProblem(await put(email, { topicKeys: ['APIT-99'], consent }), 422, 'domain-validation', {
        errors: { 'topicKeys[0]': 'is not a known topic' },
      });
      expect((await client.get(at(email))).status).toBe(404);
      const ada = await create({ firstName: 'Ada' });
      const other = await client.post('/topics', { name: 'Other', doubleOptInEnabled: false });
      const body = {
        firstName: 'Eve',
        topicKeys: [other.at('topicKey'), 'APIT-99'],
        customFields: { nothing: 1 },
      };
      expectProblem(await put(ada.at('email'), body), 422, 'domain-validation', {
        errors: {
          'topicKeys[1]': 'is not a known topic',
          consent: 'is required to subscribe to topics',
          'customFields.nothing': 'is not a known field',
        },
      });
      expect((await client.get(at(ada.at('email')))).body).toEqual(ada.body);
      expectProblem(await put(ada.at('email'), { email }), 400, 'validation-error', {
        errors: { email: 'is not a known field' },
      });
    });

    it('but not where the address is suppressed, or left the topic', async () => {
      const email = nobody();
      await client.post('/suppressions', { email });
      expectProblem(await put(email, { topicKeys: [topicKey], consent }), 409, 'suppressed');
      const ada = await create({});
      const left = `${at(ada.at('email'))}/consents/${topicKey}`;
      await client.delete(left);
      const back = { topicKeys: [topicKey], consent };
      expectProblem(await put(ada.at('email'), { ...back, firstName: 'Eve' }), 409, 'unsubscribed');
      expect((await put(ada.at('email'), { firstName: 'Ada' })).status).toBe(200);
      expect((await put(ada.at('email'), { ...back, resubscribe: true })).body).toMatchObject({
        status: 'ACTIVE',
        firstName: 'Ada',
      });
      await client.delete(left);
      await client.delete(at(ada.at('email')));
      expectProblem(await put(ada.at('email'), back), 409, 'unsubscribed');
      expect((await client.get(at(ada.at('email')))).status).toBe(404);
      expect((await put(ada.at('email'), { ...back, resubscribe: true })).status).toBe(201);
      await client.post('/suppressions', { email: ada.at('email') });
      expectProblem(await put(ada.at('email'), { ...back, resubscribe: true }), 409, 'suppressed');
      expect((await put(ada.at('email'), { lastName: 'L.' })).at('status')).toBe('SUPPRESSED');
    });

    it('once of many at once', async () => {
      for (let round = 0; round < 5; round += 1) {
        const email = nobody();
        const all = await Promise.all(
          ['A', 'B', 'C', 'D'].map((firstName) => put(email, { firstName, topicKeys: [topicKey], consent })),
        );
        expect(all.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
          200, 200, 200, 201,
        ]);
        expect(new Set(all.map((one) => one.at('id'))).size).toBe(1);
      }
    });
  });

  describe('change their address', () => {
    const consentsOf = async (person: string) => {
      const answer = await client.get(`${at(person)}/consents`);
      const found = answer.at<{ topicKey: string; status: string }[]>('consents');
      return Object.fromEntries(found.map((one) => [one.topicKey, one.status]));
    };
    const mailsTo = async (email: string, count: number) =>
      eventually(`${count} mails to the address`, async () => {
        const inbox = await client.get(`/test-inbox/messages?to=${encodeURIComponent(email)}`);
        const mails = inbox.at<{ id: string; links: { confirm?: string } }[]>('data');
        return mails.length === count ? mails : null;
      });
    const confirmLink = async ([mail]: { id: string }[]) =>
      (await client.get(`/test-inbox/messages/${mail?.id}`)).at('links', 'confirm');
    const pageOf = async (link: string, method = 'GET') => (await fetch(link, { method })).text();

    it('and confirm the new one by the mail that it gets', async () => {
      const double = (await client.post('/topics', { name: 'Double', doubleOptInEnabled: true })).at(
        'topicKey',
      );
      const [old, email] = [nobody(), nobody()];
      const ada = await create({ email: old, topicKeys: [topicKey, double], externalId: 'moves' });
      const first = await confirmLink(await mailsTo(old, 1));
      expect((await fetch(first, { method: 'POST' })).status).toBe(200);
      expect(await consentsOf(old)).toEqual({ [topicKey]: 'SUBSCRIBED', [double]: 'SUBSCRIBED' });

      const moved = await client.patch(at(old), { email, lastName: 'Lovelace' });
      expect([moved.status, moved.body]).toEqual([
        200,
        expect.objectContaining({ id: ada.at('id'), email, lastName: 'Lovelace', status: 'ACTIVE' }),
      ]);
      expectProblem(await client.get(at(old)), 404, 'not-found');
      expect((await client.get(`/subscribers?q=${email}`)).at('data', 0, 'id')).toBe(ada.at('id'));
      expect(await consentsOf(email)).toEqual({
        [topicKey]: 'SUBSCRIBED',
        [double]: 'PENDING_CONFIRMATION',
      });
      const second = await confirmLink(await mailsTo(email, 1));
      await pageOf(first, 'POST');
      expect((await consentsOf(email))[double]).toBe('PENDING_CONFIRMATION');
      expect((await fetch(second, { method: 'POST' })).status).toBe(200);
      expect((await consentsOf('ext:moves'))[double]).toBe('SUBSCRIBED');
      await mailsTo(old, 1);
    });

    it('without being asked where the client has proof, which the record keeps', async () => {
      const double = (await client.post('/topics', { name: 'Double', doubleOptInEnabled: true })).at(
        'topicKey',
      );
      const [old, email] = [nobody(), nobody()];
      const { body } = await create({ email: old, topicKeys: [double] });
      const { id } = body as { id: string };
      expect((await fetch(await confirmLink(await mailsTo(old, 1)), { method: 'POST' })).status).toBe(200);
      const emailConfirmed = { source: 'account-page', confirmedAt: '2026-01-05T09:00:00.000Z' };
      expect((await client.patch(at(id), { email, emailConfirmed })).status).toBe(200);
      expect(await consentsOf(id)).toEqual({ [double]: 'SUBSCRIBED' });
      const records = await client.get(`${at(id)}/consent-records`);
      expect(records.at('data', 0)).toMatchObject({
        fromStatus: 'SUBSCRIBED',
        toStatus: 'SUBSCRIBED',
        source: 'address-change',
        addressChange: { from: old, to: email, emailConfirmed },
      });
      expect(records.at('data', 1, 'addressChange')).toBeNull();
      const all = await client.get(`${at(id)}/export`);
      expect(all.at('consentRecord', 2, 'addressChange')).toEqual({ from: old, to: email, emailConfirmed });
    });

    it('but not to one that is another’s, suppressed or none, and all that is wrong is named', async () => {
      const [ada, bob, suppressed] = [await create({}), await create({}), nobody()];
      await client.post('/suppressions', { email: suppressed, reason: 'HARD_BOUNCE' });
      const patch = (body: object) => client.patch(at(ada.at('email')), body);
      expectProblem(await patch({ email: bob.at('email').toUpperCase() }), 409, 'already-exists');
      expectProblem(await patch({ email: suppressed, firstName: 'Eve' }), 409, 'suppressed');
      const future = new Date(Date.now() + 3_600_000).toISOString();
      const errors = async (body: object) =>
        Object.keys((await patch(body)).at<Record<string, string>>('errors')).toSorted();
      expect(await errors({ email: 'nobody', phone: 7 })).toEqual(['email', 'phone']);
      expect(await errors({ email: null })).toEqual(['email']);
      expect(await errors({ emailConfirmed: { source: 'a', confirmedAt: future }, phone: 7 })).toEqual([
        'emailConfirmed',
        'phone',
      ]);
      expect(await errors({ email: nobody(), emailConfirmed: { source: 'a', confirmedAt: future } })).toEqual(
        ['emailConfirmed.confirmedAt'],
      );
      expect(await errors({ email: nobody(), emailConfirmed: { source: '', confirmedAt: 'now' } })).toEqual([
        'emailConfirmed.confirmedAt',
        'emailConfirmed.source',
      ]);
      expect((await client.get(at(ada.at('email')))).body).toEqual(ada.body);
    });

    it('and go on with the links in older mails', async () => {
      const [old, email, next] = [nobody(), nobody(), nobody()];
      const own: string = (await client.post('/topics', { name: 'Own', doubleOptInEnabled: false })).at(
        'topicKey',
      );
      const ada = await create({ email: old, topicKeys: [own] });
      const draft = {
        name: 'May',
        subject: 'May',
        contentText: 'Hello {{ subscriber.email }}',
        topicIds: [own],
      };
      const sent = async () => {
        const { body } = await client.post('/campaigns', draft);
        const { campaignKey } = body as { campaignKey: string };
        expect((await client.post(`/campaigns/${campaignKey}/send`)).status).toBe(200);
        return campaignKey;
      };
      await sent();
      const [mail] = await mailsTo(old, 1);
      const links = (await client.get(`/test-inbox/messages/${mail?.id}`)).at<Record<string, string>>(
        'links',
      );
      expect((await client.patch(at(old), { email })).status).toBe(200);
      const campaignKey = await sent();
      await mailsTo(email, 1);
      await mailsTo(old, 1);
      const row = await eventually('its delivery is sent', async () => {
        const found = await client.get(`/campaigns/${campaignKey}/deliveries?email=${email}`);
        return found.at('data', 0, 'status') === 'SENT' ? found : null;
      });
      expect(row.at('data')).toHaveLength(1);
      expect(await pageOf(links['view']!)).toContain('Hello');
      expect((await fetch(links['preferences']!)).status).toBe(200);
      // Somebody else has the old address by now: the mail was not for them.
      await create({ email: old, topicKeys: [own] });
      expect((await client.patch(at(ada.at('id')), { email: next })).status).toBe(200);
      expect((await fetch(links['unsubscribe']!, { method: 'POST' })).status).toBe(200);
      expect([await consentsOf(next), await consentsOf(old)]).toEqual([
        { [own]: 'UNSUBSCRIBED' },
        { [own]: 'SUBSCRIBED' },
      ]);
    });

    it('and the old one is not subscribed again by imports to what was left', async () => {
      const [old, email] = [nobody(), nobody()];
      await create({ email: old });
      await client.delete(`${at(old)}/consents/${topicKey}`);
      expect((await client.patch(at(old), { email })).status).toBe(200);
      expect(await imported([{ email: old }])).toEqual({
        counts: expect.objectContaining({ created: 0, failed: 1 }),
        errors: [expect.objectContaining({ email: old, errors: { 'topicKeys[0]': expect.any(String) } })],
      });
      // The externalId of somebody with another address is no way to move.
      await create({ externalId: 'stays' });
      expect((await imported([{ email: old, externalId: 'stays' }], { resubscribe: true })).errors).toEqual([
        expect.objectContaining({ errors: { externalId: expect.any(String) } }),
      ]);
    });
  });

  it('have a consent record, with the proof of each change', async () => {
    const ada = await create({
      externalId: 'record',
      consent: { source: 'form', ipAddress: '203.0.113.7', consentText: 'Yes' },
    });
    await client.delete(`${at(ada.at('email'))}/consents/${topicKey}`);
    await client.post(`${at(ada.at('id'))}/consents`, { topicKey, source: 'phone' });
    const path = `${at('ext:record')}/consent-records`;
    const all = await client.get(path);
    const records = all.at<Record<string, unknown>[]>('data');
    expect(records.map(({ fromStatus, toStatus, source }) => [fromStatus, toStatus, source])).toEqual([
      ['UNSUBSCRIBED', 'SUBSCRIBED', 'phone'],
      ['SUBSCRIBED', 'UNSUBSCRIBED', null],
      [null, 'SUBSCRIBED', 'form'],
    ]);
    expect(records[2]).toMatchObject({
      topicKey,
      actor: 'API_KEY',
      ipAddress: '203.0.113.7',
      consentText: 'Yes',
      occurredAt: ada.at('createdAt'),
    });
    const first = await client.get(`${path}?size=2&after=`);
    const next = first.at('pagination', 'next');
    expect((await client.get(`${path}?size=2&after=${next}`)).at('data')).toEqual(records.slice(2));
    expect(first.at('pagination', 'totalElements')).toBe(3);
    const other = await (await system.project()).client('TEST');
    expectProblem(await other.get(path), 404, 'not-found');
  });

  it('are chosen by keys of topics and segments in campaigns', async () => {
    const topic = await client.get(`/topics/${topicKey}`);
    const segment = await client.post('/segments', { name: 'Some', type: 'STATIC' });
    const other = await (await system.project()).client('TEST');
    const foreign = await other.post('/topics', { name: 'News' });
    const written = { name: 'C', subject: 'S', contentText: 'T' };
    const created = await client.post('/campaigns', {
      ...written,
      topicIds: [topicKey, topic.at('id').toUpperCase()],
      segmentIds: [segment.at('segmentKey')],
    });
    expect(created.status).toBe(201);
    const ids = { topicIds: [topic.at('id')], segmentIds: [segment.at('id')] };
    expect(created.body).toMatchObject(ids);
    const path = `/campaigns/${created.at('campaignKey')}`;
    expect((await client.patch(path, { topicIds: [topicKey], segmentIds: [] })).body).toMatchObject({
      topicIds: ids.topicIds,
      segmentIds: [],
    });
    const refused = await client.patch(path, {
      topicIds: [topicKey, 'APIT-99', foreign.at('id')],
      segmentIds: [topic.at('id')],
    });
    expectProblem(refused, 422, 'domain-validation', {
      errors: {
        'topicIds[1]': 'is not a known topic',
        'topicIds[2]': 'is not a known topic',
        'segmentIds[0]': 'is not a known segment',
      },
    });
    expectProblem(
      await client.post('/campaigns', { ...written, topicIds: ['news'] }),
      400,
      'validation-error',
      {
        errors: { 'topicIds[0]': 'must be an id or a key such as APIT-1' },
      },
    );
  });
});
