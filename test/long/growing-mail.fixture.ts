import { expect } from '@jest/globals';
import { contentJson, type Named, type ProjectRequests, rules } from './project-requests.fixture.js';

/** People get mail, from campaigns and automations, and it is asked what became of it. */
export class GrowingMail {
  constructor(private readonly at: ProjectRequests) {}

  async automations(joined: Named): Promise<readonly string[]> {
    const nodes = [
      { id: 'start', type: 'trigger', config: {} },
      { id: 'wait', type: 'delay', config: { duration: 'PT1S' } },
      {
        id: 'paid',
        type: 'wait_for',
        config: { event: { type: 'CUSTOM', name: 'order.paid' }, timeout: 'PT1S' },
      },
      {
        id: 'set',
        type: 'update_field',
        config: { key: 'phone', value: '{{ subscriber.phone | default: "1" }}' },
      },
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
      edge('wait', 'paid'),
      edge('paid', 'set', 'happened'),
      edge('paid', 'set', 'timeout'),
      edge('set', 'if'),
      edge('if', 'split', 'yes'),
      edge('if', 'in', 'no'),
      edge('split', 'mail', 'a'),
      edge('split', 'in', 'b'),
      edge('mail', 'in'),
    ];
    const ids: string[] = [];
    for (const trigger of ['subscriber_joins_list', 'custom_event']) {
      const config = trigger === 'custom_event' ? { eventName: 'order.paid' } : {};
      const created = await this.at.post('/automations', {
        name: trigger,
        triggerType: trigger,
        triggerTopicId: joined.id,
      });
      const path = `/automations/${created.at('id')}`;
      const withTrigger = nodes.map((node) => (node.id === 'start' ? { ...node, config } : node));
      const content = await this.at.client.patch(`${path}/content`, {
        nodes: JSON.stringify(withTrigger),
        edges: JSON.stringify(edges),
      });
      expect(content.status).toBe(200);
      const activated = await this.at.client.post(`${path}/activate`);
      expect([activated.status, activated.at('checks')]).toEqual([200, undefined]);
      ids.push(path);
    }
    return ids;
  }

  async automated(emails: readonly string[], joined: Named, automations: readonly string[]): Promise<void> {
    await this.at.step('import into an automation', () =>
      this.at.import(emails.slice(emails.length / 100), [joined]),
    );
    await this.at.step('people go through an automation', async () => {
      for (const path of automations)
        await this.at.until('all went through', async () => {
          const { totalEntered, totalCompleted } = (await this.at.client.get(path)).body as Record<
            string,
            number
          >;
          return totalEntered! > 0 && totalEntered === totalCompleted;
        });
    });
    await this.at.step('executions', () => this.at.pages(`${automations[0]}/executions`));
    for (const path of automations) expect((await this.at.client.post(`${path}/pause`)).status).toBe(200);
  }

  async campaign(news: Named, segments: readonly Named[], people: number): Promise<string> {
    const draft = {
      name: 'Offer',
      subject: 'Offer',
      contentJson,
      topicIds: [news.id],
      segmentIds: segments.map(({ id }) => id),
    };
    const created = await this.at.step('draft of a campaign', () => this.at.post('/campaigns', draft));
    const path = `/campaigns/${created.at('campaignKey')}`;
    await this.at.step('analysis', () => this.at.ok(`${path}/pre-send-analysis`));
    await this.at.step('sending', async () => {
      expect((await this.at.client.post(`${path}/send`)).status).toBe(200);
      if (people > 100) {
        await this.at.until(
          'some are sent',
          async () => (await this.at.ok(`${path}/report/statistics`)).at<number>('totalSent') > people / 10,
        );
        const paused = await this.at.client.post(`${path}/pause`);
        if (paused.status === 200) expect((await this.at.client.post(`${path}/resume`)).status).toBe(200);
      }
      await this.at.until('it is sent', async () => (await this.at.client.get(path)).at('status') === 'SENT');
    });
    await this.at.step('retry of failed mails', async () => {
      expect((await this.at.client.post(`${path}/retry-failed`)).status).toBe(200);
      await this.at.until('it is sent', async () => (await this.at.client.get(path)).at('status') === 'SENT');
    });
    return path;
  }

  async report(campaign: string): Promise<void> {
    await this.at.step('statistics', () => this.at.ok(`${campaign}/report/statistics`));
    await this.at.step('timeline', () => this.at.ok(`${campaign}/report/timeline?interval=minute`));
    await this.at.step('deliveries', async () => {
      for (const status of ['', '?status=SENT', '?status=FAILED', '?status=PENDING', '?status=DEFERRED'])
        await this.at.pages(`${campaign}/deliveries${status}`);
    });
    await this.at.step('export of a report', () => this.at.ok(`${campaign}/report/export`));
    await this.at.step('export of deliveries', () => this.at.ok(`${campaign}/report/export?rows=deliveries`));
    await this.at.step('written report', async () => {
      await this.at.post(`${campaign}/report`, undefined, 202);
      await this.at.until(
        'it is written',
        async () => (await this.at.client.get(`${campaign}/report`)).at('status') === 'GENERATED',
      );
    });
  }

  /** Everything that asks of the past of mails. */
  async after(
    segments: readonly Named[],
    campaign: string,
    news: Named,
    emails: readonly string[],
  ): Promise<void> {
    const campaignKey = campaign.split('/').at(-1);
    const clicked = { event: { type: 'CLICKED', campaignKey }, count: { op: 'gte', value: 1 } };
    const delivered = {
      event: { type: 'DELIVERED', topicKey: news.topicKey },
      count: { op: 'lte', value: 1 },
      within: 'P1D',
    };
    await this.at.step('preview by mail', async () => {
      await this.at.post('/segments/preview', { rules: rules(clicked) }, 200);
      await this.at.post('/segments/preview', { rules: rules({ or: [{ not: clicked }, delivered] }) }, 200);
    });
    await this.at.step('changed rules', async () => {
      for (const { id } of segments.slice(0, 4)) {
        const changed = await this.at.client.patch(`/segments/${id}`, {
          rules: rules({ and: [delivered, { not: clicked }] }),
        });
        expect(changed.status).toBe(200);
      }
    });
    await this.at.step('a campaign to everybody again', async () => {
      const draft = { name: 'Again', subject: 'Again', contentJson, topicIds: [news.id] };
      const path = `/campaigns/${(await this.at.post('/campaigns', draft)).at('campaignKey')}`;
      await this.at.ok(`${path}/pre-send-analysis`);
      expect((await this.at.client.post(`${path}/send`)).status).toBe(200);
      await this.at.until(
        'it goes out',
        async () => (await this.at.client.get(path)).at('status') !== 'QUEUED_FOR_SENDING',
      );
      await this.at.client.post(`${path}/cancel`);
    });
    await this.at.step('preview of a mail', () =>
      this.at.ok(`${campaign}/preview?email=${encodeURIComponent(emails.at(-1) ?? '')}`),
    );
  }
}
