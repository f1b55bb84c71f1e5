import type { Project } from '#access';
import type { NamedTopic, Recipient } from '#audience';
import { parseEmailAddress, type ProjectScope } from '#kernel';
import type { Campaign } from '../campaigns/campaign.js';
import type { CampaignTemplate } from '../campaigns/campaign-template.js';
import type { Sender } from '../campaigns/senders.service.js';
import { listHeaders } from '../content/list-headers.js';
import type { MergeValues } from '../content/merge-template.js';
import { projectValues } from '../content/merge-values.js';
import type { MimeSkeleton } from '../content/mime-message.js';
import type { OutgoingMail } from './delivery.js';
import type { MailLinkMaker } from './mail-links.js';

/** The stable last part of Feedback-ID, by which a mailbox provider knows the sending system. */
const FEEDBACK_SENDER = 'mailwright';

/** A campaign, or a mail of an automation, compiled and with all that its mails have in common. */
export interface CampaignMail {
  readonly scope: ProjectScope;
  readonly kind: 'CAMPAIGN' | 'AUTOMATION';
  readonly campaign: Pick<Campaign, 'id' | 'campaignKey' | 'name' | 'topicIds' | 'queuedAt'>;
  readonly project: Pick<Project, 'projectKey' | 'name' | 'postalAddress'>;
  readonly topics: readonly NamedTopic[];
  readonly sender: Sender;
  readonly template: CampaignTemplate;
  readonly skeleton: MimeSkeleton;
  /** Where its tracked links lead; null when it is not tracked. */
  readonly linkSet: number | null;
}

/** The one mail that a recipient gets. */
export interface MailOfRecipient {
  readonly deliveryId: string;
  readonly messageId: string;
  readonly recipient: Recipient;
  readonly date: Date;
  /** Where what comes back of it goes; null: to the sender's address. */
  readonly returnPathHost: string | null;
}

/** Subject, HTML and text as the recipient gets them. */
export function renderCampaignMail(
  mail: CampaignMail,
  { deliveryId, recipient }: Pick<MailOfRecipient, 'deliveryId' | 'recipient'>,
  links: MailLinkMaker,
) {
  const own = links.ofDelivery(mail.scope, deliveryId, recipient.subscriberId);
  const tracking = trackingTokens(mail, deliveryId, links);
  const values = { ...mergeValues(mail, recipient, own), tracking };
  const { subject, html, text } = mail.template;
  return {
    subject: subject.render(values),
    html: html.render(values),
    text: text.render(values),
    links: own,
  };
}

function trackingTokens(
  { scope: { environmentId }, linkSet, template: { targets } }: CampaignMail,
  deliveryId: string,
  links: MailLinkMaker,
): Record<string, string> {
  if (linkSet === null || targets === null) return {};
  return links.tracking({ environmentId, linkSet, deliveryId }, targets.length);
}

export function composeCampaignMail(
  mail: CampaignMail,
  one: MailOfRecipient,
  links: MailLinkMaker,
): OutgoingMail {
  const { sender, scope, campaign, project, topics } = mail;
  const own = links.ofDelivery(scope, one.deliveryId, one.recipient.subscriberId);
  const tracking = trackingTokens(mail, one.deliveryId, links);
  const values = { ...mergeValues(mail, one.recipient, own), tracking };
  const subject = mail.template.subject.render(values);
  const to = wireAddress(one.recipient.email);
  const headers = listHeaders({
    listId: `${(topics[0]?.topicKey ?? campaign.campaignKey).toLowerCase()}.${sender.domain}`,
    listName: topics[0]?.name ?? project.name,
    unsubscribeUrl: own.unsubscribe,
    unsubscribeMailto: links.unsubscribeAddress(scope, one.deliveryId, one.returnPathHost),
    feedbackId: `${campaign.campaignKey}:${project.projectKey}:${mail.kind.toLowerCase()}:${FEEDBACK_SENDER}`,
  });
  const { messageId, date } = one;
  const raw = mail.skeleton.build({ to, subject, messageId, date, headers, values });
  return {
    deliveryId: one.deliveryId,
    environmentId: scope.environmentId,
    environment: scope.environment,
    kind: mail.kind,
    from: sender.address,
    to: one.recipient.email,
    subject,
    links: own,
    envelopeFrom: sender.address,
    envelopeTo: to,
    raw,
  };
}

/** The address as a header and an SMTP command carry it: its domain as A-labels. */
export function wireAddress(email: string): string {
  const parsed = parseEmailAddress(email);
  if ('fault' in parsed) throw new Error(`The address ${parsed.fault}.`);
  return `${parsed.address.localPart}@${parsed.address.domain}`;
}

function mergeValues(
  { campaign, project, topics }: CampaignMail,
  recipient: Recipient,
  links: MergeValues['links'],
): MergeValues {
  const topic = topics.find(({ name }) => recipient.topicNames.includes(name)) ?? topics[0];
  return {
    subscriber: {
      email: recipient.email,
      first_name: recipient.firstName,
      last_name: recipient.lastName,
      phone: recipient.phone,
    },
    custom: recipient.customFields,
    topic: { name: topic?.name ?? '', key: topic?.topicKey ?? '' },
    campaign: { name: campaign.name, key: campaign.campaignKey },
    project: projectValues(project),
    links,
  };
}
