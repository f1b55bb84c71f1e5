import { aTime, expectAnswer, expectValues, textAt } from '../expectation.js';
import type { Step } from '../step.js';
import { consentPath, consentsOf, inboxOf } from './requests.js';
import { ISSUES, sendingSteps } from './sending.steps.js';

/** A one-click unsubscribe, and a campaign that skips the person. */
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
      // RFC 8058 §3.1: no redirect and no cookie.
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
  ...sendingSteps('secondCampaign', 'second'),
  {
    name: 'Grace, who stayed, has received both',
    request: (story) => inboxOf(story.grace, 'CAMPAIGN'),
    check: (answer) => {
      expectAnswer(answer, 200, {
        'pagination.totalElements': 2,
        'data.0.subject': `${ISSUES.secondCampaign} for Grace`,
        'data.1.subject': `${ISSUES.firstCampaign} for Grace`,
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
        'data.0.subject': `${ISSUES.firstCampaign} for Ada`,
      });
      return 'one mail still: the second campaign left her out';
    },
  },
];
