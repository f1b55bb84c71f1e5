import { afterAll, beforeAll, describe } from '@jest/globals';
import { type DnsServer, startDnsServer } from '#testing/mail/dns-server';
import { ModelServer } from '#testing/servers/model-server';
import { startSmtpSink } from '#testing/mail/smtp-sink';
import { type RunningSystem, startSystem } from '#testing/programs/system';
import { absentWorker } from './moved-clock/absent-worker.js';
import { campaignReports } from './moved-clock/campaign-reports.js';
import { localHour } from './moved-clock/local-hour.js';

let dns: DnsServer;
let sink: Awaited<ReturnType<typeof startSmtpSink>>;
let model: ModelServer;
let system: RunningSystem;

/** One system for all that moves the clock: its programs cost as much to start as most of this takes. */
beforeAll(async () => {
  [dns, sink, model] = await Promise.all([
    startDnsServer(),
    startSmtpSink({ keep: 'index' }),
    ModelServer.start(),
  ]);
  system = await startSystem({
    DNS_SERVERS: dns.address,
    SMTP_URL: sink.url,
    REQUIRE_VERIFIED_DOMAIN: 'false',
    AI_BASE_URL: model.baseUrl,
    AI_MODEL: 'stand-in',
    AI_API_KEY: 'secret',
    AI_REPORT_DELAY_MINUTES: '0',
  });
});

afterAll(async () => {
  await system?.stop();
  await Promise.all([dns?.stop(), sink?.stop(), model?.stop()]);
});

// The time goes on from one to the next: they count on no more than that it is no earlier than ours.
describe('Reports on campaigns and AI credits', () => campaignReports(() => ({ system, model })));
describe('a worker that comes back after it was away', () => absentWorker(() => ({ system, dns })));
describe('a campaign at the recipient’s own hour', () => localHour(() => ({ system })));
