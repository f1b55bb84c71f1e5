import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { RecipientsQuery, SuppressionsService } from '#audience';
import { parseEmailAddress, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { Wording } from '#wording';
import { FromAddressesService, type MailOrigin } from '../../campaigns/from-addresses.service.js';
import { systemHeaders } from '../../content/mail/header-field.js';
import { buildMimeMessage } from '../../content/mail/mime-message.js';
import { type LogicParts, plainTemplatesOf } from '../../content/mail/mail-renderer.js';
import { projectValues, subscriberValues } from '../../content/merge/merge-values.js';
import {
  ContentProcessesService,
  footerOf,
  hashOf,
} from '../../content/processes/content-processes.service.js';
import type { OutgoingMail } from '../../deliveries/delivery.js';
import type { MessageContent, NamedAddress, NewMessage } from '../../messages/message.js';
import { MessageSealsService } from '../../messages/message-seals.service.js';
import type { ComposedMail, DeliveryWork } from '../delivery-work.js';
import { wireAddress } from './campaign-mail.js';

/** As much of a message as its mails need. */
interface StoredMessage extends Pick<NewMessage, 'ambiguous' | 'expiresAt' | 'locale'> {
  readonly id: string;
  readonly content: MessageContent | null;
  readonly sealedContent: string | null;
}

const NO_TOPIC = { name: '', key: '' };

/** Composes the mails of messages. */
@Injectable()
export class MessageMailsService {
  constructor(
    private readonly database: Database,
    private readonly fromAddresses: FromAddressesService,
    private readonly recipients: RecipientsQuery,
    private readonly suppressions: SuppressionsService,
    private readonly processes: ContentProcessesService,
    private readonly seals: MessageSealsService,
  ) {}

  /** The messages of deliveries, by their ids. */
  async of(works: readonly DeliveryWork[]): Promise<ReadonlyMap<string, StoredMessage>> {
    const messages = new Map<string, StoredMessage>();
    for (const ofScope of Map.groupBy(works, ({ scope }) => scope.environmentId).values())
      for (const message of await this.#read(ofScope)) messages.set(message.id, message);
    return messages;
  }

  async compose(
    { scope, delivery }: DeliveryWork,
    message: StoredMessage | undefined,
    now: Date,
  ): Promise<ComposedMail> {
    const content =
      message === undefined
        ? null
        : message.sealedContent === null
          ? message.content
          : this.seals.open(scope, message.sealedContent);
    if (message === undefined || content === null || delivery.address === '') return { skipped: 'erased' };
    if (message.expiresAt !== null && message.expiresAt <= now) return { skipped: 'expired' };
    const parsed = parseEmailAddress(delivery.address);
    if (
      'address' in parsed &&
      (await this.suppressions.isSuppressed(scope, parsed.address.key, 'TRANSACTIONAL'))
    )
      return { skipped: 'suppressed' };
    const from = await this.fromAddresses.of(scope, content);
    if (from === null) return { skipped: 'erased' };
    const { project, sender } = from;
    const wording = await this.fromAddresses.wording(scope, message.locale);
    const parts = await this.#partsOf(scope, content, project, wording);
    const found =
      delivery.subscriberId === null
        ? undefined
        : (await this.recipients.lookUp(scope, [], [delivery.subscriberId], now)).get(delivery.subscriberId);
    const values = {
      subscriber: found === undefined ? nobody(delivery.address) : subscriberValues(found),
      custom: found?.customFields ?? {},
      topic: NO_TOPIC,
      campaign: NO_TOPIC,
      project: projectValues(project),
      links: { unsubscribe: '', preferences: '', view: '' },
      data: content.data,
      reader: {
        locale: message.locale ?? found?.locale ?? project.defaultLocale,
        timeZone: found?.timeZone ?? project.timeZone,
        now: now.toISOString(),
      },
    };
    const plain = plainTemplatesOf(parts);
    const rendered =
      plain === null
        ? await this.processes.renderOne(scope, { ...parts, key: hashOf(parts) }, values)
        : {
            subject: plain.subject.render(values),
            html: plain.html.render(values),
            text: plain.text.render(values),
          };
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
      html: content.contentJson === null ? null : rendered.html,
      text: rendered.text,
      language: wording.locale,
      headers: [...systemHeaders(), ...Object.entries(content.headers)],
    });
    const mail: OutgoingMail = {
      deliveryId: delivery.id,
      environmentId: scope.environmentId,
      environment: scope.environment,
      kind: 'MESSAGE',
      from: sender.address,
      to: delivery.address,
      subject: rendered.subject,
      links: {},
      envelopeFrom: sender.address,
      envelopeTo: wireAddress(delivery.address),
      raw,
    };
    return { mail, senderDomain: sender.domain };
  }

  /** The templates of its parts; without HTML where it is text alone. */
  async #partsOf(
    scope: ProjectScope,
    { subject, contentJson, text }: MessageContent,
    project: MailOrigin['project'],
    wording: Wording,
  ): Promise<Omit<LogicParts, 'key'>> {
    if (contentJson === null) return { subject, fromName: '', html: '', text: text ?? '' };
    return this.processes.compile(scope, {
      content: { subject, previewText: null, contentJson, contentText: text, language: wording.locale },
      footer: { ...footerOf(project, wording), isEmpty: true },
      tracking: null,
    });
  }

  #read(works: readonly DeliveryWork[]): Promise<readonly StoredMessage[]> {
    const { scope } = works[0]!;
    const ids = works.map(({ delivery }) => delivery.sourceId);
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<StoredMessage>`
        select m.id, m.ambiguous, m.expires_at, m.locale, m.content, m.sealed_content from messaging.messages m
        where m.environment_id = ${scope.environmentId} and m.id = any(${ids}::uuid[])
      `.execute(this.database.tables());
      return rows;
    });
  }
}

const mailboxOf = ({ email, name }: NamedAddress) => ({ address: wireAddress(email), name });

const nobody = (email: string) =>
  subscriberValues({
    email,
    externalId: null,
    firstName: null,
    lastName: null,
    phone: null,
    locale: null,
    timeZone: null,
  });
