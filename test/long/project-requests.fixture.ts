import { expect } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';

const DEADLINE_MS = 300_000;

export const consent = { source: 'form' };
export const contentJson = JSON.stringify({
  blocks: [{ type: 'button', label: 'Read {{ subscriber.first_name }}', url: 'https://acme.example/news' }],
});
export const rules = (where: unknown) => JSON.stringify({ version: 1, where });

/** Does a part of the life under its name. */
export type Step = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/** A topic, or a segment with its key. */
export interface Named {
  readonly id: string;
  readonly topicKey: string;
}

/** Requests to a project, each answer held against what is expected of it. */
export class ProjectRequests {
  constructor(
    readonly client: ApiClient,
    readonly step: Step,
  ) {}

  async import(emails: readonly string[], topics: readonly Named[], query = ''): Promise<void> {
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
    await this.until(
      'the import ends',
      async () => (await this.client.get(path)).at('status') === 'COMPLETED',
    );
    await this.pages(`${path}/errors`);
  }

  async topic(name: string, doubleOptInEnabled: boolean): Promise<Named> {
    const made = await this.post('/topics', { name, doubleOptInEnabled });
    return { id: made.at('id'), topicKey: made.at('topicKey') };
  }

  /** Its `topicKey` is the segment's key. */
  async segment(name: string, where?: unknown): Promise<Named> {
    const made = await this.step(`segment ${name.split(' ')[0]}`, () =>
      this.post('/segments', where === undefined ? { name } : { name, rules: rules(where) }),
    );
    return { id: made.at('id'), topicKey: made.at('segmentKey') };
  }

  async pages(path: string): Promise<void> {
    const first = await this.ok(path);
    const last = Math.max(0, first.at<number>('pagination', 'totalPages') - 1);
    await this.ok(`${path}${path.includes('?') ? '&' : '?'}page=${last}`);
  }

  async ok(path: string): Promise<ApiAnswer> {
    const answer = await this.client.get(path);
    expect([path, answer.status]).toEqual([path, 200]);
    return answer;
  }

  async post(path: string, body: unknown, status = 201): Promise<ApiAnswer> {
    const answer = await this.client.post(path, body);
    expect([path, answer.status, status < 300 ? undefined : answer.body]).toEqual([path, status, undefined]);
    return answer;
  }

  until(what: string, probe: () => Promise<boolean>): Promise<boolean> {
    return eventually(what, probe, DEADLINE_MS);
  }
}

/** People who came last: a quarter, but at most `most`. */
export const fewOf = (emails: readonly string[], most: number) =>
  emails.slice(-Math.min(most, Math.ceil(emails.length / 4)));

/** Works through the items, six at a time. */
export async function each<Item>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<unknown>,
): Promise<void> {
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) await work(item, index);
  };
  await Promise.all(Array.from({ length: 6 }, worker));
}
