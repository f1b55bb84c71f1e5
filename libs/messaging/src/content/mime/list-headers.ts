import { HeaderValueError, phrase } from './header-encoding.js';
import type { Header } from './mime-message.js';

export interface ListHeaderInput {
  /** Stable dotted name below a domain, without angle brackets (RFC 2919 §2). */
  readonly listId: string;
  readonly listName: string;
  /** Takes the one-click POST; personal to the delivery. */
  readonly unsubscribeUrl: string;
  /** Address, with or without `mailto:`, that unsubscribes by mail. */
  readonly unsubscribeMailto: string | null;
  /** `a:b:c:sender`, the last field stable for the sender. */
  readonly feedbackId: string;
}

const LIST_ID = /^[\w-]+(?:\.[\w-]+)+$/;
const URL_IN_BRACKETS = /^https?:\/\/[!#-;=?-~]+$/;
const MAILTO = /^mailto:[!#-;=?-~]+@[!#-;=?-~]+$/;
const FEEDBACK_ID = /^[\w.-]*(?::[\w.-]*){1,3}$/;

/**
 * The headers of bulk mail: List-Id (RFC 2919), List-Unsubscribe (RFC 2369) with the one-click post of
 * RFC 8058 §3.1, Feedback-ID and Precedence. The web address comes first and stays on one line.
 * @throws {HeaderValueError} when a value does not fit its header
 */
export function listHeaders(input: ListHeaderInput): Header[] {
  const mailto = input.unsubscribeMailto?.replace(/^(?!mailto:)/i, 'mailto:') ?? null;
  check('List-Id', LIST_ID, input.listId);
  check('List-Unsubscribe', URL_IN_BRACKETS, input.unsubscribeUrl);
  if (mailto !== null) check('List-Unsubscribe', MAILTO, mailto);
  check('Feedback-ID', FEEDBACK_ID, input.feedbackId);
  const name = input.listName === '' ? '' : `${phrase('List-Id', input.listName)} `;
  return [
    ['List-Id', `${name}<${input.listId}>`],
    [
      'List-Unsubscribe',
      [input.unsubscribeUrl, mailto]
        .filter((url) => url !== null)
        .map((url) => `<${url}>`)
        .join(', '),
    ],
    ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
    ['Feedback-ID', input.feedbackId],
    ['Precedence', 'bulk'],
  ];
}

/** The header of mail that a machine sends on its own account, such as an opt-in confirmation (RFC 3834 §5). */
export function systemHeaders(): Header[] {
  return [['Auto-Submitted', 'auto-generated']];
}

function check(header: string, pattern: RegExp, value: string): void {
  if (!pattern.test(value)) throw new HeaderValueError(header, 'has a value that does not fit it');
}
