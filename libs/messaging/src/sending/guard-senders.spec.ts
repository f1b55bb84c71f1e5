import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { DomainControlService } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { rsaKey } from '#testing/mail/dkim-keys';
import { eventually } from '#testing/time/eventually';
import { insertSendingDomain } from '#testing/fixtures/sending-domain';
import type { SmtpSink } from '#testing/mail/sink-rules';
import { startSmtpSink } from '#testing/mail/smtp-sink';
import { address, AutomationsFixture, chain, mail, trigger } from '../automations/automations.fixture.js';
import type { Campaign } from '../campaigns/campaign.js';
import { CampaignLifecycleService } from '../campaigns/campaign-lifecycle.service.js';
import { TestMailsService } from './mails/test-mails.service.js';
import { MessagingFixture, MINUTE } from '../messaging.fixture.js';
import { DeliveryFeedbackService } from '../engagement/delivery-feedback.service.js';
import { SendingGuardService, senderFaultOf } from './sending-guard.service.js';

const DOMAIN = 'mail.acme.example';
const KEY = rsaKey('mw1');
const UNAUTHENTICATED = '550 5.7.26 Unauthenticated mail from mail.acme.example is not accepted';

describe('the limits of a domain', () => {
  it.each([
    [{ mails: 2, senderRefusals: 2 }, null],
    [{ mails: 3, senderRefusals: 3 }, '3 of the last 3 mails were refused for their sender'],
    [{ mails: 30, senderRefusals: 3 }, null],
    [{ mails: 29, senderRefusals: 3 }, '3 of the last 29 mails were refused for their sender'],
    [{ mails: 100_000, senderRefusals: 9_000 }, null],
  ])('of %j give %j', (figures, fault) => {
    const found = senderFaultOf(figures);
    expect(found === null ? null : found.slice(0, fault?.length)).toBe(fault);
  });
});

describe('a domain whose mail is refused for its sender', () => {
  let sink: SmtpSink;
  let messaging: MessagingFixture;
  let scope: ProjectScope;

  beforeAll(async () => {
    sink = await startSmtpSink();
    messaging = await MessagingFixture.open({
      SMTP_URL: sink.url,
      REQUIRE_VERIFIED_DOMAIN: 'true',
      DEFAULT_FROM_EMAIL: `news@${DOMAIN}`,
    });
  });
  beforeEach(async () => {
    scope = await messaging.scope();
    await insertSendingDomain(messaging.test, scope, { domainName: DOMAIN, keys: [KEY] });
  });
  afterEach(() => messaging.clear());
  afterAll(async () => {
    await messaging.close();
    await sink.stop();
  });

  const queued = (readers: number) =>
    messaging.queuedCampaign(scope, readers, { fromEmail: `news@${DOMAIN}` });
  const guard = () => messaging.get(SendingGuardService).stopDomains();
  const isOver = ({ state }: { readonly state: string }) => state === 'FAILED' || state === 'SENT';

  async function domain() {
    const [row] = await messaging.test.query<{ status: string; suspension_reason: string | null }>(
      'select status, suspension_reason from deliverability.sending_domains',
    );
    return row;
  }

  const ended = ({ id }: Campaign) =>
    eventually('the campaign has ended', async () => (await messaging.campaign(id)).status === 'SENT');

  async function refusedCampaign(readers: number): Promise<Campaign> {
    sink.behave({ at: 'body', action: { reply: UNAUTHENTICATED }, times: readers });
    const campaign = await queued(readers);
    messaging.engine.start();
    await ended(campaign);
    return campaign;
  }

  it('is suspended with the reason, its mail waits, and an operator lets it go on', async () => {
    messaging.get(Registry).resetMetrics();
    const running = await messaging.queuedAgain(scope, await refusedCampaign(3));
    await guard();
    const reason = expect.stringContaining('3 of the last 3 mails were refused for their sender');
    expect(await domain()).toEqual({ status: 'SUSPENDED', suspension_reason: reason });
    expect(await messaging.campaign(running.id)).toMatchObject({ status: 'PAUSED', failure_reason: reason });
    expect(await messaging.get(Registry).metrics()).toMatch(/^mailwright_sender_stops_total 1$/m);

    await expect(messaging.queuedAgain(scope, running)).rejects.toThrow(
      `${DOMAIN} is suspended: 3 of the last 3 mails were refused`,
    );

    await messaging.get(DomainControlService).resume(scope);
    messaging.clock.advance(2 * MINUTE);
    await guard();
    expect(await domain()).toMatchObject({ status: 'ACTIVE', suspension_reason: null });
    await messaging.get(CampaignLifecycleService).resume(scope, running.campaignKey);
    // The mails that were at hand when it was suspended are looked at again by then.
    messaging.later(15 * MINUTE);
    const rows = await messaging.settled('all are sent or were refused', isOver);
    expect(rows.filter(({ state }) => state === 'SENT')).toHaveLength(3);
    await guard();
    expect(await domain()).toMatchObject({ status: 'ACTIVE' });
  });

  it('is suspended as well when the mail comes back later, and only by many', async () => {
    const campaign = await queued(25);
    messaging.engine.start();
    await ended(campaign);
    const rows = await messaging.deliveries();
    for (const [at, { id }] of rows.slice(0, 3).entries()) {
      await guard();
      expect([at, (await domain())?.status]).toEqual([at, 'ACTIVE']);
      expect(await messaging.get(DeliveryFeedbackService).bounced(scope, id, 'sender')).toBe('taken');
    }
    await guard();
    expect(await domain()).toEqual({
      status: 'SUSPENDED',
      suspension_reason: expect.stringContaining('3 of the last 25 mails'),
    });
  });

  it('is suspended for its confirmations alone, and judged anew when an operator lets it go on', async () => {
    sink.behave({ at: 'body', action: { reply: UNAUTHENTICATED }, times: 3 });
    messaging.engine.start();
    for (const person of [1, 2]) await messaging.asksToConfirm(scope, `person-${person}@example.com`);
    messaging.engine.wake();
    await messaging.settled('two were refused', isOver);
    await guard();
    expect(await domain()).toMatchObject({ status: 'ACTIVE' });
    await messaging.asksToConfirm(scope, 'person-3@example.com');
    messaging.engine.wake();
    await messaging.settled('three were refused', isOver);
    await guard();
    expect(await domain()).toEqual({
      status: 'SUSPENDED',
      suspension_reason: expect.stringContaining('3 of the last 3 mails were refused for their sender'),
    });
    await messaging.get(DomainControlService).resume(scope);
    messaging.clock.advance(2 * MINUTE);
    await guard();
    expect(await domain()).toMatchObject({ status: 'ACTIVE' });
  });

  it('is suspended for mails of each kind together, those that came back later included', async () => {
    const campaign = await refusedCampaign(1);
    await messaging.get(TestMailsService).send(scope, campaign.campaignKey, [address('boss@example.com')]);
    await messaging.asksToConfirm(scope, 'person-1@example.com');
    messaging.engine.wake();
    const rows = await messaging.settled('all are sent or were refused', isOver);
    await guard();
    expect(await domain()).toMatchObject({ status: 'ACTIVE' });
    for (const { id, state } of rows)
      if (state === 'SENT') await messaging.get(DeliveryFeedbackService).bounced(scope, id, 'sender');
    await guard();
    expect(await domain()).toMatchObject({
      suspension_reason: expect.stringContaining('3 of the last 3 mails were refused for their sender'),
    });
  });

  it('is judged by the last hour', async () => {
    const campaign = await queued(3);
    messaging.engine.start();
    await ended(campaign);
    const rows = await messaging.deliveries();
    messaging.clock.advance(61 * MINUTE);
    for (const { id } of rows) await messaging.get(DeliveryFeedbackService).bounced(scope, id, 'sender');
    await guard();
    expect(await domain()).toMatchObject({ status: 'ACTIVE' });
  });
});

describe('a domain of which only automations send', () => {
  it('is suspended when their mails are refused for their sender', async () => {
    const sink = await startSmtpSink();
    const variables = { SMTP_URL: sink.url, DEFAULT_FROM_EMAIL: `news@${DOMAIN}` };
    const automations = await AutomationsFixture.open(variables, 'LIVE');
    const { messaging, scope } = automations;
    try {
      await insertSendingDomain(messaging.test, scope, { domainName: DOMAIN, keys: [KEY] });
      sink.behave({ at: 'body', action: { reply: UNAUTHENTICATED }, times: 3 });
      const automation = await automations.active(chain(trigger(), mail('hello')));
      for (const _ of [1, 2, 3]) await automations.enter(automation, (await automations.person()).email);
      await automations.run();
      messaging.engine.start();
      await messaging.settled('all were refused', ({ state }) => state === 'FAILED');
      await messaging.get(SendingGuardService).stopDomains();
      expect(
        await messaging.test.query('select status, suspension_reason from deliverability.sending_domains'),
      ).toEqual([
        {
          status: 'SUSPENDED',
          suspension_reason: expect.stringContaining('3 of the last 3 mails were refused for their sender'),
        },
      ]);
    } finally {
      await automations.close();
      await sink.stop();
    }
  });
});
