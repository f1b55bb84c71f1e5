import { z } from 'zod';
import type { BounceClass } from '../../../bounces/bounce-rule.js';
import { bounceOf, readJson, shortField, textField, tokenField } from '../event-fields.js';
import type { FeedbackEvent, FeedbackFact } from '../feedback.js';

export const VARIABLE = 'mailwright';

const NO_REJECT = { reason: '', description: '' };
const NO_STATUS = { code: 0, message: '', description: '', 'enhanced-code': null, 'bounce-code': null };

/** documentation.mailgun.com, “Event Structure” and the samples below it; webhooks have one event each. */
const mailgunEvent = z.object({
  'event-data': z.object({
    event: z.string(),
    severity: textField,
    reject: z.object({ reason: textField, description: textField }).catch(NO_REJECT),
    reason: textField,
    recipient: shortField,
    'user-variables': z.object({ [VARIABLE]: tokenField }).catch({ [VARIABLE]: null }),
    message: z
      .object({ headers: z.object({ 'message-id': shortField }) })
      .catch({ headers: { 'message-id': null } }),
    'delivery-status': z
      .object({
        code: z.number().catch(0),
        message: textField,
        description: textField,
        'enhanced-code': shortField,
        'bounce-code': shortField,
      })
      .catch(NO_STATUS),
  }),
});

type MailgunEvent = z.output<typeof mailgunEvent>['event-data'];

export function readMailgunEvent(body: Buffer): FeedbackEvent[] {
  const event = readJson(body, mailgunEvent)['event-data'];
  const fact = factOf(event);
  if (fact === null) return [];
  return [
    {
      ...fact,
      token: event['user-variables'][VARIABLE],
      providerMessageId: event.message.headers['message-id'],
      address: event.recipient,
    },
  ];
}

function factOf(event: MailgunEvent): FeedbackFact | null {
  switch (event.event) {
    case 'delivered':
      return { kind: 'delivered' };
    case 'complained':
      return { kind: 'complaint' };
    case 'unsubscribed':
      return { kind: 'unsubscribed' };
    case 'rejected':
      return factOfRejection(event);
    case 'failed':
      // A temporary failure is tried again.
      return event.severity === 'permanent' ? factOfFailure(event) : null;
    default:
      return null;
  }
}

/**
 * Mailgun gives up for all of: hard bounces, its retry limit, refusals by a provider, and addresses that it keeps from mail
 * itself (“Event Types”, `failed`). Of those the last ones have a reason that says why, and `bounce` need not be about the
 * address, as `generic` is not: so the server's words tell, and what they leave open is unknown.
 */
function factOfFailure({ reason, 'delivery-status': status }: MailgunEvent): FeedbackFact {
  if (reason === 'suppress-unsubscribe') return { kind: 'unsubscribed' };
  if (reason === 'suppress-complaint') return { kind: 'complaint' };
  const told = {
    words: status.message === '' ? status.description : status.message,
    code: status.code,
    enhancedCode: status['enhanced-code'] ?? status['bounce-code'],
  };
  return bounceOf(told, (byWords): BounceClass => (reason === 'suppress-bounce' ? 'hard' : byWords));
}

/**
 * “Event Types”, `rejected`: Mailgun itself refuses what it had accepted, for the account or the content. No server has seen the
 * mail, so that nothing is known of the address.
 */
function factOfRejection({ reject: { reason, description } }: MailgunEvent): FeedbackFact {
  const words = [reason, description].filter((part) => part !== '').join(': ');
  return bounceOf({ words }, (byWords): BounceClass => (byWords === 'hard' ? 'unknown' : byWords));
}
