import { once } from 'node:events';
import { Resolver } from 'node:dns/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ProjectsQuery } from '#access';
import { CustomFieldsQuery, RecipientsQuery } from '#audience';
import { Clock } from '#kernel';
import { Database, LOGGER, Notifications, OutgoingHttp } from '#platform';
import { type DnsServer, startDnsServer } from '#testing/mail/dns-server';
import { eventually } from '#testing/time/eventually';
import { ContentProcessesService } from '../../content/processes/content-processes.service.js';
import { AutomationsFixture, chain, trigger } from '../automations.fixture.js';
import { AutomationSecretsService } from '../automation-secrets.service.js';
import { AutomationRunner } from './automation-runner.job.js';
import { DueWorkQuery } from './due-work.query.js';
import { RunRepository } from './run.repository.js';
import { VersionPlansQuery } from './version-plans.query.js';
import { WebhookCaller } from './webhook-caller.job.js';
import { WebhookClientService } from './webhook-client.service.js';

/** Stands for the public internet: every other address is one of those that nobody may be led to. */
const PUBLIC = '127.0.0.1';

const TRY_AGAIN_MS = 3 * 3_600_000;

describe('a webhook of a running automation that is led elsewhere on its way', () => {
  let dns: DnsServer;
  let fixture: AutomationsFixture;
  let http: OutgoingHttp;
  let caller: WebhookCaller;
  let server: Server;
  let port: number;
  const paths: string[] = [];
  let answer: () => string | null = () => null;

  beforeAll(async () => {
    server = createServer((request, response) => {
      paths.push(request.url ?? '');
      const location = answer();
      const headers = { connection: 'close', ...(location === null ? {} : { location }) };
      response.writeHead(location === null ? 200 : 307, headers).end();
    });
    server.listen(0, PUBLIC);
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
    dns = await startDnsServer();
    dns.a('inside.example', '10.0.0.7');
    fixture = await AutomationsFixture.open({ OUTGOING_PRIVATE_ADDRESSES: 'true' });
    // The addresses of steps were found to be right when the automation was activated.
    http = new OutgoingHttp({ addressesOf, allows: (address) => address === PUBLIC });
    caller = callerBy(http);
    fixture.messaging.get(AutomationRunner).start();
    caller.start();
  });
  beforeEach(() => {
    paths.length = 0;
    dns.a('hook.example', PUBLIC);
  });
  afterAll(async () => {
    await caller?.stop();
    await fixture?.messaging.get(AutomationRunner).stop();
    await http?.close();
    await fixture?.close();
    await dns?.stop();
    server?.close();
  });

  async function addressesOf(host: string): Promise<readonly string[]> {
    const resolver = new Resolver();
    resolver.setServers([dns.address]);
    return resolver.resolve4(host);
  }

  function callerBy(client: OutgoingHttp): WebhookCaller {
    const { messaging } = fixture;
    return new WebhookCaller(
      messaging.get(Database),
      messaging.get(DueWorkQuery),
      messaging.get(VersionPlansQuery),
      messaging.get(RunRepository),
      new WebhookClientService(
        client,
        messaging.get(AutomationSecretsService),
        messaging.get(RecipientsQuery),
        messaging.get(CustomFieldsQuery),
        messaging.get(ProjectsQuery),
        messaging.get(ContentProcessesService),
        messaging.get<Clock>(Clock),
      ),
      messaging.get(Notifications),
      messaging.get<Clock>(Clock),
      messaging.get(LOGGER),
    );
  }

  /** Result of the webhook's step, when somebody has come through. */
  async function endOfStep() {
    const url = `http://hook.example:${port}/`;
    const id = await fixture.active(chain(trigger(), { id: 'hook', type: 'webhook', config: { url } }));
    const { email } = await fixture.person();
    await fixture.enter(id, email);
    const execution = await eventually('somebody came through', async () => {
      const [found] = await fixture.executions(id);
      if (found?.status === 'COMPLETED') return found;
      // A name may lead elsewhere by the next try.
      fixture.messaging.clock.advance(TRY_AGAIN_MS);
      return null;
    });
    return execution.steps[1];
  }

  it('arrives where nobody leads it astray', async () => {
    answer = () => null;
    expect(await endOfStep()).toMatchObject({ status: 'DONE', detail: 'answered 200' });
    expect(paths).toEqual(['/']);
  });

  it.each([
    ['this machine', () => `http://[::ffff:127.0.0.1]:${port}/inner`],
    ['the cloud’s metadata', () => 'http://169.254.169.254/latest/meta-data/'],
  ])('never follows a redirect to %s', async (_where, location) => {
    answer = location;
    expect(await endOfStep()).toMatchObject({
      status: 'FAILED',
      detail: expect.stringMatching(/^address: /),
    });
    expect(paths).toEqual(['/']);
  });

  it.each(['inside.example', 'nowhere.example'])(
    'never follows a redirect to %s, and does not tell whether the name is known',
    async (host) => {
      answer = () => `http://${host}:${port}/inner`;
      expect(await endOfStep()).toMatchObject({
        status: 'FAILED',
        detail: `resolution: ${host} leads to no public address.`,
      });
      expect(new Set(paths)).toEqual(new Set(['/']));
    },
  );

  it('never reaches what its name leads to once it was looked at', async () => {
    const asked = () => dns.questions.filter((question) => question.endsWith('A hook.example')).length;
    const before = asked();
    answer = () => {
      dns.a('hook.example', '169.254.169.254');
      return `http://hook.example:${port}/again`;
    };
    expect(await endOfStep()).toMatchObject({
      status: 'FAILED',
      detail: 'resolution: hook.example leads to no public address.',
    });
    expect(paths).toEqual(['/']);
    expect(asked() - before).toBeGreaterThanOrEqual(2);
  });
});
