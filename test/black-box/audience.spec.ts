import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { expectProblem } from '#testing/http/problems';
import { sharedSystem, type System, type SystemProject } from '#testing/programs/system';

const TIMESTAMP = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const UUID_V7 = expect.stringMatching(
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
);
const HOUR_MS = 3_600_000;
const consent = { source: 'signup form' };

describe('the audience', () => {
  let system: System;
  let project: SystemProject;
  let client: ApiClient;
  const topics = { single: '', double: '', second: '' };
  let people = 0;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    topics.single = await makeTopic({ name: 'Single', doubleOptInEnabled: false });
    topics.double = await makeTopic({ name: 'Double' });
    topics.second = await makeTopic({ name: 'Second', doubleOptInEnabled: true });
  });
  afterAll(() => system?.stop());

  async function makeTopic(body: object): Promise<string> {
    return (await client.post('/topics', body)).at('topicKey');
  }
  const at = (email: string, rest = '') => `/subscribers/${encodeURIComponent(email)}${rest}`;
  const create = (email: string, topicKeys: string[], more: object = {}) =>
    client.post('/subscribers', { email, topicKeys, consent, ...more });
  const newcomer = async (...topicKeys: string[]): Promise<string> => {
    const email = `person${(people += 1)}@example.com`;
    expect((await create(email, topicKeys)).status).toBe(201);
    return email;
  };
  const statusOf = async (email: string) => (await client.get(at(email))).at('status');
  const consentTo = async (
    email: string,
    topicKey: string,
  ): Promise<Record<string, string | null> | undefined> =>
    (await client.get(at(email, '/consents')))
      .at<Record<string, string | null>[]>('consents')
      .find((each) => each['topicKey'] === topicKey);
  const grant = (email: string, topicKey: string) =>
    client.post(at(email, '/consents'), { topicKey, ...consent });
  const suppress = (email: string, reason?: string) => client.post('/suppressions', { email, reason });
  const lift = (email: string) =>
    client.delete(`/suppressions/${encodeURIComponent(email)}`, {
      headers: { 'x-confirm-unsuppress': 'true' },
    });
  const mailsTo = async (email: string): Promise<ApiAnswer> =>
    client.get(`/test-inbox/messages?to=${encodeURIComponent(email)}`);
  const mailTo = (email: string, count = 1) =>
    eventually(`mail ${count} to ${email}`, async () => {
      const inbox = await mailsTo(email);
      return inbox.at<unknown[]>('data').length >= count && inbox;
    });
  const errorsOf = (answer: ApiAnswer, status: 400 | 422) => {
    const slug = status === 400 ? 'validation-error' : 'domain-validation';
    return expectProblem(answer, status, slug, { errors: expect.any(Object) })['errors'] as Record<
      string,
      string
    >;
  };

  describe('topics', () => {
    it('are active, double opt-in and empty at first', async () => {
      const created = await client.post('/topics', { name: 'News' });
      expect(created.status).toBe(201);
      expect(created.body).toEqual({
        id: UUID_V7,
        topicKey: expect.stringMatching(/^APIT-[1-9]\d*$/),
        name: 'News',
        description: null,
        metadata: {},
        status: 'ACTIVE',
        visibility: 'PUBLIC',
        priority: null,
        icon: null,
        doubleOptInEnabled: true,
        optInTemplateKey: null,
        translations: {},
        subscriberCount: 0,
        activeSubscriberCount: 0,
        createdAt: TIMESTAMP,
      });
      expect(created.headers.get('location')).toBe(`/api/v1/topics/${created.at('topicKey')}`);
      expect((await client.get(`/topics/${created.at('topicKey')}`)).body).toEqual(created.body);
      const next = await client.post('/topics', { name: 'News' });
      expect(Number(next.at('topicKey').slice(5))).toBeGreaterThan(Number(created.at('topicKey').slice(5)));
    });

    it('change by merge-patch', async () => {
      const full = {
        description: 'd'.repeat(1000),
        status: 'INACTIVE',
        visibility: 'PRIVATE',
        priority: 'URGENT',
        doubleOptInEnabled: false,
        icon: 'star',
      };
      const created = await client.post('/topics', { name: 'n'.repeat(200), ...full });
      expect(created.body).toMatchObject(full);
      const path = `/topics/${created.at('topicKey')}`;
      expect((await client.patch(path, {})).body).toEqual(created.body);
      const patched = await client.patch(path, {
        description: null,
        priority: null,
        icon: null,
        name: 'Short',
      });
      expect(patched.body).toEqual({
        ...(created.body as object),
        description: null,
        priority: null,
        icon: null,
        name: 'Short',
      });
      expect((await client.patch(path, { status: 'ARCHIVED' })).at('status')).toBe('ARCHIVED');
      expect(Object.keys(errorsOf(await client.patch(path, { name: null }), 400))).toEqual(['name']);
    });

    it('refuse what does not fit, all at once', async () => {
      const wrong = {
        name: 'n'.repeat(201),
        description: 'd'.repeat(1001),
        status: 'GONE',
        priority: 'urgent',
        doubleOptInEnabled: 'true',
        icon: 1,
      };
      expect(Object.keys(errorsOf(await client.post('/topics', wrong), 400)).sort()).toEqual(
        Object.keys(wrong).sort(),
      );
      for (const name of ['', '   ', null, 7])
        expect(Object.keys(errorsOf(await client.post('/topics', { name }), 400))).toEqual(['name']);
    });

    it('count who is subscribed or pending, and of those whom mail can reach', async () => {
      const topicKey = await makeTopic({ name: 'Counted', doubleOptInEnabled: false });
      const counts = async () => {
        const topic = await client.get(`/topics/${topicKey}`);
        return [topic.at('subscriberCount'), topic.at('activeSubscriberCount')];
      };
      const [ada, bob, eve] = [await newcomer(topicKey), await newcomer(topicKey), await newcomer(topicKey)];
      await client.patch(`/topics/${topicKey}`, { doubleOptInEnabled: true });
      await newcomer(topicKey);
      expect(await counts()).toEqual([4, 3]);
      await client.delete(at(ada, `/consents/${topicKey}`));
      expect(await counts()).toEqual([3, 2]);
      await suppress(bob, 'HARD_BOUNCE');
      expect(await counts()).toEqual([3, 1]);
      await suppress(eve);
      expect(await counts()).toEqual([2, 0]);
    });
  });

  describe('subscribers', () => {
    it('are made with their consents, and shown in full', async () => {
      const created = await create('Ada.Lovelace@Example.com', [topics.single], {
        firstName: 'Ada',
        phone: '+44 20 7946 0958',
      });
      expect(created.status).toBe(201);
      expect(created.headers.get('location')).toBe('/api/v1/subscribers/Ada.Lovelace%40Example.com');
      expect(created.body).toEqual({
        id: UUID_V7,
        subscriberKey: expect.stringMatching(/^APIT-[1-9]\d*$/),
        email: 'Ada.Lovelace@Example.com',
        externalId: null,
        metadata: {},
        firstName: 'Ada',
        lastName: null,
        phone: '+44 20 7946 0958',
        locale: null,
        timeZone: null,
        status: 'ACTIVE',
        source: 'API',
        customFields: {},
        createdAt: TIMESTAMP,
        updatedAt: TIMESTAMP,
      });
      expect((await client.get(at('ada.lovelace@EXAMPLE.COM'))).body).toEqual(created.body);
    });

    it('get one mail for all topics that must be confirmed', async () => {
      const email = await newcomer(topics.double, topics.single, topics.second);
      const inbox = await mailTo(email);
      expect(inbox.at('pagination', 'totalElements')).toBe(1);
      const mail = await client.get(`/test-inbox/messages/${inbox.at('data', 0, 'id')}`);
      expect(mail.at('kind')).toBe('OPT_IN');
      for (const part of [mail.at('text'), mail.at('html')]) {
        expect(part).toContain('Double');
        expect(part).toContain('Second');
        expect(part).not.toContain('Single');
      }
      expect(await statusOf(email)).toBe('ACTIVE');
      const page = await fetch(inbox.at('data', 0, 'links', 'confirm'));
      expect(await page.text()).toContain('Second');
      await fetch(inbox.at('data', 0, 'links', 'confirm'), { method: 'POST' });
      for (const key of [topics.double, topics.second]) {
        expect(await consentTo(email, key)).toMatchObject({
          status: 'SUBSCRIBED',
          grantedAt: TIMESTAMP,
          confirmedAt: TIMESTAMP,
        });
      }
      expect(await consentTo(email, topics.single)).toMatchObject({
        status: 'SUBSCRIBED',
        confirmedAt: null,
      });
    });

    it('exist once, however many ask at the same moment', async () => {
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => create('rush@example.com', [topics.double])),
      );
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
      const refused = answers.filter(({ status }) => status !== 201);
      expect(refused).toHaveLength(49);
      for (const answer of refused) expectProblem(answer, 409, 'already-exists');
      await mailTo('rush@example.com');
      const mails = await system.database.query(
        `select 1 from messaging.deliveries where address_key = 'rush@example.com' and environment_id = $1`,
        [project.test.environmentId],
      );
      expect(mails).toHaveLength(1);
      expect((await mailsTo('rush@example.com')).at('pagination', 'totalElements')).toBe(1);
    });

    it('refuse what does not fit', async () => {
      for (const email of [
        '',
        'x',
        'x@',
        '@example.com',
        'x@localhost',
        'a b@example.com',
        'x@example..com',
        'x@-a.com',
        '"x"@example.com',
        null,
        7,
      ]) {
        expect(
          Object.keys(
            errorsOf(await client.post('/subscribers', { email, topicKeys: [topics.single], consent }), 400),
          ),
        ).toEqual(['email']);
      }
      const limits = { firstName: 'f'.repeat(50), lastName: 'l'.repeat(50), phone: '1'.repeat(20) };
      expect((await create('limits@example.com', [topics.single], limits)).body).toMatchObject(limits);
      expect(errorsOf(await create('x@example.com', []), 400)['topicKeys']).toBeDefined();
      expect(errorsOf(await client.post('/subscribers', {}), 400)).toEqual({
        email: 'is required',
        topicKeys: 'is required',
        consent: 'is required',
      });
      const archived = await makeTopic({ name: 'Archived', status: 'ARCHIVED' });
      const inactive = await makeTopic({ name: 'Inactive', status: 'INACTIVE' });
      const errors = errorsOf(
        await create('x@example.com', [archived, topics.single, inactive, 'APIT-999']),
        422,
      );
      expect(Object.keys(errors)).toEqual(['topicKeys[0]', 'topicKeys[2]', 'topicKeys[3]']);
      expect((await client.get(at('x@example.com'))).status).toBe(404);
    });

    it('change by merge-patch', async () => {
      const email = await newcomer(topics.single);
      const before = await client.get(at(email));
      expect((await client.patch(at(email), {})).body).toEqual(before.body);
      const named = await client.patch(at(email), { firstName: 'Ada', lastName: 'Lovelace', phone: '1' });
      expect(named.body).toMatchObject({ firstName: 'Ada', lastName: 'Lovelace', phone: '1' });
      const written = { firstName: ' “Zoe\u0308” ', lastName: '"D’Arc"' };
      const kept = { firstName: 'Zo\u00eb', lastName: 'D’Arc' };
      expect((await client.patch(at(email), written)).body).toMatchObject(kept);
      const found = (q: string) => client.get(`/subscribers?q=${encodeURIComponent(q)}`);
      expect((await create('zoe@example.com', [topics.single], written)).body).toMatchObject(kept);
      for (const q of ['zo\u00eb', 'Zoe\u0308', ' ZOE\u0308 ']) {
        const emails = (await found(q)).at<{ email: string }[]>('data').map((each) => each.email);
        expect(emails).toEqual(expect.arrayContaining([email, 'zoe@example.com']));
      }
      await client.patch(at(email), { lastName: 'Lovelace' });
      const cleared = await client.patch(at(email.toUpperCase()), { firstName: null, phone: null });
      expect(cleared.body).toMatchObject({ firstName: null, lastName: 'Lovelace', phone: null });
      expect(cleared.at('updatedAt') > before.at('updatedAt')).toBe(true);
      const fixed = errorsOf(
        await client.patch(at(email), { source: 'FORM', status: 'ACTIVE', topicKeys: [] }),
        400,
      );
      expect(Object.keys(fixed).sort()).toEqual(['source', 'status', 'topicKeys']);
      expect(
        Object.keys(errorsOf(await client.patch(at(email), { customFields: { plan: 'pro' } }), 422)),
      ).toEqual(['customFields.plan']);
    });

    it.each([
      [
        'a+tag@example.com',
        ['a+tag@example.com', 'a%2Btag@example.com', 'A%2btag%40EXAMPLE.com', '%20a+tag@example.com%20%20'],
      ],
      ['o’neil/sales@example.com', ['o%E2%80%99neil%2Fsales%40example.com']],
      ['per%20cent@example.com', ['per%2520cent%40example.com']],
      ['x%2By@example.com', ['x%252By@example.com']],
      [
        'Jörg@BÜCHER.example',
        [
          'J%C3%B6rg%40b%C3%BCcher.example',
          'j%C3%B6rg@xn--bcher-kva.example',
          'J%C3%96RG%40XN--BCHER-KVA.EXAMPLE',
        ],
      ],
      ['post@xn--fiqs8s.example', ['post%40%E4%B8%AD%E5%9B%BD.example']],
    ])('are found as %s under every spelling of the address in a path', async (email, spellings) => {
      expect((await create(email, [topics.single])).status).toBe(201);
      for (const spelling of spellings) {
        const found = await client.get(`/subscribers/${spelling}`);
        expect([spelling, found.status, found.at('email')]).toEqual([spelling, 200, email]);
      }
      expectProblem(await create(email.toUpperCase(), [topics.single]), 409, 'already-exists');
    });

    it('are not found under another’s address', async () => {
      expect((await create('plus+one@example.com', [topics.single])).status).toBe(201);
      for (const other of [
        'plus%20one@example.com',
        'plusone@example.com',
        'plus@example.com',
        'plus%252Bone@example.com',
      ]) {
        expect([400, 404]).toContain((await client.get(`/subscribers/${other}`)).status);
      }
    });
  });

  describe('consents', () => {
    it('stand at once on a single opt-in topic and wait 48 hours on a double one', async () => {
      const email = await newcomer(topics.single);
      const extra = await makeTopic({ name: 'Extra', doubleOptInEnabled: false });
      const granted = await grant(email, extra);
      expect([granted.status, granted.body]).toEqual([
        201,
        {
          topicKey: extra,
          status: 'SUBSCRIBED',
          requiresConfirmation: false,
          grantedAt: TIMESTAMP,
          confirmedAt: null,
          tokenExpiresAt: null,
        },
      ]);
      const pending = await grant(email, topics.double);
      expect([pending.status, pending.body]).toEqual([
        201,
        {
          topicKey: topics.double,
          status: 'PENDING_CONFIRMATION',
          requiresConfirmation: true,
          grantedAt: TIMESTAMP,
          confirmedAt: null,
          tokenExpiresAt: TIMESTAMP,
        },
      ]);
      const valid = Date.parse(pending.at('tokenExpiresAt')) - Date.parse(pending.at('grantedAt'));
      expect(valid).toBe(48 * HOUR_MS);
      expect((await client.get(at(email, '/consents'))).body).toEqual({
        subscriberEmail: email,
        globallySuppressed: false,
        consents: expect.arrayContaining([
          {
            topicKey: extra,
            topicName: 'Extra',
            status: 'SUBSCRIBED',
            grantedAt: TIMESTAMP,
            confirmedAt: null,
            revokedAt: null,
            textLocale: null,
            textVersion: null,
          },
        ]),
      });
    });

    it('are refused where there are some, and say how to get the mail again', async () => {
      const email = await newcomer(topics.single, topics.double);
      expectProblem(await grant(email, topics.single), 409, 'already-exists');
      expect(expectProblem(await grant(email, topics.double), 409, 'already-exists')['detail']).toMatch(
        /resend/,
      );
      expect(errorsOf(await grant(email, 'APIT-999'), 422)).toEqual({ topicKey: expect.any(String) });
      expectProblem(await grant('nobody@example.com', topics.single), 404, 'not-found');
      expectProblem(await client.get(at('nobody@example.com', '/consents')), 404, 'not-found');
    });

    it('are revoked one by one, as often as one likes, and granted again', async () => {
      const email = await newcomer(topics.single, topics.double);
      const revoke = (topicKey: string, of = email) => client.delete(at(of, `/consents/${topicKey}`));
      for (let time = 1; time <= 2; time += 1) expect((await revoke(topics.single)).status).toBe(204);
      expect(await consentTo(email, topics.single)).toMatchObject({
        status: 'UNSUBSCRIBED',
        revokedAt: TIMESTAMP,
      });
      expect(await statusOf(email)).toBe('PENDING_CONFIRMATION');
      expect((await revoke(topics.double)).status).toBe(204);
      expect(await statusOf(email)).toBe('UNSUBSCRIBED');
      expect((await revoke(topics.second)).status).toBe(204);
      expect(await consentTo(email, topics.second)).toBeUndefined();
      expectProblem(await revoke('APIT-999'), 404, 'not-found');
      expectProblem(await revoke(topics.single, 'nobody@example.com'), 404, 'not-found');
      expect((await grant(email, topics.single)).status).toBe(201);
      expect(await consentTo(email, topics.single)).toMatchObject({ status: 'SUBSCRIBED', revokedAt: null });
      expect(await statusOf(email)).toBe('ACTIVE');
    });

    it('that nobody confirmed in 48 hours can be granted again, and their old link is dead', async () => {
      const email = await newcomer(topics.double);
      const link = (await mailTo(email)).at('data', 0, 'links', 'confirm');
      await system.database.query(`update audience.consents set token_expires_at = now() - interval '1 s'
        where subscriber_id = (select id from audience.subscribers where email = '${email}' and environment_id = ${project.test.environmentId})`);
      await system.database.query(`update audience.confirmations set expires_at = now() - interval '1 s'
        where subscriber_id = (select id from audience.subscribers where email = '${email}' and environment_id = ${project.test.environmentId})`);
      await fetch(link, { method: 'POST' });
      expect(await consentTo(email, topics.double)).toMatchObject({
        confirmedAt: null,
        status: expect.not.stringMatching('^SUBSCRIBED$'),
      });
      expect((await grant(email, topics.double)).status).toBe(201);
      await mailTo(email, 2);
    });

    it('have their mail resent while pending: once a minute, five times a day', async () => {
      const email = await newcomer(topics.double);
      const resend = () => client.post(at(email, `/consents/${topics.double}/resend`));
      await mailTo(email);
      const aMinuteLater = () =>
        system.database.query(
          `update audience.confirmations set created_at = $1 where environment_id = $2 and subscriber_id = (
             select id from audience.subscribers where environment_id = $2 and email = $3)`,
          [new Date(Date.now() - 61_000), project.test.environmentId, email],
        );
      for (let time = 1; time <= 5; time += 1) {
        const accepted = await resend();
        expect([time, accepted.status, accepted.text]).toEqual([time, 202, '']);
        const tooSoon = await resend();
        expectProblem(tooSoon, 429, 'rate-limited');
        expect(Number(tooSoon.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
        await mailTo(email, time + 1);
        await aMinuteLater();
      }
      const tooOften = await resend();
      expectProblem(tooOften, 429, 'rate-limited');
      expect(Number(tooOften.headers.get('retry-after'))).toBeGreaterThan(3_600);
      expect((await mailsTo(email)).at('pagination', 'totalElements')).toBe(6);
    });

    it('have no mail resent unless they are pending', async () => {
      const email = await newcomer(topics.single);
      const resend = (topicKey: string, of = email) => client.post(at(of, `/consents/${topicKey}/resend`));
      const members = (currentState: string) => ({ currentState, allowedStates: ['PENDING_CONFIRMATION'] });
      expectProblem(await resend(topics.single), 409, 'invalid-state', members('SUBSCRIBED'));
      await client.delete(at(email, `/consents/${topics.single}`));
      expectProblem(await resend(topics.single), 409, 'invalid-state', members('UNSUBSCRIBED'));
      expectProblem(await resend('APIT-999'), 404, 'not-found');
      expectProblem(await resend(topics.single, 'nobody@example.com'), 404, 'not-found');
    });
  });

  describe('suppressions', () => {
    const standing = async (email: string) =>
      (await client.get(`/suppressions/${encodeURIComponent(email)}`)).body;

    it('keep their first reason and time', async () => {
      const first = await suppress('Gone@Example.com', 'HARD_BOUNCE');
      expect([first.status, first.body]).toEqual([
        201,
        {
          email: 'Gone@Example.com',
          suppressed: true,
          reason: 'HARD_BOUNCE',
          streams: 'ALL',
          suppressedAt: TIMESTAMP,
        },
      ]);
      const again = await suppress('gone@example.com', 'SPAM_COMPLAINT');
      expect([again.status, again.body]).toEqual([201, first.body]);
      expect(await standing('GONE@example.com')).toEqual(first.body);
      expect((await suppress('default@example.com')).at('reason')).toBe('GLOBAL_UNSUBSCRIBE');
    });

    it.each([
      ['GLOBAL_UNSUBSCRIBE', 'MARKETING'],
      ['SPAM_COMPLAINT', 'MARKETING'],
      ['HARD_BOUNCE', 'ALL'],
      ['BLOCKED', 'ALL'],
    ])('for %s bar %s, and only ever bar more', async (reason, streams) => {
      const email = `streams-${reason.toLowerCase()}@example.com`;
      const first = await suppress(email, reason);
      expect([first.status, first.at('reason'), first.at('streams')]).toEqual([201, reason, streams]);
      expect((await suppress(email, 'GLOBAL_UNSUBSCRIBE')).body).toEqual(first.body);
      expect((await suppress(email, 'BLOCKED')).body).toEqual({ ...Object(first.body), streams: 'ALL' });
      expect((await suppress(email, 'SPAM_COMPLAINT')).at('streams')).toBe('ALL');
      expect(await standing(email)).toEqual({ ...Object(first.body), streams: 'ALL' });
      const listed = (await client.get(`/suppressions?reason=${reason}`)).at('data');
      expect(listed).toContainEqual({ ...Object(first.body), streams: 'ALL' });
    });

    it('are told of any address, and lifted only when confirmed', async () => {
      const none = {
        email: 'never@example.com',
        suppressed: false,
        reason: null,
        streams: null,
        suppressedAt: null,
      };
      expect(await standing('never@example.com')).toEqual(none);
      expect((await lift('never@example.com')).status).toBe(204);
      await suppress('never@example.com');
      expectProblem(await client.delete('/suppressions/never%40example.com'), 400, 'confirmation-required');
      for (const confirmation of ['TRUE', 'yes', '1', 'true, true']) {
        const lifted = await client.delete('/suppressions/never%40example.com', {
          headers: { 'x-confirm-unsuppress': confirmation },
        });
        expectProblem(lifted, 400, 'confirmation-required');
      }
      expect((await lift('NEVER@example.com')).status).toBe(204);
      expect(await standing('never@example.com')).toEqual(none);
    });

    it('refuse unknown reasons and addresses that are none', async () => {
      const errors = errorsOf(
        await client.post('/suppressions', { email: 'x', reason: 'BORED', ipAddress: 7, why: 1 }),
        400,
      );
      expect(Object.keys(errors).sort()).toEqual(['email', 'ipAddress', 'reason', 'why']);
    });

    it.each([
      ['GLOBAL_UNSUBSCRIBE', 'SUPPRESSED', 'UNSUBSCRIBED'],
      ['SPAM_COMPLAINT', 'COMPLAINED', 'ACTIVE'],
      ['HARD_BOUNCE', 'BOUNCED', 'ACTIVE'],
      ['BLOCKED', 'SUPPRESSED', 'ACTIVE'],
    ])(
      'for %s make a subscriber %s, whatever the consents, and nothing lifts them silently',
      async (reason, status, afterwards) => {
        const email = await newcomer(topics.single);
        await suppress(email, reason);
        expect(await statusOf(email)).toBe(status);
        expect((await client.get(at(email, '/consents'))).at('globallySuppressed')).toBe(true);
        const extra = await makeTopic({ name: 'Extra', doubleOptInEnabled: false });
        expectProblem(await grant(email, extra), 409, 'suppressed');
        expectProblem(await create(email, [topics.single]), 409, 'suppressed');
        expectProblem(
          await create(`gone-${email}`, [topics.single])
            .then(() => suppress(`gone-${email}`))
            .then(() => grant(`gone-${email}`, extra)),
          409,
          'suppressed',
        );
        await lift(email);
        expect(await statusOf(email)).toBe(afterwards);
        const { status: consentStatus } = (await consentTo(email, topics.single)) ?? {};
        expect(consentStatus).toBe(afterwards === 'ACTIVE' ? 'SUBSCRIBED' : 'UNSUBSCRIBED');
      },
    );

    it('of a global unsubscribe revoke pending consents too, whose link then confirms nothing', async () => {
      const email = await newcomer(topics.double);
      const link = (await mailTo(email)).at('data', 0, 'links', 'confirm');
      await suppress(email);
      await fetch(link, { method: 'POST' });
      expect(await consentTo(email, topics.double)).toMatchObject({
        status: 'UNSUBSCRIBED',
        revokedAt: TIMESTAMP,
      });
      expect(await statusOf(email)).toBe('SUPPRESSED');
      expectProblem(await client.post(at(email, `/consents/${topics.double}/resend`)), 409, 'invalid-state', {
        currentState: 'UNSUBSCRIBED',
        allowedStates: ['PENDING_CONFIRMATION'],
      });
    });
  });
});
