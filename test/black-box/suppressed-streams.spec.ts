import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { expectProblem } from '#testing/http/problems';
import { type SharedSystem, sharedSystem } from '#testing/programs/system';

const CONSENT = { source: 'form' };
const RECEIPT = { purpose: 'The person bought something.', subject: 'Your receipt', text: 'Thank you.' };

describe('a message to a person', () => {
  let system: SharedSystem;
  let client: ApiClient;
  let topic: { readonly id: string; readonly topicKey: string };

  beforeAll(async () => {
    system = await sharedSystem();
    client = await (await system.project()).client('TEST');
    topic = (await client.post('/topics', { name: 'News', doubleOptInEnabled: false })).body as typeof topic;
  });
  afterAll(async () => {
    await system?.stop();
  });

  const sendReceipt = (to: string, more: object = {}) =>
    client.post('/messages', { to, ...RECEIPT, ...more });
  const streamsOf = async (email: string) =>
    (await client.get(`/suppressions/${encodeURIComponent(email)}`)).at<string | null>('streams');
  const mailTo = (email: string, kind: string) =>
    eventually(`a ${kind} to ${email}`, async () => {
      const list = await client.get(`/test-inbox/messages?kind=${kind}&to=${encodeURIComponent(email)}`);
      return list.at<Record<string, unknown> | undefined>('data', 0) ?? null;
    });

  async function sendNews(...emails: readonly string[]): Promise<void> {
    for (const email of emails)
      await client.post('/subscribers', { email, topicKeys: [topic.topicKey], consent: CONSENT });
    const campaign = { name: 'News', subject: 'News', contentText: 'News.', topicIds: [topic.id] };
    const campaignKey = (await client.post('/campaigns', campaign)).at('campaignKey');
    await client.post(`/campaigns/${campaignKey}/send`);
  }

  it.each([
    ['GLOBAL_UNSUBSCRIBE', 202],
    ['SPAM_COMPLAINT', 202],
    ['HARD_BOUNCE', 409],
    ['BLOCKED', 409],
  ])('whose address is suppressed for %s is answered %i', async (reason, status) => {
    const email = `receipt-${reason.toLowerCase()}@example.com`;
    await client.post('/suppressions', { email, reason });
    const sent = await sendReceipt(email);
    if (status === 409)
      return expectProblem(sent, status, 'suppressed', { recipients: { to: 'is suppressed' } });
    expect(sent.status).toBe(status);
    expect(await mailTo(email, 'MESSAGE')).toMatchObject({ subject: 'Your receipt' });
  });

  it('who left everything on the page arrives, as the page says', async () => {
    const email = 'leaver@example.com';
    await sendNews(email);
    const { links } = (await mailTo(email, 'CAMPAIGN')) as { links: { preferences: string } };
    const left = await fetch(links.preferences, {
      method: 'POST',
      body: new URLSearchParams({ confirm: 'everything' }),
    });
    expect(await left.text()).toContain('Only emails about your account or your orders may still come.');
    expect(await streamsOf(email)).toBe('MARKETING');
    expect((await sendReceipt(email)).status).toBe(202);
    await mailTo(email, 'MESSAGE');
    expectProblem(
      await client.post(`/subscribers/${email}/consents`, { topicKey: topic.topicKey, ...CONSENT }),
      409,
      'suppressed',
    );
  });

  it('who complained about a newsletter arrives, one whose mailbox bounced it does not', async () => {
    const [complaining, bounced] = ['complained+news@example.com', 'bounced+news@example.com'];
    await sendNews(complaining, bounced);
    await eventually('both are suppressed', async () => {
      const streams = [await streamsOf(complaining), await streamsOf(bounced)];
      return streams.join() === 'MARKETING,ALL';
    });
    expect((await sendReceipt(complaining)).status).toBe(202);
    await mailTo(complaining, 'MESSAGE');
    expectProblem(await sendReceipt(bounced), 409, 'suppressed', { recipients: { to: 'is suppressed' } });
  });

  it('is stopped on its way by a block, and by nothing that is about marketing', async () => {
    const [blocked, leaving] = ['blocked@example.com', 'leaving@example.com'];
    const scheduledAt = new Date(Date.now() + 3_000).toISOString();
    const [stopped, goes] = await Promise.all(
      [blocked, leaving].map((email) => sendReceipt(email, { scheduledAt })),
    );
    await client.post('/suppressions', { email: blocked, reason: 'BLOCKED' });
    await client.post('/suppressions', { email: leaving });
    await eventually('both have ended', async () => {
      const read = await Promise.all(
        [stopped, goes].map((sent) => client.get(`/messages/${sent!.at('id')}`)),
      );
      return read.map((message) => message.at('status')).join() === 'SUPPRESSED,SENT';
    });
  });
});
