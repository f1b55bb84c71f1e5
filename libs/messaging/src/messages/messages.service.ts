import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { AddressDigestsService, CustomFieldsQuery, SuppressedError, SuppressionsService } from '#audience';
import { EmailQuotaService } from '#billing';
import {
  Clock,
  DomainValidationError,
  type EmailAddress,
  InvalidStateError,
  isUuid,
  newId,
  NotFoundError,
  patchedMetadata,
  type ProjectScope,
} from '#kernel';
import {
  before,
  type Config,
  CONFIG,
  Database,
  drainEnvironments,
  named,
  Periodic,
  removeOldRows,
} from '#platform';
import type { Wording } from '#wording';
import { FromAddressesService, type MailOrigin } from '../campaigns/from-addresses.service.js';
import { ContentProcessesService, footerOf } from '../content/processes/content-processes.service.js';
import { filledHeaders } from './message-headers.js';
import { MESSAGE_COLUMNS, messageViewOf } from './messages.query.js';
import { MessageSealsService } from './message-seals.service.js';
import { wakeSenders } from '../deliveries/delivery-queue.query.js';
import {
  type MessageContent,
  type MessageRecipient,
  type MessageStatus,
  type MessageView,
  missingData,
  type NewMessage,
  timeFaults,
  TooManyMessagesError,
} from './message.js';

const DAY_MS = 86_400_000;
/** Content is kept so long after a message has ended. */
const KEPT_MS = 30 * DAY_MS;
const FORGOTTEN_AT_ONCE = 1_000;

/** The facts that decide whether a message is accepted. */
interface Terms {
  /** Keys of the recipients that get no messages. */
  readonly suppressed: readonly string[];
  /** Messages that the address in `to` has got within a day, as far as they matter. */
  readonly recent: number;
  /** When the oldest of them was accepted. */
  readonly oldest: Date | null;
}

interface MessageSender {
  readonly origin: MailOrigin;
  readonly wording: Wording;
  /** Live mail from its domain must wait until that is verified. */
  readonly isBarred: boolean;
}

/** Messages: one mail to one person each, whom their purpose, not their consent, lets it be sent to. */
@Injectable()
export class MessagesService {
  readonly #senders = new LRUCache<string, MessageSender>({ max: 1_000, ttl: 1_000 });

  constructor(
    private readonly database: Database,
    private readonly fromAddresses: FromAddressesService,
    private readonly fields: CustomFieldsQuery,
    private readonly processes: ContentProcessesService,
    private readonly suppressions: SuppressionsService,
    private readonly digests: AddressDigestsService,
    private readonly quota: EmailQuotaService,
    private readonly seals: MessageSealsService,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Accepts a message: its mails are due from then on. Throws DomainValidationError, SuppressedError, TooManyMessagesError.
   */
  async send(scope: ProjectScope, message: NewMessage): Promise<MessageView> {
    const now = this.clock.now();
    const { origin, headers } = await this.#checked(scope, message, now);
    const recipients = [message.to, ...message.cc, ...message.bcc];
    return this.database.transaction(scope, async () => {
      const [[found]] = await this.database.together(this.#terms(scope, recipients, now));
      this.#refuse(found!, now);
      await this.#reserve(scope, recipients.length, now);
      const [[made]] = await this.database.together(
        this.#writing(scope, { ...message, headers }, origin, now),
      );
      wakeSenders(this.database);
      return messageViewOf(made!, now);
    });
  }

  /** Prevents a message's mails, unless a sender has claimed one. Throws NotFoundError, InvalidStateError. */
  cancel(scope: ProjectScope, id: string): Promise<MessageView> {
    return this.#whileWaiting(scope, id, 'cancelled', async (_, now) => {
      await sql`
        update messaging.deliveries set state = 'CANCELLED', finished_at = ${now}
        where environment_id = ${scope.environmentId} and source_id = ${id} and kind = 'MESSAGE'
      `.execute(this.database.tables());
      return sql`status = 'CANCELLED', finished_at = ${now}, sealed_content = null`;
    });
  }

  /** Has a message's mails sent at another time, unless a sender has claimed one. Throws as `cancel`, and DomainValidationError. */
  reschedule(scope: ProjectScope, id: string, scheduledAt: Date): Promise<MessageView> {
    return this.#whileWaiting(scope, id, 'rescheduled', async ({ expiresAt }, now) => {
      const faults = timeFaults({ scheduledAt, expiresAt }, now);
      if ('expiresAt' in faults) faults['scheduledAt'] = 'must be before expiresAt';
      delete faults['expiresAt'];
      if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
      await sql`
        update messaging.deliveries set next_attempt_at = ${scheduledAt}, due_since = ${scheduledAt}
        where environment_id = ${scope.environmentId} and source_id = ${id} and kind = 'MESSAGE'
      `.execute(this.database.tables());
      wakeSenders(this.database);
      return sql`status = 'SCHEDULED', scheduled_at = ${scheduledAt}`;
    });
  }

  /** Removes the content of messages that ended 30 days ago, and messages whose mails are kept no longer. */
  @Periodic('forget-messages', { everyMs: 10 * 60_000 })
  async forget(): Promise<void> {
    const now = this.clock.now();
    const isOld = sql`content is not null and finished_at < ${before(now, KEPT_MS)}`;
    await drainEnvironments(
      this.database,
      { rows: sql`messaging.messages where ${isOld}`, batch: FORGOTTEN_AT_ONCE },
      async (environmentId, most) => {
        const { numAffectedRows = 0n } = await sql`
          update messaging.messages set content = null where environment_id = ${environmentId} and id = any(array(
            select id from messaging.messages where environment_id = ${environmentId} and ${isOld} limit ${most}
          ))
        `.execute(this.database.tables());
        return Number(numAffectedRows);
      },
    );
    const { RETENTION_DELIVERIES_DAYS: days } = this.config;
    if (days === undefined) return;
    const where = sql`created_at < ${before(now, days * DAY_MS)}`;
    for (const table of ['messaging.message_tags', 'messaging.messages'])
      await removeOldRows(this.database, { table, where });
  }

  /** Content, headers, sender and times are as they must be; the headers come with their data filled in. */
  async #checked(
    scope: ProjectScope,
    message: NewMessage,
    now: Date,
  ): Promise<{ readonly origin: MailOrigin; readonly headers: NewMessage['headers'] }> {
    const { subject, contentJson, text, data } = message;
    const { origin, wording, isBarred } = await this.#sender(scope, message);
    const showsFields = /\bcustom\b/.test(`${subject} ${text} ${contentJson}`);
    const content = { subject, previewText: null, contentJson, contentText: text, language: wording.locale };
    const { faults, requiredData } = await this.processes.reviewMessage(scope, {
      content,
      footer: { ...footerOf(origin.project, wording), isEmpty: true },
      customKeys: showsFields ? (await this.fields.definitions(scope)).map(({ key }) => key) : [],
    });
    const filled = filledHeaders(message.headers, data);
    const missing = missingData([...requiredData, ...filled.requiredData], data).map((path) => [
      `data.${path}`,
      'is missing: the content shows it',
    ]);
    const all = {
      ...faults,
      ...filled.faults,
      ...Object.fromEntries(missing as [string, string][]),
      ...timeFaults(message, now),
      ...(isBarred && {
        from: `is at ${origin.sender.domain}, which is not a verified sending domain of the project`,
      }),
    };
    if (Object.keys(all).length > 0) throw new DomainValidationError(all);
    return { origin, headers: filled.headers };
  }

  /** The sender as it was found within the last second: what is sent is composed of what it is then. */
  async #sender(scope: ProjectScope, { fromName, fromEmail, locale }: NewMessage): Promise<MessageSender> {
    const key = JSON.stringify([scope.environmentId, fromName, fromEmail, locale]);
    const known = this.#senders.get(key);
    if (known !== undefined) return known;
    const origin = await this.fromAddresses.of(scope, { fromName, fromEmail });
    if (origin === null) throw new NotFoundError();
    const wording = await this.fromAddresses.wording(scope, locale);
    const isBarred = await this.fromAddresses.isBarred(scope, origin.sender.domain);
    const sender = { origin, wording, isBarred };
    if (!isBarred) this.#senders.set(key, sender);
    return sender;
  }

  #terms(scope: ProjectScope, recipients: readonly MessageRecipient[], now: Date): RawBuilder<Terms> {
    const keys = recipients.map(({ address }) => address.key);
    const limit = this.config.MESSAGES_PER_ADDRESS_A_DAY;
    return sql<Terms>`${named('message_terms')}
      select array(
          select k.key from unnest(${keys}::text[]) k(key) where ${this.suppressions.isColumnSuppressed(scope, sql`k.key collate "C"`, 'TRANSACTIONAL')}
        ) as suppressed, r.recent, r.oldest
      from (
        select count(*)::int as recent, min(created_at) as oldest from (
          select m.created_at from messaging.messages m
          where m.environment_id = ${scope.environmentId} and m.to_digest = ${this.digests.of(scope, keys[0]!)} and m.created_at > ${new Date(now.getTime() - DAY_MS)}
          order by m.created_at desc, m.id desc limit ${limit}
        ) m
      ) r`;
  }

  #refuse({ suppressed, recent, oldest }: Terms, now: Date): void {
    if (suppressed.length > 0) throw new SuppressedError();
    const limit = this.config.MESSAGES_PER_ADDRESS_A_DAY;
    if (recent < limit) return;
    const freeAt = (oldest ?? now).getTime() + DAY_MS;
    throw new TooManyMessagesError(limit, Math.max(1, Math.ceil((freeAt - now.getTime()) / 1_000)));
  }

  /** Live mail counts against the plan as it is accepted. Test mail is not counted. */
  async #reserve(scope: ProjectScope, mails: number, now: Date): Promise<void> {
    if (scope.environment === 'TEST') return;
    const { granted, periodStart, remaining } = await this.quota.reserve(scope, mails, now);
    if (!granted)
      throw new DomainValidationError({
        to: `is one of ${mails} recipients, and the plan has ${Math.max(0, remaining)} e-mails left this month`,
      });
    await this.quota.settle(scope, periodStart, { used: mails, released: 0 });
  }

  #writing(
    scope: ProjectScope,
    message: NewMessage,
    { sender }: MailOrigin,
    now: Date,
  ): RawBuilder<MessageView> {
    const { environmentId } = scope;
    const { to, cc, bcc, subject, purpose, tags, metadata, locale, keep, ambiguous, scheduledAt, expiresAt } =
      message;
    const id = newId();
    const day = now.toISOString().slice(0, 10);
    const status: MessageStatus = scheduledAt !== null && scheduledAt > now ? 'SCHEDULED' : 'QUEUED';
    const content: MessageContent = {
      to: namedAddress(to),
      cc: cc.map(namedAddress),
      replyTo: message.replyTo,
      fromName: message.fromName,
      fromEmail: message.fromEmail,
      subject,
      contentJson: message.contentJson,
      text: message.text,
      data: message.data,
      headers: message.headers,
    };
    const isKept = keep === 'CONTENT';
    const copies = [...cc, ...bcc];
    const digestOf = ({ address: { key } }: MessageRecipient) => this.digests.of(scope, key);
    const recipients = [to, ...copies].map(({ address }) => address);
    const column = (field: keyof EmailAddress) => recipients.map((address) => address[field]);
    return sql<MessageView>`${named('accept_message')}
      with message as (
        insert into messaging.messages as m (id, environment_id, created_at, updated_at, queued_on, status, to_email, to_digest, copy_digests, subject,
          purpose, tags, metadata, locale, keep, ambiguous, scheduled_at, expires_at, content, sealed_content)
        values (${id}, ${environmentId}, ${now}, ${now}, ${day}::date, ${status}, ${to.address.value}, ${digestOf(to)}, ${copies.length === 0 ? null : copies.map(digestOf)}::bytea[],
          ${isKept ? subject : null}, ${purpose}, ${[...tags]}::text[], ${JSON.stringify(patchedMetadata({}, metadata))}::jsonb, ${locale},
          ${keep}, ${ambiguous}, ${scheduledAt}, ${expiresAt}, ${isKept ? JSON.stringify(content) : null}::jsonb,
          ${isKept ? null : this.seals.seal(scope, content)})
        returning ${MESSAGE_COLUMNS}
      ), tagged as (
        insert into messaging.message_tags (environment_id, tag, created_at, message_id)
        select ${environmentId}, t.tag, ${now}, ${id} from unnest(${[...tags]}::text[]) t(tag)
        returning message_id
      ), queued as (
        insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address, address_key, locale,
          message_id, state, next_attempt_at, due_since, created_at)
        select case when r.place = 1 then ${id}::uuid else platform.new_id() end, ${day}::date, ${environmentId}, 'MESSAGE', ${id},
          (
            select b.id from audience.subscribers b where b.environment_id = ${environmentId} and b.email_key = r.key
          ), r.email, r.key, ${locale}, ${`<${id}@${sender.messageIdDomain}>`}, 'PENDING', ${scheduledAt ?? now}, ${scheduledAt}, ${now}
        from unnest(${column('value')}::text[], ${column('key')}::text[]) with ordinality r(email, key, place)
        returning id
      )
      select message.* from message where (select count(*) from queued) > 0 and (select count(*) from tagged) >= 0`;
  }

  /** Changes a message none of whose mails anybody has begun to send; `change` gives the assignments to its row. */
  #whileWaiting(
    scope: ProjectScope,
    id: string,
    done: string,
    change: (message: MessageView, now: Date) => Promise<RawBuilder<unknown>>,
  ): Promise<MessageView> {
    if (!isUuid(id)) throw new NotFoundError();
    return this.database.transaction(scope, async () => {
      const tables = this.database.tables();
      const now = this.clock.now();
      // A claim skips what is locked, and this waits for a claim.
      const mails = await sql<{ state: string }>`
        select state from messaging.deliveries where environment_id = ${scope.environmentId} and source_id = ${id} and kind = 'MESSAGE'
        order by id for update
      `.execute(tables);
      const { rows } = await sql<MessageView>`
        select ${MESSAGE_COLUMNS} from messaging.messages m where m.environment_id = ${scope.environmentId} and m.id = ${id} for update
      `.execute(tables);
      if (rows[0] === undefined) throw new NotFoundError();
      const message = messageViewOf(rows[0], now);
      if (mails.rows.length === 0 || mails.rows.some(({ state }) => state !== 'PENDING'))
        throw new InvalidStateError(
          `The message is ${message.status === 'QUEUED' ? 'being sent' : message.status}, and cannot be ${done}.`,
          message.status,
          ['SCHEDULED', 'QUEUED'],
        );
      const changes = await change(message, now);
      const changed = await sql<MessageView>`
        update messaging.messages m set ${changes}, updated_at = ${now}
        where m.environment_id = ${scope.environmentId} and m.id = ${id} returning ${MESSAGE_COLUMNS}
      `.execute(tables);
      return messageViewOf(changed.rows[0]!, now);
    });
  }
}

const namedAddress = ({ address: { value }, name }: MessageRecipient) => ({ email: value, name });
