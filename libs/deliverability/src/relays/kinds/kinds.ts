import { brevoKind } from './brevo-kind.js';
import type { RelayKindRules } from './kind.js';
import { mailgunKind } from './mailgun-kind.js';
import { postmarkKind } from './postmark-kind.js';
import { sendgridKind } from './sendgrid-kind.js';
import { sesKind } from './ses-kind.js';
import { smtpKind } from './smtp-kind.js';

const KINDS = {
  SMTP: smtpKind,
  SES: sesKind,
  POSTMARK: postmarkKind,
  SENDGRID: sendgridKind,
  MAILGUN: mailgunKind,
  BREVO: brevoKind,
} satisfies Record<string, RelayKindRules>;

export type RelayKind = keyof typeof KINDS;
export const RELAY_KINDS = Object.keys(KINDS) as RelayKind[];

export function kindRules(kind: RelayKind): RelayKindRules {
  return KINDS[kind];
}
