import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CheckCode, PreSendCheck } from '#deliverability';
import { newId, octetsOf, type ProjectScope } from '#kernel';
import { rsaKey } from '#testing/mail/dkim-keys';
import { type DnsServer, startDnsServer } from '#testing/mail/dns-server';
import { insertSendingDomain } from '#testing/fixtures/sending-domain';
import { CompiledMailsService } from '../sending/mails/compiled-mails.service.js';
import { MailRenderingService } from '../sending/mails/mail-rendering.service.js';
import { MessagingFixture } from '../messaging.fixture.js';
import type { CampaignDraft } from './campaign.js';
import { PreSendRejectedError } from './campaign.errors.js';
import { CampaignLifecycleService } from './campaign-lifecycle.service.js';
import { PreSendAnalysisService } from './pre-send-analysis.service.js';

const DOMAIN = 'mail.acme.example';
const DAY = 86_400_000;
const json = (...blocks: readonly object[]) => JSON.stringify({ blocks });
const text = (html: string) => ({ type: 'text', html });
const WORDS = 'Our shop has new bicycles, and you may try them on Saturday from ten until four. '.repeat(3);

describe('the analysis of a campaign', () => {
  const keys = [rsaKey('mw1')];
  let fixture: MessagingFixture;
  let dns: DnsServer;
  let scope: ProjectScope;

  beforeAll(async () => {
    dns = await startDnsServer();
    dns.mx(DOMAIN, { preference: 10, exchange: 'mx.acme.example' });
    fixture = await MessagingFixture.open({ REQUIRE_VERIFIED_DOMAIN: 'true', DNS_SERVERS: dns.address });
  });
  afterAll(async () => {
    await fixture.close();
    await dns.stop();
  });
  beforeEach(async () => {
    await fixture.test.query(
      `delete from messaging.campaigns; delete from messaging.deliveries;
         delete from audience.subscribers; delete from audience.topics; delete from audience.suppressions;
         delete from deliverability.sending_domains`,
    );
    scope = await fixture.scope();
  });

  const domain = (fields: { verifiedAt?: Date; dmarcNote?: string } = {}) =>
    insertSendingDomain(fixture.test, scope, { domainName: DOMAIN, keys, ...fields });
  const draft = (fields: Partial<CampaignDraft> = {}, readers = 1) =>
    fixture.draft(scope, readers, { fromEmail: `news@${DOMAIN}`, ...fields });
  const analyse = (key: string) => fixture.get(PreSendAnalysisService).of(scope, key);
  const analysed = async (fields: Partial<CampaignDraft>, readers?: number) =>
    analyse((await draft(fields, readers)).campaignKey);
  const withResult = (checks: readonly PreSendCheck[], result: PreSendCheck['result']): CheckCode[] =>
    checks.filter((check) => check.result === result).map(({ code }) => code);

  it('makes every check of a live campaign, and finds nothing where all is well', async () => {
    await domain();
    const contentJson = json(text(`<p>Hello {{ subscriber.first_name }}. ${WORDS}</p>`));
    const { checks, score, status } = await analysed({ contentJson, contentText: null });
    expect([score, status]).toEqual([100, 'PASSED']);
    expect(withResult(checks, 'PASS')).toHaveLength(29);
    expect(withResult(checks, 'SKIPPED')).toEqual(['relay-feedback']);
  });

  it.each<[CheckCode, Partial<CampaignDraft>]>([
    ['subject-length', { subject: `{{ subscriber.first_name }} ${'x'.repeat(70)}` }],
    [
      'empty-subject',
      { subject: '{% if custom.plan %}{{ custom.plan }}{% endif %} {{ subscriber.first_name }}' },
    ],
    [
      'empty-links',
      {
        contentJson: json(
          text(`<p>{{ subscriber.first_name }}, <a href="{{ custom.plan }}">your plan</a>. ${WORDS}</p>`),
        ),
      },
    ],
    ['preview-text', { previewText: null }],
    [
      'spam-words',
      { contentJson: json(text(`<p>{{ subscriber.first_name }}, <b>act</b> now. ${WORDS}</p>`)) },
    ],
    [
      'image-text-ratio',
      {
        contentJson: json(text('<p>{{ subscriber.first_name }}, look:</p>'), {
          type: 'image',
          src: 'https://acme.example/a.png',
          alt: 'A bicycle',
        }),
      },
    ],
    [
      'plain-text',
      { contentJson: json(text(`<p>${WORDS}</p>`)), contentText: '{{ subscriber.first_name }}' },
    ],
    ['html-size', { contentJson: json(text(`<p>{{ subscriber.first_name }} ${'x '.repeat(49_000)}</p>`)) }],
    [
      'alt-text',
      {
        contentJson: json(text(`<p>{{ subscriber.first_name }}. ${WORDS}</p>`), {
          type: 'image',
          src: 'https://acme.example/a.png',
          alt: '',
        }),
      },
    ],
    [
      'link-domains',
      {
        contentJson: json(text(`<p>{{ custom.nothing | default: "" }}<a href="https://bit.ly/x">x</a></p>`)),
      },
    ],
    [
      'removed-content',
      { contentJson: json(text(`<p>{{ subscriber.first_name }}. ${WORDS}</p><script>count()</script>`)) },
    ],
    ['personalisation', { subject: 'News', contentJson: json(text(`<p>${WORDS}</p>`)) }],
  ])('warns of %s', async (code, fields) => {
    await domain();
    const { checks } = await analysed({ contentText: null, ...fields });
    expect(withResult(checks, 'FAIL')).toContain(code);
  });

  it.each([
    '<a href="{{ custom.plan | default: \'https://acme.example\' }}">your plan</a>',
    '{% if custom.plan %}<a href="{{ custom.plan }}">your plan</a>{% endif %}',
    '<a href="https://acme.example/{{ custom.plan }}">your plan</a> <a href="{{ links.preferences }}">settings</a>',
  ])('finds no empty link in %s', async (links) => {
    await domain();
    const contentJson = json(text(`<p>{{ subscriber.first_name }}, ${links}. ${WORDS}</p>`));
    const { checks } = await analysed({ contentText: null, contentJson });
    expect(withResult(checks, 'PASS')).toContain('empty-links');
  });

  it('names the empty links alone', async () => {
    await domain();
    const shop = `{{ 'https://acme.example/' | append: custom.plan }}`;
    const links = `<a href="${shop}">the shop</a> <a href="{{ custom.plan }}">your plan</a>`;
    const contentJson = json(text(`<p>{{ subscriber.first_name }}, ${links}. ${WORDS}</p>`));
    const { checks } = await analysed({ contentText: null, contentJson });
    const message = checks.find(({ code }) => code === 'empty-links')?.message;
    expect([message?.includes('{{ custom.plan }}'), message?.includes('acme')]).toEqual([true, false]);
  });

  it.each([
    ['many links', (n: number) => `<a href="https://acme.example/${n}">${n}</a> `, 800, 'FAIL'],
    ['letters that take more room when they are encoded', () => 'Новости магазина. ', 2_600, 'FAIL'],
    ['few links', (n: number) => `<a href="https://acme.example/${n}">${n}</a> `, 20, 'PASS'],
  ])('tells the size of what is sent, of %s', async (_, part, times, result) => {
    await domain();
    const html = Array.from({ length: times }, (_each, n) => part(n)).join('');
    const { id, campaignKey } = await draft({ contentJson: json(text(`<p>${html}</p>`)), contentText: null });
    const { checks } = await analyse(campaignKey);
    await fixture.test.query('update messaging.campaigns set queued_at = now()');
    const mail = await fixture
      .get(CompiledMailsService)
      .ofQueued({ scope, campaignId: id, version: '1' }, { locale: null, variant: null });
    const recipient = await fixture.get(MailRenderingService).sampleRecipient(mail, 'ada@example.com');
    const one = {
      deliveryId: newId(),
      messageId: newId() + '@a.example',
      recipient,
      locale: null,
      date: new Date(),
      returnPathHost: null,
    };
    const raw = octetsOf((await fixture.get(MailRenderingService).compose(mail, one)).raw).toString('latin1');
    const sent = raw.slice(
      raw.indexOf('\r\n\r\n', raw.indexOf('text/html')) + 4,
      raw.lastIndexOf('\r\n--=_'),
    ).length;
    const size = checks.find(({ code }) => code === 'html-size');
    expect(size).toMatchObject({ result });
    expect(size?.message).toContain(`${Math.ceil(sent / 1024)} KB as it is sent`);
  });

  it('refuses a mail whose text nobody can read, and names what was left out of it', async () => {
    await domain();
    const white =
      '<td style="background:url(data:image/png;base64,AA);color:#ffffff">The offer of the week</td>';
    const html = `<p>{{ subscriber.first_name }}. ${WORDS}</p><table><tr>${white}</tr></table>`;
    const { checks, status } = await analysed({ contentJson: json({ type: 'html', html }) });
    expect(status).toBe('FAILED');
    const failed = new Map(
      checks.filter(({ result }) => result === 'FAIL').map(({ code, message }) => [code, message]),
    );
    expect(failed.get('text-contrast')).toBe(
      'Nobody can read these on what is behind them: "The offer of the week" (#ffffff on #ffffff).',
    );
    expect(failed.get('removed-content')).toContain(
      'contentJson.blocks[0].html: background:url(data:image/png;base64,AA)',
    );
  });

  it('refuses a style sheet that hides the way to unsubscribe', async () => {
    await domain();
    const html = `<style>.mw-footer { display: none }</style><p>{{ subscriber.first_name }}. ${WORDS}</p>`;
    const { checks } = await analysed({ contentJson: json({ type: 'html', html }) });
    expect(withResult(checks, 'FAIL')).toContain('unsubscribe-link');
  });

  it.each([
    ['{{ subscriber.frist_name }} of Acme', '{{ subscriber.frist_name }} is not known'],
    ['{{ subscriber.first_name', 'fromName: output "{{ subscriber.first_name" not closed'],
    ['{% if custom.vip %}Acme', 'fromName: tag {% if custom.vip %} not closed'],
  ])(
    'refuses merge tags of the sender’s name as it does those of the subject: %s',
    async (fromName, fault) => {
      await domain();
      const { checks, status } = await analysed({ fromName });
      expect(status).toBe('FAILED');
      expect(checks.find(({ code }) => code === 'merge-tags')?.message).toContain(fault);
    },
  );

  it('takes a sender’s name with merge tags', async () => {
    await domain();
    const { status } = await analysed({ fromName: '{{ subscriber.first_name }} of Acme' });
    expect(status).not.toBe('FAILED');
  });

  it('refuses merge tags that exceed their bounds for everybody', async () => {
    await domain();
    const loops = '<p>{% for i in (1..5000) %}{% for j in (1..5000) %}x{% endfor %}{% endfor %}</p>';
    const { checks, status } = await analysed({ contentJson: json(text(loops)) });
    expect(status).toBe('FAILED');
    expect(withResult(checks, 'FAIL')).toContain('merge-tags');
  });

  it('skips, and does not pass, what cannot be seen while a merge tag is not closed', async () => {
    await domain();
    const { checks, status } = await analysed({ contentText: 'Hello {{ subscriber.first_name' });
    expect(status).toBe('FAILED');
    expect(withResult(checks, 'FAIL')).toEqual(['merge-tags']);
    expect(withResult(checks, 'SKIPPED')).toEqual(
      expect.arrayContaining(['content-empty', 'unsubscribe-link', 'links', 'spam-words', 'personalisation']),
    );
  });

  it('warns of a domain that is new, by the cap of its day, and informs of the step after p=none', async () => {
    const verifiedAt = new Date(fixture.clock.now().getTime() - DAY);
    await domain({ verifiedAt, dmarcNote: 'p=none asks for nothing' });
    const { checks, status } = await analysed({}, 301);
    expect(status).toBe('WARNING');
    expect(checks).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          code: 'domain-warming',
          result: 'FAIL',
          message: `${DOMAIN} is new: 300 mails on its day 2, 301 needed. They would take 2 days.`,
        }),
        expect.objectContaining({ code: 'dmarc-policy', result: 'PASS', severity: 'INFO' }),
      ]),
    );
  });

  it('warns of answers that come back, and of none where DNS does not tell', async () => {
    await domain();
    dns.mx('null.example', { preference: 0, exchange: '.' });
    const { campaignKey } = await draft();
    const replies = async (replyTo: string) => {
      await fixture.test.query('update messaging.campaigns set reply_to = $1', [replyTo]);
      const { checks } = await analyse(campaignKey);
      return checks.find(({ code }) => code === 'sender-replies');
    };
    expect(await replies('ada@null.example')).toMatchObject({
      result: 'FAIL',
      message: expect.stringContaining('null.example'),
    });
    dns.fail('SERVFAIL', 'broken.example');
    expect(await replies('ada@broken.example')).toMatchObject({ result: 'SKIPPED' });
    expect(await replies(`ada@${DOMAIN}`)).toMatchObject({ result: 'PASS' });
  });

  it('tells how long mailbox providers take by their limits, and which are slowed down', async () => {
    await domain();
    const { campaignKey } = await draft({}, 7);
    await fixture.test.query(
      `update audience.subscribers set email_key = replace(email_key, 'example.com', case when subscriber_key like '%7' then 'shop.example'
         when subscriber_key like '%6' then 'googlemail.com' when subscriber_key ~ '[1-4]$' then 'gmail.com' else 'example.com' end)`,
    );
    const limits = async () =>
      (await analyse(campaignKey)).checks.find(({ code }) => code === 'destination-limits');
    expect(await limits()).toEqual({
      code: 'destination-limits',
      severity: 'INFO',
      result: 'PASS',
      message: 'Takes a minute at most. google: 5 mails at 50 a second, a minute at most.',
    });
    const until = new Date(fixture.clock.now().getTime() + 90 * 60_000);
    await fixture.test.query(
      `insert into deliverability.slowed_destinations (destination, slowed_at, slow_until) values ('google', now(), $1), ('shop.example', now(), $1)`,
      [until],
    );
    const slow = `one a minute until ${until.toISOString().slice(0, 16)}Z`;
    expect((await limits())?.message).toBe(
      `Takes at least 5 min. google: 5 mails at ${slow}, then 50 a second, at least 5 min; shop.example: 1 mail at ${slow}, a minute at most.`,
    );
    await fixture.test.query('truncate deliverability.slowed_destinations');
  });

  it('refuses to send with all its checks, and says what is wrong', async () => {
    const { campaignKey } = await draft();
    const sending = fixture.get(CampaignLifecycleService).send(scope, campaignKey);
    await expect(sending).rejects.toThrow(PreSendRejectedError);
    await expect(sending).rejects.toMatchObject({
      code: 'pre-send-rejected',
      message: expect.stringContaining(`${DOMAIN} is not verified: set up a sending domain.`),
      members: {
        checks: expect.arrayContaining([expect.objectContaining({ code: 'sender-domain-verified' })]),
      },
    });
  });

  it('counts exactly those who then receive it', async () => {
    await domain();
    const campaign = await draft({}, 60);
    await fixture.test.query(
      `insert into audience.suppressions (environment_id, email_key, email, reason, suppressed_at)
       select $1, 'reader-' || n || '@example.com', 'reader-' || n || '@example.com',
         (array['HARD_BOUNCE', 'GLOBAL_UNSUBSCRIBE', 'SPAM_COMPLAINT'])[1 + n % 3], now() from generate_series(1, 13) n`,
      [scope.environmentId],
    );
    await fixture.test.query(
      `update audience.subscribers set paused_until = $1 where email ~ '^reader-(1[0-9]|20)@'`,
      [new Date(fixture.clock.now().getTime() + DAY)],
    );
    await fixture.test.query(
      `update audience.consents set status = 'PENDING_CONFIRMATION', subscribed_at = null
       where subscriber_id in (select id from audience.subscribers where email ~ '^reader-(19|2[0-9])@')`,
    );
    await fixture.test.query(
      `update audience.consents set status = 'UNSUBSCRIBED' where subscriber_id in
         (select id from audience.subscribers where email ~ '^reader-5[0-9]@')`,
    );
    const { audience } = await analyse(campaign.campaignKey);
    expect(audience).toEqual({
      matched: 50,
      bounced: 4,
      suppressed: 9,
      unconfirmed: 11,
      capped: 5,
      willReceive: 21,
    });
    await fixture.get(CampaignLifecycleService).send(scope, campaign.campaignKey);
    await fixture.expand(scope, campaign.id);
    const mailed = (await fixture.deliveries()).map(({ address }) => address);
    const expected = [...Array.from({ length: 20 }, (_, at) => at + 30), 60];
    expect(mailed).toHaveLength(audience.willReceive);
    expect(new Set(mailed)).toEqual(new Set(expected.map((number) => `reader-${number}@example.com`)));
  });
});
