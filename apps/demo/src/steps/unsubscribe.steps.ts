import { aTime, expectAnswer, expectValues, textAt, Unmet } from '../expectation.js';
import type { Step } from '../step.js';
import { consentPath, consentsOf, inboxOf, isFinished, newCampaign } from './requests.js';
import { WORKER_HINT } from './sign-up.steps.js';

const SECOND = 'Second issue';

/** One click, and the next campaign comes without. */
export const unsubscribeSteps: readonly Step[] = [
  {
    name: 'Ada unsubscribes with the button of her mail program',
    request: (story) => ({
      method: 'POST',
      url: story.fact('unsubscribeUrl'),
      form: { 'List-Unsubscribe': 'One-Click' },
    }),
    check: (answer) => {
      expectAnswer(answer, 200);
      // RFC 8058 §3.1: no redirect, and nothing that tells the reader apart.
      expectValues([['set-cookie', answer.headers.get('set-cookie'), null]]);
      return 'done at once: no question, no redirect, no cookie';
    },
  },
  {
    name: 'Her consent is gone',
    request: (story) => consentsOf(story.ada),
    check: (answer, story) => {
      const path = consentPath(answer, story.fact('doubleOptIn'));
      expectAnswer(answer, 200, { [`${path}.status`]: 'UNSUBSCRIBED', [`${path}.revokedAt`]: aTime });
      return `UNSUBSCRIBED, revoked at ${textAt(answer, `${path}.revokedAt`)}`;
    },
  },
  {
    name: 'A second campaign to the same topics is drafted',
    request: (story) => newCampaign(SECOND, [story.fact('doubleOptIn'), story.fact('singleOptIn')]),
    check: (answer, story) => {
      expectAnswer(answer, 201, { status: 'DRAFT' });
      story.note('secondCampaign', textAt(answer, 'campaignKey'));
      return `it is ${story.fact('secondCampaign')}`;
    },
  },
  {
    name: 'It is sent',
    request: (story) => ({ method: 'POST', url: `/api/v1/campaigns/${story.fact('secondCampaign')}/send` }),
    check: (answer) => {
      expectAnswer(answer, 200, { status: 'QUEUED_FOR_SENDING' });
      return 'it is QUEUED_FOR_SENDING';
    },
  },
  {
    name: 'The worker sends it out',
    request: (story) => ({ method: 'GET', url: `/api/v1/campaigns/${story.fact('secondCampaign')}` }),
    isDone: isFinished,
    check: (answer) => {
      expectAnswer(answer, 200);
      if (!isFinished(answer)) throw new Unmet('SENT', textAt(answer, 'status'), WORKER_HINT);
      expectAnswer(answer, 200, { status: 'SENT' });
      return 'it is SENT';
    },
  },
  {
    name: 'Grace, who stayed, has received both',
    request: (story) => inboxOf(story.grace, 'CAMPAIGN'),
    check: (answer) => {
      expectAnswer(answer, 200, {
        'pagination.totalElements': 2,
        'data.0.subject': `${SECOND} for Grace`,
        'data.1.subject': 'First issue for Grace',
      });
      return 'two mails';
    },
  },
  {
    name: 'Ada, who left, has received only the first',
    request: (story) => inboxOf(story.ada, 'CAMPAIGN'),
    check: (answer) => {
      expectAnswer(answer, 200, {
        'pagination.totalElements': 1,
        'data.0.subject': 'First issue for Ada',
      });
      return 'one mail still: the second campaign left her out';
    },
  },
];
