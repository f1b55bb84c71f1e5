import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ReturnPaths, UnsubscribeAddresses } from '../../libs/deliverability/src/bounces/return-path.js';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { runCli, runCliForJson } from '#testing/programs/operator-cli';
import { freePort, takenPort } from '#testing/programs/ports';
import { startProgram } from '#testing/programs/program';
import { allowLiveMail } from '#testing/fixtures/sending-domain';
import { SmtpClient } from '#testing/mail/smtp-client';
import { SECRETS, type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const sample = (name: string) =>
  readFileSync(join(projectRoot(), 'libs/deliverability/src/bounces/samples', `${name}.eml`), 'latin1');

describe('mail that comes back', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  const paths = new ReturnPaths(SECRETS.TOKEN_SECRET);

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    await allowLiveMail(system.database, project.live, 'acme.example');
    client = await project.client('LIVE');
  });
  afterAll(() => system?.stop());

  /** A campaign to these people, sent; its key and the return paths of its mails, by the readers' addresses. */
  async function send(emails: readonly string[]) {
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    for (const email of emails) {
      const consent = { source: 'signup form' };
      await client.post('/subscribers', { email, topicKeys: [topic.at('topicKey')], consent });
    }
    const draft = { name: 'May', subject: 'May', contentText: 'Hello', topicIds: [topic.at('id')] };
    const campaignKey: string = (await client.post('/campaigns', draft)).at('campaignKey');
    expect((await client.post(`/campaigns/${campaignKey}/send`)).status).toBe(200);
    await eventually(
      'the campaign is sent',
      async () => (await client.get(`/campaigns/${campaignKey}`)).at('status') === 'SENT',
    );
    const deliveries = await system.database.query<{ id: string; address: string }>(
      `select d.id, d.address from messaging.deliveries d
       join messaging.campaigns c on c.id = d.source_id and c.environment_id = d.environment_id
       where c.campaign_key = $1 and c.environment_id = $2`,
      [campaignKey, project.live.environmentId],
    );
    const { environmentId } = project.live;
    const returnPaths = new Map(
      deliveries.map(({ id, address }) => [
        address,
        paths.addressOf({ environmentId, deliveryId: id }, 'bounces.acme.example'),
      ]),
    );
    return {
      campaignKey,
      topicKey: topic.at('topicKey'),
      pathOf: (email: string) => returnPaths.get(email) ?? '',
    };
  }

  async function submit(to: string, message: string): Promise<string> {
    const smtp = await SmtpClient.open(system.bouncePort);
    const reply = await smtp.send('', [to], message);
    smtp.close();
    return reply;
  }

  const statistics = async (campaignKey: string) =>
    (await client.get(`/campaigns/${campaignKey}/report/statistics`)).body;
  const statusOf = async (email: string) =>
    (await client.get(`/subscribers/${encodeURIComponent(email)}`)).at('status');
  const suppressionOf = async (email: string) =>
    (await client.get(`/suppressions/${encodeURIComponent(email)}`)).body;

  it('because the address does not exist suppresses the reader and counts once', async () => {
    const { campaignKey, pathOf } = await send(['ada@example.com', 'bob@example.com']);
    expect(await submit(pathOf('ada@example.com'), sample('postfix-user-unknown'))).toMatch(/^250 /);
    await eventually('Ada is bounced', async () => (await statusOf('ada@example.com')) === 'BOUNCED');
    expect(await suppressionOf('ada@example.com')).toMatchObject({
      suppressed: true,
      reason: 'HARD_BOUNCE',
      streams: 'ALL',
    });
    const counted = { totalSent: 2, hardBounced: 1, softBounced: 0, totalDelivered: 1, bounceRate: 0.5 };
    expect(await statistics(campaignKey)).toMatchObject(counted);

    // Once more, in capitals as some servers write them, and by another server.
    const again = pathOf('ada@example.com').toUpperCase();
    expect(await submit(again, sample('exim-user-unknown'))).toMatch(/^250 /);
    expect(await submit(pathOf('bob@example.com'), sample('postfix-mailbox-full'))).toMatch(/^250 /);
    await eventually(
      'Bob is counted',
      async () =>
        (await client.get(`/campaigns/${campaignKey}/report/statistics`)).at<number>('softBounced') === 1,
    );
    expect(await statistics(campaignKey)).toMatchObject({
      hardBounced: 1,
      softBounced: 1,
      totalDelivered: 0,
    });
    expect(await statusOf('bob@example.com')).toBe('ACTIVE');
    const { id } = (await client.get(`/campaigns/${campaignKey}`)).body as { id: string };
    const { stdout, stderr } = await runCli(system.variables, ['check:statistics']);
    // Counters of other projects may differ: their tests change rows by hand.
    expect(stdout + stderr).toMatch(/All counters are correct|Counters differ/);
    expect(stderr).not.toContain(id);
  });

  it('with a complaint suppresses the reader and counts once', async () => {
    const { campaignKey, pathOf } = await send(['cleo@example.com', 'dan@example.com']);
    for (const report of ['arf-yahoo', 'arf-rfc5965-minimal']) {
      expect(await submit(pathOf('cleo@example.com'), sample(report))).toMatch(/^250 /);
    }
    await eventually('Cleo complained', async () => (await statusOf('cleo@example.com')) === 'COMPLAINED');
    expect(await suppressionOf('cleo@example.com')).toMatchObject({
      suppressed: true,
      reason: 'SPAM_COMPLAINT',
      streams: 'MARKETING',
    });
    expect(await statistics(campaignKey)).toMatchObject({ spamComplaints: 1, hardBounced: 0 });
    expect(await statusOf('dan@example.com')).toBe('ACTIVE');
  });

  it('for our reputation slows its destination down when several mails do, and suppresses nobody', async () => {
    const readers = ['fay@slow.example', 'gus@slow.example', 'hal@slow.example'];
    const { campaignKey, pathOf } = await send(readers);
    const slowed = () =>
      system.database.query(
        `select destination from deliverability.slowed_destinations where destination = 'slow.example'`,
      );
    for (const [at, email] of readers.entries()) {
      expect(await slowed()).toEqual([]);
      expect(await submit(pathOf(email), sample('postfix-spamhaus'))).toMatch(/^250 /);
      await eventually(
        'it is counted',
        async () =>
          (await client.get(`/campaigns/${campaignKey}/report/statistics`)).at<number>('softBounced') ===
          at + 1,
      );
    }
    await eventually('the destination is slowed down', async () => (await slowed()).length > 0);
    expect(await slowed()).toEqual([{ destination: 'slow.example' }]);
    expect(await Promise.all(readers.map(statusOf))).toEqual(Array(3).fill('ACTIVE'));
  });

  it('to its unsubscribe address takes the reader off the topic, once, and is in the consent record', async () => {
    const { campaignKey, pathOf } = await send(['ivy@example.com', 'jon@example.com']);
    const claims = paths.read(pathOf('ivy@example.com'));
    const address = new UnsubscribeAddresses(SECRETS.TOKEN_SECRET).addressOf(claims!, 'bounces.acme.example');
    for (const _ of [1, 2]) {
      const smtp = await SmtpClient.open(system.bouncePort);
      expect(await smtp.send('ivy@example.com', [address], 'Subject: unsubscribe\r\n\r\n')).toMatch(/^250 /);
      smtp.close();
    }
    await eventually(
      'Ivy is unsubscribed',
      async () => (await statusOf('ivy@example.com')) === 'UNSUBSCRIBED',
    );
    expect(await suppressionOf('ivy@example.com')).toMatchObject({ suppressed: false });
    expect(await statistics(campaignKey)).toMatchObject({ totalUnsubscribed: 1, spamComplaints: 0 });
    expect(await statusOf('jon@example.com')).toBe('ACTIVE');
    const ledger = await system.database.query(
      `select l.actor, l.ip_address, l.message_id from audience.consent_ledger l
       join audience.subscribers b on b.id = l.subscriber_id and b.environment_id = l.environment_id
       where b.email_key = 'ivy@example.com' and l.to_status = 'UNSUBSCRIBED' and b.environment_id = $1`,
      [project.live.environmentId],
    );
    expect(ledger).toEqual([
      {
        actor: 'ONE_CLICK',
        ip_address: null,
        message_id: expect.stringContaining(`<${claims?.deliveryId}@`),
      },
    ]);
  });

  it('to the unsubscribe address of an older mail takes off who was deleted and has signed up again', async () => {
    const { topicKey, pathOf } = await send(['kim@example.com']);
    const claims = paths.read(pathOf('kim@example.com'));
    const address = new UnsubscribeAddresses(SECRETS.TOKEN_SECRET).addressOf(claims!, 'bounces.acme.example');
    expect((await client.delete('/subscribers/kim%40example.com')).status).toBe(204);
    await eventually('her mails are anonymous', async () => {
      const mails = await system.database.query(
        `select 1 from messaging.deliveries where id = $1 and environment_id = $2 and subscriber_id is null`,
        [claims?.deliveryId, project.live.environmentId],
      );
      return mails.length === 1;
    });
    const again = { email: 'kim@example.com', topicKeys: [topicKey], consent: { source: 'form' } };
    expect((await client.post('/subscribers', again)).status).toBe(201);
    expect(await statusOf('kim@example.com')).toBe('ACTIVE');
    const smtp = await SmtpClient.open(system.bouncePort);
    expect(await smtp.send('kim@example.com', [address], 'Subject: unsubscribe\r\n\r\n')).toMatch(/^250 /);
    smtp.close();
    await eventually(
      'Kim is unsubscribed',
      async () => (await statusOf('kim@example.com')) === 'UNSUBSCRIBED',
    );
  });

  it('changes nothing without a return path of ours, and nothing when it is no report', async () => {
    const { campaignKey, pathOf } = await send(['eve@example.com']);
    const ours = pathOf('eve@example.com');
    const forged = ours.replace(/\.[a-z2-7]/, (mac) => (mac === '.a' ? '.b' : '.a'));
    const ofAnother = new ReturnPaths('another secret, as long as it has to be').addressOf(
      { environmentId: project.live.environmentId, deliveryId: '01a1fdad-1cea-7069-bcd8-7c5208533319' },
      'bounces.acme.example',
    );
    for (const address of [forged, ofAnother, 'eve@example.com', 'postmaster@bounces.acme.example']) {
      expect(await submit(address, sample('postfix-user-unknown'))).toMatch(/^550 5\.1\.1 /);
    }
    for (const name of [
      'out-of-office-exchange',
      'postfix-delay-warning',
      'arf-not-spam',
      'a-person-answers',
    ]) {
      expect(await submit(ours, sample(name))).toMatch(/^250 /);
    }
    // The reports above are done as soon as one behind them in the queue is.
    const { pathOf: pathOfNext } = await send(['fred@example.com']);
    await submit(pathOfNext('fred@example.com'), sample('postfix-user-unknown'));
    await eventually('Fred is bounced', async () => (await statusOf('fred@example.com')) === 'BOUNCED');
    expect(await statusOf('eve@example.com')).toBe('ACTIVE');
    expect(await statistics(campaignKey)).toMatchObject({
      hardBounced: 0,
      softBounced: 0,
      spamComplaints: 0,
    });
  });

  it('leaves no address in what is kept of it', async () => {
    const kept = await system.database.query<{ delivery_id: string }>(
      'select * from deliverability.reports where environment_id = $1',
      [project.live.environmentId],
    );
    expect(kept.length).toBeGreaterThanOrEqual(4);
    // A UUID is no name, though one of its groups may well end in "ada".
    const words = kept.map((row) => ({ ...row, delivery_id: null }));
    expect(JSON.stringify(words)).not.toMatch(/@|ada\b|cleo\b/i);
  });

  it('has not stopped the project, which an operator is told', async () => {
    const failed = await runCli(system.variables, ['project:resume-sending', '--project', project.name]);
    expect(failed).toMatchObject({ exitCode: 1 });
    await system.database.query(
      "insert into messaging.sending_stops (environment_id, reason, stopped_at) values ($1, 'Too many.', now())",
      [project.live.environmentId],
    );
    const resumed = await runCliForJson(system.variables, [
      'project:resume-sending',
      '--project',
      project.name,
    ]);
    expect(resumed).toEqual({ resumed: true });
  });

  it('cannot be taken when another program has the port: the worker ends and says so', async () => {
    const other = createServer((socket) => socket.end('220 mail.example ESMTP Postfix\r\n'));
    const BOUNCE_PORT = String(await takenPort(other));
    const worker = startProgram('worker', { ...system.variables, BOUNCE_PORT });
    await expect(worker).rejects.toThrow(
      /ended with 1:[^]*cannot listen on 127\.0\.0\.1:\d+ \(BOUNCE_PORT\)/,
    );
    other.close();
  });

  it('is taken by one of two workers on a machine, and by the other when that one ends', async () => {
    const BOUNCE_PORT = String(await freePort());
    const variables = { ...system.variables, BOUNCE_PORT, LOG_LEVEL: 'info' };
    const first = await startProgram('worker', variables);
    const second = await startProgram('worker', variables);
    try {
      expect([first.bouncePort, second.bouncePort]).toEqual([Number(BOUNCE_PORT), null]);
      expect(second.output()).toContain('another worker has the bounce server');
      await first.stop();
      await eventually('the second one takes over', () =>
        second.output().includes('the bounce server listens'),
      );
      (await SmtpClient.open(Number(BOUNCE_PORT))).close();
    } finally {
      await Promise.all([first.stop(), second.stop()]);
    }
  });
});
