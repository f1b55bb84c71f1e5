import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { CampaignsService } from '../../libs/messaging/src/campaigns/campaigns.service.js';
import { MessagingFixture } from '../../libs/messaging/src/messaging.fixture.js';
import { ed25519Key, rsaKey } from '#testing/mail/dkim-keys';
import { type DnsServer, startDnsServer } from '#testing/mail/dns-server';
import { eventually } from '#testing/time/eventually';
import {
  insertSendingDomain,
  publishSendingDomain,
  returnPathHostOf,
} from '#testing/fixtures/sending-domain';
import type { ReceivedMail, SmtpSink } from '#testing/mail/sink-rules';
import { startSmtpSink } from '#testing/mail/smtp-sink';
import { describeWith } from './parts.js';
import { costs } from './support/filter-verdict.js';
import { MAIL_CONTENTS } from './support/mail-contents.js';
import { type Rspamd, startRspamd } from './support/rspamd.js';
import { spamAssassinVerdict } from './support/spamassassin.js';

const DOMAIN = 'acme-shop.com';
/** An address that could be anybody's: filters know those that are kept for examples. Nothing is sent to it. */
const CLIENT = { address: '185.199.108.10', hostName: 'out.mailhost.net' };
const CONFIRMATION = 'a confirmation';
const NAMES = [...Object.keys(MAIL_CONTENTS), CONFIRMATION];

describeWith(['spamassassin', 'rspamd'], 'Spam filters', () => {
  const keys = [rsaKey('mw1'), ed25519Key('mw2')];
  const mails = new Map<string, ReceivedMail>();
  let dns: DnsServer;
  let sink: SmtpSink;
  let fixture: MessagingFixture;
  let rspamd: Rspamd;
  let home: string;

  beforeAll(async () => {
    dns = await startDnsServer();
    publishSendingDomain(dns, { domainName: DOMAIN, keys });
    dns.txt(returnPathHostOf(DOMAIN), `v=spf1 ip4:${CLIENT.address} -all`);
    dns.mx(DOMAIN, { preference: 10, exchange: CLIENT.hostName });
    for (const host of [CLIENT.hostName, 'bounces.mailwright.test']) dns.a(host, CLIENT.address);
    sink = await startSmtpSink();
    fixture = await MessagingFixture.open({
      SMTP_URL: sink.url,
      REQUIRE_VERIFIED_DOMAIN: 'true',
      DNS_SERVERS: dns.address,
      PUBLIC_URL: 'https://go.mailhost.net',
    });
    await send();
    for (const [at, mail] of sink.messages.entries()) mails.set(NAMES[at]!, received(mail));
    home = await mkdtemp(join(tmpdir(), 'spamassassin-'));
    rspamd = await startRspamd(dns.address);
  });
  afterAll(async () => {
    await rspamd?.stop();
    await fixture?.close();
    await sink?.stop();
    await dns?.stop();
    await rm(home, { recursive: true, force: true });
  });

  /** Each content as a campaign to one person, and a confirmation: in the order of their names. */
  async function send(): Promise<void> {
    const scope = await fixture.scope();
    await insertSendingDomain(fixture.test, scope, { domainName: DOMAIN, keys });
    await fixture.test.query(
      `update access.projects set default_from_email = $1, sender_name = 'Acme Shop', postal_address = E'1 Main Street\nSpringfield'`,
      [`news@${DOMAIN}`],
    );
    const { topicIds } = await fixture.draft(scope, 1);
    fixture.engine.start();
    const arrived = async (count: number) => eventually(`mail ${count} arrives`, () => sink.count() >= count);
    for (const [at, content] of Object.values(MAIL_CONTENTS).entries()) {
      const draft = {
        translations: {},
        fromName: null,
        fromEmail: null,
        replyTo: null,
        segmentIds: [],
        sendStrategy: null,
        scheduledAt: null,
        scheduledAtLocal: null,
      };
      const campaign = await fixture
        .get(CampaignsService)
        .create(scope, { ...draft, ...content, name: NAMES[at]!, topicIds });
      await fixture.sends(scope, campaign);
      fixture.engine.wake();
      await arrived(at + 1);
    }
    await fixture.asksToConfirm(scope, 'ada@example.org');
    fixture.engine.wake();
    await arrived(NAMES.length);
  }

  /** As the receiver's server hands it to its filter. */
  function received(mail: ReceivedMail): ReceivedMail {
    const trace =
      `Return-Path: <${mail.from}>\r\nReceived: from ${CLIENT.hostName} (${CLIENT.hostName} [${CLIENT.address}])\r\n` +
      `\tby mx.receiver.org with ESMTPS id 4c1f for <${mail.to[0]}>;\r\n\t${new Date().toUTCString().replace('GMT', '+0000')}\r\n`;
    return { ...mail, raw: Buffer.concat([Buffer.from(trace), mail.raw]) };
  }

  it.each(NAMES)('find nothing in %s but what is known and cannot be helped: SpamAssassin', async (name) => {
    const verdict = await spamAssassinVerdict(mails.get(name)!.raw, home);
    expect(costs(verdict).filter((symbol) => !(symbol in KNOWN.spamassassin))).toEqual([]);
    // 5 is spam.
    expect(verdict.score).toBeLessThanOrEqual(1);
  });

  it.each(NAMES)('find nothing in %s but what is known and cannot be helped: rspamd', async (name) => {
    const verdict = await rspamd.verdict(mails.get(name)!, CLIENT);
    expect(costs(verdict).filter((symbol) => !(symbol in KNOWN.rspamd))).toEqual([]);
    expect([...verdict.symbols.keys()]).toEqual(
      expect.arrayContaining(['R_SPF_ALLOW', 'R_DKIM_ALLOW', 'DMARC_POLICY_ALLOW', 'MIME_GOOD']),
    );
    // 6 is marked as spam, 15 is refused.
    expect(verdict.score).toBeLessThanOrEqual(0.5);
  });

  it('know a campaign for mail of a list that one can leave', async () => {
    const { symbols } = await rspamd.verdict(mails.get('MJML')!, CLIENT);
    expect([...symbols.keys()]).toEqual(expect.arrayContaining(['MAILLIST', 'HAS_LIST_UNSUB']));
    const ofSpamAssassin = await spamAssassinVerdict(mails.get('MJML')!.raw, home);
    expect([...ofSpamAssassin.symbols.keys()]).toContain('MAILING_LIST_MULTI');
  });
});

/** Rules that speak against our mail, and why it stays so. */
const KNOWN = {
  spamassassin: {
    HTML_MESSAGE: 'It has an HTML part.',
    HTML_IMAGE_RATIO_04: "It has images: the author's matter. The ratio of text to images is 0.002 to 0.004.",
    MIXED_ES: 'Latin and Cyrillic letters that look like an e: our footer is English, until languages come.',
  } as Readonly<Record<string, string>>,
  rspamd: {
    FORGED_SENDER:
      'From is not the return path, which is of this one mail (VERP), and no list header says why.',
    MANY_INVISIBLE_PARTS: 'It has a preview text, which inboxes show and mails hide.',
    MIME_BASE64_TEXT: 'Base64 is shorter where most letters are not Latin.',
    URI_COUNT_ODD: 'Both parts together have an odd number of addresses, as every second mail does.',
  } as Readonly<Record<string, string>>,
};
