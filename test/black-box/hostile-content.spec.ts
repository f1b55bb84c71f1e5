import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { allowLiveMail } from '#testing/fixtures/sending-domain';
import { sharedRelay } from '#testing/programs/shared-system-client';
import { type SharedSystem, sharedSystem } from '#testing/programs/system';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { SLOW_LOGIC, slowContent, TOO_MUCH_STYLE } from '#testing/random/worst-content';

/** One is compiled, the others wait for it. */
const AT_ONCE = 3;

describe('Content that takes as long as its author can make it', () => {
  let system: SharedSystem;
  let hostile: ApiClient;
  let stranger: ApiClient;

  beforeAll(async () => {
    system = await sharedSystem();
    const [one, other] = [await system.project('BADC'), await system.project('GOOD')];
    await allowLiveMail(system.database, other.live, 'good.example');
    hostile = await one.client('LIVE');
    stranger = await other.client('LIVE');
  });

  afterAll(() => system?.stop());

  const campaign = async (
    client: ApiClient,
    content: object,
    topicIds: readonly string[] = [],
  ): Promise<string> => {
    const created = await client.post('/campaigns', {
      name: 'Worst',
      subject: 'News',
      topicIds,
      ...content,
    });
    expect(created.status).toBe(201);
    return created.at('campaignKey');
  };

  /** Somebody signs up with the other project, and gets the mail that asks them to confirm. */
  async function optIn(email: string): Promise<void> {
    const topic = await stranger.post('/topics', { name: `News for ${email}`, doubleOptInEnabled: true });
    const signedUp = await stranger.post('/subscribers', {
      email,
      topicKeys: [topic.at('topicKey')],
      consent: { source: 'form' },
    });
    expect(signedUp.status).toBe(201);
    await eventually('the confirmation arrives', async () => (await sharedRelay(email).mails()).length > 0);
  }

  it.each(TOO_MUCH_STYLE)('is refused with its path: $name', async ({ contentJson }) => {
    const refused = await hostile.post('/campaigns', { name: 'Worst', subject: 'News', contentJson });
    expect(refused.status).toBe(422);
    expect(refused.at('errors')).toEqual({
      'contentJson.blocks[0].mjml': expect.stringMatching(/^is too complex/),
    });
  });

  it('is compiled while others are answered and get their confirmation', async () => {
    let nonce = 0;
    const over = new AbortController();
    const compiling = Array.from({ length: AT_ONCE }, async () => {
      const statuses: number[] = [];
      while (!over.signal.aborted) {
        const key = await campaign(hostile, { contentJson: slowContent((nonce += 1)) });
        statuses.push((await hostile.get(`/campaigns/${key}/preview`)).status);
      }
      return statuses;
    });
    try {
      expect((await fetch(`${system.baseUrl}/health/live`)).status).toBe(200);
      await optIn('while-compiling@example.com');
    } finally {
      over.abort();
    }
    // Too long in the queue: 503, after 30 s.
    for (const status of (await Promise.all(compiling)).flat()) expect([200, 422, 503]).toContain(status);
  });

  it('is sent at its own pace while others get their confirmation', async () => {
    const project = await system.project('SLOW');
    await system.database.query(`update billing.subscriptions set plan_tier = 'PRO' where tenant_id = $1`, [
      project.live.tenantId,
    ]);
    await allowLiveMail(system.database, project.live, 'slow.example');
    const sender = await project.client('LIVE');
    const topic = await sender.post('/topics', { name: 'Worst', doubleOptInEnabled: false });
    await insertSubscribers(system.database, project.live, topic.at('id'), 300, 'readers.slow.example');
    const key = await campaign(sender, { contentJson: SLOW_LOGIC }, [topic.at('id')]);
    expect((await sender.post(`/campaigns/${key}/send`)).status).toBe(200);
    await eventually(
      'the first of them is sent',
      async () => (await sharedRelay('@readers.slow.example').mails()).length > 0,
    );
    await optIn('while-sending@example.com');
    expect((await sender.post(`/campaigns/${key}/cancel`)).status).toBe(200);
  });
});
