import { brevoKind } from './brevo/brevo-kind.js';
import type { RelayKindRules } from './kind.js';
import { mailgunKind } from './mailgun/mailgun-kind.js';
import { postmarkKind } from './postmark/postmark-kind.js';
import { sendgridKind } from './sendgrid/sendgrid-kind.js';
import { sesKind } from './ses/ses-kind.js';
import { smtpKind } from './smtp/smtp-kind.js';

const KINDS = {
  SMTP: smtpKind,
  SES: sesKind,
  POSTMARK: postmarkKind,
  SENDGRID: sendgridKind,
  MAILGUN: mailgunKind,
  BREVO: brevoKind,
} satisfies Record<string, RelayKindRules>;

/** Whose relay it is. */
export type RelayKind = keyof typeof KINDS;
export const RELAY_KINDS = Object.keys(KINDS) as RelayKind[];

export function kindRules(kind: RelayKind): RelayKindRules {
  return KINDS[kind];
}
