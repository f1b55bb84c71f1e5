import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '#testing/api-client';
import { eventually } from '#testing/eventually';
import type { SmtpSink } from '#testing/sink-rules';
import { startSmtpSink } from '#testing/smtp-sink';
import { type RunningSystem, startSystem } from '#testing/system';
import { insertSubscribers } from '#testing/subscribers';
import { SLOW_LOGIC, slowContent, TOO_MUCH_STYLE } from '#testing/worst-content';

const PREVIEWS = 12;

describe('Content that takes as long as its author can make it', () => {
  let system: RunningSystem;
  let sink: SmtpSink;
  let hostile: ApiClient;
  let stranger: ApiClient;

  beforeAll(async () => {
    sink = await startSmtpSink();
    system = await startSystem({ SMTP_URL: sink.url, REQUIRE_VERIFIED_DOMAIN: 'false' });
    const [one, other] = [await system.project('BADC'), await system.project('GOOD')];
    hostile = await one.client('LIVE');
    stranger = await other.client('LIVE');
  });

  afterAll(async () => {
    await system?.stop();
    await sink?.stop();
  });

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
    await eventually('the confirmation arrives', () =>
      Promise.resolve(sink.messages.some(({ to }) => to.includes(email)) || null),
    );
  }

  it.each(TOO_MUCH_STYLE)('is refused with its path: $name', async ({ contentJson }) => {
    const refused = await hostile.post('/campaigns', { name: 'Worst', subject: 'News', contentJson });
    expect(refused.status).toBe(422);
    expect(refused.at('errors')).toEqual({
      'contentJson.blocks[0].mjml': expect.stringMatching(/^is too complex/),
    });
  });

  it('is compiled while others are answered and get their confirmation', async () => {
    const keys = [];
    for (let nonce = 0; nonce < PREVIEWS; nonce += 1)
      keys.push(await campaign(hostile, { contentJson: slowContent(nonce) }));
    let shown = 0;
    const previews = keys.map((key) =>
      hostile.get(`/campaigns/${key}/preview`).then(({ status }) => {
        shown += 1;
        return status;
      }),
    );
    expect((await fetch(`${system.baseUrl}/health/live`)).status).toBe(200);
    await optIn('while-compiling@example.com');
    expect(shown).toBeLessThan(PREVIEWS);
    // Too long in the queue: 503, after 30 s.
    for (const status of await Promise.all(previews)) expect([200, 422, 503]).toContain(status);
  });

  it('is sent at its own pace while others get their confirmation', async () => {
    const project = await system.project('SLOW');
    await system.database.query(`update billing.subscriptions set plan_tier = 'PRO'`);
    const sender = await project.client('LIVE');
    const topic = await sender.post('/topics', { name: 'Worst', doubleOptInEnabled: false });
    await insertSubscribers(system.database, project.live, topic.at('id'), 300);
    const key = await campaign(sender, { contentJson: SLOW_LOGIC }, [topic.at('id')]);
    expect((await sender.post(`/campaigns/${key}/send`)).status).toBe(200);
    await eventually('the first of them is sent', () =>
      Promise.resolve(
        sink.messages.some(({ to }) => to.some((address) => address.startsWith('reader-'))) || null,
      ),
    );
    await optIn('while-sending@example.com');
    expect((await sender.get(`/campaigns/${key}`)).at('status')).not.toBe('SENT');
  });
});
