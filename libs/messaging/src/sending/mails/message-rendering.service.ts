import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type NamedTopic, type Recipient, RecipientsQuery, TopicsQuery } from '#audience';
import { isUuid, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { FromAddressesService, type MailOrigin } from '../../campaigns/from-addresses.service.js';
import { type MailFooter, withFooterText } from '../../content/document/mail-footer.js';
import type { MailParts } from '../../content/mail/mail-renderer.js';
import { addressAlone, projectValues, subscriberValues } from '../../content/merge/merge-values.js';
import { ContentProcessesService, footerOf } from '../../content/processes/content-processes.service.js';
import type { MailLinks } from '../../deliveries/delivery.js';
import { languageOf, MessageTemplatesService } from '../../messages/message-templates.service.js';
import type { AttachedFile, MessageContent, MessageParts } from '../../messages/message.js';

/** The reader of one mail of a message. */
interface MessageReader {
  readonly address: string;
  /** Undefined for somebody who is no subscriber. */
  readonly recipient: Recipient | undefined;
  /** The topic that a notification can be left by; null: no notification. */
  readonly topic: NamedTopic | null;
  readonly links: Pick<MailLinks, 'unsubscribe' | 'preferences'>;
}

interface Rendering {
  readonly origin: MailOrigin;
  /** The message's own; null: the reader's, or the project's. */
  readonly locale: string | null;
  /** Content of a template that it refers to; null where it has its own. */
  readonly templateContentId: string | null;
  readonly reader: MessageReader;
  readonly now: Date;
}

/** The parts of a mail, filled in. */
interface RenderedMessage {
  readonly subject: string;
  /** Null where it is text alone. */
  readonly html: string | null;
  readonly text: string;
  /** BCP 47, of its content. */
  readonly language: string;
}

/** The content of a message, as its reader got it. */
export interface ShownMessage extends Omit<RenderedMessage, 'language'> {
  readonly data: Readonly<Record<string, unknown>>;
  readonly attachments: readonly ShownFile[];
}

/** A file without its octets. */
interface ShownFile extends Omit<AttachedFile, 'contentType'> {
  /** A media type with its parameters. */
  readonly contentType: string;
}

interface KeptMessage {
  readonly address: string;
  readonly content: MessageContent | null;
  readonly templateContentId: string | null;
  readonly locale: string | null;
  readonly topicId: string | null;
  readonly subscriberId: string | null;
  readonly shownAt: Date;
}

const NO_NAME = { name: '', key: '' };
const NO_LINKS = { unsubscribe: '', preferences: '', view: '' };

/** Fills in the content of messages. */
@Injectable()
export class MessageRenderingService {
  constructor(
    private readonly database: Database,
    private readonly fromAddresses: FromAddressesService,
    private readonly recipients: RecipientsQuery,
    private readonly topics: TopicsQuery,
    private readonly processes: ContentProcessesService,
    private readonly templates: MessageTemplatesService,
  ) {}

  /**
   * A message's content for its reader, with fields of a subscriber as they are today and links to leave that lead nowhere. Throws
   * NotFoundError, also where it is not kept, or no longer.
   */
  async show(scope: ProjectScope, id: string): Promise<ShownMessage> {
    if (!isUuid(id)) throw new NotFoundError();
    const [message] = await this.database.statement(
      scope,
      sql<KeptMessage>`
        select m.to_email as address, m.content, m.locale, m.topic_id, m.template_content_id, coalesce(m.sent_at, m.created_at) as shown_at, (
          select d.subscriber_id from messaging.deliveries d
          where d.id = ${id} and d.environment_id = ${scope.environmentId} and d.queued_on = m.queued_on
        ) as subscriber_id
        from messaging.messages m where m.environment_id = ${scope.environmentId} and m.id = ${id}
      `,
    );
    if (message === undefined) throw new NotFoundError();
    const { content, templateContentId, address, locale, topicId, subscriberId, shownAt: now } = message;
    const origin = content === null ? null : await this.fromAddresses.of(scope, content);
    if (content === null || origin === null)
      throw new NotFoundError('The content of the message is not kept, or no longer.');
    const topicIds = topicId === null ? [] : [topicId];
    const found =
      subscriberId === null ? undefined : await this.recipients.lookUp(scope, topicIds, [subscriberId], now);
    const recipient = subscriberId === null ? undefined : found?.get(subscriberId);
    const [topic = null] = topicId === null ? [] : await this.topics.named(scope, topicIds);
    const reader = { address, recipient, topic, links: {} };
    const { subject, html, text } = await this.render(scope, content, {
      origin,
      locale,
      templateContentId,
      reader,
      now,
    });
    const attachments = (content.attachments ?? []).map(shownFile);
    return { subject, html, text, data: content.data, attachments };
  }

  /** Compiles and fills in a message's content. */
  async render(
    scope: ProjectScope,
    { data, ...own }: MessageContent,
    {
      origin: { project },
      locale,
      templateContentId,
      reader: { address, recipient, topic, links },
      now,
    }: Rendering,
  ): Promise<RenderedMessage> {
    const content =
      templateContentId === null ? own : await this.templates.partsOf(scope, templateContentId, locale);
    const { locale: ofMessage } = await this.fromAddresses.wording(scope, locale);
    const language = languageOf(content.translation, ofMessage, project.defaultLocale);
    const readerLocale = locale ?? recipient?.locale ?? null;
    const footer = footerOf(project, await this.fromAddresses.wording(scope, readerLocale));
    const shown: MailFooter = { ...footer, isEmpty: topic === null, hasNoView: true };
    const parts = await this.#partsOf(scope, content, shown, language);
    const values = {
      subscriber: recipient === undefined ? addressAlone(address) : subscriberValues(recipient),
      custom: recipient?.customFields ?? {},
      topic: topic === null ? NO_NAME : { name: topic.name, key: topic.topicKey },
      campaign: NO_NAME,
      project: projectValues(project),
      links: { ...NO_LINKS, ...links },
      data,
      reader: {
        locale: readerLocale ?? project.defaultLocale,
        timeZone: recipient?.timeZone ?? project.timeZone,
        now: now.toISOString(),
      },
    };
    const { subject, html, text } = await this.processes.fillIn(scope, parts, values);
    return { subject, html: content.contentJson === null ? null : html, text, language };
  }

  /** The templates of its parts; without HTML where it is text alone. */
  async #partsOf(
    scope: ProjectScope,
    { subject, previewText = null, contentJson, text }: MessageParts,
    footer: MailFooter,
    language: string,
  ): Promise<MailParts> {
    if (contentJson === null)
      return { subject, fromName: '', html: '', text: withFooterText(footer, text ?? '') };
    return this.processes.compile(scope, {
      content: { subject, previewText, contentJson, contentText: text, language, showsFiles: true },
      footer,
      tracking: null,
    });
  }
}

const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;

function shownFile({ contentType: { type, parameters }, ...file }: AttachedFile): ShownFile {
  const named = Object.entries(parameters).map(
    ([name, value]) => `${name}=${TOKEN.test(value) ? value : `"${value}"`}`,
  );
  return { ...file, contentType: [type, ...named].join('; ') };
}
