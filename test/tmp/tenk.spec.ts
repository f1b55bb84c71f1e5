import { it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { eventually } from '../support/eventually.js';
import { startSmtpSink } from '../support/smtp-sink.js';
import { insertSubscribers } from '../support/subscribers.js';
import { startSystem } from '../support/system.js';

it('10k', async () => {
  const sink = await startSmtpSink({ keep: 'index' });
  const system = await startSystem({ SMTP_URL: sink.url, SMTP_CONNECTIONS: process.env['CONNS'] ?? '5', REQUIRE_VERIFIED_DOMAIN: 'false' });
  const project = await system.project();
  const client = await project.client('LIVE');
  const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
  await insertSubscribers(system.database, project.live, topic.at('id'), 10000);
  const campaign = await client.post('/campaigns', { name: 'N', subject: 'Hello {{ subscriber.first_name }}', contentJson: JSON.stringify({ blocks: [{ type: 'heading', level: 1, text: 'Hi {{ subscriber.first_name }}' }, { type: 'text', html: 'word '.repeat(200) }, {type:'button',label:'x',url:'https://example.com/'}] }), topicIds: [topic.at('id')] });
  const key = campaign.at('campaignKey');
  const rss = (pid: number) => /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  console.log('rest', rss(system.api.pid), rss(system.worker.pid));
  const t = performance.now();
  await client.post(`/campaigns/${key}/send`);
  await eventually('sent', async () => (await client.get(`/campaigns/${key}`)).at('status') === 'SENT', 60000);
  const s = (performance.now() - t) / 1000;
  console.log('seconds', s, 'rate', 10000 / s, 'rss', rss(system.worker.pid), 'sink', sink.count());
  console.log(system.worker.output().slice(0, 2000));
  await system.stop();
  await sink.stop();
}, 120000);
