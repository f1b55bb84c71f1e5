import { makeApiKey } from '../../../libs/access/src/api-key.js';
import PostalMime from 'postal-mime';
import { ApiClient } from '#testing/http/api-client';
import type { DnsServer } from '#testing/mail/dns-server';
import { eventually } from '#testing/time/eventually';
import { runCliForJson } from '#testing/programs/operator-cli';
import { publishRecords, type RecordToPublish } from '#testing/mail/published-records';
import type { RawSmtpSink } from '#testing/mail/raw-smtp-sink';
import { addKey, type RunningSystem, startSystem } from '#testing/programs/system';

export const READERS = 30;
const SENT_BEFORE = 10;
export const KEY = makeApiKey('LIVE', () => 7);
const HUMAN = { 'user-agent': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Gecko/20100101 Firefox/140.0' };

const contentJson = JSON.stringify({
  blocks: [
    { type: 'text', html: '<p>Hello {{ subscriber.first_name }}!</p>' },
    { type: 'button', label: 'Read more', url: 'https://acme.example/news' },
  ],
});

/** The variables of the programs, before and after. */
export const variablesWith = (sink: RawSmtpSink, dns: DnsServer) => ({
  SMTP_URL: sink.url,
  DNS_SERVERS: dns.address,
  BOUNCE_HOST: 'bounces.sender.example',
  SPF_INCLUDE: 'spf.sender.example',
  INVOICE_SELLER_NAME: 'Mailwright Ltd',
});

/**
 * A small installation that is used and then stopped: a tenant with an invoice, a verified domain, thirty readers of whom one
 * left, a campaign that was sent, opened and clicked, an automation with a run that waits, and a campaign that is half sent.
 */
export async function livedInInstallation(sink: RawSmtpSink, dns: DnsServer): Promise<RunningSystem> {
  // So slow that it can be stopped in between.
  const system = await startSystem({ ...variablesWith(sink, dns), THROTTLE_DOMAIN_RATE: '2' });
  const project = await system.project();
  await addKey(system.database, project.live, { key: KEY });
  await system.database.query(`update access.projects set default_from_email = 'acme@news.acme.example'`);
  const client = new ApiClient(system.baseUrl, KEY);
  await runCliForJson({ ...system.variables }, [
    'subscription:set',
    '--tenant',
    project.tenantKey,
    '--plan',
    'standard',
  ]);
  await verifyDomain(client, dns);
  const news = await subscribeReaders(client);
  await startAutomation(client);
  await send(client, 'First news', news);
  await eventually(
    'the first campaign is sent',
    async () => (await client.get('/campaigns/APIT-001')).at('status') === 'SENT',
  );
  await openAndClick(sink, system);
  await client.delete('/subscribers/reader-1%40example.com/consents/APIT-1');
  sink.clear();
  await send(client, 'Second news', news);
  await eventually('the second campaign is half sent', () => sink.count() >= SENT_BEFORE);
  await Promise.all([system.worker.stop(), system.api.stop()]);
  return system;
}

async function verifyDomain(client: ApiClient, dns: DnsServer): Promise<void> {
  const domain = await client.post('/sending-domain', { domainName: 'news.acme.example' });
  publishRecords(dns, domain.at<RecordToPublish[]>('dnsRecords'));
  const checked = await client.post('/sending-domain/verify-dns');
  if (checked.at('resultingStatus') !== 'ACTIVE')
    throw new Error(`The domain is ${JSON.stringify(checked.body)}.`);
}

/** The topic's id. */
async function subscribeReaders(client: ApiClient): Promise<string> {
  await client.post('/custom-fields', { key: 'plan', type: 'TEXT', displayName: 'Plan' });
  const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
  for (let number = 1; number <= READERS; number += 1) {
    const made = await client.post('/subscribers', {
      email: `reader-${number}@example.com`,
      firstName: `Reader ${number}`,
      topicKeys: [topic.at('topicKey')],
      consent: { source: 'signup form', ipAddress: '203.0.113.7' },
    });
    if (made.status !== 201) throw new Error(`No reader was made: ${JSON.stringify(made.body)}`);
  }
  return topic.at('id');
}

/** One person has had its first mail, and waits for the second one: for longer than the day that `thaw` may leave unmoved. */
async function startAutomation(client: ApiClient): Promise<void> {
  const topic = await client.post('/topics', { name: 'Welcome', doubleOptInEnabled: false });
  const made = await client.post('/automations', {
    name: 'Welcome',
    triggerType: 'subscriber_joins_list',
    triggerTopicId: topic.at('id'),
  });
  const mail = (id: string) => ({ id, type: 'email', config: { subject: id, contentJson } });
  const nodes = [
    { id: 'start', type: 'trigger', config: {} },
    mail('Welcome'),
    { id: 'wait', type: 'delay', config: { duration: 'P3D' } },
    mail('Three days later'),
  ];
  const edges = nodes
    .slice(1)
    .map(({ id }, index) => ({ id: `to-${id}`, source: nodes[index]!.id, target: id }));
  const path = `/automations/${made.at('id')}`;
  await client.patch(`${path}/content`, { nodes: JSON.stringify(nodes), edges: JSON.stringify(edges) });
  const activated = await client.post(`${path}/activate`);
  if (activated.status !== 200)
    throw new Error(`The automation is not active: ${JSON.stringify(activated.at('checks'))}`);
  await client.post('/subscribers', {
    email: 'ada@example.com',
    firstName: 'Ada',
    customFields: { plan: 'pro' },
    topicKeys: [topic.at('topicKey')],
    consent: { source: 'signup form' },
  });
}

async function send(client: ApiClient, name: string, topicId: string): Promise<void> {
  const draft = {
    name,
    subject: `${name} for {{ subscriber.first_name }}`,
    contentJson,
    topicIds: [topicId],
  };
  const key = (await client.post('/campaigns', draft)).at('campaignKey');
  const sent = await client.post(`/campaigns/${key}/send`);
  if (sent.status !== 200) throw new Error(`${name} is not sent: ${sent.at('detail')}`);
}

/** Five open their mail of the first campaign, two of them click. */
async function openAndClick(sink: RawSmtpSink, { database, baseUrl }: RunningSystem): Promise<void> {
  const mails = sink.messages.filter(({ raw }) => raw.includes('First news')).slice(0, 5);
  // Until then whoever looks is taken for a scanner.
  const looksFrom = Date.now() + 2_000;
  await eventually('two seconds have passed', () => Date.now() > looksFrom);
  for (const [index, { raw }] of mails.entries()) {
    const { html = '' } = await PostalMime.parse(raw);
    const pixel = /src="[^"]*(\/o\/[^"]*)"/.exec(html)?.[1];
    const link = /href="[^"]*(\/l\/[^"]*)"/.exec(html)?.[1];
    for (const path of index < 2 ? [pixel, link] : [pixel])
      await fetch(`${baseUrl}${path}`, { redirect: 'manual', headers: HUMAN });
  }
  await eventually('all is counted', async () => {
    const [row] = await database.query<{ counted: string }>(
      `select concat(sum(unique_opens), ' ', sum(unique_clicks)) as counted from messaging.campaign_counters`,
    );
    return row?.counted === '5 2';
  });
}
