import { counted } from '#kernel';
import type { CampaignFacts, ContentFacts, SenderFacts } from './campaign-facts.js';
import { dmarcFailure, failsDmarc } from './dmarc-failure.js';
import { check, fail, listed, pass, type PreSendCheck, skip } from './pre-send-check.js';

/** Why a check of the content is not made. */
export const UNREADABLE = 'Not looked at: the content cannot be read yet.';

/** The checks that refuse `schedule` and `send`, in the order in which an author would mend them. */
export function criticalChecks(facts: CampaignFacts): PreSendCheck[] {
  return [
    topicCheck(facts),
    recipientsCheck(facts),
    senderDomainCheck(facts.sender),
    check(
      'subscription-active',
      facts.sendingAllowed,
      'The subscription allows sending.',
      'The subscription does not allow sending.',
    ),
    quotaCheck(facts),
    ...criticalContentChecks(facts),
  ];
}

const inactiveOf = (named: CampaignFacts['segments']): string[] =>
  named.filter(({ status }) => status !== 'ACTIVE').map(({ name }) => name);

function topicCheck({ topics, deleted }: CampaignFacts): PreSendCheck {
  const inactive = inactiveOf(topics);
  if (topics.length === 0) return fail('topic', 'The campaign has no topic: set topicIds.');
  if (deleted.topics > 0)
    return fail('topic', `It names ${counted(deleted.topics, 'topic')} deleted since: set topicIds anew.`);
  return inactive.length > 0
    ? fail('topic', `Not active: ${inactive.join(', ')}.`)
    : pass('topic', `Goes to ${topics.map(({ name }) => name).join(', ')}.`);
}

function recipientsCheck({ recipients, segments, deleted, segmentFaults }: CampaignFacts): PreSendCheck {
  const inactive = inactiveOf(segments);
  if (deleted.segments > 0)
    return fail(
      'recipients',
      `It names ${counted(deleted.segments, 'segment')} deleted since: set segmentIds anew.`,
    );
  if (segmentFaults.length > 0) {
    const faults = segmentFaults.map(({ name, fault }) => `${name} (${fault})`);
    return fail('recipients', listed('Segments whose rules are no longer valid', faults));
  }
  if (inactive.length > 0) return fail('recipients', `Segments that are not active: ${inactive.join(', ')}.`);
  return check(
    'recipients',
    recipients > 0,
    `${counted(recipients, 'subscriber')} will receive it.`,
    'Nobody would receive it.',
  );
}

function senderDomainCheck({ host, needsDomain, domain }: SenderFacts): PreSendCheck {
  const code = 'sender-domain-verified';
  if (!needsDomain) return skip(code, 'Mail leaves without a verified sending domain here.');
  if (domain === null) return fail(code, `${host} is not verified: set up a sending domain.`);
  const { domainName, covers, verified, sendingAllowed, suspensionReason, alignment } = domain;
  if (!covers)
    return fail(code, `The mail is from ${host}, which is neither ${domainName} nor a host below it.`);
  if (suspensionReason !== null) return fail(code, `${domainName} is suspended: ${suspensionReason}`);
  if (!verified)
    return fail(code, `${domainName} is not verified: add its DNS records and have them checked.`);
  // With p=none it arrives all the same, and dmarc-policy warns.
  if (alignment !== null && failsDmarc(alignment) && alignment.policy !== 'none')
    return fail(code, dmarcFailure(host, domainName, alignment));
  return check(
    code,
    sendingAllowed,
    `${domainName} is verified.`,
    `${domainName} must not send now: look at its DNS records.`,
  );
}

function quotaCheck({ emailsRemaining, recipients }: CampaignFacts): PreSendCheck {
  if (emailsRemaining === null) return skip('email-quota', 'E-mails are not counted here.');
  const left = emailsRemaining === Infinity ? 'any number' : String(emailsRemaining);
  const message = quotaMessage(recipients, left);
  return check('email-quota', recipients <= emailsRemaining, message, message);
}

/** What the check of the quota says: how many e-mails are needed, and how many are left. */
export function quotaMessage(needed: number, left: number | string): string {
  return `${counted(needed, 'e-mail')} needed, ${left} left in this period.`;
}

/** Those of the content in one language. */
export function criticalContentChecks(
  facts: Pick<CampaignFacts, 'mergeTagFaults' | 'contentFault' | 'content'>,
): PreSendCheck[] {
  return [mergeTagCheck(facts.mergeTagFaults), ...contentChecks(facts)];
}

/** By what is wrong with merge tags, one phrase each. */
export function mergeTagCheck(faults: readonly string[]): PreSendCheck {
  return check('merge-tags', faults.length === 0, 'All merge tags are known.', listed('Merge tags', faults));
}

function contentChecks({
  content,
  contentFault,
}: Pick<CampaignFacts, 'contentFault' | 'content'>): PreSendCheck[] {
  if (content === null) {
    return [
      contentFault === null
        ? skip('content-empty', UNREADABLE)
        : fail('content-empty', `The content cannot be made into a mail: ${contentFault}.`),
      skip('unsubscribe-link', UNREADABLE),
      skip('postal-address', UNREADABLE),
      skip('links', UNREADABLE),
      skip('text-contrast', UNREADABLE),
    ];
  }
  return [
    check(
      'content-empty',
      content.hasSubject && !content.empty,
      'There is content.',
      content.hasSubject
        ? 'The campaign has no content: set contentJson or contentText.'
        : 'The campaign has no subject.',
    ),
    check(
      'unsubscribe-link',
      content.hasUnsubscribeLink,
      'There is an unsubscribe link.',
      'The mail has no unsubscribe link that a reader can see.',
    ),
    check(
      'postal-address',
      content.hasPostalAddress,
      'There is a postal address.',
      "The mail does not show the sender's postal address: {{ project.postal_address }}.",
    ),
    check(
      'links',
      content.linkFaults.length === 0,
      'All links are well-formed.',
      listed('Links', content.linkFaults),
    ),
    contrastCheck(content),
  ];
}

function contrastCheck({ unreadable }: ContentFacts): PreSendCheck {
  const code = 'text-contrast';
  if (unreadable === null)
    return skip(code, 'Not looked at: the style sheets hold too many rules for so many elements.');
  return check(
    code,
    unreadable.length === 0,
    'All text stands out from what is behind it, in light and in dark.',
    listed('Nobody can read these on what is behind them', unreadable),
  );
}
