import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId, type ProjectScope } from '#kernel';
import { ed25519Key } from '#testing/mail/dkim-keys';
import { type DnsServer, startDnsServer } from '#testing/mail/dns-server';
import { insertSendingDomain, publishSendingDomain } from '#testing/fixtures/sending-domain';
import { MessagingFixture, MINUTE } from '../messaging.fixture.js';
import { PreSendAnalysisService } from './pre-send-analysis.service.js';

const DOMAIN = 'mail.acme.example';
const HOST = `shop.${DOMAIN}`;

describe('the analysis of a campaign that relays of the project send', () => {
  const keys = [ed25519Key('one')];
  let fixture: MessagingFixture;
  let dns: DnsServer;
  let scope: ProjectScope;
  let campaignKey: string;

  beforeAll(async () => {
    dns = await startDnsServer();
    publishSendingDomain(dns, { domainName: DOMAIN, keys });
    fixture = await MessagingFixture.open({ REQUIRE_VERIFIED_DOMAIN: 'true', DNS_SERVERS: dns.address });
    scope = await fixture.scope();
    await insertSendingDomain(fixture.test, scope, { domainName: DOMAIN, keys });
    ({ campaignKey } = await fixture.draft(scope, 1, { fromEmail: `news@${HOST}` }));
  });
  afterAll(async () => {
    await fixture.close();
    await dns.stop();
  });
  beforeEach(() => fixture.test.query('truncate deliverability.relays'));

  interface TestRelay {
    readonly kind: string;
    readonly signing?: 'OWN' | 'RELAY';
    readonly status?: string;
    readonly streams?: readonly string[];
    readonly lastUsedAt?: Date;
    readonly lastFeedbackAt?: Date;
  }
  const add = (relay: TestRelay) =>
    fixture.test.query(
      `insert into deliverability.relays (environment_id, id, project_id, relay_key, name, kind, host, port, tls, options, streams,
         priority, weight, connections, signing, status, feedback_id, last_used_at, last_feedback_at, created_at, updated_at)
       values ($1, $2::uuid, $3, $2::uuid::text, $4::text, $4::text, 'relay.example', 25, 'OPPORTUNISTIC', '{}', $5, 1, 1, 5, $6, $7, $2::uuid, $8, $9, now(), now())`,
      [
        scope.environmentId,
        newId(),
        scope.projectId,
        relay.kind,
        relay.streams ?? ['CAMPAIGN'],
        relay.signing ?? 'OWN',
        relay.status ?? 'ACTIVE',
        relay.lastUsedAt ?? null,
        relay.lastFeedbackAt ?? null,
      ],
    );
  const found = async (code: string) => {
    const { checks } = await fixture.get(PreSendAnalysisService).of(scope, campaignKey);
    const check = checks.find((each) => each.code === code)!;
    return `${check.result}: ${check.message}`;
  };

  const BY_SPF = /^FAIL: .* by SPF alone/;
  const BY_PROVIDER = /^FAIL: .* only where the provider of the relay signs as that host too/;
  const FAILS = /^FAIL: .* fails the DMARC policy/;
  const PASSES = /^PASS/;

  it.each<[string, string, RegExp, TestRelay[]]>([
    ['adkim=s', 'an SMTP server', BY_SPF, [{ kind: 'SMTP' }]],
    ['adkim=s', 'Amazon SES, to which mail returns', BY_PROVIDER, [{ kind: 'SES' }]],
    ['adkim=s', 'Postmark, which signs anew', PASSES, [{ kind: 'POSTMARK' }]],
    ['adkim=s', 'a relay that signs alone', PASSES, [{ kind: 'SMTP', signing: 'RELAY' }]],
    ['adkim=s; aspf=s', 'an SMTP server', FAILS, [{ kind: 'SMTP' }]],
    ['adkim=s; aspf=s', 'Amazon SES or an SMTP server', FAILS, [{ kind: 'SES' }, { kind: 'SMTP' }]],
    ['adkim=s; aspf=s', 'Amazon SES', BY_PROVIDER, [{ kind: 'SES' }]],
    ['aspf=s', 'Amazon SES', PASSES, [{ kind: 'SES' }]],
    [
      'adkim=s; aspf=s',
      'the installation’s relay, since the project’s takes other mail',
      FAILS,
      [{ kind: 'POSTMARK', streams: ['OPT_IN'] }],
    ],
  ])('knows how mail from a host below fares under "%s" by %s', async (policy, _, expected, relays) => {
    // A policy that was looked up is kept for a minute.
    fixture.clock.advance(MINUTE + 1);
    dns.txt(`_dmarc.${DOMAIN}`, `v=DMARC1; p=reject; ${policy}`);
    for (const relay of relays) await add(relay);
    expect(await found('dmarc-policy')).toMatch(expected);
    expect(await found('sender-domain-verified')).toMatch(expected === FAILS ? FAILS : PASSES);
  });

  it('warns that mail will wait while all relays for campaigns are paused or failing', async () => {
    await add({ kind: 'SES', status: 'PAUSED' });
    await add({ kind: 'SMTP', status: 'FAILING' });
    await add({ kind: 'POSTMARK', streams: ['OPT_IN'] });
    expect(await found('relays')).toBe(
      'FAIL: The mail will wait, because no relay for campaigns can be used: SES is PAUSED; SMTP is FAILING. Repair or resume one.',
    );
    await add({ kind: 'MAILGUN' });
    expect(await found('relays')).toBe('PASS: Relays that send it: MAILGUN.');
  });

  it('hints at providers that never told what became of mail, but not at an SMTP server', async () => {
    const lastUsedAt = fixture.clock.now();
    await add({ kind: 'SES', lastUsedAt });
    await add({ kind: 'SMTP', lastUsedAt });
    await add({ kind: 'BREVO' });
    await add({ kind: 'MAILGUN', lastUsedAt, lastFeedbackAt: lastUsedAt });
    expect(await found('relay-feedback')).toContain('what became of the mail of: SES.');
  });
});
