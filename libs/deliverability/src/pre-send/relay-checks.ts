import type { CampaignFacts } from './campaign-facts.js';
import { check, listed, pass, type PreSendCheck, skip } from './pre-send-check.js';

/** Whether a relay takes the mail now. */
export function relaysCheck({ relays }: CampaignFacts): PreSendCheck {
  const code = 'relays';
  if (relays === null) return skip(code, 'Test mail stays in its inbox.');
  if (relays.length === 0) return pass(code, 'The relay of the installation sends it.');
  const active = relays.filter(({ status }) => status === 'ACTIVE');
  const unable = relays.map(({ name, status }) => `${name} is ${status}`);
  return check(
    code,
    active.length > 0,
    listed(
      'Relays that send it',
      active.map(({ name }) => name),
    ),
    `${listed('The mail will wait, because no relay for campaigns can be used', unable)} Repair or resume one.`,
  );
}

/** Tells whose provider is silent: then nobody learns of bounces and complaints. It never fails. */
export function relayFeedback({ relays }: CampaignFacts): PreSendCheck {
  const code = 'relay-feedback';
  if (relays === null || relays.length === 0) return skip(code, 'No relay of the project sends it.');
  const silent = relays.filter(({ isSilent }) => isSilent).map(({ name }) => name);
  return pass(
    code,
    silent.length === 0
      ? 'No provider that was handed mail is silent about it.'
      : `${listed('No provider has told what became of the mail of', silent)} Enter the feedbackUrl of the relay there.`,
  );
}
