import { valueAt } from '../answer.js';
import { atLeast, expectAnswer, expectValues, textAt, textWith, Unmet } from '../expectation.js';
import type { Step } from '../step.js';
import { inboxOf, isFinished, newCampaign } from './requests.js';
import { WORKER_HINT } from './sign-up.steps.js';

const FIRST = 'First issue';

/** From the draft of a campaign to its report. */
export const campaignSteps: readonly Step[] = [
  {
    name: 'A campaign to both topics is drafted',
    request: (story) => newCampaign(FIRST, [story.fact('doubleOptIn'), story.fact('singleOptIn')]),
    check: (answer, story) => {
      expectAnswer(answer, 201, { status: 'DRAFT' });
      story.note('firstCampaign', textAt(answer, 'campaignKey'));
      return `it is ${story.fact('firstCampaign')}`;
    },
  },
  {
    name: 'It is sent',
    request: (story) => ({ method: 'POST', url: `/api/v1/campaigns/${story.fact('firstCampaign')}/send` }),
    check: (answer) => {
      expectAnswer(answer, 200, { status: 'QUEUED_FOR_SENDING' });
      return 'it passed the checks and is QUEUED_FOR_SENDING';
    },
  },
  {
    name: 'The worker sends it out',
    request: (story) => ({ method: 'GET', url: `/api/v1/campaigns/${story.fact('firstCampaign')}` }),
    isDone: isFinished,
    check: (answer) => {
      expectAnswer(answer, 200);
      if (!isFinished(answer)) throw new Unmet('SENT', textAt(answer, 'status'), WORKER_HINT);
      expectAnswer(answer, 200, { status: 'SENT' });
      return 'it is SENT';
    },
  },
  {
    name: 'Ada finds it in her inbox',
    request: (story) => inboxOf(story.ada, 'CAMPAIGN'),
    check: (answer, story) => {
      expectAnswer(answer, 200, { 'pagination.totalElements': 1, 'data.0.to': story.ada });
      story.note('messageId', textAt(answer, 'data.0.id'));
      return 'exactly one mail';
    },
  },
  {
    name: 'She opens it',
    request: (story) => ({ method: 'GET', url: `/api/v1/test-inbox/messages/${story.fact('messageId')}` }),
    check: (answer, story) => {
      expectAnswer(answer, 200, {
        subject: `${FIRST} for Ada`,
        html: textWith('Hello Ada'),
        text: textWith('Hello Ada'),
      });
      const link = textAt(answer, 'links.unsubscribe');
      // RFC 8058 §3.1: mailbox providers show their unsubscribe button for these two.
      expectValues([
        header(valueAt(answer, 'headers'), 'List-Unsubscribe', textWith(`<${link}>`)),
        header(valueAt(answer, 'headers'), 'List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'),
      ]);
      story.note('unsubscribeUrl', link);
      return 'it calls her by name and has both headers for one-click unsubscribing';
    },
  },
  {
    name: 'The report counts it',
    request: (story) => ({
      method: 'GET',
      url: `/api/v1/campaigns/${story.fact('firstCampaign')}/report/statistics`,
    }),
    check: (answer) => {
      expectAnswer(answer, 200, { totalSent: atLeast(2), totalDelivered: atLeast(2) });
      return `${Number(valueAt(answer, 'totalSent'))} sent, ${Number(valueAt(answer, 'totalDelivered'))} delivered`;
    },
  },
  {
    name: 'The worker makes a CSV of it',
    request: (story) => ({
      method: 'GET',
      url: `/api/v1/campaigns/${story.fact('firstCampaign')}/report/export`,
    }),
    check: (answer, story) => {
      expectAnswer(answer, 200);
      const [head, row] = answer.text.split('\r\n');
      expectValues([
        ['content-type', answer.headers.get('content-type'), textWith('text/csv')],
        ['first line', head, textWith('campaignKey,name,status,totalSent,')],
        ['second line', row, textWith(`${story.fact('firstCampaign')},${FIRST},SENT,`)],
      ]);
      return 'a line of headings and one of numbers';
    },
  },
];

/** Header names are looked up as they were written; the case of a header means nothing (RFC 5322 §1.2.2). */
function header<Wanted>(headers: unknown, name: string, wanted: Wanted): [string, unknown, Wanted] {
  const all = typeof headers === 'object' && headers !== null ? Object.entries(headers) : [];
  const found = all.find(([known]) => known.toLowerCase() === name.toLowerCase());
  return [name, found?.[1], wanted];
}
