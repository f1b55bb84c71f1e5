import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { CampaignRun } from '../long/chaos/campaign-run.fixture.js';
import { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { type RunningProgram, startProgram } from '#testing/programs/program';
import { type RunningSystem, startSystem } from '#testing/programs/system';
import { describeWith } from './parts.js';
import { wrongBy } from './support/faketime.js';

const READERS = 900;
const DAY_MS = 86_400_000;

describeWith(['faketime'], 'workers whose clocks are 25 s ahead and 10 min behind', () => {
  let run: CampaignRun;

  beforeAll(async () => {
    run = await CampaignRun.open(5);
    for (const offset of ['+25s', '-10m'])
      run.workers.push(await startProgram('worker', { ...run.system.variables, ...wrongBy(offset) }));
  });
  afterAll(() => run?.close());

  it('send each mail of a campaign once', async () => {
    // Long enough on the wire that each worker sees the others' mails there.
    run.sink.behave({ at: 'body', action: { delayMs: 200 } });
    const campaign = await run.send('SKEW', READERS);
    await campaign.isSent();
    const rows = await campaign.rows();
    expect(rows.filter(({ state }) => state !== 'SENT')).toEqual([]);
    expect(rows.filter((row) => row.possible_duplicate)).toEqual([]);
    const received = await campaign.received();
    expect(received.size).toBe(READERS);
    expect([...received].filter(([, times]) => times > 1)).toEqual([]);
  });
});

describeWith(['faketime'], 'an api and a worker whose clocks are three days ahead', () => {
  let system: RunningSystem;
  /** Client of the api whose clock is right. */
  let client: ApiClient;
  let ahead: RunningProgram[];

  beforeAll(async () => {
    system = await startSystem();
    client = await (await system.project()).client('TEST');
    const variables = { ...system.variables, ...wrongBy('+3d') };
    ahead = [await startProgram('api', variables), await startProgram('worker', variables)];
  });
  afterAll(async () => {
    await Promise.all(ahead?.map((program) => program.stop()) ?? []);
    await system?.stop();
  });

  const toAhead = (url: string) => url.replace(system.baseUrl, `http://127.0.0.1:${ahead[0]?.port}`);

  it('write down when something happened by the clock of the database', async () => {
    const there = new ApiClient(toAhead(system.baseUrl), client.key);
    const topic = await there.post('/topics', { name: 'Tea', doubleOptInEnabled: false });
    expect(Math.abs(Date.parse(topic.at('createdAt')) - Date.now())).toBeLessThan(DAY_MS);
  });

  it('let somebody confirm with a link that is not two days old', async () => {
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: true });
    const created = await client.post('/subscribers', {
      email: 'ada@example.com',
      topicKeys: [topic.at('topicKey')],
      consent: { source: 'signup-form' },
    });
    expect(created.status).toBe(201);
    const link = await eventually('the confirmation mail is there', async () => {
      const inbox = await client.get('/test-inbox/messages?kind=OPT_IN');
      return inbox.at('data').length === 0 ? null : String(inbox.at('data', 0, 'links', 'confirm'));
    });
    await passedAhead('expire-confirmations');
    expect((await fetch(toAhead(link), { method: 'POST' })).status).toBe(200);
    expect((await client.get('/subscribers/ada@example.com')).at('status')).toBe('ACTIVE');
  });

  it('send a campaign not before its time', async () => {
    const topic = await client.post('/topics', { name: 'Art', doubleOptInEnabled: false });
    await client.post('/subscribers', {
      email: 'bob@example.com',
      topicKeys: [topic.at('topicKey')],
      consent: { source: 'signup-form' },
    });
    const campaign = await client.post('/campaigns', {
      name: 'News',
      subject: 'Hello',
      contentText: 'Here is the news.',
      topicIds: [topic.at('id')],
      scheduledAt: new Date(Date.now() + DAY_MS).toISOString(),
    });
    const path = `/campaigns/${campaign.at('campaignKey')}`;
    expect((await client.post(`${path}/schedule`)).status).toBe(200);
    // It looks for campaigns twice a second, and for what else is to be done once.
    await passedAhead('expire-confirmations');
    expect((await client.get(path)).at('status')).toBe('SCHEDULED');
    await system.database.query(
      `update messaging.campaigns set scheduled_at = now() where scheduled_at > now()`,
    );
    await eventually(
      'it is sent when its time has come',
      async () => (await client.get(path)).at('status') === 'SENT',
    );
  });

  /** Resolves when a worker that is ahead too, new since it is called, has run a periodic task. */
  async function passedAhead(task: string): Promise<void> {
    await system.worker.stop();
    await system.database.query('delete from platform.schedule where name = $1', [task]);
    const worker = await startProgram('worker', { ...system.variables, ...wrongBy('+3d') });
    await eventually(`${task} runs`, async () => {
      const rows = await system.database.query('select from platform.schedule where name = $1', [task]);
      return rows.length === 1;
    });
    await worker.stop();
  }
});
