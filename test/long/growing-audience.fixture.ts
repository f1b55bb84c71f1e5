import { expect } from '@jest/globals';
import { consent, each, fewOf, type Named, type ProjectRequests, rules } from './project-requests.fixture.js';

/** People come, are asked for, and leave. */
export class GrowingAudience {
  constructor(private readonly at: ProjectRequests) {}

  async importing(emails: readonly string[], news: Named, confirmed: Named): Promise<void> {
    await this.at.step('import of new people', () => this.at.import(emails, [news]));
    const some = emails.slice(0, Math.min(20, Math.ceil(emails.length / 100)));
    await this.at.step('suppressing some', () =>
      each(some, (email) => this.at.post('/suppressions', { email })),
    );
    await this.at.step('blocking them as well', () =>
      each(some, (email) => this.at.post('/suppressions', { email, reason: 'BLOCKED' })),
    );
    const again = [...emails, ...emails.slice(-Math.ceil(emails.length / 2))];
    await this.at.step('import of the same people', () => this.at.import(again, [news]));
    await this.at.step('import that passes over who is there', () =>
      this.at.import(emails, [news], '&onConflict=SKIP'),
    );
    const latest = emails.slice(-Math.ceil(emails.length / 4));
    await this.at.step('import with double opt-in', () => this.at.import(latest, [news, confirmed]));
  }

  async segments(emails: readonly string[], news: Named, year: number): Promise<readonly Named[]> {
    const event = { event: { type: 'CUSTOM', name: 'order.paid' }, count: { op: 'gte', value: 1 } };
    const opened = { event: { type: 'OPENED' }, count: { op: 'gte', value: 1 }, within: 'P1D' };
    const subscribed = { consent: { topicKey: news.topicKey, status: ['SUBSCRIBED'] } };
    const old = { field: 'custom.age', op: 'gte', value: 30 };
    const made = [
      await this.at.segment('Old', old),
      await this.at.segment('Subscribed', subscribed),
      await this.at.segment('Neither', { not: { or: [event, { not: subscribed }, opened] } }),
      await this.at.segment('Either', { or: [old, event, { and: [subscribed, { not: opened }] }] }),
    ];
    const fixed = await this.at.segment(`Fixed ${year}`);
    await this.at.step('static members', () =>
      this.at.post(`/segments/${fixed.topicKey}/members`, { emails: emails.slice(0, 10_000) }, 204),
    );
    const nested = await this.at.segment('Nested', {
      or: [
        { segment: { segmentKey: fixed.topicKey, member: true } },
        { segment: { segmentKey: made[2]!.topicKey, member: false } },
      ],
    });
    const all = [...made, nested, fixed];
    await this.at.step('static members removed', () =>
      this.at.post(
        `/segments/${fixed.topicKey}/members/remove`,
        { emails: emails.slice(0, emails.length / 2) },
        204,
      ),
    );
    await this.at.step('preview', () =>
      this.at.post(
        '/segments/preview',
        {
          rules: rules({
            and: [old, subscribed, { not: event }, { segment: { segmentKey: fixed.topicKey, member: true } }],
          }),
        },
        200,
      ),
    );
    return all;
  }

  async events(emails: readonly string[], year: number): Promise<void> {
    await this.at.step('events', () =>
      each(fewOf(emails, 100), (email, index) =>
        this.at.post(
          `/subscribers/${encodeURIComponent(email)}/events`,
          { name: 'order.paid', properties: { year, index } },
          202,
        ),
      ),
    );
  }

  async lists(emails: readonly string[], news: Named, segments: readonly Named[]): Promise<void> {
    const then = new Date(Date.now() - 3_600_000).toISOString();
    const filters = [
      '',
      '?status=ACTIVE',
      `?topicKey=${news.topicKey}`,
      '?q=reader',
      `?q=${encodeURIComponent(emails.at(-1) ?? '')}`,
      `?createdAfter=${then}`,
      `?createdBefore=${then}`,
      `?updatedAfter=${then}`,
      `?status=ACTIVE&topicKey=${news.topicKey}&q=reader`,
    ];
    for (const filter of filters)
      await this.at.step(`subscribers${filter}`, () => this.at.pages(`/subscribers${filter}`));
    for (const list of [
      '/topics',
      '/segments',
      '/suppressions',
      '/suppressions?reason=GLOBAL_UNSUBSCRIBE',
      '/campaigns',
      '/automations',
      '/test-inbox/messages',
      '/test-inbox/messages?kind=CAMPAIGN',
      `/test-inbox/messages?to=${encodeURIComponent(emails.at(-1) ?? '')}`,
      '/credits/transactions',
    ])
      await this.at.step(list, () => this.at.pages(list));
    for (const { id } of segments)
      await this.at.step('members', () => this.at.pages(`/segments/${id}/members`));
    await this.at.step('usage', () => this.at.ok('/billing/usage'));
  }

  async leaving(emails: readonly string[], confirmed: Named): Promise<void> {
    const some = fewOf(emails, 20).map(encodeURIComponent);
    await this.at.step('looking at people', () =>
      each(some, async (email) => {
        await this.at.ok(`/subscribers/${email}`);
        await this.at.ok(`/subscribers/${email}/consents`);
        await this.at.ok(`/suppressions/${email}`);
      }),
    );
    await this.at.step('confirming', async () => {
      const inbox = await this.at.ok(`/test-inbox/messages?kind=OPT_IN&size=${Math.min(100, some.length)}`);
      await each(
        inbox.at<{ links: { confirm: string; preferences?: string } }[]>('data'),
        async ({ links }) => {
          await fetch(links.confirm, { method: 'POST' });
        },
      );
    });
    await this.at.step('unsubscribing', async () => {
      const inbox = await this.at.ok(`/test-inbox/messages?kind=CAMPAIGN&size=${Math.min(100, some.length)}`);
      await each(inbox.at<{ links: Record<string, string> }[]>('data'), async ({ links }) => {
        await fetch(links['preferences']!);
        await fetch(links['view']!);
        await fetch(links['unsubscribe']!, {
          method: 'POST',
          body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
        });
      });
    });
    await this.at.step('consents', () =>
      each(some, async (email) => {
        await this.at.client.post(`/subscribers/${email}/consents`, {
          topicKey: confirmed.topicKey,
          ...consent,
        });
        await this.at.client.delete(`/subscribers/${email}/consents/${confirmed.topicKey}`);
      }),
    );
    await this.at.step('changing people', () =>
      each(some, (email) =>
        this.at.client.patch(`/subscribers/${email}`, { firstName: 'New', customFields: { age: 50 } }),
      ),
    );
    await this.at.step('suppressing many', () =>
      each(some, (email) => this.at.post('/suppressions', { email: decodeURIComponent(email) })),
    );
    await this.at.step('erasing', () =>
      each(some, async (email) => {
        expect((await this.at.client.delete(`/subscribers/${email}`)).status).toBe(204);
      }),
    );
  }

  async endOfTopic(emails: readonly string[]): Promise<void> {
    const topic = await this.at.topic('Short', false);
    await this.at.step('import into a topic', () => this.at.import(emails, [topic]));
    await this.at.step('deleting a topic', async () => {
      expect((await this.at.client.delete(`/topics/${topic.topicKey}`)).status).toBe(204);
    });
  }
}
