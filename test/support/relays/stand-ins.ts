import type { RelayKind } from '../../../libs/deliverability/src/relays/kinds/kinds.js';
import { brevo } from './brevo.js';
import { generic } from './generic.js';
import { mailgun } from './mailgun.js';
import { postmark } from './postmark.js';
import type { ProviderStandIn } from './provider-sink.js';
import { sendgrid } from './sendgrid.js';
import { ses } from './ses.js';

/** A provider of every kind. */
export const standIns: Readonly<Record<RelayKind, ProviderStandIn>> = {
  SMTP: generic,
  SES: ses,
  POSTMARK: postmark,
  SENDGRID: sendgrid,
  MAILGUN: mailgun,
  BREVO: brevo,
};
