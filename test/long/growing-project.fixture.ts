import type { ApiClient } from '#testing/http/api-client';
import { GrowingAudience } from './growing-audience.fixture.js';
import { GrowingMail } from './growing-mail.fixture.js';
import { type Named, ProjectRequests, type Step } from './project-requests.fixture.js';

/** Behaviours of simulated mailboxes, which every tenth of the people has, in turn. */
const BEHAVIOURS = ['opened', 'clicked', 'soft-bounced', 'unsubscribed'];

/**
 * Does with a project what its owner would do, with as many people as is said each time: always the same requests in
 * the same order, whether there are five people or thousands.
 */
export class ProjectLife {
  #years = 0;
  #topics: Record<'news' | 'confirmed' | 'joined', Named> | null = null;
  readonly #audience: GrowingAudience;
  readonly #mail: GrowingMail;
  readonly #at: ProjectRequests;

  constructor(client: ApiClient, step: Step) {
    this.#at = new ProjectRequests(client, step);
    this.#audience = new GrowingAudience(this.#at);
    this.#mail = new GrowingMail(this.#at);
  }

  /** Makes what is there only once. */
  async begin(): Promise<void> {
    const options = ['free', 'pro'].map((value) => ({ value, label: value }));
    await this.#at.post('/custom-fields', { key: 'plan', displayName: 'Plan', type: 'SELECT', options });
    await this.#at.post('/custom-fields', { key: 'age', displayName: 'Age', type: 'NUMBER' });
    this.#topics = {
      news: await this.#at.topic('News', false),
      confirmed: await this.#at.topic('Confirmed', true),
      joined: await this.#at.topic('Joined', false),
    };
  }

  /** All of it, with `people` who were not there before. */
  async year(people: number): Promise<void> {
    const year = (this.#years += 1);
    const emails = Array.from({ length: people }, (_, index) => {
      const behaviour = index % 10 === 7 ? BEHAVIOURS[Math.floor(index / 10) % BEHAVIOURS.length] : 'reader';
      return `${behaviour}+${year}-${index}@example.com`;
    });
    const { news, confirmed, joined } = this.#known();
    const automations = await this.#mail.automations(joined);
    await this.#audience.importing(emails, news, confirmed);
    const segments = await this.#audience.segments(emails, news, year);
    await this.#audience.events(emails, year);
    await this.#mail.automated(emails, joined, automations);
    const campaign = await this.#mail.campaign(news, segments, people);
    await this.#mail.report(campaign);
    await this.#mail.after(segments, campaign, news, emails);
    await this.#audience.lists(emails, news, segments);
    await this.#audience.leaving(emails, confirmed);
    await this.#audience.endOfTopic(emails);
  }

  #known(): Record<'news' | 'confirmed' | 'joined', Named> {
    if (this.#topics === null) throw new Error('It has not begun.');
    return this.#topics;
  }
}
