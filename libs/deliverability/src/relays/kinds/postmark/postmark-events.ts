import { z } from 'zod';
import type { BounceClass } from '../../../bounces/bounce-rule.js';
import { bounceOf, readJson, shortField, textField, tokenField } from '../event-fields.js';
import type { FeedbackEvent, FeedbackFact } from '../feedback.js';

export const METADATA_KEY = 'mailwright';

/** The pages of postmarkapp.com/developer/webhooks: one event a request, whose kind is `RecordType`. */
const postmarkEvent = z.object({
  RecordType: z.string(),
  MessageID: shortField,
  Metadata: z.object({ [METADATA_KEY]: tokenField }).catch({ [METADATA_KEY]: null }),
  /** Of bounces and complaints; the others have `Recipient`. */
  Email: shortField,
  Recipient: shortField,
  Type: textField,
  Details: textField,
  SuppressSending: z.boolean().catch(false),
  SuppressionReason: textField,
});

type PostmarkEvent = z.output<typeof postmarkEvent>;

export function readPostmarkEvent(body: Buffer): FeedbackEvent[] {
  const event = readJson(body, postmarkEvent);
  const fact = factOf(event);
  if (fact === null) return [];
  return [
    {
      ...fact,
      token: event.Metadata[METADATA_KEY],
      providerMessageId: event.MessageID,
      address: event.Email ?? event.Recipient,
    },
  ];
}

function factOf(event: PostmarkEvent): FeedbackFact | null {
  switch (event.RecordType) {
    case 'Bounce':
      return factOfBounce(event);
    case 'SpamComplaint':
      return { kind: 'complaint' };
    case 'Delivery':
      return { kind: 'delivered' };
    case 'SubscriptionChange':
      return event.SuppressSending ? factOfSuppression(event.SuppressionReason) : null;
    default:
      return null;
  }
}

/** An address is suppressed for one of three reasons; who unsubscribes is so by hand (subscription-change-webhook). */
function factOfSuppression(reason: string): FeedbackFact | null {
  if (reason === 'ManualSuppression') return { kind: 'unsubscribed' };
  if (reason === 'SpamComplaint') return { kind: 'complaint' };
  return reason === 'HardBounce' ? bounceOf({ words: '' }, () => 'hard') : null;
}

type ClassOfType = BounceClass | ((byWords: BounceClass) => BounceClass);

/**
 * postmarkapp.com/developer/api/bounce-api, “Bounce types”, by name: the codes beside them differ between its pages. Postmark
 * has read the server's words itself and deactivates the address for a hard bounce; where its type leaves several reasons
 * open, the words decide between them. Not here, and so left out, are types that are no refusal: `Transient` (a delay, it
 * tries on), `Subscribe`, `AutoResponder`, `AddressChange`, `OpenRelayTest`, `ChallengeVerification`, `InboundError`.
 */
const CLASSES = new Map<string, ClassOfType>([
  ['HardBounce', 'hard'],
  ['BadEmailAddress', 'hard'],
  // “mailbox full, account disabled, exceeds quota, out of disk space”: not for good, whatever the words are.
  ['SoftBounce', (byWords) => (['hard', 'unknown'].includes(byWords) ? 'mailbox' : byWords)],
  ['DnsError', 'network'],
  // “either blocked by the user, or classified as spam, bulk mail, or had rejected content”
  ['SpamNotification', (byWords) => (byWords === 'policy' ? 'policy' : 'content')],
  ['VirusNotification', 'content'],
  ['TemplateRenderingFailed', 'content'],
  ['Blocked', 'policy'],
  ['DMARCPolicy', 'sender'],
  ['Unknown', (byWords) => byWords],
  // Postmark did not send them: it or its customer had reasons that are not named, which need not be the address.
  ['ManuallyDeactivated', 'unknown'],
  ['Unconfirmed', 'unknown'],
  ['SMTPApiError', 'unknown'],
]);

function factOfBounce({ Type, Details }: PostmarkEvent): FeedbackFact | null {
  if (Type === 'SpamComplaint') return { kind: 'complaint' };
  if (Type === 'Unsubscribe') return { kind: 'unsubscribed' };
  const known = CLASSES.get(Type);
  if (known === undefined) return null;
  return bounceOf({ words: Details }, (byWords) => (typeof known === 'string' ? known : known(byWords)));
}
