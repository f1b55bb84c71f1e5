import { HeaderValueError, phrase } from './header-encoding.js';
import type { Header } from './mime-message.js';

export interface ListHeaderInput {
  /** Stable dotted name below a domain, without angle brackets (RFC 2919 §2). */
  readonly listId: string;
  readonly listName: string;
  /** `a:b:c:sender`, the last field stable for the sender. */
  readonly feedbackId: string;
}

const LIST_ID = /^[\w-]+(?:\.[\w-]+)+$/;
const URL_IN_BRACKETS = /^https?:\/\/[!#-;=?-~]+$/;
const ADDRESS = /^[!#-;=?-~]+@[!#-;=?-~]+$/;
const FEEDBACK_ID = /^[\w.-]*(?::[\w.-]*){1,3}$/;

/**
 * The headers that all mails to a list have: List-Id (RFC 2919), the one-click post of RFC 8058 §3.1, Feedback-ID and
 * Precedence.
 * @throws {HeaderValueError} when a value does not fit its header
 */
export function listHeaders(input: ListHeaderInput): Header[] {
  check('List-Id', LIST_ID, input.listId);
  check('Feedback-ID', FEEDBACK_ID, input.feedbackId);
  const name = input.listName === '' ? '' : `${phrase('List-Id', input.listName)} `;
  return [
    ['List-Id', `${name}<${input.listId}>`],
    ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
    ['Feedback-ID', input.feedbackId],
    ['Precedence', 'bulk'],
  ];
}

/**
 * List-Unsubscribe (RFC 2369), personal to the delivery: the web address, which takes the one-click POST, comes first and stays
 * on one line.
 * @param mailto unsubscribes by mail
 * @throws {HeaderValueError} when an address does not fit
 */
export function unsubscribeHeader(url: string, mailto: string): Header {
  check('List-Unsubscribe', URL_IN_BRACKETS, url);
  check('List-Unsubscribe', ADDRESS, mailto);
  return ['List-Unsubscribe', `<${url}>, <mailto:${mailto}>`];
}

/** The header of mail that a machine sends on its own account, such as an opt-in confirmation (RFC 3834 §5). */
export function systemHeaders(): Header[] {
  return [['Auto-Submitted', 'auto-generated']];
}

function check(header: string, pattern: RegExp, value: string): void {
  if (!pattern.test(value)) throw new HeaderValueError(header, 'has a value that does not fit it');
}
