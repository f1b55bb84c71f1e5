import { type Refusal, refusalOf } from './refusal.js';
import { fieldGroupsOf, type Fields } from './report-parts.js';

/** Content of a delivery status notification: the mail failed, with the words for it, or something else happened. */
export type DeliveryStatus =
  | { readonly action: 'failed'; readonly refusal: Refusal; readonly recipient: string | null }
  | { readonly action: 'delayed' | 'relayed' | 'delivered' | 'expanded' | 'none' };

/** RFC 3464 §2.3.3; for `failed` some servers have words of their own: `failure`, `error`, `expired`. */
const OTHER_ACTIONS = ['delayed', 'relayed', 'delivered', 'expanded'] as const;
const FAILED = /^(?:fail|error|expired|bounced|undeliver)/;
const STATUS = /^([245])\.(\d{1,3})\.(\d{1,3})(?!\d)/;

/** `smtp; 550 …`: the type of the code is for readers who know more of them. */
const DIAGNOSTIC_TYPE = /^[\w.-]{1,40}\s{0,9};\s{0,9}/;

/**
 * Reads the fields of message/delivery-status (RFC 3464 §2.3); null when they are of no recipient. One failed recipient
 * is enough: a mail has only one.
 */
export function deliveryStatusOf(text: string): DeliveryStatus | null {
  const recipients = fieldGroupsOf(text).filter(isOfRecipient);
  if (recipients.length === 0) return null;
  const failed = recipients.find((fields) => actionOf(fields) === 'failed');
  if (failed !== undefined)
    return { action: 'failed', refusal: refusalOfRecipient(failed), recipient: recipientOf(failed) };
  return { action: recipients.map(actionOf).find((action) => action !== 'failed') ?? 'none' };
}

/** A few servers omit action and status and give the reply alone. */
function isOfRecipient(fields: Fields): boolean {
  if (fields.has('action') || fields.has('status')) return true;
  return fields.has('final-recipient') && fields.has('diagnostic-code');
}

/** `rfc822; ada@example.com` (RFC 3464 §2.3.2). */
function recipientOf(fields: Fields): string | null {
  const address =
    fields
      .get('final-recipient')
      ?.replace(/^[^;]{0,40};/, '')
      .replaceAll(/[<>\s]/g, '') ?? '';
  return address === '' ? null : address;
}

/** Without a known action, a permanent status decides; without that, the reply. */
function actionOf(fields: Fields): DeliveryStatus['action'] {
  const word = /^[a-z]{1,40}/i.exec(fields.get('action') ?? '')?.[0]?.toLowerCase() ?? '';
  const other = OTHER_ACTIONS.find((action) => action === word);
  if (other !== undefined) return other;
  const status = fields.get('status') ?? fields.get('diagnostic-code')?.replace(DIAGNOSTIC_TYPE, '') ?? '';
  return FAILED.test(word) || /^5(?:\.|\d\d\b)/.test(status) ? 'failed' : 'none';
}

function refusalOfRecipient(fields: Fields): Refusal {
  const field = fields.get('status') ?? '';
  const [all = '', kind, enhanced, detail] = STATUS.exec(field) ?? [];
  const status = kind === undefined ? null : `${kind}.${Number(enhanced)}.${Number(detail)}`;
  const diagnostic = (fields.get('diagnostic-code') ?? '').replace(DIAGNOSTIC_TYPE, '');
  // `5.1.1 (user unknown)`
  const refusal = refusalOf(diagnostic === '' ? field.slice(all.length) : diagnostic, status);
  return isGivenUpDomain(refusal) ? { ...refusal, enhancedCode: '5.1.2' } : refusal;
}

/** Google's report that it gave up a domain that does not exist has a temporary status that says nothing. */
function isGivenUpDomain({ code, enhancedCode, text }: Refusal): boolean {
  return code === 0 && enhancedCode === '4.0.0' && /\bNXDOMAIN\b/.test(text);
}
