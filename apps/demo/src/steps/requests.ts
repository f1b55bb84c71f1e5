import { type Answer, listAt, valueAt } from '../answer.js';
import type { ApiCall } from '../demo-request.js';
import { Unmet } from '../expectation.js';
import type { Topic } from '../story.js';

/** The hint after a step that waited for the worker in vain. */
export const WORKER_HINT = 'Mail is sent by the worker. Does it run?';

const UNFINISHED = ['QUEUED_FOR_SENDING', 'SENDING'];

export function consentsOf(email: string): ApiCall {
  return (mailwright) => mailwright.consents.of(email);
}

export function inboxOf(email: string, kind: 'OPT_IN' | 'CAMPAIGN'): ApiCall {
  return (mailwright) => mailwright.testInbox.all({ to: email, kind }).page();
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
