import { expect } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '../support/api-client.js';
import { eventually } from '../support/eventually.js';

const DEADLINE_MS = 300_000;
const consent = { source: 'form' };
const contentJson = JSON.stringify({
  blocks: [{ type: 'button', label: 'Read {{ subscriber.first_name }}', url: 'https://acme.example/news' }],
});
const rules = (where: unknown) => JSON.stringify({ version: 1, where });
const SENT = ['opened', 'clicked', 'soft-bounced', 'unsubscribed'];

/** Does a part of the life under its name. */
export type Step = <T>(name: string, work: () => Promise<T>) => Promise<T>;

interface Topic {
  readonly id: string;
  readonly topicKey: string;
}

/**
 * Does with a project what its owner would do, with as many people as is said each time: always the same requests in
 * the same order, whether there are five people or thousands.
 */
export class ProjectLife {
  #years = 0;
  #topics: Record<'news' | 'confirmed' | 'joined', Topic> | null = null;

  constructor(
    private readonly client: ApiClient,
    private readonly step: Step,
  ) {}

  /** What is there only once. */
  async begin(): Promise<void> {
    const options = ['free', 'pro'].map((value) => ({ value, label: value }));
    await this.#post('/custom-fields', { key: 'plan', displayName: 'Plan', type: 'SELECT', options });
    await this.#post('/custom-fields', { key: 'age', displayName: 'Age', type: 'NUMBER' });
    this.#topics = {
      news: await this.#topic('News', false),
      confirmed: await this.#topic('Confirmed', true),
      joined: await this.#topic('Joined', false),
    };
  }

  /** All of it, with `people` who were not there before. */
  async year(people: number): Promise<void> {
    const year = (this.#years += 1);
    const emails = Array.from({ length: people }, (_, index) => {
      const behaviour = index % 10 === 7 ? SENT[((index / 10) % SENT.length) | 0] : 'reader';
      return `${behaviour}+${year}-${index}@example.com`;
    });
    const { news, confirmed, joined } = this.#known();
    const automations = await this.#automations(joined);
    await this.#importing(emails, news, confirmed);
    const segments = await this.#segments(emails, news, year);
    await this.#events(emails, year);
    await this.#automated(emails, joined, automations);
    const campaign = await this.#campaign(news, segments, people);
    await this.#report(campaign);
    await this.#after(segments, campaign, news, emails);
    await this.#lists(emails, news, segments);
    await this.#leaving(emails, confirmed);
    await this.#endOfTopic(emails);
  }

  #known(): Record<'news' | 'confirmed' | 'joined', Topic> {
    if (this.#topics === null) throw new Error('It has not begun.');
    return this.#topics;
  }

  async #importing(emails: readonly string[], news: Topic, confirmed: Topic): Promise<void> {
    await this.step('import of new people', () => this.#import(emails, [news]));
    await this.step('suppressing some', () =>
      each(emails.slice(0, Math.min(20, Math.ceil(emails.length / 100))), (email) =>
        this.#post('/suppressions', { email }),
      ),
    );
    const again = [...emails, ...emails.slice(-Math.ceil(emails.length / 2))];
    await this.step('import of the same people', () => this.#import(again, [news]));
    await this.step('import that passes over who is there', () =>
      this.#import(emails, [news], '&onConflict=SKIP'),
    );
    const some = emails.slice(-Math.ceil(emails.length / 4));
    await this.step('import with double opt-in', () => this.#import(some, [news, confirmed]));
  }

  async #segments(emails: readonly string[], news: Topic, year: number): Promise<readonly Topic[]> {
    const event = { event: { type: 'CUSTOM', name: 'order.paid' }, count: { op: 'gte', value: 1 } };
    const opened = { event: { type: 'OPENED' }, count: { op: 'gte', value: 1 }, within: 'P1D' };
    const subscribed = { consent: { topicKey: news.topicKey, status: ['SUBSCRIBED'] } };
    const old = { field: 'custom.age', op: 'gte', value: 30 };
    const made = [
      await this.#segment('Old', old),
      await this.#segment('Subscribed', subscribed),
      await this.#segment('Neither', { not: { or: [event, { not: subscribed }, opened] } }),
      await this.#segment('Either', { or: [old, event, { and: [subscribed, { not: opened }] }] }),
    ];
    const fixed = await this.#segment(`Fixed ${year}`);
    await this.step('static members', () =>
      this.#post(`/segments/${fixed.topicKey}/members`, { emails: emails.slice(0, 10_000) }, 204),
    );
    const nested = await this.#segment('Nested', {
      or: [
        { segment: { segmentKey: fixed.topicKey, member: true } },
        { segment: { segmentKey: made[2]!.topicKey, member: false } },
      ],
    });
    const all = [...made, nested, fixed];
    await this.step('static members removed', () =>
      this.#post(
        `/segments/${fixed.topicKey}/members/remove`,
        { emails: emails.slice(0, emails.length / 2) },
        204,
      ),
    );
    await this.step('preview', () =>
      this.#post(
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

  async #events(emails: readonly string[], year: number): Promise<void> {
    await this.step('events', () =>
      each(fewOf(emails, 100), (email, index) =>
        this.#post(
          `/subscribers/${encodeURIComponent(email)}/events`,
          { name: 'order.paid', properties: { year, index } },
          202,
        ),
      ),
    );
  }

  async #automations(joined: Topic): Promise<readonly string[]> {
    const nodes = [
      { id: 'start', type: 'trigger', config: {} },
      { id: 'wait', type: 'delay', config: { duration: 'PT1S' } },
      {
        id: 'if',
        type: 'condition',
        config: {
          rules: {
            version: 1,
            where: {
              or: [
                { field: 'custom.plan', op: 'eq', value: 'pro' },
                { event: { type: 'CUSTOM', name: 'order.paid' }, count: { op: 'gte', value: 1 } },
              ],
            },
          },
        },
      },
      { id: 'split', type: 'ab_split', config: { weights: { a: 50, b: 50 } } },
      { id: 'mail', type: 'email', config: { subject: 'Hello', contentJson, topicKey: joined.topicKey } },
      { id: 'in', type: 'topic_action', config: { action: 'subscribe', topicKey: joined.topicKey } },
    ];
    const edge = (source: string, target: string, branch?: string) => ({
      id: `${source}-${target}-${branch}`,
      source,
      target,
      branch,
    });
    const edges = [
      edge('start', 'wait'),
      edge('wait', 'if'),
      edge('if', 'split', 'yes'),
      edge('if', 'in', 'no'),
      edge('split', 'mail', 'a'),
      edge('split', 'in', 'b'),
      edge('mail', 'in'),
    ];
    const ids: string[] = [];
    for (const trigger of ['subscriber_joins_list', 'custom_event']) {
      const config = trigger === 'custom_event' ? { eventName: 'order.paid' } : {};
      const created = await this.#post('/automations', {
        name: trigger,
        triggerType: trigger,
        triggerTopicId: joined.id,
      });
      const path = `/automations/${created.at('id')}`;
      const withTrigger = nodes.map((node) => (node.id === 'start' ? { ...node, config } : node));
      const content = await this.client.patch(`${path}/content`, {
        nodes: JSON.stringify(withTrigger),
        edges: JSON.stringify(edges),
      });
      expect(content.status).toBe(200);
      const activated = await this.client.post(`${path}/activate`);
      expect([activated.status, activated.at('checks')]).toEqual([200, undefined]);
      ids.push(path);
    }
    return ids;
  }

  async #automated(emails: readonly string[], joined: Topic, automations: readonly string[]): Promise<void> {
    await this.step('import into an automation', () =>
      this.#import(emails.slice(emails.length / 100), [joined]),
    );
    await this.step('people go through an automation', async () => {
      for (const path of automations)
        await this.#until('all went through', async () => {
          const { totalEntered, totalCompleted } = (await this.client.get(path)).body as Record<
            string,
            number
          >;
          return totalEntered! > 0 && totalEntered === totalCompleted;
        });
    });
    await this.step('executions', () => this.#pages(`${automations[0]}/executions`));
    for (const path of automations) expect((await this.client.post(`${path}/pause`)).status).toBe(200);
  }

  async #campaign(news: Topic, segments: readonly Topic[], people: number): Promise<string> {
    const draft = {
      name: 'Offer',
      subject: 'Offer',
      contentJson,
      topicIds: [news.id],
      segmentIds: segments.map(({ id }) => id),
    };
    const created = await this.step('draft of a campaign', () => this.#post('/campaigns', draft));
    const path = `/campaigns/${created.at('campaignKey')}`;
    await this.step('analysis', () => this.#ok(`${path}/pre-send-analysis`));
    await this.step('sending', async () => {
      expect((await this.client.post(`${path}/send`)).status).toBe(200);
      if (people > 100) {
        await this.#until(
          'some are sent',
          async () => (await this.#ok(`${path}/report/statistics`)).at<number>('totalSent') > people / 10,
        );
        const paused = await this.client.post(`${path}/pause`);
        if (paused.status === 200) expect((await this.client.post(`${path}/resume`)).status).toBe(200);
      }
      await this.#until('it is sent', async () => (await this.client.get(path)).at('status') === 'SENT');
    });
    await this.step('retry of failed mails', async () => {
      expect((await this.client.post(`${path}/retry-failed`)).status).toBe(200);
      await this.#until('it is sent', async () => (await this.client.get(path)).at('status') === 'SENT');
    });
    return path;
  }

  async #report(campaign: string): Promise<void> {
    await this.step('statistics', () => this.#ok(`${campaign}/report/statistics`));
    await this.step('timeline', () => this.#ok(`${campaign}/report/timeline?interval=minute`));
    await this.step('deliveries', async () => {
      for (const status of ['', '?status=SENT', '?status=FAILED', '?status=PENDING', '?status=DEFERRED'])
        await this.#pages(`${campaign}/deliveries${status}`);
    });
    await this.step('export of a report', () => this.#ok(`${campaign}/report/export`));
    await this.step('export of deliveries', () => this.#ok(`${campaign}/report/export?rows=deliveries`));
    await this.step('written report', async () => {
      await this.#post(`${campaign}/report`, undefined, 202);
      await this.#until(
        'it is written',
        async () => (await this.client.get(`${campaign}/report`)).at('status') === 'GENERATED',
      );
    });
  }

  /** Everything that asks of the past of mails. */
  async #after(
    segments: readonly Topic[],
    campaign: string,
    news: Topic,
    emails: readonly string[],
  ): Promise<void> {
    const campaignKey = campaign.split('/').at(-1);
    const clicked = { event: { type: 'CLICKED', campaignKey }, count: { op: 'gte', value: 1 } };
    const delivered = {
      event: { type: 'DELIVERED', topicKey: news.topicKey },
      count: { op: 'lte', value: 1 },
      within: 'P1D',
    };
    await this.step('preview by mail', async () => {
      await this.#post('/segments/preview', { rules: rules(clicked) }, 200);
      await this.#post('/segments/preview', { rules: rules({ or: [{ not: clicked }, delivered] }) }, 200);
    });
    await this.step('changed rules', async () => {
      for (const { id } of segments.slice(0, 4)) {
        const changed = await this.client.patch(`/segments/${id}`, {
          rules: rules({ and: [delivered, { not: clicked }] }),
        });
        expect(changed.status).toBe(200);
      }
    });
    await this.step('a campaign to everybody again', async () => {
      const draft = { name: 'Again', subject: 'Again', contentJson, topicIds: [news.id] };
      const path = `/campaigns/${(await this.#post('/campaigns', draft)).at('campaignKey')}`;
      await this.#ok(`${path}/pre-send-analysis`);
      expect((await this.client.post(`${path}/send`)).status).toBe(200);
      await this.#until(
        'it goes out',
        async () => (await this.client.get(path)).at('status') !== 'QUEUED_FOR_SENDING',
      );
      await this.client.post(`${path}/cancel`);
    });
    await this.step('preview of a mail', () =>
      this.#ok(`${campaign}/preview?email=${encodeURIComponent(emails.at(-1) ?? '')}`),
    );
  }

  async #lists(emails: readonly string[], news: Topic, segments: readonly Topic[]): Promise<void> {
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
      await this.step(`subscribers${filter}`, () => this.#pages(`/subscribers${filter}`));
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
      await this.step(list, () => this.#pages(list));
    for (const { id } of segments) await this.step('members', () => this.#pages(`/segments/${id}/members`));
    await this.step('usage', () => this.#ok('/billing/usage'));
  }

  async #leaving(emails: readonly string[], confirmed: Topic): Promise<void> {
    const some = fewOf(emails, 20).map(encodeURIComponent);
    await this.step('looking at people', () =>
      each(some, async (email) => {
        await this.#ok(`/subscribers/${email}`);
        await this.#ok(`/subscribers/${email}/consents`);
        await this.#ok(`/suppressions/${email}`);
      }),
    );
    await this.step('confirming', async () => {
      const inbox = await this.#ok(`/test-inbox/messages?kind=OPT_IN&size=${Math.min(100, some.length)}`);
      await each(
        inbox.at<{ links: { confirm: string; preferences?: string } }[]>('data'),
        async ({ links }) => {
          await fetch(links.confirm, { method: 'POST' });
        },
      );
    });
    await this.step('unsubscribing', async () => {
      const inbox = await this.#ok(`/test-inbox/messages?kind=CAMPAIGN&size=${Math.min(100, some.length)}`);
      await each(inbox.at<{ links: Record<string, string> }[]>('data'), async ({ links }) => {
        await fetch(links['preferences']!);
        await fetch(links['view']!);
        await fetch(links['unsubscribe']!, {
          method: 'POST',
          body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
        });
      });
    });
    await this.step('consents', () =>
      each(some, async (email) => {
        await this.client.post(`/subscribers/${email}/consents`, {
          topicKey: confirmed.topicKey,
          ...consent,
        });
        await this.client.delete(`/subscribers/${email}/consents/${confirmed.topicKey}`);
      }),
    );
    await this.step('changing people', () =>
      each(some, (email) =>
        this.client.patch(`/subscribers/${email}`, { firstName: 'New', customFields: { age: 50 } }),
      ),
    );
    await this.step('suppressing many', () =>
      each(some, (email) => this.#post('/suppressions', { email: decodeURIComponent(email) })),
    );
    await this.step('erasing', () =>
      each(some, async (email) => {
        expect((await this.client.delete(`/subscribers/${email}`)).status).toBe(204);
      }),
    );
  }

  async #endOfTopic(emails: readonly string[]): Promise<void> {
    const topic = await this.#topic('Short', false);
    await this.step('import into a topic', () => this.#import(emails, [topic]));
    await this.step('deleting a topic', async () => {
      expect((await this.client.delete(`/topics/${topic.topicKey}`)).status).toBe(204);
    });
  }

  async #import(emails: readonly string[], topics: readonly Topic[], query = ''): Promise<void> {
    const keys = topics.map(({ topicKey }) => topicKey).join(',');
    const rows = emails.map(
      (email, index) => `${email},Reader ${index},${index % 2 === 0 ? 'pro' : 'free'},${index % 60}`,
    );
    const accepted = await this.client.post(
      `/subscriber-imports?topicKeys=${keys}&consent.source=shop${query}`,
      ['email,firstName,plan,age', ...rows].join('\n'),
      { headers: { 'content-type': 'text/csv' } },
    );
    expect(accepted.status).toBe(202);
    const path = `/subscriber-imports/${accepted.at('id')}`;
    await this.#until(
      'the import ends',
      async () => (await this.client.get(path)).at('status') === 'COMPLETED',
    );
    await this.#pages(`${path}/errors`);
  }

  async #topic(name: string, doubleOptInEnabled: boolean): Promise<Topic> {
    const made = await this.#post('/topics', { name, doubleOptInEnabled });
    return { id: made.at('id'), topicKey: made.at('topicKey') };
  }

  /** Its `topicKey` is the segment's key. */
  async #segment(name: string, where?: unknown): Promise<Topic> {
    const made = await this.step(`segment ${name.split(' ')[0]}`, () =>
      this.#post('/segments', where === undefined ? { name } : { name, rules: rules(where) }),
    );
    return { id: made.at('id'), topicKey: made.at('segmentKey') };
  }

  async #pages(path: string): Promise<void> {
    const first = await this.#ok(path);
    const last = Math.max(0, first.at<number>('pagination', 'totalPages') - 1);
    await this.#ok(`${path}${path.includes('?') ? '&' : '?'}page=${last}`);
  }

  async #ok(path: string): Promise<ApiAnswer> {
    const answer = await this.client.get(path);
    expect([path, answer.status]).toEqual([path, 200]);
    return answer;
  }

  async #post(path: string, body: unknown, status = 201): Promise<ApiAnswer> {
    const answer = await this.client.post(path, body);
    expect([path, answer.status, status < 300 ? undefined : answer.body]).toEqual([path, status, undefined]);
    return answer;
  }

  #until(what: string, probe: () => Promise<boolean>): Promise<boolean> {
    return eventually(what, probe, DEADLINE_MS);
  }
}

const fewOf = (emails: readonly string[], most: number) =>
  emails.slice(-Math.min(most, Math.ceil(emails.length / 4)));

/** Some at a time. */
async function each<Item>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<unknown>,
): Promise<void> {
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) await work(item, index);
  };
  await Promise.all(Array.from({ length: 6 }, worker));
}
