import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import {
  type NamedTopic,
  type Recipient,
  RecipientsQuery,
  SuppressionsService,
  TopicsQuery,
} from '#audience';
import { parseEmailAddress, type ProjectScope } from '#kernel';
import { type Config, CONFIG, Database, MAX_TRACKED_PLACES } from '#platform';
import { FromAddressesService, type MailOrigin } from '../../campaigns/from-addresses.service.js';
import type { EncodedAttachment } from '../../content/mail/attachment-part.js';
import {
  type Header,
  listHeaders,
  systemHeaders,
  unsubscribeHeader,
} from '../../content/mail/header-field.js';
import { placeName, trackMail } from '../../content/mail/link-tracking.js';
import { MailLinksService } from '../../content/mail/mail-links.service.js';
import { buildMimeMessage } from '../../content/mail/mime-message.js';
import type { MailLinks, OutgoingMail } from '../../deliveries/delivery.js';
import { LinkSetsService } from '../../engagement/link-sets.service.js';
import type { MessageContent, NamedAddress, NewMessage } from '../../messages/message.js';
import { MessageAttachmentsService } from '../../messages/message-attachments.service.js';
import { MessageSealsService } from '../../messages/message-seals.service.js';
import type { ComposedMail, DeliveryWork } from '../delivery-work.js';
import { wireAddress } from './campaign-mail.js';
import { FEEDBACK_SENDER } from './compiled-mails.service.js';
import { MessageRenderingService } from './message-rendering.service.js';
import { MailSigningService, returnPathHostOf } from './mail-signing.service.js';

/** As much of a message as its mails need. */
export interface StoredMessage extends Pick<NewMessage, 'ambiguous' | 'expiresAt' | 'locale' | 'track'> {
  readonly id: string;
  /** `YYYY-MM-DD` */
  readonly queuedOn: string;
  readonly topicId: string | null;
  readonly templateContentId: string | null;
  readonly content: MessageContent | null;
  readonly sealedContent: string | null;
  readonly attachmentsKey: string | null;
  /** Octets of its files together. */
  readonly attachedBytes: number;
  /** Its files as parts of a mail, which its recipients' mails share. */
  encoded?: Promise<readonly EncodedAttachment[]>;
}

/** The reader of a notification, who can leave its topic. */
interface Subscriber {
  readonly recipient: Recipient;
  readonly topic: NamedTopic;
}

/** The reader of a mail that needs no consent: a subscriber, or anybody. */
interface Anybody {
  readonly recipient: Recipient | undefined;
  readonly topic: null;
}

/** The ways by which its reader leaves a mail's topic; none of a mail without one. */
interface WaysOut {
  readonly links: Pick<MailLinks, 'unsubscribe' | 'preferences'>;
  readonly headers: readonly Header[];
}

const NO_WAY_OUT: WaysOut = { links: {}, headers: [] };

/** Composes the mails of messages. */
@Injectable()
export class MessageMailsService {
  constructor(
    private readonly database: Database,
    private readonly fromAddresses: FromAddressesService,
    private readonly recipients: RecipientsQuery,
    private readonly suppressions: SuppressionsService,
    private readonly topics: TopicsQuery,
    private readonly links: MailLinksService,
    private readonly signing: MailSigningService,
    private readonly rendering: MessageRenderingService,
    private readonly seals: MessageSealsService,
    private readonly attachments: MessageAttachmentsService,
    private readonly linkSets: LinkSetsService,
    @Inject(CONFIG) private readonly config: Pick<Config, 'TRACKING'>,
  ) {}

  /** The messages of deliveries, by their ids. */
  async of(works: readonly DeliveryWork[]): Promise<ReadonlyMap<string, StoredMessage>> {
    const messages = new Map<string, StoredMessage>();
    for (const ofScope of Map.groupBy(works, ({ scope }) => scope.environmentId).values())
      for (const message of await this.#read(ofScope)) messages.set(message.id, message);
    return messages;
  }

  async compose(work: DeliveryWork, message: StoredMessage | undefined, now: Date): Promise<ComposedMail> {
    const { scope, delivery } = work;
    const content =
      message === undefined
        ? null
        : message.sealedContent === null
          ? message.content
          : this.seals.open(scope, message.sealedContent);
    if (message === undefined || content === null || delivery.address === '') return { skipped: 'erased' };
    if (message.expiresAt !== null && message.expiresAt <= now) return { skipped: 'expired' };
    const reader = await this.#readerOf(work, message, now);
    if ('skipped' in reader) return reader;
    const { recipient, topic } = reader;
    const from = await this.fromAddresses.of(scope, content);
    if (from === null) return { skipped: 'erased' };
    const { project, sender } = from;
    const { links, headers } = topic === null ? NO_WAY_OUT : await this.#waysOut(work, from, reader);
    const { language, ...rendered } = await this.rendering.render(scope, content, {
      origin: from,
      locale: message.locale,
      templateContentId: message.templateContentId,
      reader: { address: delivery.address, recipient, topic, links },
      now,
    });
    const answersTo =
      content.replyTo.length === 0 && project.replyTo !== null ? [project.replyTo] : content.replyTo;
    const raw = buildMimeMessage({
      from: { name: sender.name, address: sender.address },
      replyTo: answersTo.map(wireAddress),
      to: mailboxOf(content.to),
      cc: content.cc.map(mailboxOf),
      subject: rendered.subject,
      messageId: delivery.messageId,
      date: now,
      html: rendered.html === null ? null : await this.#tracked(work, message, from, links, rendered.html),
      text: rendered.text,
      language,
      headers: [...headers, ...systemHeaders(), ...Object.entries(content.headers)],
      attachments: await this.#attachmentsOf(scope, message, content),
    });
    const mail: OutgoingMail = {
      deliveryId: delivery.id,
      environmentId: scope.environmentId,
      environment: scope.environment,
      kind: 'MESSAGE',
      from: sender.address,
      to: delivery.address,
      subject: rendered.subject,
      links,
      envelopeFrom: sender.address,
      envelopeTo: wireAddress(delivery.address),
      raw,
    };
    return { mail, senderDomain: sender.domain };
  }

  /** Decides once more whether the mail may go to its reader. */
  async #readerOf(
    { scope, delivery: { subscriberId, address } }: DeliveryWork,
    { topicId }: StoredMessage,
    now: Date,
  ): Promise<Subscriber | Anybody | { readonly skipped: string }> {
    const topicIds = topicId === null ? [] : [topicId];
    const recipient =
      subscriberId === null
        ? undefined
        : (await this.recipients.lookUp(scope, topicIds, [subscriberId], now)).get(subscriberId);
    if (topicId === null) {
      const key = keyOf(address);
      const isBarred = key !== null && (await this.suppressions.isSuppressed(scope, key, 'TRANSACTIONAL'));
      return isBarred ? { skipped: 'suppressed' } : { recipient, topic: null };
    }
    const [topic] = await this.topics.named(scope, topicIds);
    // Another person who has the address by now has consented to nothing.
    if (topic === undefined || recipient === undefined || keyOf(recipient.email) !== keyOf(address))
      return { skipped: 'unsubscribed' };
    return recipient.obstacle === null ? { recipient, topic } : { skipped: recipient.obstacle };
  }

  async #waysOut(
    { scope, delivery, relay }: DeliveryWork,
    { project, sender, linkBase }: MailOrigin,
    { recipient: { subscriberId }, topic: { id: aboutId, topicKey, name: listName } }: Subscriber,
  ): Promise<WaysOut> {
    const links = this.links.leaving(linkBase, scope, delivery.id, { subscriberId, aboutId });
    const policy = await this.signing.policyOf(scope, sender.domain, relay);
    const address = this.links.unsubscribeAddress(scope, delivery.id, returnPathHostOf(policy));
    const listId = `${topicKey.toLowerCase()}.${sender.domain}`;
    const feedbackId = `${topicKey}:${project.projectKey}:message:${FEEDBACK_SENDER}`;
    const headers = listHeaders({ listId, listName, feedbackId });
    return { links, headers: [...headers, unsubscribeHeader(links.unsubscribe, address)] };
  }

  /** The HTML with pixel and tracked links as far as the message asks for them, in its mail to `to`. */
  async #tracked(
    { scope: { environmentId, ...scope }, delivery: { id: deliveryId } }: DeliveryWork,
    { id: messageId, queuedOn, track }: StoredMessage,
    { project: { privacyUrl }, linkBase }: MailOrigin,
    waysOut: WaysOut['links'],
    html: string,
  ): Promise<string> {
    const isTracked = this.config.TRACKING && deliveryId === messageId && (track.opens || track.clicks);
    if (!isTracked) return html;
    const untracked = [privacyUrl, ...Object.values(waysOut)].filter((url) => url != null);
    const { targets: urls, withTokens } = trackMail(html, {
      ...track,
      baseUrl: linkBase,
      places: MAX_TRACKED_PLACES,
      untracked,
    });
    const owner = { campaignId: null, messageId } as const;
    const linkSet = await this.linkSets.register(
      { environmentId, ...scope },
      { owner, queuedOn, translation: null, urls },
    );
    const tokens = this.links.tracking({ environmentId, linkSet, deliveryId }, urls.length);
    return withTokens((place) => tokens[placeName(place)] ?? '');
  }

  #attachmentsOf(
    scope: ProjectScope,
    message: StoredMessage,
    { attachments = [] }: MessageContent,
  ): Promise<readonly EncodedAttachment[]> {
    const { id, attachmentsKey } = message;
    if (attachments.length === 0) return Promise.resolve([]);
    if (attachmentsKey === null) throw new Error('The attachments of the message are not there any more.');
    return (message.encoded ??= this.attachments.encoded(scope, id, attachments, attachmentsKey));
  }

  #read(works: readonly DeliveryWork[]): Promise<readonly StoredMessage[]> {
    const { scope } = works[0]!;
    const ids = works.map(({ delivery }) => delivery.sourceId);
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<StoredMessage>`
        select m.id, m.topic_id, m.ambiguous, m.expires_at, m.locale, m.content, m.sealed_content,
          m.attachments_key, m.attached_bytes, m.queued_on, m.template_content_id,
          json_build_object('opens', m.track_opens, 'clicks', m.track_clicks) as track
        from messaging.messages m
        where m.environment_id = ${scope.environmentId} and m.id = any(${ids}::uuid[])
      `.execute(this.database.tables());
      return rows;
    });
  }
}

function keyOf(email: string): string | null {
  const parsed = parseEmailAddress(email);
  return 'address' in parsed ? parsed.address.key : null;
}

const mailboxOf = ({ email, name }: NamedAddress) => ({ address: wireAddress(email), name });
