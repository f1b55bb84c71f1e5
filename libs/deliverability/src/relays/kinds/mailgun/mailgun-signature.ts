import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { jsonOf, shortText } from '../event-fields.js';
import type { FeedbackProof, FeedbackRequest, ReadFeedback } from '../feedback.js';
import { sameSecret } from '../same-secret.js';

/** Pages are those of documentation.mailgun.com/docs/mailgun. */
const signed = z.object({
  signature: z.object({
    // A string in the samples, `int` in the table of parameters.
    timestamp: z
      .union([z.string().regex(/^\d{1,12}$/), z.int().min(0).max(999_999_999_999)])
      .transform(String),
    token: shortText,
    signature: z.string(),
    'parent-signature': z.string().optional(),
  }),
});

const HOUR = 3_600_000;
/** Mailgun tries for 8 hours (user-manual/events/webhooks), and does not say that it signs anew each time. */
const OLDEST = 9 * HOUR;
const CLOCKS_DIFFER = HOUR / 12;

/**
 * user-manual/webhooks/securing-webhooks. The signature is over timestamp and token alone: it does not cover the event, and
 * whoever has seen a request could put another event under it. Against that are TLS, the secret in our address, the bound of
 * its age and that a token counts once. Events of a subaccount are signed with the key of the parent's too.
 */
export function isSigned({ body, receivedAt }: FeedbackRequest, { key }: FeedbackProof): Promise<boolean> {
  const request = key === null ? null : jsonOf(body.toString(), signed);
  if (request === null || key === null) return Promise.resolve(false);
  const { timestamp, token, signature, 'parent-signature': parent = '' } = request.signature;
  const age = receivedAt.getTime() - Number(timestamp) * 1_000;
  const expected = createHmac('sha256', key).update(`${timestamp}${token}`).digest('hex');
  return Promise.resolve(
    age <= OLDEST && age >= -CLOCKS_DIFFER && [signature, parent].some((each) => sameSecret(each, expected)),
  );
}

/** user-manual/webhooks/securing-webhooks: the token is to be kept, and no later request with the same one honored. */
export function onceTokenOf(body: Buffer): Pick<ReadFeedback, 'onceToken'> {
  const request = jsonOf(body.toString(), signed);
  if (request === null) return {};
  const { timestamp, token } = request.signature;
  return { onceToken: { value: token, until: new Date(Number(timestamp) * 1_000 + OLDEST) } };
}
