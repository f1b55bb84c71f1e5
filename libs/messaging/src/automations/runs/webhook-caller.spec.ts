import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { AutomationsFixture, chain, delay, trigger } from '../automations.fixture.js';
import { prepareProject, SECRETS } from '#testing/programs/system';
import { eventually } from '#testing/time/eventually';
import { AutomationSecretsService, firstSecret } from '../automation-secrets.service.js';
import { AutomationRunner } from './automation-runner.job.js';
import { WebhookCaller } from './webhook-caller.job.js';

const MINUTE = 60_000;

interface Call {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

describe('webhooks of automations', () => {
  let fixture: AutomationsFixture;
  let server: Server;
  let url: string;
  const calls: Call[] = [];
  let answers: number[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      void answer(request, response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    fixture = await AutomationsFixture.open({ OUTGOING_PRIVATE_ADDRESSES: 'true' });
  });
  beforeEach(() => {
    calls.length = 0;
    answers = [];
  });
  afterAll(async () => {
    await fixture?.close();
    server?.close();
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    calls.push({ headers: request.headers, body: await text(request) });
    response.writeHead(answers.shift() ?? 200).end();
  }

  const hook = (config: object = {}) => ({ id: 'hook', type: 'webhook', config: { url, ...config } });

  async function entered(config: object, data: Record<string, unknown> | null = null) {
    const id = await fixture.active(chain(trigger(), hook(config), delay('wait', 'P1D')));
    const person = await fixture.person();
    const executionId = await fixture.enter(id, person.email, data);
    await fixture.run();
    return { id, executionId, email: person.email };
  }

  async function verified({ body, headers }: Call): Promise<unknown> {
    const webhook = new Webhook(await fixture.messaging.get(AutomationSecretsService).of(fixture.scope));
    return webhook.verify(body, headers as Record<string, string>);
  }

  it('fill in what the run began with, at any depth, and nothing where there is nothing', async () => {
    const body = {
      total: '{{ event.total }}',
      skus: '{% for item in event.items %}{{ item.sku }} {% endfor %}',
      city: '{{ event.ship.city }}',
      none: '{{ event.coupon.code | default: "-" }}{{ event.coupon }}',
      all: ['{{ event.items }}', ' {{ event.ship }} ', '{{ event.tags }}'],
    };
    const [items, ship] = [[{ sku: 'A1' }, { sku: 'B2' }], { city: 'Graz' }];
    await entered({ body }, { total: 62.5, items, ship, tags: ['a', 'b'] });
    await entered({ body });
    expect(calls.map((call) => JSON.parse(call.body) as unknown)).toEqual([
      { total: '62.5', skus: 'A1 B2 ', city: 'Graz', none: '-', all: [items, ship, 'a, b'] },
      { total: '', skus: '', city: '', none: '-', all: ['', '  ', ''] },
    ]);
  });

  it('tell who came by and what came with them, signed', async () => {
    const { id, executionId, email } = await entered({ headers: { 'X-Shop': 'acme' } }, { order: 17 });
    expect(await fixture.paths(id, email)).toEqual(['ACTIVE: start, hook, wait WAITING']);
    expect(calls).toHaveLength(1);
    expect(calls[0]?.headers).toMatchObject({ 'x-shop': 'acme', 'content-type': 'application/json' });
    expect(await verified(calls[0]!)).toMatchObject({
      type: 'automation.webhook',
      data: {
        automationId: id,
        executionId,
        nodeId: 'hook',
        subscriber: { email, firstName: 'Ada', locale: 'de-AT', timeZone: 'Europe/Vienna' },
        data: { order: 17 },
      },
    });
  });

  it("send the author's own body, its merge tags filled in", async () => {
    const { email } = await entered({
      body: { who: '{{ subscriber.email }}', n: [1, '{{ project.name }}'] },
    });
    expect(await verified(calls[0]!)).toEqual({ who: email, n: [1, 'Acme News'] });
  });

  it('are repeated with the same id until they are accepted, and the person goes on then', async () => {
    answers = [500, 503];
    const { id, email } = await entered({});
    expect(await fixture.paths(id, email)).toEqual(['ACTIVE: start']);
    await fixture.later(10_000);
    expect(calls).toHaveLength(2);
    await fixture.later(MINUTE);
    expect(await fixture.paths(id, email)).toEqual(['ACTIVE: start, hook, wait WAITING']);
    expect(new Set(calls.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    await fixture.later(MINUTE);
    expect(calls).toHaveLength(3);
  });

  it('fail after six tries, or at once where nobody will ever answer; the person goes on', async () => {
    answers = [500, 500, 500, 500, 500, 500];
    const patient = await entered({});
    for (const minutes of [1, 1, 5, 30, 120]) await fixture.later(minutes * MINUTE);
    expect(calls).toHaveLength(6);
    expect(await fixture.paths(patient.id, patient.email)).toEqual([
      'ACTIVE: start, hook FAILED, wait WAITING',
    ]);
    answers = [410];
    const gone = await entered({});
    expect(await fixture.paths(gone.id, gone.email)).toEqual(['ACTIVE: start, hook FAILED, wait WAITING']);
  });

  it('are answered before their worker stops, though the database failed meanwhile', async () => {
    const answering: ServerResponse[] = [];
    const slow = createServer((_, response) => {
      answering.push(response);
    });
    slow.listen(0, '127.0.0.1');
    await once(slow, 'listening');
    const target = `http://127.0.0.1:${(slow.address() as AddressInfo).port}/`;
    const id = await fixture.active(chain(trigger(), hook({ url: target }), delay('wait', 'P1D')));
    const { email } = await fixture.person();
    await fixture.enter(id, email);
    await fixture.messaging.get(AutomationRunner).pass();
    const worker = await fixture.messaging.beside({ OUTGOING_PRIVATE_ADDRESSES: 'true' });
    const caller = worker.get(WebhookCaller);
    const passing = caller.pass();
    await once(slow, 'request');
    const { test } = fixture.messaging;
    await test.query('revoke select on messaging.automation_runs from mailwright_app, mailwright_system');
    await expect(passing).rejects.toThrow(/automation_runs/);
    await test.query('grant select on messaging.automation_runs to mailwright_app, mailwright_system');
    let isStopped = false;
    const stopping = caller.stop().finally(() => {
      isStopped = true;
    });
    expect(await fixture.paths(id, email)).toEqual(['ACTIVE: start']);
    expect(isStopped).toBe(false);
    answering[0]?.end();
    await stopping;
    expect(await fixture.paths(id, email)).toEqual(['ACTIVE: start, hook']);
    await worker.close();
    slow.close();
  });

  it('are signed with the same secret when the master key has changed, whether it was ever asked for or not', async () => {
    const next = { MASTER_KEY: 'the next master key of this test, long' };
    const changing = {
      ...next,
      MASTER_KEY_PREVIOUS: SECRETS.MASTER_KEY,
      ERASED_ADDRESS_KEY: SECRETS.MASTER_KEY,
    };
    const { messaging, scope } = fixture;
    const unasked = (await prepareProject(messaging.test, '', 'OTHER')).live;
    await fixture.automations.create(unasked, {
      name: 'Later',
      description: null,
      triggerType: 'manual',
      triggerTopicId: null,
    });
    const secret = await messaging.get(AutomationSecretsService).of(scope);
    const during = await messaging.beside(changing);
    const secrets = during.get(AutomationSecretsService);
    expect(await secrets.resealSecrets(10)).toBe(1);
    expect(await secrets.resealSecrets(10)).toBe(1);
    expect(await secrets.resealSecrets(10)).toBe(0);
    await during.close();
    const after = await messaging.beside({ ...next, ERASED_ADDRESS_KEY: SECRETS.MASTER_KEY });
    expect(await after.get(AutomationSecretsService).of(scope)).toBe(secret);
    expect(await after.get(AutomationSecretsService).of(unasked)).toBe(
      firstSecret(SECRETS.MASTER_KEY, unasked),
    );
    await after.close();
  });

  it('do not wait for those of another automation that nobody answers', async () => {
    let isWaitedFor = true;
    const silent = createServer(({ socket }) => {
      socket.on('close', () => {
        isWaitedFor = false;
      });
    });
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const nowhere = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
    const goOn = async (target: string) => {
      const id = await fixture.active(chain(trigger(), hook({ url: target })));
      await fixture.enter(id, (await fixture.person()).email);
      await fixture.messaging.get(AutomationRunner).pass();
    };
    await goOn(nowhere);
    const asked = once(silent, 'request');
    const passing = fixture.messaging.get(WebhookCaller).pass();
    await asked;
    await goOn(url);
    await eventually('the other call', () => calls.length === 1);
    expect(isWaitedFor).toBe(true);
    silent.closeAllConnections();
    await passing;
    silent.close();
  });

  it('are held while the automation is paused', async () => {
    answers = [500];
    const { id, email } = await entered({});
    await fixture.automations.pause(fixture.scope, id);
    await fixture.later(MINUTE);
    expect(calls).toHaveLength(1);
    await fixture.automations.activate(fixture.scope, id);
    await fixture.run();
    expect([calls.length, await fixture.paths(id, email)]).toEqual([
      2,
      ['ACTIVE: start, hook, wait WAITING'],
    ]);
  });
});
