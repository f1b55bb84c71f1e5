import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createElement } from 'react';
import { Webhook } from 'standardwebhooks';
import { MailwrightOperator } from '../../packages/sdk/src/operator.js';
import { List } from '../../packages/sdk/src/pages.js';
import { Resource } from '../../packages/sdk/src/resource.js';
import { renderReact } from '../../packages/sdk/src/react.js';
import {
  Mailwright,
  MailwrightConnectionError,
  MailwrightError,
  PROBLEM_SLUGS,
  verifyWebhook,
  type WebhookEvent,
  type WebhookEventType,
  WebhookVerificationError,
} from '#sdk';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { eventually } from '#testing/time/eventually';
import { runCliForJson } from '#testing/programs/operator-cli';
import { letTimeGo, passTime, stopTime, waitingTimers } from '#testing/time/time-limits';
import { addKey, type System, sharedSystem } from '#testing/programs/system';

const consent = { source: 'signup-form' };

describe('the SDK against the running api', () => {
  let system: System;
  let mailwright: Mailwright;
  let keyOf: (scopes?: readonly string[]) => Promise<string>;

  beforeAll(async () => {
    system = await sharedSystem();
    const project = await system.project();
    keyOf = (scopes) => addKey(system.database, project.test, scopes === undefined ? {} : { scopes });
    mailwright = new Mailwright({ apiKey: await keyOf(), baseUrl: system.baseUrl });
  });

  afterAll(() => system?.stop());

  it('takes people in, sends them a campaign and reads what came of it', async () => {
    expect((await mailwright.project.get()).environment).toBe('TEST');
    const topic = await mailwright.topics.create({ name: 'News', doubleOptInEnabled: false });
    const ada = await mailwright.subscribers.create({
      email: 'ada+sdk@example.com',
      topicKeys: [topic.topicKey],
      consent,
      firstName: 'Ada',
    });
    expect(ada.status).toBe('ACTIVE');
    expect((await mailwright.subscribers.get('ada+sdk@example.com')).id).toBe(ada.id);
    const campaign = await mailwright.campaigns.create({
      name: 'Spring',
      subject: 'Hello {{ subscriber.first_name }}',
      contentText: 'Spring is here. {{ links.unsubscribe }}',
      topicIds: [topic.id],
    });
    const key = campaign.campaignKey ?? '';
    expect((await mailwright.campaigns.preview(key, { email: ada.email })).subject).toBe('Hello Ada');
    await mailwright.campaigns.send(key);
    await eventually('the campaign is sent', async () =>
      (await mailwright.campaigns.get(key)).status === 'SENT' ? true : null,
    );
    expect((await mailwright.reports.statistics(key)).totalSent).toBe(1);
    expect(await mailwright.reports.export(key)).toMatch(/^campaignKey,name,status/);
    await mailwright.reports.request(key);
    await eventually('the report is written', async () =>
      (await mailwright.reports.get(key)).status === 'GENERATED' ? true : null,
    );
    const [mail] = await mailwright.testInbox.all({ to: 'ada+sdk@example.com' }).all();
    expect(await mailwright.testInbox.raw(mail?.id ?? '')).toContain('List-Unsubscribe');
    await mailwright.subscribers.erase(ada.email);
    await expect(mailwright.subscribers.get(ada.email)).rejects.toMatchObject({ slug: 'not-found' });
  });

  it('sends what React Email has rendered, merge tags and all', async () => {
    const link = createElement(
      'a',
      { href: '{{ data.link }}' },
      'Reset it, {{ data.name | default: "you" }}',
    );
    const { html, text } = await renderReact(createElement('html', null, createElement('body', null, link)));
    expect(html).toMatch(/^<!DOCTYPE html/);
    const to = 'react+sdk@example.com';
    const data = { link: 'https://shop.example/reset', name: 'Ada' };
    await mailwright.messages.send({ to, purpose: 'Reset a password', subject: 'Reset', html, text, data });
    const mail = await eventually('the message is there', async () => {
      const [message] = await mailwright.testInbox.all({ to }).all();
      return message === undefined ? null : mailwright.testInbox.raw(message.id);
    });
    expect(mail.replaceAll('=\r\n', '')).toContain('Reset it, Ada');
    expect(mail).not.toContain('{{');
  });

  it('goes through all pages of a list', async () => {
    for (let n = 0; n < 7; n += 1) await mailwright.suppressions.add({ email: `list-${n}@example.com` });
    const seen: string[] = [];
    for await (const { email } of mailwright.suppressions.all({ size: 3 })) seen.push(email);
    expect(new Set(seen)).toEqual(new Set(Array.from({ length: 7 }, (_, n) => `list-${n}@example.com`)));
    const { pagination } = await mailwright.suppressions.all({ size: 3 }).page(2);
    expect(pagination).toMatchObject({ page: 2, totalElements: 7, hasNext: false });
    const { pagination: first } = await mailwright.suppressions.all({ size: 3 }).page('');
    const second = await mailwright.suppressions.all({ size: 3 }).page(first.next ?? '');
    expect(second.data.map(({ email }) => email)).toEqual(seen.slice(3, 6));
    await mailwright.suppressions.remove('list-0@example.com');
    expect((await mailwright.suppressions.get('list-0@example.com')).suppressed).toBe(false);
  });

  it('turns problems into errors that say which, and what is wrong with each field', async () => {
    const refused = await mailwright.subscribers
      .create({ email: 'nobody', topicKeys: [], consent })
      .catch((error: unknown) => error);
    if (!(refused instanceof MailwrightError)) throw new Error('It was not refused.');
    expect([refused.status, refused.slug]).toEqual([400, 'validation-error']);
    expect(Object.keys(refused.errors).sort()).toEqual(['email', 'topicKeys']);
    expect(refused.requestId).not.toBe('');
    const reader = new Mailwright({ apiKey: await keyOf(['topics:read']), baseUrl: system.baseUrl });
    const forbidden = await reader.topics.create({ name: 'News' }).catch((error: unknown) => error);
    if (!(forbidden instanceof MailwrightError) || !forbidden.is('insufficient-scope'))
      throw new Error('It was let in.');
    expect(forbidden.problem.requiredScope).toBe('topics:write');
  });

  it('does a POST once, however often it is called with the same key', async () => {
    const call = () => mailwright.topics.create({ name: 'Once' }, { idempotencyKey: 'the-one' });
    expect((await call()).id).toBe((await call()).id);
  });

  it('builds an automation, sends a subscriber through it and shows where they are', async () => {
    const topic = await mailwright.topics.create({ name: 'Welcomed', doubleOptInEnabled: false });
    const email = 'grace+sdk@example.com';
    await mailwright.subscribers.create({ email, topicKeys: [topic.topicKey], consent });
    const { id } = await mailwright.automations.create({
      name: 'Welcome',
      triggerType: 'subscriber_joins_list',
      triggerTopicId: topic.id,
    });
    const nodes = [
      { id: 'start', type: 'trigger', config: {} },
      { id: 'wait', type: 'delay', config: { duration: 'P3D' } },
    ];
    await mailwright.automations.updateContent(id, {
      nodes: JSON.stringify(nodes),
      edges: JSON.stringify([{ id: 'e1', source: 'start', target: 'wait' }]),
    });
    expect((await mailwright.automations.update(id, { name: 'Hello' })).name).toBe('Hello');
    expect((await mailwright.automations.activate(id)).status).toBe('ACTIVE');
    await mailwright.automations.enter(id, { email });
    await eventually('she waits', async () => {
      const [execution] = await mailwright.automations.executions(id).all();
      return execution?.email === email && execution.currentNodeId === 'wait' ? true : null;
    });
    expect((await mailwright.automations.pause(id)).status).toBe('PAUSED');
    expect((await mailwright.automations.get(id)).currentlyActive).toBe(1);
    const other = await mailwright.automations.create({ name: 'Never' });
    await mailwright.automations.delete(other.id);
    expect((await mailwright.automations.all({ status: 'PAUSED' }).all()).map((of) => of.id)).toEqual([id]);
  });

  it('sets up the domain to send from, and takes it away', async () => {
    expect((await mailwright.sendingDomain.create({ domainName: 'news.example.com' })).status).toBe(
      'PENDING_VERIFICATION',
    );
    const renamed = await mailwright.sendingDomain.update({ domainName: 'mail.example.com' });
    expect(renamed.domainName).toBe('mail.example.com');
    expect((await mailwright.sendingDomain.dnsInstructions()).requiredRecords?.length).toBeGreaterThan(0);
    expect((await mailwright.sendingDomain.get()).dnsRecords?.length).toBeGreaterThan(0);
    await mailwright.sendingDomain.delete();
    const gone = await mailwright.sendingDomain.verifyDns().catch((error: unknown) => error);
    expect(gone).toMatchObject({ slug: 'not-found' });
  });

  it('reads the plan, what was used of it, invoices and credits', async () => {
    expect((await mailwright.billing.subscription()).planTier).toBe('FREE');
    const [free] = await mailwright.billing.plans({ currency: 'EUR' });
    expect(free?.tier).toBe('FREE');
    expect((await mailwright.billing.usage()).projectsCurrent).toBe(1);
    expect(await mailwright.billing.invoices().all()).toEqual([]);
    const { balance } = await mailwright.credits.balance();
    const { pagination } = await mailwright.credits.transactions().page(0);
    expect([balance, pagination?.totalElements]).toEqual([expect.any(Number), expect.any(Number)]);
  });

  it('makes a tenant, a project and a key as the operator, and reads how the installation does', async () => {
    const scopes = 'tenants:write,projects:write,projects:read,keys:write,system:read';
    const asked = ['operator-key:create', '--name', 'SDK', '--scopes', scopes];
    const apiKey = String((await runCliForJson(system.variables, asked))['key']);
    const operator = new MailwrightOperator({ apiKey, baseUrl: system.baseUrl });
    const { tenantKey } = await operator.tenants.create({ tenantKey: 'BYSDK', name: 'By SDK' });
    const project = { projectKey: 'NEWS', name: 'News', senderName: 'SDK', postalAddress: '1 Main Street' };
    const { id, liveEnvironmentId } = await operator.projects.create({ tenantKey, ...project });
    expect((await operator.projects.update(id, { name: 'Other' })).name).toBe('Other');
    const listed = await operator.projects.all({ tenantKey }).all();
    expect(listed.map(({ projectKey }) => projectKey)).toEqual(['NEWS']);
    const { key } = await operator.apiKeys.create({
      environmentId: liveEnvironmentId,
      name: 'Website',
      scopes: ['topics:read'],
    });
    const theirs = new Mailwright({ apiKey: key, baseUrl: system.baseUrl });
    expect((await theirs.project.get()).name).toBe('Other');
    expect((await operator.overview.get()).checks.length).toBeGreaterThan(0);
    const refused = await operator.auditLog
      .all()
      .all()
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ slug: 'insufficient-scope' });
  });

  it('uploads CSV', async () => {
    const topic = await mailwright.topics.create({ name: 'Imported', doubleOptInEnabled: false });
    const started = await mailwright.imports.csv('email,firstName\ngrace@example.com,Grace\nnobody,X\n', {
      topicKeys: topic.topicKey,
      'consent.source': 'file',
    });
    await eventually('the import is done', async () =>
      (await mailwright.imports.get(started.id)).status === 'COMPLETED' ? true : null,
    );
    const errors = await mailwright.imports.errors(started.id).all();
    expect(errors).toHaveLength(1);
  });
});

describe('the SDK where the network is bad', () => {
  const servers: Server[] = [];
  afterEach(() => {
    letTimeGo();
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });

  async function clientOf(
    answer: RequestListener,
    options: { maxRetries?: number; timeoutMs?: number } = {},
  ) {
    const server = createServer(answer);
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return new Mailwright({ apiKey: 'key', baseUrl, ...options });
  }

  const problem = { type: 'https://x/problems/rate-limited', title: 'Too many', status: 429, requestId: 'r' };

  it('waits as long as it is asked to, and sends the same idempotency key again', async () => {
    const seen: unknown[] = [];
    const client = await clientOf((request, response) => {
      seen.push(request.headers['idempotency-key']);
      if (seen.length === 1)
        response
          .writeHead(429, { 'retry-after': '1', 'content-type': 'application/problem+json' })
          .end(JSON.stringify(problem));
      else response.writeHead(201, { 'content-type': 'application/json' }).end('{"name":"News"}');
    });
    stopTime();
    const created = client.topics.create({ name: 'News' });
    await eventually('it waits', () => waitingTimers().includes(1_000));
    passTime(999);
    expect(waitingTimers()).toContain(1);
    passTime(1);
    expect((await created).name).toBe('News');
    expect(seen).toEqual([seen[0], seen[0]]);
  });

  it('leaves a wait of more than a minute to the caller', async () => {
    let requests = 0;
    const client = await clientOf((_, response) => {
      requests += 1;
      response.writeHead(429, { 'retry-after': '61', 'content-type': 'application/problem+json' });
      response.end(JSON.stringify(problem));
    });
    await expect(client.project.get()).rejects.toMatchObject({ slug: 'rate-limited', retryAfter: 61 });
    expect(requests).toBe(1);
  });

  it('tries again when the connection breaks, and gives up in the end', async () => {
    let requests = 0;
    const breaking = await clientOf(
      (request, response) => {
        requests += 1;
        if (requests === 1) request.socket.destroy();
        else response.writeHead(200, { 'content-type': 'application/json' }).end('{"projectKey":"APIT"}');
      },
      { maxRetries: 1 },
    );
    expect((await breaking.project.get()).projectKey).toBe('APIT');
    const silent = await clientOf(() => undefined, { maxRetries: 0, timeoutMs: 100 });
    const gaveUp = silent.project.get();
    await expect(gaveUp).rejects.toThrow(MailwrightConnectionError);
    await expect(gaveUp).rejects.toThrow(/^The API at http:\/\/127\.0\.0\.1:\d+ did not answer in time\.$/);
    const nowhere = new Mailwright({ apiKey: 'mw_test_1', baseUrl: 'http://127.0.0.1:1', maxRetries: 0 });
    await expect(nowhere.project.get()).rejects.toThrow('The API at http://127.0.0.1:1 cannot be reached.');
  });

  it('says that the caller aborted it, and does not try again', async () => {
    let requests = 0;
    const aborting = new AbortController();
    const client = await clientOf(() => {
      requests += 1;
      aborting.abort();
    });
    const aborted = client.project.get({ signal: aborting.signal });
    await expect(aborted).rejects.toThrow(MailwrightConnectionError);
    await expect(aborted).rejects.toThrow('The call was aborted.');
    expect(requests).toBe(1);
  });

  it('asks for no more of a list that the caller aborted', async () => {
    let requests = 0;
    const client = await clientOf((_, response) => {
      requests += 1;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ data: [{}], pagination: { next: `page-${requests}` } }));
    });
    const aborting = new AbortController();
    const options = { signal: aborting.signal };
    const goThrough = async () => {
      for await (const _ of client.campaigns.deliveries('NEWS', {}, options))
        if (requests === 3) aborting.abort();
    };
    await expect(goThrough()).rejects.toThrow('The call was aborted.');
    expect(requests).toBe(3);
    await expect(client.topics.all({}, options).page()).rejects.toThrow(MailwrightConnectionError);
    await expect(client.topics.all({}, options).all()).rejects.toThrow(MailwrightConnectionError);
    expect(requests).toBe(3);
  });

  it('tries again when an answer breaks off, and gives up in the end', async () => {
    let requests = 0;
    const breaking = await clientOf(
      (request, response) => {
        requests += 1;
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '24' });
        if (requests === 1) response.write('{"projectKey"', () => request.socket.destroy());
        else response.end('{"projectKey":"AT LAST"}');
      },
      { maxRetries: 1 },
    );
    expect((await breaking.project.get()).projectKey).toBe('AT LAST');
    const stalled = await clientOf(
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).write('{"projectKey"');
      },
      { maxRetries: 0, timeoutMs: 100 },
    );
    const gaveUp = stalled.project.get();
    await expect(gaveUp).rejects.toThrow(MailwrightConnectionError);
    await expect(gaveUp).rejects.toThrow('did not answer in time.');
  });

  it.each(['localhost:3000', 'mail.example.com', '', 'https://'])(
    'refuses %p as an address of the API',
    (baseUrl) => {
      expect(() => new Mailwright({ apiKey: 'mw_test_1', baseUrl })).toThrow(
        `baseUrl is "${baseUrl}". It has to be the address of the API, such as https://mail.example.com.`,
      );
    },
  );

  it('says that a key is missing before it asks for anything', () => {
    const withKey = (apiKey: string) => new Mailwright({ apiKey, baseUrl: 'https://mail.example.com' });
    expect(() => withKey('')).toThrow('apiKey is empty. It has to be a key of the API');
    expect(() => withKey('mw_test_1\n')).toThrow('apiKey has white space in it.');
  });

  it('says that the path of the API is its own to add', () => {
    const baseUrl = 'http://localhost:3000/api/v1/';
    expect(() => new Mailwright({ apiKey: 'mw_test_1', baseUrl })).toThrow('It has to end before /api/v1');
    const operators = 'http://localhost:3000/operator/v1';
    expect(() => new MailwrightOperator({ apiKey: 'mw_op_1', baseUrl: operators })).toThrow(
      'It has to end before /operator/v1',
    );
  });

  it('takes no password in the address, which no request could carry, and does not repeat it', () => {
    const make = () =>
      new Mailwright({ apiKey: 'mw_test_1', baseUrl: 'https://ada:geheim@mail.example.com' });
    expect(make).toThrow(
      new TypeError('baseUrl has a user or a password in it. The key of the API goes into apiKey.'),
    );
  });

  const ENTRY = '{"id":"1","action":"createTopic"}\n';
  it.each([1, 2])('gives lines of JSON as text: %d of them', async (lines) => {
    const client = await clientOf((_, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson; charset=utf-8' });
      response.end(ENTRY.repeat(lines));
    });
    expect(await client.auditLog.export()).toBe(ENTRY.repeat(lines));
  });

  it('says that JSON is broken, or missing', async () => {
    const client = await clientOf((request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(request.url?.endsWith('/project') ? '{"projectKey"' : '');
    });
    const broken = client.project.get();
    await expect(broken).rejects.toThrow(MailwrightConnectionError);
    await expect(broken).rejects.toThrow(/ answered with broken JSON instead of application\/json\.$/);
    await expect(client.topics.get('NEWS')).rejects.toThrow(MailwrightConnectionError);
  });

  type Method = (...args: readonly unknown[]) => Promise<unknown> | List<unknown>;

  it('says of every operation that a page of a proxy is no answer', async () => {
    const page = () => Promise.resolve(new Response('<html>', { headers: { 'content-type': 'text/html' } }));
    const options = { apiKey: 'key', baseUrl: 'https://mail.example.com', fetch: page };
    const resources = [new Mailwright(options), new MailwrightOperator(options)].flatMap((client) =>
      Object.values(client).filter((field: unknown) => field instanceof Resource),
    );
    const methods = resources.flatMap((resource) =>
      Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(resource) as object))
        .filter(([name]) => name !== 'constructor')
        .map(([name, { value }]) => ({ name, call: (value as Method).bind(resource) })),
    );
    expect(methods.length).toBeGreaterThan(150);
    for (const { name, call } of methods) {
      const answer = call('one', 'two', {});
      const error = await Promise.resolve(answer instanceof List ? answer.page() : answer).catch(
        (caught: unknown) => caught,
      );
      expect([name, error]).toEqual([name, expect.any(MailwrightConnectionError)]);
    }
  });

  it('does not repeat what was refused', async () => {
    let requests = 0;
    const client = await clientOf((_, response) => {
      requests += 1;
      response.writeHead(409, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify({ ...problem, type: 'https://x/problems/suppressed', status: 409 }));
    });
    await expect(client.suppressions.get('a@b.example')).rejects.toMatchObject({ slug: 'suppressed' });
    expect(requests).toBe(1);
  });

  it('says so when something that is not the api answers', async () => {
    const client = await clientOf((_, response) => response.writeHead(404).end('<html>'));
    await expect(client.project.get()).rejects.toMatchObject({ status: 404, message: 'HTTP 404' });
    const proxy = await clientOf((_, response) => response.writeHead(403).end('{"message":"Not from here"}'));
    await expect(proxy.project.get()).rejects.toMatchObject({
      status: 403,
      slug: 'about:blank',
      message: 'HTTP 403',
    });
  });
});

describe('a webhook', () => {
  const secret = `whsec_${Buffer.from('a secret of the tests').toString('base64')}`;
  const body =
    '{"type":"consent.confirmed","timestamp":"2026-03-01T12:00:00.000Z","data":{"email":"ada@example.com"}}';

  function signed(at = new Date()) {
    return {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
      'webhook-signature': new Webhook(secret).sign('msg_1', at, body),
    };
  }

  it('is read when it is signed with the secret, or one of two', async () => {
    const event = await verifyWebhook({ secret, headers: signed(), body });
    expect(event).toMatchObject({ type: 'consent.confirmed', data: { email: 'ada@example.com' } });
    await verifyWebhook({ secret: ['whsec_AAAA', secret], headers: new Headers(signed()), body });
    const inCapitals = Object.entries(signed()).map(([name, value]) => [name.toUpperCase(), value]);
    await verifyWebhook({ secret, headers: Object.fromEntries(inCapitals), body });
  });

  it('has the type that its name says, to the compiler', async () => {
    const event: WebhookEvent = await verifyWebhook({ secret, headers: signed(), body });
    switch (event.type) {
      case 'consent.confirmed':
        expect(event.data.email satisfies string).toBe('ada@example.com');
        // @ts-expect-error: only mails have one
        expect(event.data.deliveryId).toBeUndefined();
        break;
      case 'email.clicked':
        throw new Error(
          `${event.data.url satisfies string | null} of ${event.data.deliveryId satisfies string}`,
        );
      case 'import.completed':
        throw new Error(`${event.data.counts.total satisfies number}`);
      default:
        throw new Error(event.type satisfies WebhookEventType);
    }
    const one = event as unknown as WebhookEvent<'email.clicked'>;
    expect(one.data.linkNumber satisfies number | null | undefined).toBeUndefined();
    // @ts-expect-error: there is no such event
    expect(event.type === 'email.seen').toBe(false);
  });

  it.each([
    ['', 'secret is empty. It has to be the secret of the webhook endpoint, whsec_….'],
    [undefined as unknown as string, 'secret is empty.'],
    [[], 'secret is empty.'],
    [[secret, ''], 'secret is empty.'],
    ['whsec_', 'secret is no base64.'],
    ['whsec_%', 'secret is no base64.'],
  ])('blames the secret %j, not the webhook', async (wrong, message) => {
    const refused = verifyWebhook({ secret: wrong, headers: signed(), body });
    await expect(refused).rejects.toThrow(TypeError);
    await expect(refused).rejects.toThrow(message);
  });

  it('is refused when it was changed, is old, or carries no signature', async () => {
    const headers = signed();
    const refused = [
      { secret, headers, body: `${body} ` },
      { secret: 'whsec_AAAA', headers, body },
      { secret, headers: signed(new Date(Date.now() - 3_600_000)), body },
      { secret, headers: { ...headers, 'webhook-signature': 'v1,nonsense!' }, body },
      { secret, headers: {}, body },
    ];
    for (const webhook of refused)
      await expect(verifyWebhook(webhook)).rejects.toThrow(WebhookVerificationError);
  });
});

/** OpenAPI documents with the file that has their types. */
const DOCUMENTS = [
  ['docs/openapi.json', 'api-types.ts'],
  ['docs/operator-openapi.json', 'operator-types.ts'],
] as const;

describe('the SDK as a package', () => {
  const compile = (compiler: 'typescript' | 'typescript-native', ...args: readonly string[]) =>
    promisify(execFile)(process.execPath, [
      join(projectRoot(), 'node_modules', compiler, 'bin/tsc'),
      ...args,
    ]).catch((error: { readonly stdout: string }) => {
      throw new Error(error.stdout);
    });

  /** Text without what the formatter changes. */
  const bare = (text: string) => text.replace(/[\s"';,|()]/g, '');

  it.each(DOCUMENTS)('knows every type of problem of %s', (file, _types) => {
    const { components } = JSON.parse(readFileSync(join(projectRoot(), file), 'utf8')) as {
      components: { examples: Record<string, unknown> };
    };
    const known: readonly string[] = PROBLEM_SLUGS;
    const slugs = Object.keys(components.examples).map((name) => name.split('.')[0] ?? '');
    expect(slugs.filter((slug) => !known.includes(slug))).toEqual([]);
  });

  it.each(DOCUMENTS)('has the types of %s (npm run openapi writes them in %s)', async (file, typesFile) => {
    const { default: openapiTypescript, astToString } = await import('openapi-typescript');
    const document = readFileSync(join(projectRoot(), file), 'utf8');
    const types = astToString(await openapiTypescript(document, { defaultNonNullable: false }));
    const kept = readFileSync(join(projectRoot(), 'packages/sdk/src', typesFile), 'utf8');
    const plain = (text: string) => bare(text.replace(/\/\*[^]*?\*\//g, ''));
    expect(plain(kept)).toBe(plain(types));
  });

  it('has the methods of the OpenAPI documents, and lists them (npm run openapi writes all)', async () => {
    const generator = join(projectRoot(), 'config/generate-sdk.js');
    const written = async (...args: readonly string[]) =>
      (await promisify(execFile)(process.execPath, [generator, ...args])).stdout;
    const kept = (file: string) => readFileSync(join(projectRoot(), 'packages/sdk', file), 'utf8');
    expect(bare(kept('src/resources.ts'))).toBe(bare(await written()));
    expect(bare(kept('src/operator-resources.ts'))).toBe(bare(await written('operator')));
    expect(kept('README.md')).toBe(await written('readme'));
  });

  it('compiles for the web alone and is below 15 KB, compressed', async () => {
    const out = mkdtempSync(join(tmpdir(), 'mailwright-sdk-'));
    try {
      await compile('typescript-native', '-p', join(projectRoot(), 'packages/sdk'), '--outDir', out);
      const files = readdirSync(out, { encoding: 'utf8', recursive: true }).filter((name) =>
        name.endsWith('.js'),
      );
      const text = (names: readonly string[]) =>
        names.map((name) => readFileSync(join(out, name), 'utf8')).join('\n');
      // Entries of their own, which nothing else needs.
      expect(files.splice(files.indexOf('react.js'), 1)).toEqual(['react.js']);
      const isOperators = (name: string) => /^operator(?:-resources|-types)?\.js$/.test(name);
      const core = text(files.filter((name) => !isOperators(name)));
      expect(core).not.toMatch(/from 'node:|require\(|process\.|operator-resources/);
      expect(gzipSync(core).length).toBeLessThan(15_000);
      const operators = text(files.filter(isOperators));
      expect(operators).toContain('class MailwrightOperator');
      expect(operators).not.toMatch(/from 'node:|require\(|process\./);
      expect(gzipSync(operators).length).toBeLessThan(3_000);
    } finally {
      rmSync(out, { recursive: true });
    }
  });

  it('has types for programs that tell undefined from left out, and for those that resolve as Node 10 did', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'mailwright-sdk-'));
    try {
      const installed = join(directory, 'node_modules/@mailwright/sdk');
      const sdk = join(projectRoot(), 'packages/sdk');
      await compile('typescript-native', '-p', sdk, '--outDir', join(installed, 'dist'));
      cpSync(join(sdk, 'package.json'), join(installed, 'package.json'));
      const program = join(directory, 'program.ts');
      writeFileSync(program, PROGRAM);
      const strict = [
        program,
        '--ignoreConfig',
        '--strict',
        '--noEmit',
        '--target',
        'es2022',
        '--skipLibCheck',
      ];
      const exact = ['--exactOptionalPropertyTypes', '--module', 'nodenext'];
      await compile('typescript-native', ...strict, ...exact);
      const asBefore = [
        '--module',
        'commonjs',
        '--moduleResolution',
        'node10',
        '--ignoreDeprecations',
        '6.0',
      ];
      await compile('typescript', ...strict, ...asBefore);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

/** A program that others could have written. */
const PROGRAM = `
import { Mailwright, type MailwrightOptions } from '@mailwright/sdk';
import { MailwrightOperator } from '@mailwright/sdk/operator';
import type { RenderedMail } from '@mailwright/sdk/react';

export async function signUp(firstName: string | undefined, signal: AbortSignal | undefined, mail: RenderedMail) {
  const options: MailwrightOptions = { apiKey: 'mw_test_1', baseUrl: 'https://mail.example.com', timeoutMs: undefined };
  const mailwright = new Mailwright(options);
  const { environment } = await mailwright.project.get({ signal });
  environment satisfies 'LIVE' | 'TEST';
  const person = { email: 'ada@example.com', firstName, topicKeys: ['news'], consent: { source: 'form' } };
  await mailwright.subscribers.create(person, { signal, idempotencyKey: firstName });
  await mailwright.messages.send({ to: { email: person.email }, from: undefined, subject: 'Hello', html: mail.html });
  for await (const { email } of mailwright.subscribers.all({ status: undefined }, { signal })) email satisfies string;
  const operator = new MailwrightOperator(options);
  for await (const { tenantKey } of operator.tenants.all()) tenantKey satisfies string;
  await operator.projects.update(1, { name: firstName }, { signal });
  // @ts-expect-error: plans have other names
  await operator.subscriptions.update('ACME', { tier: 'GOLD' });
  // @ts-expect-error: a subscriber has an address
  await mailwright.subscribers.create({ ...person, email: undefined });
}
`;
