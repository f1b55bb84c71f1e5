import type { ApiCall } from './demo-client.js';
import {
  type Answer,
  aTime,
  atLeast,
  expectAnswer,
  expectValues,
  listAt,
  textAt,
  textWith,
  Unmet,
  valueAt,
  type Wanted,
} from './answer.js';
import type { Step, Topic } from './flow.js';
import { COMMANDS } from './options.js';

const KEY_HINT = `Is it another system than the key is from? \`${COMMANDS.start}\` writes .data/demo.json anew with keys that work.`;
/** The hint after a step that waited for the worker in vain. */
const WORKER_HINT = 'Mail is sent by the worker. Does it run?';
const ISSUES = { firstCampaign: 'First issue', secondCampaign: 'Second issue' } as const;
const TITLE = ISSUES.firstCampaign;
const UNFINISHED = ['QUEUED_FOR_SENDING', 'SENDING'];
const ARTICLE = 'https://example.com/news';
const HOOK = 'https://example.com/hooks';
/** Longer than the two seconds for scanners, by clocks of which one shows whole seconds only. */
const READ_MS = 3_000;
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

/** All steps of the demo, in running order. */
export const flow: readonly Step[] = [
  // From the first look around to a confirmed consent.
  {
    name: 'The key opens a project in its test environment',
    request: () => (mailwright) => mailwright.project.get(),
    check: (answer) => {
      if (answer.status === 401) throw new Unmet('a key that is known here', 'status 401', KEY_HINT);
      expectAnswer(answer, 200, { environment: 'TEST' });
      return `it is ${textAt(answer, 'name')}; whatever it sends stays in its test inbox`;
    },
  },
  {
    name: 'The project has topics that people subscribe to',
    request: () => (mailwright) => mailwright.topics.all({ status: 'ACTIVE', size: 100 }).page(),
    check: (answer, story) => {
      expectAnswer(answer, 200);
      const doubleOptIn = oldestTopic(answer, true);
      const singleOptIn = oldestTopic(answer, false);
      story.note('doubleOptIn', doubleOptIn);
      story.note('singleOptIn', singleOptIn);
      return `${doubleOptIn.topicKey} asks for confirmation by mail, ${singleOptIn.topicKey} does not`;
    },
  },
  {
    name: 'Ada signs up for the topic that asks for confirmation',
    request: (story) => signUp('Ada', story.ada, story.fact('doubleOptIn')),
    check: (answer, story) => {
      expectAnswer(answer, 201, { email: story.ada, status: 'PENDING_CONFIRMATION' });
      return 'she is PENDING_CONFIRMATION until she says yes herself';
    },
  },
  {
    name: 'Grace signs up for the topic that does not',
    request: (story) => signUp('Grace', story.grace, story.fact('singleOptIn')),
    check: (answer, story) => {
      expectAnswer(answer, 201, { email: story.grace, status: 'ACTIVE' });
      return 'she is ACTIVE at once';
    },
  },
  {
    name: 'The worker sends Ada a confirmation mail',
    request: (story) => inboxOf(story.ada, 'OPT_IN'),
    isDone: isFilled,
    check: (answer, story) => {
      expectAnswer(answer, 200);
      if (!isFilled(answer)) throw new Unmet('a mail to Ada', 'an empty inbox', WORKER_HINT);
      expectAnswer(answer, 200, { 'data.0.to': story.ada, 'data.0.links.confirm': textWith('/c/') });
      story.note('confirmUrl', textAt(answer, 'data.0.links.confirm'));
      return 'it holds a link to confirm with';
    },
  },
  {
    name: 'A mail scanner looks behind the link',
    request: (story) => ({ method: 'GET', url: story.fact('confirmUrl') }),
    check: (answer) => {
      expectAnswer(answer, 200);
      return 'there is a page with a button';
    },
  },
  {
    name: 'Looking has confirmed nothing',
    request: (story) => consentsOf(story.ada),
    check: (answer, story) => {
      const path = consentPath(answer, story.fact('doubleOptIn'));
      expectAnswer(answer, 200, {
        [`${path}.status`]: 'PENDING_CONFIRMATION',
        [`${path}.confirmedAt`]: null,
      });
      return 'the consent is still PENDING_CONFIRMATION';
    },
  },
  {
    name: 'Ada presses the button of the page',
    request: (story) => ({ method: 'POST', url: story.fact('confirmUrl'), form: {} }),
    check: (answer) => {
      expectAnswer(answer, 200);
      return 'the page thanks her';
    },
  },
  {
    name: 'Now her consent is there',
    request: (story) => consentsOf(story.ada),
    check: (answer, story) => {
      const path = consentPath(answer, story.fact('doubleOptIn'));
      expectAnswer(answer, 200, { [`${path}.status`]: 'SUBSCRIBED', [`${path}.confirmedAt`]: aTime });
      return `SUBSCRIBED, confirmed at ${textAt(answer, `${path}.confirmedAt`)}`;
    },
  },
  // From the draft of a campaign to its report.
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
      const [, tracked = ''] = /href="([^"]*\/l\/[^"]*)"/.exec(textAt(answer, 'html')) ?? [];
      story.note('trackedUrl', tracked);
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
  // A click, by the address of its link.
  {
    name: 'Ada takes a moment to read: who clicks within two seconds is taken for a scanner',
    request: (story) => (mailwright) => mailwright.testInbox.get(story.fact('messageId')),
    isDone: isRead,
    shows: ['receivedAt'],
    check: (answer) => {
      expectAnswer(answer, 200);
      if (!isRead(answer)) throw new Unmet('a mail of some seconds ago', textAt(answer, 'receivedAt'));
      return 'a person could have read it by now';
    },
  },
  {
    name: 'Ada clicks its button',
    request: (story) => ({ method: 'GET', url: story.fact('trackedUrl') }),
    check: (answer) => {
      if (answer.status !== 302) expectAnswer(answer, 302);
      expectValues([['location', answer.headers.get('location'), ARTICLE]]);
      return `she is led to ${ARTICLE}`;
    },
  },
  {
    name: 'The report names the link that she followed',
    request: (story) => (mailwright) => mailwright.reports.links(story.fact('firstCampaign')),
    isDone: (answer) => Number(valueAt(answer, '0.clicks')) > 0,
    check: (answer) => {
      expectAnswer(answer, 200, { '0.url': ARTICLE, '0.clicks': 1, '0.uniqueClicks': 1 });
      return '1 click, by 1 person';
    },
  },
  // A one-click unsubscribe, and a campaign that skips the person.
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
  // An event of the shop, and its values in a mail.
  {
    name: 'An automation is drafted, which thanks for orders',
    request: (story) => (mailwright) =>
      mailwright.automations.create({
        name: 'Thanks for an order',
        triggerType: 'custom_event',
        triggerTopicId: story.fact('singleOptIn').id,
      }),
    shows: ['id', 'name', 'status', 'triggerType'],
    check: (answer, story) => {
      expectAnswer(answer, 201, { status: 'DRAFT' });
      story.note('automation', textAt(answer, 'id'));
      return 'it is a DRAFT';
    },
  },
  {
    name: 'Its mail has merge tags of the event',
    request: (story) => (mailwright) =>
      mailwright.automations.updateContent(story.fact('automation'), thanksForOrder()),
    shows: ['nodeCount'],
    check: (answer) => {
      expectAnswer(answer, 200, { nodeCount: 2 });
      return 'an order of 50 or more begins it';
    },
  },
  {
    name: 'It is activated',
    request: (story) => (mailwright) => mailwright.automations.activate(story.fact('automation')),
    shows: ['status', 'warnings'],
    check: (answer) => {
      expectAnswer(answer, 200, { status: 'ACTIVE' });
      return 'it is ACTIVE, and says which merge tags no event has had yet';
    },
  },
  {
    name: 'The shop reports two orders of Grace',
    request: (story) => (mailwright) =>
      mailwright.subscribers.recordEvents({
        events: [order(story.grace, 1041, 49), order(story.grace, 1042, 62.5)],
      }),
    check: (answer) => {
      expectAnswer(answer, 202, { accepted: 2, repeated: 0 });
      return 'both are recorded';
    },
  },
  {
    name: 'Grace gets a mail for the greater one, with its number',
    request: (story) => inboxOf(story.grace, 'AUTOMATION'),
    isDone: isFilled,
    check: (answer) => {
      expectAnswer(answer, 200);
      if (!isFilled(answer)) throw new Unmet('a mail to Grace', 'an empty inbox', WORKER_HINT);
      expectAnswer(answer, 200, { 'pagination.totalElements': 1, 'data.0.subject': 'Your order 1042' });
      return textAt(answer, 'data.0.subject');
    },
  },
  {
    name: 'The automation is paused again',
    request: (story) => (mailwright) => mailwright.automations.pause(story.fact('automation')),
    shows: ['status', 'totalEntered'],
    check: (answer) => {
      expectAnswer(answer, 200, { status: 'PAUSED', totalEntered: 1 });
      return 'later orders begin nothing';
    },
  },
  // A program that is told.
  {
    name: 'A program is to be told by a webhook',
    request: () => (mailwright) =>
      mailwright.webhookEndpoints.create({ url: HOOK, events: ['campaign.*', 'automation.*'] }),
    shows: ['id', 'url', 'events', 'status'],
    check: (answer, story) => {
      expectAnswer(answer, 201, { url: HOOK });
      story.note('endpoint', textAt(answer, 'id'));
      textAt(answer, 'secret');
      return 'its posts are signed with the secret, which is shown this once';
    },
  },
  {
    name: 'It is told no more',
    request: (story) => (mailwright) => mailwright.webhookEndpoints.delete(story.fact('endpoint')),
    check: (answer) => {
      expectAnswer(answer, 204);
      return 'the endpoint is deleted';
    },
  },
];

function signUp(firstName: string, email: string, topic: Topic): ApiCall {
  return (mailwright) =>
    mailwright.subscribers.create({
      email,
      firstName,
      topicKeys: [topic.topicKey],
      consent: { source: 'demo', consentText: `Yes, mail me about ${topic.name}.` },
    });
}

/** Lists begin with the newest. */
function oldestTopic(answer: Answer, doubleOptInEnabled: boolean): Topic {
  const topics = listAt(answer, 'data');
  const index = topics.findLastIndex(
    (_, position) => valueAt(answer, `data.${position}.doubleOptInEnabled`) === doubleOptInEnabled,
  );
  if (index === -1) {
    const kind = doubleOptInEnabled ? 'with' : 'without';
    throw new Unmet(`an active topic ${kind} double opt-in`, `${topics.length} topics, none of that kind`);
  }
  const text = (name: string) => textAt(answer, `data.${index}.${name}`);
  return { id: text('id'), topicKey: text('topicKey'), name: text('name') };
}

/** Looks up a header; names are case-insensitive (RFC 5322 §1.2.2). */
function header(headers: unknown, name: string, wanted: Wanted): [string, unknown, Wanted] {
  const all = typeof headers === 'object' && headers !== null ? Object.entries(headers) : [];
  const found = all.find(([known]) => known.toLowerCase() === name.toLowerCase());
  return [name, found?.[1], wanted];
}

/** A campaign to both topics from its draft until it is SENT. */
function sendingSteps(campaign: keyof typeof ISSUES, ordinal: string): readonly Step[] {
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
      { type: 'button', label: 'Read it', url: ARTICLE },
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

function consentsOf(email: string): ApiCall {
  return (mailwright) => mailwright.consents.of(email);
}

/** Content of an automation: a mail for each order of 50 or more, by its number. */
function thanksForOrder() {
  const where = [{ property: 'total', op: 'gte', value: 50 }];
  const html = '<p>Thank you! {{ event.total }} € in all.</p>';
  const mail = {
    subject: 'Your order {{ event.number }}',
    contentJson: JSON.stringify({ blocks: [{ type: 'text', html }] }),
  };
  const nodes = [
    { id: 'order', type: 'trigger', config: { eventName: 'order', where } },
    { id: 'thanks', type: 'email', config: mail },
  ];
  const edges = [{ id: 'then', source: 'order', target: 'thanks' }];
  return { nodes: JSON.stringify(nodes), edges: JSON.stringify(edges) };
}

function order(email: string, number: number, total: number) {
  return { email, name: 'order', properties: { number, total } };
}

function inboxOf(email: string, kind: 'OPT_IN' | 'CAMPAIGN' | 'AUTOMATION'): ApiCall {
  return (mailwright) => mailwright.testInbox.all({ to: email, kind }).page();
}

/** True for a list with anything in it. */
function isFilled(answer: Answer): boolean {
  return listAt(answer, 'data').length > 0;
}

/** True for a mail that came long enough ago, by the server's clock. */
function isRead(answer: Answer): boolean {
  const now = Date.parse(answer.headers.get('date') ?? '');
  return now - Date.parse(String(valueAt(answer, 'receivedAt'))) >= READ_MS;
}

/** True for a campaign that goes no further, sent or not. */
function isFinished(answer: Answer): boolean {
  return !UNFINISHED.includes(String(valueAt(answer, 'status')));
}

/** The path of a topic's consent in the answer to `consentsOf`. */
function consentPath(answer: Answer, { topicKey }: Topic): string {
  const consents = listAt(answer, 'consents');
  const index = consents.findIndex(
    (_, position) => valueAt(answer, `consents.${position}.topicKey`) === topicKey,
  );
  if (index === -1) throw new Unmet(`a consent for ${topicKey}`, `status ${answer.status} without one`);
  return `consents.${index}`;
}
