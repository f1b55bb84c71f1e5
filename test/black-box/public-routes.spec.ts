import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { API_SCOPES } from '#kernel';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { openApiDocument, type OperationObject } from '#testing/http/openapi-validation';
import { type System, sharedSystem } from '#testing/programs/system';

const HTML = 'text/html; charset=utf-8';

/** The fixed surface: what an operation needs and answers. */
const OPERATIONS: readonly (readonly [operation: string, scope: string | null, success: string])[] = [
  ['GET /project', null, '200'],
  ['GET /topics', 'topics:read', '200'],
  ['POST /topics', 'topics:write', '201'],
  ['GET /topics/{topicKey}', 'topics:read', '200'],
  ['PATCH /topics/{topicKey}', 'topics:write', '200'],
  ['DELETE /topics/{topicKey}', 'topics:write', '204'],
  ['DELETE /subscribers/{email}', 'subscribers:write', '204'],
  ['POST /subscribers/{email}/events', 'subscribers:write', '202'],
  ['POST /subscriber-imports', 'subscribers:write', '202'],
  ['GET /subscriber-imports/{id}', 'subscribers:read', '200'],
  ['GET /subscriber-imports/{id}/errors', 'subscribers:read', '200'],
  ['POST /suppression-imports', 'suppressions:manage', '202'],
  ['GET /suppression-imports/{id}', 'suppressions:manage', '200'],
  ['GET /suppression-imports/{id}/errors', 'suppressions:manage', '200'],
  ['GET /custom-fields', 'custom_fields:read', '200'],
  ['POST /custom-fields', 'custom_fields:write', '201'],
  ['GET /custom-fields/{key}', 'custom_fields:read', '200'],
  ['PATCH /custom-fields/{key}/details', 'custom_fields:write', '200'],
  ['PATCH /custom-fields/{key}/config', 'custom_fields:write', '200'],
  ['DELETE /custom-fields/{key}', 'custom_fields:write', '204'],
  ['GET /segments', 'segments:read', '200'],
  ['POST /segments', 'segments:write', '201'],
  ['POST /segments/preview', 'segments:read', '200'],
  ['GET /segments/{segmentId}', 'segments:read', '200'],
  ['PATCH /segments/{segmentId}', 'segments:write', '200'],
  ['DELETE /segments/{segmentId}', 'segments:write', '204'],
  ['GET /segments/{segmentId}/members', 'segments:read', '200'],
  ['POST /segments/{segmentId}/members', 'segments:write', '204'],
  ['DELETE /segments/{segmentId}/members', 'segments:write', '204'],
  ['POST /segments/{segmentId}/members/remove', 'segments:write', '204'],
  ['GET /subscribers', 'subscribers:read', '200'],
  ['POST /subscribers', 'subscribers:write', '201'],
  ['GET /subscribers/{email}', 'subscribers:read', '200'],
  ['PATCH /subscribers/{email}', 'subscribers:write', '200'],
  ['GET /subscribers/{email}/consents', 'consents:manage', '200'],
  ['POST /subscribers/{email}/consents', 'consents:manage', '201'],
  ['DELETE /subscribers/{email}/consents/{topicKey}', 'consents:manage', '204'],
  ['POST /subscribers/{email}/consents/{topicKey}/resend', 'consents:manage', '202'],
  ['GET /suppressions', 'suppressions:manage', '200'],
  ['POST /suppressions', 'suppressions:manage', '201'],
  ['GET /suppressions/{email}', 'suppressions:manage', '200'],
  ['DELETE /suppressions/{email}', 'suppressions:manage', '204'],
  ['GET /campaigns', 'campaigns:read', '200'],
  ['POST /campaigns', 'campaigns:write', '201'],
  ['GET /campaigns/{campaignKey}', 'campaigns:read', '200'],
  ['PATCH /campaigns/{campaignKey}', 'campaigns:write', '200'],
  ['DELETE /campaigns/{campaignKey}', 'campaigns:write', '204'],
  ['POST /campaigns/{campaignKey}/duplicate', 'campaigns:write', '201'],
  ['POST /campaigns/{campaignKey}/schedule', 'campaigns:write', '200'],
  ['POST /campaigns/{campaignKey}/send', 'campaigns:write', '200'],
  ['POST /campaigns/{campaignKey}/cancel', 'campaigns:write', '200'],
  ['POST /campaigns/{campaignKey}/pause', 'campaigns:write', '200'],
  ['POST /campaigns/{campaignKey}/resume', 'campaigns:write', '200'],
  ['POST /campaigns/{campaignKey}/choose-variant', 'campaigns:write', '200'],
  ['POST /campaigns/{campaignKey}/retry-failed', 'campaigns:write', '200'],
  ['POST /campaigns/{campaignKey}/test', 'campaigns:write', '202'],
  ['GET /campaigns/{campaignKey}/pre-send-analysis', 'campaigns:read', '200'],
  ['POST /campaigns/{campaignKey}/preview', 'campaigns:read', '200'],
  ['POST /campaigns/{campaignKey}/preview-link', 'campaigns:write', '200'],
  ['GET /campaigns/{campaignKey}/preview', 'campaigns:read', '200'],
  ['GET /campaigns/{campaignKey}/deliveries', 'reports:read', '200'],
  ['GET /campaigns/{campaignKey}/report', 'reports:read', '200'],
  ['POST /campaigns/{campaignKey}/report', 'campaigns:write', '202'],
  ['GET /campaigns/{campaignKey}/report/timeline', 'reports:read', '200'],
  ['GET /campaigns/{campaignKey}/report/languages', 'reports:read', '200'],
  ['GET /campaigns/{campaignKey}/report/variants', 'reports:read', '200'],
  ['GET /campaigns/{campaignKey}/report/statistics', 'reports:read', '200'],
  ['GET /campaigns/{campaignKey}/report/export', 'reports:read', '200'],
  ['GET /sending-domain', 'sending_domains:read', '200'],
  ['POST /sending-domain', 'sending_domains:write', '201'],
  ['PATCH /sending-domain', 'sending_domains:write', '200'],
  ['DELETE /sending-domain', 'sending_domains:write', '204'],
  ['GET /sending-domain/dns-instructions', 'sending_domains:read', '200'],
  ['POST /sending-domain/verify-dns', 'sending_domains:write', '200'],
  ['GET /media', 'media:read', '200'],
  ['POST /media', 'media:write', '201'],
  ['GET /media/{id}', 'media:read', '200'],
  ['DELETE /media/{id}', 'media:write', '204'],
  ['GET /api-keys', 'keys:manage', '200'],
  ['POST /api-keys', 'keys:manage', '201'],
  ['GET /api-keys/current', null, '200'],
  ['GET /api-keys/{id}', 'keys:manage', '200'],
  ['PATCH /api-keys/{id}', 'keys:manage', '200'],
  ['DELETE /api-keys/{id}', 'keys:manage', '204'],
  ['POST /api-keys/{id}/rotate', 'keys:manage', '201'],
  ['GET /relays', 'relays:read', '200'],
  ['POST /relays', 'relays:write', '201'],
  ['GET /relays/{relayKey}', 'relays:read', '200'],
  ['PATCH /relays/{relayKey}', 'relays:write', '200'],
  ['DELETE /relays/{relayKey}', 'relays:write', '204'],
  ['POST /relays/{relayKey}/check', 'relays:write', '200'],
  ['POST /relays/{relayKey}/rotate-feedback-token', 'relays:write', '200'],
  ['POST /suppressions/batch', 'suppressions:manage', '200'],
  ['POST /consents/revoke-batch', 'consents:manage', '200'],
  ['POST /campaign-reports/{campaignKey}/link', 'reports:read', '200'],
  ['GET /webhook-endpoints', 'webhooks:read', '200'],
  ['POST /webhook-endpoints', 'webhooks:write', '201'],
  ['GET /webhook-endpoints/{id}', 'webhooks:read', '200'],
  ['PATCH /webhook-endpoints/{id}', 'webhooks:write', '200'],
  ['DELETE /webhook-endpoints/{id}', 'webhooks:write', '204'],
  ['POST /webhook-endpoints/{id}/rotate-secret', 'webhooks:write', '200'],
  ['POST /webhook-endpoints/{id}/test', 'webhooks:write', '200'],
  ['GET /webhook-endpoints/{id}/deliveries', 'webhooks:read', '200'],
  ['POST /webhook-endpoints/{id}/deliveries/{deliveryId}/replay', 'webhooks:write', '202'],
  ['POST /webhook-endpoints/{id}/replay', 'webhooks:write', '202'],
  ['GET /billing/subscription', 'billing:read', '200'],
  ['GET /billing/plans', 'billing:read', '200'],
  ['GET /billing/invoices', 'billing:read', '200'],
  ['GET /billing/usage', 'billing:read', '200'],
  ['GET /credits/balance', 'credits:read', '200'],
  ['GET /credits/transactions', 'credits:read', '200'],
  ['GET /automations', 'automations:read', '200'],
  ['POST /automations', 'automations:write', '201'],
  ['GET /automations/{automationId}', 'automations:read', '200'],
  ['PATCH /automations/{automationId}', 'automations:write', '200'],
  ['DELETE /automations/{automationId}', 'automations:write', '204'],
  ['PATCH /automations/{automationId}/content', 'automations:write', '200'],
  ['POST /automations/{automationId}/activate', 'automations:write', '200'],
  ['POST /automations/{automationId}/pause', 'automations:write', '200'],
  ['POST /automations/{automationId}/executions', 'automations:write', '202'],
  ['GET /automations/{automationId}/report', 'reports:read', '200'],
  ['GET /automations/{automationId}/executions', 'automations:read', '200'],
  ['GET /test-inbox/messages', 'campaigns:read', '200'],
  ['DELETE /test-inbox/messages', 'campaigns:write', '204'],
  ['GET /test-inbox/messages/{id}', 'campaigns:read', '200'],
  ['GET /test-inbox/messages/{id}/raw', 'campaigns:read', '200'],
];

describe('the routes', () => {
  let system: System;
  let client: ApiClient;
  let operations: Map<string, OperationObject>;
  let topicKeys: string[];
  let people = 0;

  beforeAll(async () => {
    system = await sharedSystem();
    client = await (await system.project()).client('TEST');
    const { paths } = await openApiDocument(system.baseUrl);
    operations = new Map(
      Object.entries(paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(
          ([method, operation]) =>
            [`${method.toUpperCase()} ${path.replace('/api/v1', '')}`, operation] as const,
        ),
      ),
    );
    topicKeys = [];
    for (const name of ['Product news', 'Offers']) {
      topicKeys.push((await client.post('/topics', { name, doubleOptInEnabled: false })).at('topicKey'));
    }
  });
  afterAll(() => system?.stop());

  const get = (path: string) => fetch(`${system.baseUrl}${path}`);

  describe('of the API', () => {
    it.each(OPERATIONS)('%s needs %s and answers %s', (name, scope, success) => {
      const operation = operations.get(name);
      expect(operation?.['x-required-scope']).toBe(scope);
      expect(Object.keys(operation?.responses ?? {}).filter((status) => status.startsWith('2'))).toEqual([
        success,
      ]);
    });

    it('all are documented with an id, a scope and every answer that their shape implies', () => {
      const ids = [...operations.values()].map(({ operationId }) => operationId);
      expect(new Set(ids).size).toBe(ids.length);
      for (const [name, operation] of operations) {
        const scope = operation['x-required-scope'];
        expect([name, operation.operationId, operation.tags?.length]).toEqual([
          name,
          expect.stringMatching(/^[a-z][A-Za-z]+$/),
          1,
        ]);
        expect([name, ...API_SCOPES, null]).toContain(scope);
        const implied = [
          '401',
          '429',
          '500',
          '503',
          ...(scope === null ? [] : ['403']),
          ...(operation.requestBody === undefined ? [] : ['400', '413', '415', '422']),
          ...(name.includes('{') ? ['404'] : []),
        ];
        expect([name, Object.keys(operation.responses)]).toEqual([name, expect.arrayContaining(implied)]);
      }
    });

    it('have no method beside the documented ones', async () => {
      const paths = new Set([...operations.keys()].map((name) => name.split(' ')[1] ?? ''));
      for (const path of paths) {
        const other =
          ['PUT', 'DELETE', 'POST'].find((method) => !operations.has(`${method} ${path}`)) ?? 'PATCH';
        const answer = await client.request(other, path.replaceAll(/\{\w+\}/g, 'x'), {});
        const allowed = (answer.headers.get('allow') ?? '')
          .split(', ')
          .filter((method) => method !== 'OPTIONS');
        // Paths of their own which could be a segment's or template's key, and a message's or API key's id, and an address.
        const general = path
          .replace('/preview', '/{segmentId}')
          .replace('suppressions/batch', 'suppressions/{email}')
          .replace(/\/(?:batch|current)$/, '/{id}');
        const templates = [path, general.replace('/validate', '/{templateKey}')];
        const documented = allowed.filter((method) =>
          templates.some((template) => operations.has(`${method === 'HEAD' ? 'GET' : method} ${template}`)),
        );
        expect([path, answer.status, allowed]).toEqual([path, 405, documented]);
        expect(allowed.length).toBeGreaterThan(0);
      }
    });
  });

  describe('that need no key', () => {
    it('show the reference, the document, health and metrics', async () => {
      const types = {
        '/docs': HTML,
        '/docs/quickstart': HTML,
        '/docs/reference': HTML,
        '/favicon.ico': expect.stringMatching(/^image\/svg\+xml/),
        '/llms.txt': expect.stringMatching(/^text\/plain/),
        '/openapi.json': expect.stringMatching(/^application\/json/),
        '/health/live': expect.stringMatching(/^application\/json/),
        '/metrics': expect.stringMatching(/^text\/plain; version=0\.0\.4/),
      };
      // A busy machine is not ready for as long as PostgreSQL takes over two seconds to answer.
      const ready = await eventually('the api is ready', async () => {
        const answer = await get('/health/ready');
        return answer.status === 200 ? answer : null;
      });
      expect(ready.headers.get('content-type')).toMatch(/^application\/json/);
      for (const [path, type] of Object.entries(types)) {
        const answer = await get(path);
        expect([path, answer.status, answer.headers.get('content-type')]).toEqual([path, 200, type]);
        expect(answer.headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
      }
      expect((await openApiDocument(system.baseUrl)).openapi).toMatch(/^3\.1\./);
    });

    it('lead from the bare address to the documentation', async () => {
      const answer = await fetch(`${system.baseUrl}/`, { redirect: 'manual' });
      expect([answer.status, answer.headers.get('location')]).toEqual([302, '/docs']);
      expect((await get('/')).headers.get('content-type')).toBe(HTML);
    });
  });

  describe('for subscribers', () => {
    interface Reader {
      readonly email: string;
      readonly links: Readonly<Record<'unsubscribe' | 'preferences' | 'view', string>>;
    }

    /** Somebody who is subscribed to both topics and got a campaign about the first. */
    async function reader(): Promise<Reader> {
      const email = `reader${(people += 1)}@example.com`;
      await client.post('/subscribers', { email, topicKeys, consent: { source: 'form' } });
      const topic = await client.get(`/topics/${topicKeys[0]}`);
      const campaign = await client.post('/campaigns', {
        name: 'x',
        subject: 'x',
        contentText: 'Hello',
        topicIds: [topic.at('id')],
      });
      await client.post(`/campaigns/${campaign.at('campaignKey')}/send`);
      const inbox = await eventually(`the mail to ${email}`, async () => {
        const answer = await client.get(`/test-inbox/messages?kind=CAMPAIGN&to=${encodeURIComponent(email)}`);
        return answer.at<unknown[]>('data').length > 0 && answer;
      });
      return { email, links: inbox.at('data', 0, 'links') };
    }
    const statuses = async (email: string): Promise<string[]> => {
      const consents = (await client.get(`/subscribers/${encodeURIComponent(email)}/consents`)).at<
        Record<string, string>[]
      >('consents');
      return topicKeys.map((key) => consents.find(({ topicKey }) => topicKey === key)?.['status'] ?? 'none');
    };
    const press = (link: string, fields: Record<string, string> = {}) =>
      fetch(link, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' });
    /** Expects a page as all are: readable without JavaScript, on a phone, without leaving a trace. */
    const expectPage = async (answer: Response, status = 200): Promise<string> => {
      expect([answer.status, answer.headers.get('content-type'), answer.headers.get('set-cookie')]).toEqual([
        status,
        HTML,
        null,
      ]);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
      const text = await answer.text();
      expect(text).not.toMatch(/<script|javascript:| on\w+=/i);
      expect(text).toMatch(/<meta name="viewport"/);
      return text;
    };

    it('unsubscribe with one click from the topics of the mail, at once and as often as it comes', async () => {
      const { email, links } = await reader();
      await expectPage(await fetch(links.unsubscribe));
      expect(await statuses(email)).toEqual(['SUBSCRIBED', 'SUBSCRIBED']);
      for (let time = 1; time <= 2; time += 1) {
        const answer = await press(links.unsubscribe, { 'List-Unsubscribe': 'One-Click' });
        expect([answer.status, answer.headers.get('location'), answer.headers.get('set-cookie')]).toEqual([
          200,
          null,
          null,
        ]);
        expect(await statuses(email)).toEqual(['UNSUBSCRIBED', 'SUBSCRIBED']);
      }
      const form = new FormData();
      form.set('List-Unsubscribe', 'One-Click');
      const other = await reader();
      expect((await fetch(other.links.unsubscribe, { method: 'POST', body: form })).status).toBe(200);
      expect(await statuses(other.email)).toEqual(['UNSUBSCRIBED', 'SUBSCRIBED']);
    });

    it('show all topics, leave one, then everything', async () => {
      const { email, links } = await reader();
      const page = await expectPage(await fetch(links.preferences));
      for (const name of ['Product news', 'Offers']) expect(page).toContain(name);
      expect(page).not.toContain(email);
      await expectPage(await press(links.preferences, { leave: topicKeys[1] ?? '' }));
      expect(await statuses(email)).toEqual(['SUBSCRIBED', 'UNSUBSCRIBED']);
      await expectPage(await press(links.preferences, { scope: 'everything' }));
      expect(await statuses(email)).toEqual(['SUBSCRIBED', 'UNSUBSCRIBED']);
      await expectPage(await press(links.preferences, { confirm: 'everything' }));
      expect(await statuses(email)).toEqual(['UNSUBSCRIBED', 'UNSUBSCRIBED']);
      expect((await client.get(`/subscribers/${encodeURIComponent(email)}`)).at('status')).toBe('SUPPRESSED');
      expect((await client.get(`/suppressions/${encodeURIComponent(email)}`)).at('reason')).toBe(
        'GLOBAL_UNSUBSCRIBE',
      );
    });

    it('show the mail, locked up', async () => {
      const { links } = await reader();
      const answer = await fetch(links.view);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, HTML]);
      expect(answer.headers.get('content-security-policy')).toMatch(/^sandbox/);
      expect(await answer.text()).toContain('Hello');
    });

    it('confirm by the button alone, once, and say so to whoever comes again', async () => {
      const topic = await client.post('/topics', { name: 'Confirmed' });
      const email = 'confirm@example.com';
      await client.post('/subscribers', {
        email,
        topicKeys: [topic.at('topicKey')],
        consent: { source: 'form' },
      });
      const inbox = await eventually('the confirmation mail', async () => {
        const answer = await client.get(`/test-inbox/messages?kind=OPT_IN&to=${encodeURIComponent(email)}`);
        return answer.at<unknown[]>('data').length > 0 && answer;
      });
      const link = inbox.at('data', 0, 'links', 'confirm');
      const status = async () => (await client.get(`/subscribers/${encodeURIComponent(email)}`)).at('status');
      for (const method of ['GET', 'HEAD', 'GET']) expect((await fetch(link, { method })).status).toBe(200);
      expect(await status()).toBe('PENDING_CONFIRMATION');
      expect(await expectPage(await press(link))).toContain('Confirmed');
      expect(await status()).toBe('ACTIVE');
      await expectPage(await press(link));
      await expectPage(await fetch(link));
      expect(await status()).toBe('ACTIVE');
    });

    it('tell nothing about a link that was tampered with, or is of another kind', async () => {
      const { email, links } = await reader();
      const token = links.unsubscribe.split('/').at(-1) ?? '';
      const flipped = token.slice(0, -2) + (token.at(-2) === 'A' ? 'B' : 'A') + token.slice(-1);
      const pages = new Set<string>();
      for (const path of ['/u/', '/c/', '/p/', '/v/', '/i/']) {
        for (const wrong of [
          'x',
          flipped,
          token.slice(0, -3),
          `${token}x`,
          ...(path === '/u/' ? [] : [token]),
        ]) {
          pages.add(await expectPage(await get(path + wrong), 404));
          // The preference centre asks once more before everything is left; a forged link gets no further with that.
          for (const field of path === '/v/' || path === '/i/' ? [] : ['scope', 'confirm']) {
            pages.add(
              await expectPage(await press(system.baseUrl + path + wrong, { [field]: 'everything' }), 404),
            );
          }
        }
      }
      expect(pages.size).toBe(1);
      expect(await statuses(email)).toEqual(['SUBSCRIBED', 'SUBSCRIBED']);
    });
  });
});
