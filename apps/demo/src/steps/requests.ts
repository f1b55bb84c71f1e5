import { type Answer, listAt, valueAt } from '../answer.js';
import { Unmet } from '../expectation.js';
import type { DemoRequest } from '../http-client.js';
import type { Topic } from '../story.js';

const UNFINISHED = ['QUEUED_FOR_SENDING', 'SENDING'];

export function consentsOf(email: string): DemoRequest {
  return { method: 'GET', url: `/api/v1/subscribers/${encodeURIComponent(email)}/consents` };
}

export function inboxOf(email: string, kind: 'OPT_IN' | 'CAMPAIGN'): DemoRequest {
  const query = new URLSearchParams({ to: email, kind });
  return { method: 'GET', url: `/api/v1/test-inbox/messages?${query.toString()}` };
}

/** A campaign to both topics, addressed to each reader by name. */
export function newCampaign(name: string, topics: readonly Topic[]): DemoRequest {
  const content = {
    blocks: [
      { type: 'heading', level: 1, text: name },
      {
        type: 'text',
        html: '<p>Hello {{ subscriber.first_name | default: "there" }}, here is what you asked for.</p>',
      },
      { type: 'button', label: 'Read it', url: 'https://example.com/news' },
    ],
  };
  return {
    method: 'POST',
    url: '/api/v1/campaigns',
    json: {
      name,
      subject: `${name} for {{ subscriber.first_name | default: "you" }}`,
      previewText: 'What you asked for',
      contentJson: JSON.stringify(content),
      topicIds: topics.map(({ id }) => id),
    },
  };
}

/** Whether a list has anything in it. */
export function isFilled(answer: Answer): boolean {
  return listAt(answer, 'data').length > 0;
}

/** Whether a campaign goes no further, sent or not. */
export function isFinished(answer: Answer): boolean {
  return !UNFINISHED.includes(String(valueAt(answer, 'status')));
}

/** The path of a topic's consent in the answer to `consentsOf`. */
export function consentPath(answer: Answer, { topicKey }: Topic): string {
  const consents = listAt(answer, 'consents');
  const index = consents.findIndex(
    (_, position) => valueAt(answer, `consents.${position}.topicKey`) === topicKey,
  );
  if (index === -1) throw new Unmet(`a consent for ${topicKey}`, `status ${answer.status} without one`);
  return `consents.${index}`;
}
