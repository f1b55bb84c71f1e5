import type { CheckCode, PreSendCheck } from './pre-send-check.js';

/** All that the critical checks need to know of a campaign; gathered by who asks. */
export interface CampaignFacts {
  /** Topics that the campaign names and that exist. */
  readonly topics: readonly { readonly name: string; readonly status: string }[];
  /** How many would receive it now. */
  readonly recipients: number;
  /** Null where no verified domain is asked for: the test environment, or by configuration. */
  readonly senderDomain: { readonly name: string; readonly verified: boolean } | null;
  readonly sendingAllowed: boolean;
  /** E-mails left in the period; null where they are not counted. */
  readonly emailsRemaining: number | null;
  readonly contentEmpty: boolean;
  readonly hasUnsubscribeLink: boolean;
  /** What is wrong with merge tags, one phrase each: `{{ subscriber.nmae }} is not known`. */
  readonly mergeTagFaults: readonly string[];
  /** What is wrong with links, one phrase each. */
  readonly linkFaults: readonly string[];
}

/** The checks that refuse `schedule` and `send`, in the order in which an author would mend them. */
export function criticalChecks(facts: CampaignFacts): PreSendCheck[] {
  return [
    topicCheck(facts),
    recipientsCheck(facts),
    senderDomainCheck(facts),
    check(
      'subscription-active',
      facts.sendingAllowed,
      'The subscription allows sending.',
      'The subscription does not allow sending.',
    ),
    quotaCheck(facts),
    check(
      'content-empty',
      !facts.contentEmpty,
      'There is content.',
      'The campaign has no content: set contentJson or contentText.',
    ),
    check(
      'merge-tags',
      facts.mergeTagFaults.length === 0,
      'All merge tags are known.',
      sentence('Merge tags', facts.mergeTagFaults),
    ),
    check(
      'unsubscribe-link',
      facts.hasUnsubscribeLink,
      'There is an unsubscribe link.',
      'The mail has no unsubscribe link.',
    ),
    check(
      'links',
      facts.linkFaults.length === 0,
      'All links are well-formed.',
      sentence('Links', facts.linkFaults),
    ),
  ];
}

function topicCheck({ topics }: CampaignFacts): PreSendCheck {
  const inactive = topics.filter(({ status }) => status !== 'ACTIVE').map(({ name }) => name);
  if (topics.length === 0) return fail('topic', 'The campaign has no topic: set topicIds.');
  return inactive.length > 0
    ? fail('topic', `Not active: ${inactive.join(', ')}.`)
    : pass('topic', `Goes to ${topics.map(({ name }) => name).join(', ')}.`);
}

function recipientsCheck({ recipients }: CampaignFacts): PreSendCheck {
  return check(
    'recipients',
    recipients > 0,
    `${recipients} subscribers will receive it.`,
    'Nobody would receive it.',
  );
}

function senderDomainCheck({ senderDomain }: CampaignFacts): PreSendCheck {
  const code = 'sender-domain-verified';
  if (senderDomain === null) {
    return { code, severity: 'CRITICAL', result: 'SKIPPED', message: 'Not asked for here.' };
  }
  const { name, verified } = senderDomain;
  return check(
    code,
    verified,
    `${name} is verified.`,
    `${name} is not a verified sending domain of this project.`,
  );
}

function quotaCheck({ emailsRemaining, recipients }: CampaignFacts): PreSendCheck {
  if (emailsRemaining === null) {
    return {
      code: 'email-quota',
      severity: 'CRITICAL',
      result: 'SKIPPED',
      message: 'E-mails are not counted here.',
    };
  }
  const message = `${recipients} e-mails needed, ${emailsRemaining} left in this period.`;
  return check('email-quota', recipients <= emailsRemaining, message, message);
}

function sentence(subject: string, faults: readonly string[]): string {
  return `${subject}: ${faults.slice(0, 20).join('; ')}.`;
}

function check(code: CheckCode, good: boolean, passed: string, failed: string): PreSendCheck {
  return good ? pass(code, passed) : fail(code, failed);
}

function pass(code: CheckCode, message: string): PreSendCheck {
  return { code, severity: 'CRITICAL', result: 'PASS', message };
}

function fail(code: CheckCode, message: string): PreSendCheck {
  return { code, severity: 'CRITICAL', result: 'FAIL', message };
}
