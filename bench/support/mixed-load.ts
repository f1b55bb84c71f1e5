import { setTimeout as delay } from 'node:timers/promises';
import type { ProjectScope } from '#kernel';
import { TrackingTokens } from '#platform';
import type { TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { SECRETS } from '#testing/programs/system';

const CAMPAIGN_DEADLINE_MS = 600_000;
const LINKS_AT_ONCE = 50;
const PAUSE_BETWEEN_CAMPAIGNS_MS = 5_000;

const contentJson = JSON.stringify({
  blocks: [
    { type: 'text', html: '<p>{{ subscriber.first_name }}, here is the news.</p>' },
    { type: 'button', label: 'Read on', url: 'https://example.com/news' },
  ],
});

export interface LoadTarget {
  readonly baseUrl: string;
  readonly key: string;
  readonly scope: ProjectScope;
  readonly database: TestDatabase;
  /** Topic of the people to whom every campaign goes, beside those who join. */
  readonly bulkTopicId: string;
  /** 1 is the whole load; 0.2 pauses five times as long between two requests of a kind. */
  readonly pace: number;
}

/** Load of a project's days, all kinds of it at once, until `signal` says stop. Counts what was done, by kind. */
export class MixedLoad {
  readonly done = new Map<string, number>();
  readonly failures: string[] = [];
  #serial = 0;

  constructor(
    private readonly target: LoadTarget,
    private readonly signal: AbortSignal,
  ) {}

  /** Resolves when all loops have ended. */
  async run(): Promise<void> {
    const topic = await this.#ask<{ id: string; topicKey: string }>('POST', '/topics', {
      name: 'News',
      doubleOptInEnabled: false,
    });
    await this.#addAutomation(topic.id);
    await Promise.all([
      this.#repeat(50, () => this.#addSubscriber(topic.topicKey)),
      this.#repeat(100, () => this.#list()),
      this.#repeat(250, () => this.#click()),
      this.#repeat(PAUSE_BETWEEN_CAMPAIGNS_MS, () => this.#sendCampaign(topic.id)),
    ]);
  }

  async #repeat(pauseMs: number, work: () => Promise<void>): Promise<void> {
    while (!this.signal.aborted) {
      await work().catch((error: unknown) => {
        if (!this.signal.aborted) this.failures.push(String(error));
      });
      await delay(pauseMs / this.target.pace, undefined, { signal: this.signal }).catch(() => undefined);
    }
  }

  async #addSubscriber(topicKey: string): Promise<void> {
    this.#serial += 1;
    await this.#ask('POST', '/subscribers', {
      email: `soak-${this.#serial}@example.com`,
      firstName: `Reader ${this.#serial}`,
      topicKeys: [topicKey],
      consent: { source: 'soak' },
    });
    this.#count('subscribers');
  }

  async #list(): Promise<void> {
    const paths = ['/subscribers?size=20', '/subscribers?q=soak-1&size=20', '/campaigns?size=20', '/topics'];
    const at = (this.done.get('lists') ?? 0) % paths.length;
    await this.#ask('GET', paths[at] ?? '/topics');
    this.#count('lists');
  }

  /** Tracked links of mails that were just sent. */
  async #click(): Promise<void> {
    const { scope, database, baseUrl } = this.target;
    const mails = await database.query<{ id: string; link_set: string }>(
      `select d.id, l.id as link_set from messaging.deliveries d join messaging.link_sets l on l.campaign_id = d.source_id
       where d.environment_id = $1 and d.sent_at > now() - interval '1 minute' limit ${LINKS_AT_ONCE}`,
      [scope.environmentId],
    );
    const tokens = new TrackingTokens(SECRETS.TOKEN_SECRET);
    for (const { id, link_set } of mails) {
      const source = { environmentId: scope.environmentId, linkSet: Number(link_set), deliveryId: id };
      const [, token] = tokens.sign(source, 2);
      const answer = await fetch(`${baseUrl}/l/${token}`, { redirect: 'manual', signal: this.signal });
      await answer.arrayBuffer();
      if (answer.status !== 302) throw new Error(`A link answered ${answer.status}.`);
      this.#count('clicks');
    }
  }

  async #sendCampaign(topicId: string): Promise<void> {
    const { campaignKey } = await this.#ask<{ campaignKey: string }>('POST', '/campaigns', {
      name: 'Soak',
      subject: 'News, {{ subscriber.first_name }}',
      contentJson,
      topicIds: [topicId, this.target.bulkTopicId],
    });
    await this.#ask('POST', `/campaigns/${campaignKey}/send`);
    await eventually(
      'a campaign is sent',
      async () => {
        if (this.signal.aborted) return true;
        await delay(500);
        return (await this.#ask<{ status: string }>('GET', `/campaigns/${campaignKey}`)).status === 'SENT';
      },
      CAMPAIGN_DEADLINE_MS,
    );
    this.#count('campaigns');
  }

  async #addAutomation(topicId: string): Promise<void> {
    const created = await this.#ask<{ id: string }>('POST', '/automations', {
      name: 'Welcome',
      triggerType: 'subscriber_joins_list',
      triggerTopicId: topicId,
    });
    const nodes = [
      { id: 'start', type: 'trigger', config: {} },
      { id: 'wait', type: 'delay', config: { duration: 'PT1S' } },
      { id: 'mail', type: 'email', config: { subject: 'Welcome', contentJson } },
    ];
    const edges = [
      { id: 'a', source: 'start', target: 'wait' },
      { id: 'b', source: 'wait', target: 'mail' },
    ];
    await this.#ask('PATCH', `/automations/${created.id}/content`, {
      nodes: JSON.stringify(nodes),
      edges: JSON.stringify(edges),
    });
    await this.#ask('POST', `/automations/${created.id}/activate`);
  }

  async #ask<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await fetch(`${this.target.baseUrl}/api/v1${path}`, {
      method,
      headers: {
        'x-api-key': this.target.key,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: this.signal,
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return (text === '' ? {} : JSON.parse(text)) as T;
  }

  #count(kind: string): void {
    this.done.set(kind, (this.done.get(kind) ?? 0) + 1);
  }
}
