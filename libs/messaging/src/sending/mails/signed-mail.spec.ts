import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RelaysService, ReturnPaths, UnsubscribeAddresses } from '#deliverability';
import { type EmailAddress, parseEmailAddress, type ProjectScope } from '#kernel';
import { ed25519Key, type PublishedKey, rsaKey } from '#testing/mail/dkim-keys';
import { type DnsServer, startDnsServer } from '#testing/mail/dns-server';
import { authenticity } from '#testing/mail/mail-authentication';
import { passedOnBySes, startSes } from '#testing/relays/ses';
import { insertSendingDomain, publishSendingDomain } from '#testing/fixtures/sending-domain';
import type { ReceivedMail, SmtpSink } from '#testing/mail/sink-rules';
import { startSmtpSink } from '#testing/mail/smtp-sink';
import { eventually } from '#testing/time/eventually';
import type { CampaignDraft } from '../../campaigns/campaign.js';
import { MessagingFixture, MINUTE } from '../../messaging.fixture.js';
import { PreSendAnalysisService } from '../../campaigns/pre-send-analysis.service.js';
import { TestMailsService } from './test-mails.service.js';

const DOMAIN = 'mail.acme.example';
const FROM = { fromEmail: `news@${DOMAIN}`, fromName: 'Ärzte & Söhne' };

function address(text: string): EmailAddress {
  const parsed = parseEmailAddress(text);
  if ('fault' in parsed) throw new Error(parsed.fault);
  return parsed.address;
}

/** `h=` of the first signature, in lower case. */
function signedNames({ raw }: ReceivedMail): string[] {
  const head = raw.toString('latin1').split('\r\n\r\n', 1)[0]!;
  const unfolded = head.replaceAll(/\r\n[ \t]+/g, ' ');
  return /^DKIM-Signature:.*?\bh=([^;]*);/im
    .exec(unfolded)![1]!
    .toLowerCase()
    .split(/\s*:\s*/);
}

function fieldOf({ raw }: ReceivedMail, name: string): string {
  return new RegExp(`^${name}:.*(?:\\r\\n[ \\t].*)*`, 'im').exec(raw.toString('latin1'))![0];
}

describe('mail of a verified domain', () => {
  const keys: readonly PublishedKey[] = [rsaKey('mw1'), ed25519Key('mw2')];
  let fixture: MessagingFixture;
  let scope: ProjectScope;
  let sink: SmtpSink;
  let dns: DnsServer;

  const open = (variables: Readonly<Record<string, string>> = {}) =>
    MessagingFixture.open({
      SMTP_URL: sink.url,
      REQUIRE_VERIFIED_DOMAIN: 'true',
      DNS_SERVERS: dns.address,
      OUTGOING_PRIVATE_ADDRESSES: 'true',
      ...variables,
    });
  const begin = async () => {
    scope = await fixture.scope();
    await fixture.test.query('update access.projects set default_from_email = $1', [FROM.fromEmail]);
  };

  beforeAll(async () => {
    dns = await startDnsServer();
    publishSendingDomain(dns, { domainName: DOMAIN, keys });
    sink = await startSmtpSink();
    fixture = await open();
  });
  beforeEach(begin);
  afterEach(async () => {
    await fixture.clear();
    sink.clear();
  });
  afterAll(async () => {
    await fixture.close();
    await sink.stop();
    await dns.stop();
  });

  const domain = (
    fields: { status?: string; sendingAllowed?: boolean; keys?: readonly PublishedKey[] } = {},
  ) => insertSendingDomain(fixture.test, scope, { domainName: DOMAIN, keys, ...fields });
  const received = (count: number) =>
    eventually(`${count} are received`, () => sink.count() >= count && sink.messages);
  const campaign = (readers: number, fields: Partial<CampaignDraft> = {}) =>
    fixture.queuedCampaign(scope, readers, { ...FROM, ...fields });

  describe('in order', () => {
    beforeEach(() => domain());

    const authentic = {
      spf: 'pass',
      dkim: ['rsa-sha256 pass', 'ed25519-sha256 pass'],
      dmarc: 'pass',
      aligned: { spf: `bounce.${DOMAIN}`, dkim: DOMAIN },
    };

    it.each([
      ['project', null, 'team@acme.example'],
      ['campaign, before the project,', 'ada@acme.example', 'ada@acme.example'],
    ])('asks for answers where the %s says', async (_who, replyTo, asked) => {
      await fixture.test.query("update access.projects set reply_to = 'team@acme.example'");
      await campaign(1, { replyTo });
      fixture.engine.start();
      const [mail] = await received(1);
      expect(fieldOf(mail!, 'Reply-To')).toBe(`Reply-To: ${asked}`);
      expect(signedNames(mail!)).toContain('reply-to');
    });

    it('passes SPF, DKIM and DMARC at the receiver, every mail of a campaign', async () => {
      const { id } = await campaign(12);
      fixture.engine.start();
      const mails = await received(12);
      for (const mail of mails) expect(await authenticity(dns, mail)).toMatchObject(authentic);
      const rows = await fixture.settled('all are sent', ({ state }) => state === 'SENT');
      for (const row of rows) expect(row.message_id).toBe(`<${row.id}@${DOMAIN}>`);
      expect(new Set(mails.map(({ messageId }) => messageId))).toEqual(
        new Set(rows.map((row) => row.message_id)),
      );
      expect(new Set(mails.map(({ from }) => from)).size).toBe(12);
      for (const { from } of mails)
        expect(from).toMatch(/^b\+[a-z2-7]{36}\.[a-z2-7]{21}@bounce\.mail\.acme\.example$/);
      expect((await fixture.campaign(id)).failure_reason).toBeNull();
    });

    it('passes after Amazon SES has put in its own Date and Message-ID, and names the mail to it', async () => {
      const ses = await startSes();
      try {
        const options = { region: 'eu-west-1' };
        const relay = { kind: 'SES', name: 'SES', host: '127.0.0.1', tls: 'OPPORTUNISTIC', options } as const;
        const { port } = ses.sink;
        await fixture.get(RelaysService).create(scope, { ...relay, port, secrets: {} });
        await campaign(1);
        fixture.engine.start();
        const [row] = await fixture.settled('it is sent', ({ state }) => state === 'SENT');
        const [taken] = ses.mails;
        const raw = passedOnBySes(taken!, fixture.clock.now());
        expect(raw.toString()).not.toContain(row!.message_id);
        const [{ from }] = ses.sink.messages as [ReceivedMail];
        expect(await authenticity(dns, { raw, from })).toMatchObject({ dkim: authentic.dkim, dmarc: 'pass' });
        const claims = { environmentId: scope.environmentId, deliveryId: row!.id };
        const token = Buffer.from(fixture.get(ReturnPaths).tokenOf(claims)).toString('base64url');
        expect(taken!.raw.toString()).toContain(`X-SES-MESSAGE-TAGS: mailwright=${token}\r\n`);
        expect(row).toMatchObject({ provider_message_id: taken!.id });
        // It has bounces come to itself.
        expect(from).toBe(FROM.fromEmail);
      } finally {
        await ses.stop();
      }
    });

    it('carries no signature of ours by a relay that signs itself', async () => {
      const own = await startSmtpSink();
      try {
        const relay = { kind: 'SMTP', name: 'Ours', host: '127.0.0.1', tls: 'OPPORTUNISTIC' } as const;
        const signing = 'RELAY';
        await fixture.get(RelaysService).create(scope, { ...relay, port: own.port, signing, secrets: {} });
        await campaign(1);
        fixture.engine.start();
        await fixture.settled('it is sent', ({ state }) => state === 'SENT');
        expect(own.messages[0]!.raw.toString()).not.toMatch(/^DKIM-Signature:/im);
      } finally {
        await own.stop();
      }
    });

    it('is signed over both unsubscribe fields, and every signed field is sealed', async () => {
      await campaign(1);
      fixture.engine.start();
      const [mail] = await received(1);
      const names = signedNames(mail!);
      expect(names).toEqual(
        expect.arrayContaining(['list-unsubscribe', 'list-unsubscribe-post', 'list-id', 'feedback-id']),
      );
      const field = fieldOf(mail!, 'List-Unsubscribe');
      const [, mailbox = ''] = /^List-Unsubscribe: <http[^,]*>,\r\n <mailto:(.+)>$/.exec(field) ?? [];
      expect(mailbox).toMatch(/^u\+.*@bounce\.mail\.acme\.example$/);
      const [row] = await fixture.deliveries();
      expect(fixture.get(UnsubscribeAddresses).read(mailbox)).toEqual({
        environmentId: scope.environmentId,
        deliveryId: row?.id,
      });
      const present = [...new Set(names)].filter((name) => name !== 'reply-to' && name !== 'cc');
      for (const name of present) {
        const signed = fieldOf(mail!, name);
        const raw = Buffer.from(mail!.raw.toString('latin1').replace(signed, `${signed}x`), 'latin1');
        const { dkim } = await authenticity(dns, { ...mail!, raw });
        expect([name, dkim.filter((verdict) => verdict.endsWith(' pass'))]).toEqual([name, []]);
      }
    });

    it('passes when it asks to confirm a subscription, and when it is a test mail', async () => {
      await fixture.asksToConfirm(scope, 'ada@example.com');
      const { campaignKey } = await fixture.draft(scope, 1, FROM);
      await fixture.get(TestMailsService).send(scope, campaignKey, [address('boss@example.com')]);
      fixture.engine.start();
      const mails = await received(2);
      for (const mail of mails) expect(await authenticity(dns, mail)).toMatchObject(authentic);
      const rows = await fixture.deliveries();
      for (const row of rows) expect(row.message_id).toBe(`<${row.id}@${DOMAIN}>`);
    });

    it('passes from a host below the domain too, and is signed by the domain', async () => {
      await campaign(1, { fromEmail: `news@shop.${DOMAIN}` });
      fixture.engine.start();
      const [mail] = await received(1);
      expect(await authenticity(dns, mail!)).toMatchObject({ ...authentic, dmarc: 'pass' });
      expect((await fixture.deliveries())[0]?.message_id).toMatch(new RegExp(`@${DOMAIN}>$`));
    });

    it.each(['other.example', 'notmail.acme.example', 'acme.example'])(
      'is not sent from %s',
      async (host) => {
        await expect(campaign(1, { fromEmail: `news@${host}` })).rejects.toThrow(
          `The mail is from ${host}, which is neither mail.acme.example nor a host below it.`,
        );
      },
    );
  });

  describe('from a host below the domain', () => {
    const HOST = `shop.${DOMAIN}`;
    const STRICT = 'adkim=s; aspf=s';
    beforeEach(() => domain());
    afterEach(() => {
      dns.fail(null, `_dmarc.${HOST}`);
      dns.remove(`_dmarc.${HOST}`);
      publishSendingDomain(dns, { domainName: DOMAIN, keys });
      // A policy that was looked up is kept for a minute.
      fixture.clock.advance(MINUTE + 1);
    });

    const dmarcChecks = async (campaignKey: string) =>
      (await fixture.get(PreSendAnalysisService).of(scope, campaignKey)).checks
        .filter(({ code }) => code === 'dmarc-policy' || code === 'sender-domain-verified')
        .map(({ result, message }) => `${result}: ${message}`);

    it.each([
      // Policies of the domain and of the host; a receiver's verdict; results of the analysis for the domain and for DMARC.
      ['p=reject; adkim=r; aspf=r', null, 'pass', [/^PASS/, /^PASS/]],
      ['p=reject; aspf=s', null, 'pass', [/^PASS/, /^PASS/]],
      ['p=reject; adkim=s', null, 'pass', [/^PASS/, /^FAIL: .* by SPF alone/]],
      [`p=none; ${STRICT}`, null, 'fail', [/^PASS/, /^FAIL: .* fails the DMARC policy of mail\.acme/]],
      [`p=reject; sp=none; ${STRICT}`, null, 'fail', [/^PASS/, /^FAIL: .* \(p=none\)/]],
      [`p=reject; ${STRICT}`, 'p=reject', 'pass', [/^PASS/, /^PASS/]],
      ['p=reject', `p=none; ${STRICT}`, 'fail', [/^PASS/, /^FAIL: .* policy of shop\.mail\.acme/]],
      ['p=reject', 'p=none; psd=n', 'fail', [/^PASS/, /^FAIL: .* policy of shop\.mail\.acme/]],
    ] as const)(
      'is known to fare under "%s" and "%s" as a receiver finds: %s',
      async (ofDomain, ofHost, verdict, expected) => {
        dns.txt(`_dmarc.${DOMAIN}`, `v=DMARC1; ${ofDomain}`);
        if (ofHost !== null) dns.txt(`_dmarc.${HOST}`, `v=DMARC1; ${ofHost}`);
        const { campaignKey } = await campaign(1, { fromEmail: `news@${HOST}` });
        expect(await dmarcChecks(campaignKey)).toEqual(expected.map((each) => expect.stringMatching(each)));
        fixture.engine.start();
        const [mail] = await received(1);
        expect((await authenticity(dns, mail!)).dmarc).toBe(verdict);
      },
    );

    it.each([
      [`p=quarantine; ${STRICT}`, null],
      [`p=none; sp=reject; ${STRICT}`, null],
      ['p=none', `p=reject; ${STRICT}`],
    ])('is not sent where "%s" and "%s" have receivers refuse it', async (ofDomain, ofHost) => {
      dns.txt(`_dmarc.${DOMAIN}`, `v=DMARC1; ${ofDomain}`);
      if (ofHost !== null) dns.txt(`_dmarc.${HOST}`, `v=DMARC1; ${ofHost}`);
      await expect(campaign(1, { fromEmail: `news@${HOST}` })).rejects.toThrow(
        `Mail from ${HOST} fails the DMARC policy of`,
      );
    });

    it('passes the strictest policy from the domain itself', async () => {
      dns.txt(`_dmarc.${DOMAIN}`, `v=DMARC1; p=reject; ${STRICT}`);
      await campaign(1);
      fixture.engine.start();
      const [mail] = await received(1);
      expect((await authenticity(dns, mail!)).dmarc).toBe('pass');
    });

    it('is sent when nobody can tell the policy', async () => {
      dns.txt(`_dmarc.${DOMAIN}`, `v=DMARC1; p=reject; ${STRICT}`);
      dns.fail('SERVFAIL', `_dmarc.${HOST}`);
      const { campaignKey } = await campaign(1, { fromEmail: `news@${HOST}` });
      expect(await dmarcChecks(campaignKey)).toEqual(Array(2).fill(expect.stringMatching(/^PASS/)));
      fixture.engine.start();
      const [mail] = await received(1);
      expect(fieldOf(mail!, 'From')).toContain(`news@${HOST}`);
      expect(signedNames(mail!)).toContain('from');
    });
  });

  describe('with a broken key', () => {
    const broken: readonly PublishedKey[] = [keys[0]!, { ...keys[1]!, privateKeyPem: 'not a key' }];

    it('sends nothing: the delivery fails by its configuration, and the campaign with it', async () => {
      await domain({ keys: broken });
      const { id } = await campaign(3);
      fixture.engine.start();
      const rows = await fixture.settled('all have failed', ({ state }) => state === 'FAILED');
      expect(rows.map(({ reason, last_error }) => [reason, last_error])).toEqual(
        Array.from({ length: 3 }, () => ['config', 'The DKIM key mw2 cannot be read.']),
      );
      expect(await fixture.campaign(id)).toMatchObject({
        status: 'FAILED',
        failure_reason: 'The DKIM key mw2 cannot be read.',
      });
      expect(sink.count()).toBe(0);
      expect(await fixture.usage(scope)).toEqual({ used: 0, reserved: 0 });
    });

    it.each([
      [
        'that another master key has sealed',
        `update deliverability.dkim_keys set private_key_box = 'v1.00000000.AAAA'`,
        'The DKIM keys cannot be decrypted.',
      ],
      ['that is gone', 'delete from deliverability.dkim_keys', `${DOMAIN} has no DKIM key.`],
    ])('%s sends no confirmation and no test mail either', async (_, breakIt, fault) => {
      await domain();
      await fixture.asksToConfirm(scope, 'ada@example.com');
      const { campaignKey } = await fixture.draft(scope, 1, FROM);
      await fixture.get(TestMailsService).send(scope, campaignKey, [address('boss@example.com')]);
      await fixture.test.query(breakIt);
      fixture.engine.start();
      const rows = await fixture.settled('both have failed', ({ state }) => state === 'FAILED');
      expect(rows.map(({ reason, last_error }) => [reason, last_error])).toEqual([
        ['config', fault],
        ['config', fault],
      ]);
      expect(sink.count()).toBe(0);
    });

    it('is sent to all whom it did not reach once the key is mended', async () => {
      await domain({ keys: broken });
      const { id, campaignKey } = await campaign(3);
      fixture.engine.start();
      await fixture.settled('all have failed', ({ state }) => state === 'FAILED');
      await fixture.test.query('delete from deliverability.dkim_keys where selector = $1', ['mw2']);
      await fixture.closed(scope, id);
      fixture.clock.advance(60_000);
      await fixture.resend(scope, { id, campaignKey });
      const mails = await received(3);
      expect(await authenticity(dns, mails[0]!)).toMatchObject({ dkim: ['rsa-sha256 pass'], dmarc: 'pass' });
    });
  });

  it('waits while its domain is not verified or must not send, and goes out when it is again', async () => {
    await domain();
    await campaign(1);
    await fixture.asksToConfirm(scope, 'ada@example.com');
    await fixture.test.query('update deliverability.sending_domains set sending_allowed = false');
    fixture.engine.start();
    const rows = await fixture.settled('both wait', ({ state }) => state === 'DEFERRED');
    expect(rows.map(({ reason }) => reason)).toEqual(
      Array.from({ length: 2 }, () => 'sender-domain-not-verified'),
    );
    await fixture.test.query('update deliverability.sending_domains set sending_allowed = true');
    fixture.later(16 * 60_000);
    await received(2);
  });

  it('is left to the relay to sign where it does, and comes back to its return path all the same', async () => {
    const others = fixture;
    fixture = await open({ DKIM_SIGNING: 'relay' });
    try {
      await begin();
      await domain();
      await campaign(1);
      fixture.engine.start();
      const [mail] = await received(1);
      expect(mail?.raw.toString('latin1')).not.toMatch(/^DKIM-Signature:/im);
      expect(mail?.from).toMatch(/^b\+.*@bounce\.mail\.acme\.example$/);
    } finally {
      await fixture.close();
      fixture = others;
    }
  });
});
