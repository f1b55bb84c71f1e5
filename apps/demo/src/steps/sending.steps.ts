import type { ApiCall } from '../demo-request.js';
import { expectAnswer, textAt, Unmet } from '../expectation.js';
import type { Step } from '../step.js';
import type { Topic } from '../story.js';
import { isFinished, WORKER_HINT } from './requests.js';

export const ISSUES = { firstCampaign: 'First issue', secondCampaign: 'Second issue' } as const;

const SHOWN = [
  'campaignKey',
  'name',
  'subject',
  'status',
  'estimatedRecipientCount',
  'preSendScore',
  'preSendStatus',
  'completedAt',
];

/** A campaign to both topics from its draft until it is SENT. */
export function sendingSteps(campaign: keyof typeof ISSUES, ordinal: string): readonly Step[] {
  return [
    {
      name: `The ${ordinal} campaign is drafted, for both topics`,
      request: (story) =>
        newCampaign(ISSUES[campaign], [story.fact('doubleOptIn'), story.fact('singleOptIn')]),
      shows: SHOWN,
      check: (answer, story) => {
        expectAnswer(answer, 201, { status: 'DRAFT' });
        story.note(campaign, textAt(answer, 'campaignKey'));
        return `it is ${story.fact(campaign)}`;
      },
    },
    {
      name: `The ${ordinal} campaign is sent off`,
      request: (story) => (mailwright) => mailwright.campaigns.send(story.fact(campaign)),
      shows: SHOWN,
      check: (answer) => {
        expectAnswer(answer, 200, { status: 'QUEUED_FOR_SENDING' });
        return 'it passed the checks before sending and is QUEUED_FOR_SENDING';
      },
    },
    {
      name: `The worker sends the ${ordinal} campaign out`,
      request: (story) => (mailwright) => mailwright.campaigns.get(story.fact(campaign)),
      isDone: isFinished,
      shows: SHOWN,
      check: (answer) => {
        expectAnswer(answer, 200);
        if (!isFinished(answer)) throw new Unmet('SENT', textAt(answer, 'status'), WORKER_HINT);
        expectAnswer(answer, 200, { status: 'SENT' });
        return 'it is SENT';
      },
    },
  ];
}

/** Addressed to each reader by name. */
function newCampaign(name: string, topics: readonly Topic[]): ApiCall {
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
  return (mailwright) =>
    mailwright.campaigns.create({
      name,
      subject: `${name} for {{ subscriber.first_name | default: "you" }}`,
      previewText: 'What you asked for',
      contentJson: JSON.stringify(content),
      topicIds: topics.map(({ id }) => id),
    });
}
