import { type Answer, listAt, valueAt } from '../answer.js';
import type { ApiCall } from '../demo-request.js';
import { aTime, expectAnswer, textAt, textWith, Unmet } from '../expectation.js';
import type { Step } from '../step.js';
import type { Topic } from '../story.js';
import { consentPath, consentsOf, inboxOf, isFilled, WORKER_HINT } from './requests.js';

const KEY_HINT =
  'Is it another system than the key is from? `npm start` writes .data/demo.json anew with keys that work.';

/** From the first look around to a confirmed consent. */
export const signUpSteps: readonly Step[] = [
  {
    name: 'The key opens a project in its test environment',
    request: () => (mailwright) => mailwright.project(),
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
