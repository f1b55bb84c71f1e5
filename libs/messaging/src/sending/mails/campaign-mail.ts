import type { Project } from '#access';
import type { NamedTopic, Recipient } from '#audience';
import { parseEmailAddress, type ProjectScope } from '#kernel';
import type { Campaign } from '../../campaigns/campaign.js';
import type { LogicParts, MailTemplates, RenderedMail } from '../../content/mail/mail-renderer.js';
import type { Sender } from '../../campaigns/from-addresses.service.js';
import { unsubscribeHeader } from '../../content/mail/header-field.js';
import type { MimeSkeleton } from '../../content/mail/mime-message.js';
import {
  type MergeValues,
  projectValues,
  type ShownValues,
  shownValues,
  subscriberValues,
  withShown,
} from '../../content/merge/merge-values.js';
import type { OutgoingMail } from '../../deliveries/delivery.js';
import type { MailLinksService } from '../../content/mail/mail-links.service.js';

/** A mail, compiled; each recipient's values are filled in. */
export interface MailTemplate {
  readonly parts: LogicParts;
  /** Null where a process of its own has to fill it in. */
  readonly plain: MailTemplates | null;
  /** The targets of its tracked links; null when opens and clicks are not tracked. */
  readonly targets: readonly string[] | null;
  /** The keys of the custom fields that its merge tags name. */
  readonly customKeys: readonly string[];
  /** The names of the values that its HTML shows. */
  readonly shows: readonly string[];
}

/** A campaign, or a mail of an automation, compiled and with all that its mails have in common. */
export interface CampaignMail {
  readonly scope: ProjectScope;
  readonly kind: 'CAMPAIGN' | 'AUTOMATION';
  readonly campaign: Pick<Campaign, 'id' | 'campaignKey' | 'name' | 'topicIds'> &
    Partial<Pick<Campaign, 'resendOf'>>;
  readonly project: Pick<
    Project,
    'projectKey' | 'name' | 'senderName' | 'postalAddress' | 'privacyUrl' | 'defaultLocale' | 'timeZone'
  >;
  readonly topics: readonly NamedTopic[];
  readonly sender: Sender;
  /** The beginning of its links. */
  readonly linkBase: string;
  readonly template: MailTemplate;
  /** BCP 47, of its content. */
  readonly language: string;
  readonly skeleton: MimeSkeleton;
  /** The set of its tracked links; null when it is not tracked. */
  readonly linkSet: number | null;
}

/** The one mail that a recipient gets. */
export interface MailOfRecipient {
  readonly deliveryId: string;
  readonly messageId: string;
  readonly recipient: Recipient;
  /** BCP 47, the recipient's when the mail was queued; null: not known. */
  readonly locale: string | null;
  readonly date: Date;
  /** Properties of the event that began the run of the automation; none for other mails. */
  readonly event?: Readonly<Record<string, unknown>> | null | undefined;
  /** The host of its return path; null: bounces go to the sender's address. */
  readonly returnPathHost: string | null;
}

/** As much of it as its merge tags show. */
export interface ShownMail extends Pick<
  MailOfRecipient,
  'deliveryId' | 'recipient' | 'locale' | 'date' | 'event'
> {
  /** The values that it showed as it was sent. */
  readonly shown?: ShownValues | null;
}

/** The values of the merge tags of a recipient's mail. */
export function valuesOf(
  mail: CampaignMail,
  { deliveryId, recipient, locale, date, event, shown }: ShownMail,
  links: MailLinksService,
): MergeValues {
  const { defaultLocale, timeZone } = mail.project;
  const reader = {
    locale: locale ?? defaultLocale,
    timeZone: recipient.timeZone ?? timeZone,
    now: date.toISOString(),
  };
  const current = { ...mergeValues(mail, recipient), event: event ?? {}, reader };
  const kept = shown ?? shownValues(mail.template.shows, current);
  const values = shown == null ? current : withShown(current, shown);
  const whose = { subscriberId: recipient.subscriberId, aboutId: aboutOf(mail) };
  return {
    ...values,
    links: links.ofDelivery(mail.linkBase, mail.scope, deliveryId, whose, kept),
    tracking: trackingTokens(mail, deliveryId, links),
  };
}

function aboutOf({ kind, campaign }: CampaignMail): string {
  return kind === 'CAMPAIGN' ? campaign.id : (campaign.topicIds[0] ?? campaign.id);
}

function trackingTokens(
  { scope: { environmentId }, linkSet, template: { targets } }: CampaignMail,
  deliveryId: string,
  links: MailLinksService,
): Record<string, string> {
  if (linkSet === null || targets === null) return {};
  return links.tracking({ environmentId, linkSet, deliveryId }, targets.length);
}

/** @param rendered what a process of its own has made of it, where it is not plain */
export function composeCampaignMail(
  mail: CampaignMail,
  one: MailOfRecipient,
  links: MailLinksService,
  rendered: RenderedMail | null = null,
): OutgoingMail {
  const { sender, scope } = mail;
  const values = valuesOf(mail, one, links);
  const own = values.links;
  const to = wireAddress(one.recipient.email);
  const { deliveryId, messageId, date, returnPathHost } = one;
  const unsubscribeAddress = links.unsubscribeAddress(scope, deliveryId, returnPathHost);
  const headers = [unsubscribeHeader(own.unsubscribe, unsubscribeAddress)];
  const head = { to, fromName: fromNameOf(mail, values, rendered), messageId, date, headers };
  const subject = rendered?.subject ?? mail.template.plain?.subject.render(values) ?? '';
  const raw =
    rendered === null
      ? mail.skeleton.build({ ...head, subject, values })
      : mail.skeleton.wrap({ ...head, subject, ...rendered.bodies });
  return {
    deliveryId,
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

/** The sender's name with its merge tags filled in; undefined where it has none, or is empty then. */
export function fromNameOf(
  { template: { parts, plain } }: CampaignMail,
  values: MergeValues,
  rendered: RenderedMail | null,
): string | undefined {
  if (parts.fromName === '') return undefined;
  const name = (rendered?.fromName ?? plain?.fromName.render(values) ?? '').trim();
  return name === '' ? undefined : name;
}

/** The address as a header and an SMTP command carry it: its domain as A-labels. */
export function wireAddress(email: string): string {
  const parsed = parseEmailAddress(email);
  if ('fault' in parsed) throw new Error(`The address ${parsed.fault}.`);
  return `${parsed.address.localPart}@${parsed.address.domain}`;
}

function mergeValues({ campaign, project, topics }: CampaignMail, recipient: Recipient): MergeValues {
  const topic = topics.find(({ name }) => recipient.topicNames.includes(name)) ?? topics[0];
  return {
    subscriber: subscriberValues(recipient),
    custom: recipient.customFields,
    topic: { name: topic?.name ?? '', key: topic?.topicKey ?? '' },
    campaign: { name: campaign.name, key: campaign.campaignKey },
    project: projectValues(project),
    links: NO_LINKS,
  };
}

const NO_LINKS: MergeValues['links'] = { unsubscribe: '', preferences: '', view: '' };
