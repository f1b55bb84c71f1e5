import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { prolongWindow } from '#testing/time/rate-limit-window';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

/** That the second api of the shared system lets a client have in a minute. */
const PAGES = 5;
const consent = { source: 'signup-form' };

describe('what comes from outside', () => {
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

  const signUp = (proof: object) => {
    const email = `person-${(people += 1)}@example.com`;
    return client.post('/subscribers', { email, topicKeys: [topicKey], consent: { ...consent, ...proof } });
  };
  /** Proof that the consent record keeps of the last change. */
  const recorded = async () => {
    const [row] = await system.database.query<Record<string, string | null>>(
      `select ip_address, user_agent, source_url from audience.consent_ledger where environment_id = $1
       order by occurred_at desc, id desc limit 1`,
      [project.test.environmentId],
    );
    return row;
  };

  it('costs no sign-up, whatever a browser or a proxy reports', async () => {
    for (const [given, kept] of [
      ['203.0.113.7:52814', '203.0.113.7'],
      ['unknown, [2001:db8::7]:443, 10.0.0.1', '2001:db8::7'],
      ["junk'--", null],
      ['', null],
    ] as const) {
      expect((await signUp({ ipAddress: given })).status).toBe(201);
      expect(await recorded()).toMatchObject({ ip_address: kept });
    }
    const long = await signUp({
      userAgent: `Browser\u0000/${'9'.repeat(600)}`,
      sourceUrl: `https://example.com/${'x'.repeat(3_000)}`,
    });
    expect(long.status).toBe(201);
    const kept = await recorded();
    expect([kept?.['user_agent']?.length, kept?.['source_url']?.length]).toEqual([500, 2_000]);
    expect((await signUp({ ipAddress: null, userAgent: null, sourceUrl: 'nowhere' })).status).toBe(201);
    expect(await recorded()).toEqual({ ip_address: null, user_agent: null, source_url: null });
  });

  it('is the client’s address as proxies that are trusted tell it, and nothing else', async () => {
    const double = await client.post('/topics', { name: 'Offers', doubleOptInEnabled: true });
    const confirmFrom = async (forwardedFor: string) => {
      const email = `confirms-${(people += 1)}@example.com`;
      await client.post('/subscribers', { email, topicKeys: [double.at('topicKey')], consent });
      const link = await eventually('the mail to confirm', async () => {
        const { data } = (await client.get(`/test-inbox/messages?to=${email}`)).body as {
          data: { links: { confirm: string } }[];
        };
        return data[0]?.links.confirm ?? null;
      });
      const page = await fetch(link, { method: 'POST', headers: { 'x-forwarded-for': forwardedFor } });
      expect(page.status).toBe(200);
      return (await recorded())?.['ip_address'];
    };
    expect(await confirmFrom('6.6.6.6, 203.0.113.9, 10.0.0.3')).toBe('203.0.113.9');
    expect(await confirmFrom('203.0.113.10:4711')).toBe('203.0.113.10');
    expect(await confirmFrom("6.6.6.6, junk'--")).toBe('127.0.0.1');
  });

  it('takes null for every property that the document marks nullable', async () => {
    const nothing = { description: null, status: null, visibility: null, priority: null, icon: null };
    const topic = await client.post('/topics', { name: 'Null', doubleOptInEnabled: null, ...nothing });
    expect(topic.body).toMatchObject({ status: 'ACTIVE', visibility: 'PUBLIC', doubleOptInEnabled: true });
    const path = `/topics/${topic.at('topicKey')}`;
    await client.patch(path, {
      status: 'INACTIVE',
      visibility: 'PRIVATE',
      icon: 'star',
      doubleOptInEnabled: false,
    });
    const patched = await client.patch(path, { doubleOptInEnabled: null, ...nothing });
    expect(patched.body).toMatchObject({
      status: 'INACTIVE',
      visibility: 'PRIVATE',
      icon: null,
      doubleOptInEnabled: false,
    });
    const segment = await client.post('/segments', {
      name: 'Null',
      type: null,
      rules: null,
      description: null,
    });
    expect([segment.status, segment.at('type')]).toEqual([201, 'STATIC']);
    const listed = await client.post('/suppressions', {
      email: 'null@example.com',
      reason: null,
      ipAddress: null,
    });
    expect([listed.status, listed.at('reason')]).toEqual([201, 'GLOBAL_UNSUBSCRIBE']);
    const field = { key: 'plan', displayName: 'Plan', type: 'TEXT' };
    const optional = { isRequired: null, options: null, defaultValue: null, description: null };
    expect((await client.post('/custom-fields', { ...field, ...optional })).status).toBe(201);
    const automation = await client.post('/automations', { name: 'Null', triggerType: null });
    const automationPath = `/automations/${automation.at('id')}`;
    expect((await client.patch(automationPath, { status: null })).at('status')).toBe('DRAFT');
    expect((await client.patch(`${automationPath}/content`, { nodes: null, edges: null })).status).toBe(200);
    const subscriber = await client.post('/subscribers', {
      email: 'nulls@example.com',
      topicKeys: [topicKey],
      consent,
      firstName: null,
      customFields: null,
    });
    expect(subscriber.status).toBe(201);
    expect((await client.patch('/subscribers/nulls@example.com', { customFields: null })).status).toBe(200);
  });

  it('changes nothing where it names no change, the time of the last change neither', async () => {
    const make = async (path: string, body: object, key: string): Promise<string> => {
      const made = await client.post(path, body);
      expect([made.status, made.at('errors')]).toEqual([201, undefined]);
      return `${path}/${made.at(key)}`;
    };
    const relay = { name: 'Own', kind: 'SMTP', host: '127.0.0.1', port: 9, streams: ['AUTOMATION'] };
    for (const [path, same] of [
      [await make('/api-keys', { name: 'Shop', scopes: ['topics:read'] }, 'id'), { name: 'Shop' }],
      [await make('/webhook-endpoints', { url: 'http://127.0.0.1:9/hook' }, 'id'), { status: 'ENABLED' }],
      [await make('/templates', { name: 'Receipt', kind: 'PARTIAL' }, 'templateKey'), { name: 'Receipt' }],
      [await make('/relays', relay, 'relayKey'), { name: 'Own', status: 'ACTIVE' }],
      ['/project', { timeZone: 'UTC' }],
    ] as const) {
      const { body } = await client.get(path);
      for (const changes of [{}, same]) expect((await client.patch(path, changes)).body).toEqual(body);
    }
  });

  it('has an answer of a bounded size, however much is wrong', async () => {
    const header = Array.from({ length: 100_000 }, (_, n) => `c${n}`).join(',');
    const refused = await client.post(
      `/subscriber-imports?topicKeys=${topicKey}&consent.source=form`,
      `${header}\n`,
      { headers: { 'content-type': 'text/csv' } },
    );
    expect([refused.status, Object.keys(refused.at<object>('errors')).length]).toEqual([400, 101]);
    expect(refused.at('errors', '…')).toMatch(/^and \d+ more$/);
    expect(refused.at('errors', 'columns')).toMatch(/^has no email/);
    expect(refused.text.length).toBeLessThan(20_000);
  });

  it('is many pages of one client: then it waits, but whoever unsubscribes does not', async () => {
    const baseUrl = await system.secondApi();
    const from = { 'x-forwarded-for': '203.0.113.200' };
    const open = (path: string, init: RequestInit = {}) =>
      fetch(`${baseUrl}${path}`, { ...init, headers: from });
    expect((await open('/p/forged')).status).toBe(404);
    await prolongWindow(system, 'page:203.0.113.200');
    for (let n = 1; n < PAGES; n += 1) expect((await open('/p/forged')).status).toBe(404);
    for (const path of ['/c/forged', '/u/forged', '/p/forged', '/v/forged', '/r/forged', '/i/forged']) {
      const page = await open(path);
      expect([page.status, page.headers.get('content-type')]).toEqual([429, 'text/html; charset=utf-8']);
      expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect((await open('/u/forged', { method: 'POST' })).status).toBe(404);
    for (const path of ['/o/forged', '/l/forged']) expect((await open(path)).status).toBe(404);
    const elsewhere = { 'x-forwarded-for': '203.0.113.201' };
    const other = await fetch(`${baseUrl}/p/forged?utm_source=mail`, { headers: elsewhere });
    expect(other.status).toBe(404);
  });
});
