import { valueAt } from '../answer.js';
import { atLeast, expectAnswer, expectValues, textAt, textWith, type Wanted } from '../expectation.js';
import type { Step } from '../step.js';
import { inboxOf } from './requests.js';
import { ISSUES, sendingSteps } from './sending.steps.js';

const TITLE = ISSUES.firstCampaign;

/** From the draft of a campaign to its report. */
export const campaignSteps: readonly Step[] = [
  ...sendingSteps('firstCampaign', 'first'),
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
    name: 'Ada opens it',
    request: (story) => (mailwright) => mailwright.testInbox.get(story.fact('messageId')),
    shows: ['to', 'subject', 'text', 'headers.List-Unsubscribe', 'headers.List-Unsubscribe-Post'],
    check: (answer, story) => {
      expectAnswer(answer, 200, {
        subject: `${TITLE} for Ada`,
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
    request: (story) => (mailwright) => mailwright.reports.statistics(story.fact('firstCampaign')),
    check: (answer) => {
      expectAnswer(answer, 200, { totalSent: atLeast(2), totalDelivered: atLeast(2) });
      return `${Number(valueAt(answer, 'totalSent'))} sent, ${Number(valueAt(answer, 'totalDelivered'))} delivered`;
    },
  },
  {
    name: 'The worker makes a CSV of it',
    request: (story) => (mailwright) => mailwright.reports.export(story.fact('firstCampaign')),
    check: (answer, story) => {
      expectAnswer(answer, 200);
      const [head, row] = answer.text.split('\r\n');
      expectValues([
        ['content-type', answer.headers.get('content-type'), textWith('text/csv')],
        ['first line', head, textWith('campaignKey,name,status,totalSent,')],
        ['second line', row, textWith(`${story.fact('firstCampaign')},${TITLE},SENT,`)],
      ]);
      return 'a line of headings and one of numbers';
    },
  },
];

/** Looks up a header; names are case-insensitive (RFC 5322 §1.2.2). */
function header(headers: unknown, name: string, wanted: Wanted): [string, unknown, Wanted] {
  const all = typeof headers === 'object' && headers !== null ? Object.entries(headers) : [];
  const found = all.find(([known]) => known.toLowerCase() === name.toLowerCase());
  return [name, found?.[1], wanted];
}
