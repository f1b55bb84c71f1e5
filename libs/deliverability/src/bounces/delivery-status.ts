import type { Refusal } from './bounce-class.js';
import { type Fields, fieldGroupsOf } from './report-fields.js';
import { refusalOf } from './refusal-text.js';

/** What a delivery status notification says: the mail failed, with the words for it, or something else happened. */
export type DeliveryStatus =
  | { readonly action: 'failed'; readonly refusal: Refusal; readonly recipient: string | null }
  | { readonly action: 'delayed' | 'relayed' | 'delivered' | 'expanded' | 'none' };

const ACTIONS = ['failed', 'delayed', 'relayed', 'delivered', 'expanded'] as const;

/** Reads the fields of message/delivery-status (RFC 3464 §2.3). One failed recipient is enough: a mail has only one. */
export function deliveryStatusOf(text: string): DeliveryStatus {
  const recipients = fieldGroupsOf(text).filter((fields) => fields.has('action'));
  const failed = recipients.find((fields) => actionOf(fields) === 'failed');
  if (failed !== undefined)
    return { action: 'failed', refusal: refusalOfRecipient(failed), recipient: recipientOf(failed) };
  return { action: recipients.map(actionOf).find((action) => action !== 'failed') ?? 'none' };
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

function actionOf(fields: Fields): DeliveryStatus['action'] {
  const word = /^[a-z]+/i.exec(fields.get('action') ?? '')?.[0]?.toLowerCase();
  return ACTIONS.find((action) => action === word) ?? 'none';
}

function refusalOfRecipient(fields: Fields): Refusal {
  const [, kind, enhanced, detail] =
    /^([245])\.(\d{1,3})\.(\d{1,3})(?!\d)/.exec(fields.get('status') ?? '') ?? [];
  const status = kind === undefined ? null : `${kind}.${Number(enhanced)}.${Number(detail)}`;
  // `smtp; 550 …`: the type of the code is for readers who know more of them.
  const diagnostic = (fields.get('diagnostic-code') ?? '').replace(/^[\w.-]{1,40}\s*;\s*/, '');
  return refusalOf(diagnostic, status);
}
