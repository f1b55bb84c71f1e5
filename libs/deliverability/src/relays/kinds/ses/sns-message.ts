import { verify, X509Certificate } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { jsonOf, readJson } from '../event-fields.js';
import type { FeedbackProof, FeedbackRequest } from '../feedback.js';

/** docs.aws.amazon.com/sns/latest/dg/http-notification-json.html, and http-subscription-confirmation-json.html beside it. */
const snsMessage = z.object({
  Type: z.enum(['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation']),
  MessageId: z.string(),
  TopicArn: z.string(),
  Subject: z.string().nullish(),
  Message: z.string(),
  Timestamp: z.string(),
  Token: z.string().optional(),
  SubscribeURL: z.string().optional(),
  SignatureVersion: z.enum(['1', '2']),
  Signature: z.string(),
  SigningCertURL: z.string(),
});

type SnsMessage = z.output<typeof snsMessage>;

/** sns-verify-signature-of-message-verify-message-signature.html: names and values in this order; Subject where there is one. */
const SIGNED_OF_NOTIFICATION = ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'] as const;
const SIGNED_OF_CONFIRMATION = [
  'Message',
  'MessageId',
  'SubscribeURL',
  'Timestamp',
  'Token',
  'TopicArn',
  'Type',
] as const;
/** sns-verify-signature-of-message.html: version 1 is SHA1withRSA, 2 is SHA256withRSA. */
const HASHES = { 1: 'sha1', 2: 'sha256' } as const;
/** The hosts of SNS itself; `.cn` in AWS's regions in China. */
const SNS_HOST = /^sns\.[a-z0-9-]{3,30}\.amazonaws\.com(?:\.cn)?$/;

/** The envelope of SNS. Throws `UnreadableFeedbackError` for whatever else. */
export function readSnsMessage(body: Buffer): SnsMessage {
  return readJson(body, snsMessage);
}

/** What is asked to confirm a subscription; null in other messages: one about its end is not to be undone. */
export function confirmUrlOf({ Type, SubscribeURL }: SnsMessage): string | null {
  return Type === 'SubscriptionConfirmation' && isOfSns(SubscribeURL) ? SubscribeURL : null;
}

/**
 * Whether SNS signed the message. Anyone can have SNS sign messages of a topic of their own: sns-verify-signature-of-message.html
 * wants unexpected topics refused. So a relay that has pinned its topic has the TopicArn as its `proof.key`; without one the
 * secret in our address alone tells. A message resent is the same message: SNS names no bound of age.
 */
export async function isFromSns(
  { body, receivedAt }: FeedbackRequest,
  proof: FeedbackProof,
): Promise<boolean> {
  const message = jsonOf(body.toString(), snsMessage);
  if (message === null || (proof.key !== null && proof.key !== message.TopicArn)) return false;
  const { SigningCertURL, SubscribeURL } = message;
  if (!isOfSns(SigningCertURL) || !new URL(SigningCertURL).pathname.endsWith('.pem')) return false;
  if (message.Type !== 'Notification' && !isOfSns(SubscribeURL)) return false;
  const certificate = certificateOf(await proof.fetchText(SigningCertURL));
  return certificate !== null && isValidAt(certificate, receivedAt) && isSignedBy(certificate, message);
}

function isOfSns(address: string | undefined): address is string {
  const url = address === undefined ? null : URL.parse(address);
  if (url === null || url.protocol !== 'https:' || url.port !== '') return false;
  return url.username === '' && url.password === '' && SNS_HOST.test(url.hostname);
}

/** By its PEM. A region has one for months; a relay has one region. */
const certificates = new LRUCache<string, X509Certificate>({ max: 32 });

function certificateOf(pem: string): X509Certificate | null {
  const kept = certificates.get(pem);
  if (kept !== undefined) return kept;
  try {
    const certificate = new X509Certificate(pem);
    if (certificate.publicKey.asymmetricKeyType !== 'rsa') return null;
    certificates.set(pem, certificate);
    return certificate;
  } catch {
    return null;
  }
}

function isValidAt({ validFromDate, validToDate }: X509Certificate, moment: Date): boolean {
  return validFromDate <= moment && moment <= validToDate;
}

function isSignedBy({ publicKey }: X509Certificate, message: SnsMessage): boolean {
  const names = message.Type === 'Notification' ? SIGNED_OF_NOTIFICATION : SIGNED_OF_CONFIRMATION;
  const fields: Partial<Record<string, string | null>> = message;
  const signed = names.flatMap((name) => (fields[name] == null ? [] : [`${name}\n${fields[name]}\n`]));
  const signature = Buffer.from(message.Signature, 'base64');
  return verify(HASHES[message.SignatureVersion], Buffer.from(signed.join('')), publicKey, signature);
}
