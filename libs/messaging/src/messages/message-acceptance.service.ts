import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import {
  AddressDigestsService,
  NotSubscribedError,
  RecipientsQuery,
  SuppressedError,
  SuppressionsService,
} from '#audience';
import { type EmailPlan, EmailQuotaService, isEmailShortage } from '#billing';
import {
  Clock,
  DomainValidationError,
  InvalidStateError,
  type ProjectScope,
  type RepeatableRequest,
} from '#kernel';
import { AuditTrail, before, type Config, CONFIG, Database, named, SQL_STATE, sqlStateOf } from '#platform';
import { forgetAttachments, MessageAttachmentsService } from './message-attachments.service.js';
import { behind, MessageChecksService, type Outcome } from './message-checks.service.js';
import { MESSAGE_COLUMNS, messageViewOf } from './messages.query.js';
import { MediaService } from '../media/media.service.js';
import { MessageSealsService } from './message-seals.service.js';
import { isOutdated, MessageTemplatesService } from './message-templates.service.js';
import {
  type AskedMessage,
  type CheckedMessage,
  recipientKey,
  writingMessages,
} from './message-writing.query.js';
import { wakeSenders } from '../deliveries/delivery-queue.query.js';
import {
  type BatchMode,
  type MessageRefusal,
  type MessageView,
  type NewMessage,
  refusalOfAll,
  TooManyMessagesError,
} from './message.js';

const DAY_MS = 86_400_000;

/** The facts that decide whether messages are accepted. */
interface Terms {
  /** Why the project's messages are stopped; null when they are not. */
  readonly stopped: string | null;
  /** Keys of the recipients that get no messages. */
  readonly suppressed: readonly string[];
  /** Ids of the notifications whose recipients get no marketing, and of those whose recipients are not subscribed to their topics. */
  readonly unwanted: readonly string[];
  readonly unsubscribed: readonly string[];
  /** Ids of those whose template has got other content since it was looked up. */
  readonly outdated: readonly string[];
  /** Messages to addresses that got some within a day, as far as they matter, and when the oldest of them was accepted. */
  readonly recent: readonly { readonly key: string; readonly messages: number; readonly oldest: string }[];
}

/** The plan's e-mails for messages: those that get some, and the statements that reserve them with what is written. */
interface Reserved {
  readonly outcomes: readonly Outcome[];
  /** Null where e-mails are not counted. */
  readonly usagePeriod: Date | null;
  readonly reserving: readonly RawBuilder<unknown>[];
}

/** Ways to accept messages: one alone, or those of a batch. */
type Mode = BatchMode | 'ONE';

/** Accepts messages: one mail to one person each, whom their purpose, not their consent, lets it be sent to. */
@Injectable()
export class MessageAcceptanceService {
  constructor(
    private readonly database: Database,
    private readonly checks: MessageChecksService,
    private readonly suppressions: SuppressionsService,
    private readonly recipients: RecipientsQuery,
    private readonly digests: AddressDigestsService,
    private readonly quota: EmailQuotaService,
    private readonly seals: MessageSealsService,
    private readonly attachments: MessageAttachmentsService,
    private readonly templates: MessageTemplatesService,
    private readonly media: MediaService,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Accepts a message: its mails are due from then on, once for a `request`. Throws a `MessageRefusal`. */
  async send(
    scope: ProjectScope,
    message: NewMessage,
    request: RepeatableRequest | null = null,
  ): Promise<MessageView> {
    const [outcome] = await this.#acceptOnce(scope, [{ message, path: '', place: 0 }], 'ONE', request);
    return outcome as MessageView;
  }

  /**
   * Accepts the messages of a batch, each as `send` does, and returns what became of each: with EACH a message or its refusal, with
   * ALL messages alone, or it throws what is wrong with any of them. Paths begin with `messages[…].`; refusals among `messages` are
   * what was found before.
   */
  sendBatch(
    scope: ProjectScope,
    messages: readonly (NewMessage | MessageRefusal)[],
    mode: BatchMode,
    request: RepeatableRequest | null = null,
  ): Promise<readonly (MessageView | MessageRefusal)[]> {
    const asked = messages.map((message, place) =>
      message instanceof Error ? message : { message, path: `messages[${place}].`, place },
    );
    return this.#acceptOnce(scope, asked, mode, request);
  }

  /** Messages that a run of the request before this one accepted are not accepted again. */
  async #acceptOnce(
    scope: ProjectScope,
    asked: readonly (AskedMessage | MessageRefusal)[],
    mode: Mode,
    request: RepeatableRequest | null,
  ): Promise<readonly (MessageView | MessageRefusal)[]> {
    const known =
      request?.isTakenOver === true
        ? await this.#acceptedBefore(scope, request)
        : new Map<number, MessageView>();
    return this.#acceptOthers(scope, asked, mode, request, known);
  }

  /** Accepts what is not known to be accepted. */
  async #acceptOthers(
    scope: ProjectScope,
    asked: readonly (AskedMessage | MessageRefusal)[],
    mode: Mode,
    request: RepeatableRequest | null,
    known: ReadonlyMap<number, MessageView>,
  ): Promise<readonly (MessageView | MessageRefusal)[]> {
    const isOpen = (_: unknown, place: number) => !known.has(place);
    try {
      const others = await this.#accept(scope, asked.filter(isOpen), mode, request);
      const rest = others.values();
      return asked.map((_, place) => known.get(place) ?? rest.next().value!);
    } catch (error) {
      if (request === null || !isOfRequest(error)) throw error;
      // The run before this one died with its commit on the way, which came behind the look.
      const found = await this.#acceptedBefore(scope, request);
      if (found.size <= known.size) throw error;
      return this.#acceptOthers(scope, asked, mode, request, found);
    }
  }

  async #acceptedBefore(
    scope: ProjectScope,
    { digest }: RepeatableRequest,
  ): Promise<ReadonlyMap<number, MessageView>> {
    const now = this.clock.now();
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<
        MessageView & { readonly requestPlace: number }
      >`${named('messages_of_request')}
        select ${MESSAGE_COLUMNS}, m.request_place from messaging.messages m
        where m.environment_id = ${scope.environmentId} and m.request_key = ${digest}`.execute(
        this.database.tables(),
      );
      return new Map(rows.map(({ requestPlace, ...row }) => [requestPlace, messageViewOf(row, now)]));
    });
  }

  async #accept(
    scope: ProjectScope,
    asked: readonly (AskedMessage | MessageRefusal)[],
    mode: Mode,
    request: RepeatableRequest | null,
  ): Promise<readonly (MessageView | MessageRefusal)[]> {
    const now = this.clock.now();
    const checked = await this.checks.check(scope, asked, now);
    refuseIfWhole(mode, checked);
    if (acceptable(checked).length === 0) return checked as readonly MessageRefusal[];
    const how = { mode, request, now };
    try {
      return await this.#write(scope, checked, how, (judged, plan) =>
        this.#demanded(scope, judged, plan, now),
      );
    } catch (error) {
      if (error instanceof OutdatedTemplates) {
        for (const { template } of error.messages)
          if (template !== undefined) this.templates.forget(scope, template);
        return this.#accept(scope, asked, mode, request);
      }
      if (!isEmailShortage(error)) throw error;
      return this.#write(scope, checked, how, (judged) => this.#afforded(scope, judged, now));
    }
  }

  /** Three messages to the database: the locks with what decides, what is reserved and written, and the commit. */
  #write(
    scope: ProjectScope,
    checked: readonly Outcome[],
    {
      mode,
      request,
      now,
    }: { readonly mode: Mode; readonly request: RepeatableRequest | null; readonly now: Date },
    reserve: (judged: readonly Outcome[], plan: EmailPlan | undefined) => Promise<Reserved> | Reserved,
  ): Promise<readonly (MessageView | MessageRefusal)[]> {
    return this.database.transaction(scope, async () => {
      const { judged, plan } = await this.#judged(scope, checked, now);
      refuseIfWhole(mode, judged);
      // Before the plan's e-mails are reserved, for which others may wait.
      const fileKeys = await this.#writeFiles(scope, acceptable(judged), now);
      const { outcomes, usagePeriod, reserving } = await reserve(judged, plan);
      refuseIfWhole(mode, outcomes);
      const accepted = acceptable(outcomes);
      await this.#removeFiles(scope, fileKeys, accepted);
      if (accepted.length === 0) return outcomes as readonly MessageRefusal[];
      if (mode === 'ONE') AuditTrail.current?.made(accepted[0]!.id);
      const [rows] = await this.database.together(
        writingMessages(
          { digests: this.digests, seals: this.seals },
          scope,
          accepted,
          { fileKeys, usagePeriod, request },
          now,
        ),
        ...reserving,
      );
      await this.#noteImages(scope, accepted, now);
      const made = new Map(rows.map((row) => [row.id, messageViewOf(row, now)]));
      wakeSenders(this.database);
      return outcomes.map((outcome) => (outcome instanceof Error ? outcome : made.get(outcome.id)!));
    });
  }

  /** Images that their mails show are not deleted before a year is over. */
  async #noteImages(scope: ProjectScope, accepted: readonly CheckedMessage[], now: Date): Promise<void> {
    const texts = new Set(
      accepted.flatMap(({ message: { contentJson, data } }) => [contentJson ?? '', JSON.stringify(data)]),
    );
    const last = Math.max(...accepted.map(({ message }) => (message.scheduledAt ?? now).getTime()));
    await this.media.noteShown(scope, [...texts], new Date(Math.max(last, now.getTime())));
  }

  /** Refuses those with a suppressed recipient, those about a topic that their recipient is not subscribed to, and those to an address that has got its messages of a day, earlier ones of these included. */
  async #judged(
    scope: ProjectScope,
    outcomes: readonly Outcome[],
    now: Date,
  ): Promise<{ readonly judged: readonly Outcome[]; readonly plan: EmailPlan | undefined }> {
    const checked = acceptable(outcomes);
    const toKeys = [...new Set(checked.map(({ message }) => message.to.address.key))].toSorted();
    const [, [terms], [plan] = []] = await this.database.together(
      locking(scope, toKeys),
      this.#terms(scope, checked, toKeys, now),
      ...(scope.environment === 'LIVE' ? [this.quota.plan(scope)] : []),
    );
    if (terms!.stopped !== null)
      throw new InvalidStateError(`The project’s messages are stopped: ${terms!.stopped}`, 'STOPPED', []);
    const outdated = new Set(terms!.outdated);
    if (outdated.size > 0)
      throw new OutdatedTemplates(checked.filter(({ id }) => outdated.has(id)).map(({ message }) => message));
    const suppressed = new Set(terms!.suppressed);
    const unwanted = new Set(terms!.unwanted);
    const unsubscribed = new Set(terms!.unsubscribed);
    const recent = new Map(terms!.recent.map(({ key, ...rest }) => [key, rest]));
    const limit = this.config.MESSAGES_PER_ADDRESS_A_DAY;
    const judged = outcomes.map((outcome) => {
      if (outcome instanceof Error) return outcome;
      const { id, message, path, topic, recipients } = outcome;
      const barred = recipients.flatMap(({ address: { key } }, place) =>
        suppressed.has(key) || unwanted.has(id) ? [[pathOf(message, place), 'is suppressed']] : [],
      );
      if (barred.length > 0)
        return new SuppressedError(behind(path, Object.fromEntries(barred) as Record<string, string>));
      if (topic !== null && unsubscribed.has(id))
        return new NotSubscribedError(behind(path, { to: `is not subscribed to ${topic.topicKey}` }));
      const { key } = message.to.address;
      const { messages, oldest } = recent.get(key) ?? { messages: 0, oldest: now.toISOString() };
      if (messages >= limit) {
        const waitMs = new Date(oldest).getTime() + DAY_MS - now.getTime();
        const frequent = behind(path, { to: `has got ${limit} messages within 24 hours` });
        return new TooManyMessagesError(limit, frequent, Math.max(1, Math.ceil(waitMs / 1_000)));
      }
      recent.set(key, { messages: messages + 1, oldest });
      return outcome;
    });
    return { judged, plan };
  }

  #terms(
    scope: ProjectScope,
    checked: readonly CheckedMessage[],
    toKeys: readonly string[],
    now: Date,
  ): RawBuilder<Terms> {
    const keys = [...new Set(checked.flatMap(({ recipients }) => recipients.map(recipientKey)))];
    const digests = toKeys.map((key) => this.digests.of(scope, key));
    const notifications = checked.flatMap(({ id, topic, message: { to } }) =>
      topic === null ? [] : [{ id, topicId: topic.id, key: recipientKey(to) }],
    );
    const notificationsThat = (condition: RawBuilder<boolean>) =>
      notifications.length === 0
        ? sql`array[]::uuid[]`
        : sql`array(
            select n.id from unnest(${notifications.map(({ id }) => id)}::uuid[], ${notifications.map(({ key }) => key)}::text[],
              ${notifications.map(({ topicId }) => topicId)}::uuid[]) n(id, key, topic_id) where ${condition}
          )`;
    const templates = checked.flatMap(({ id, template, message: { template: asked } }) =>
      template === null || asked === undefined ? [] : [{ id, ...asked, contentId: template.contentId }],
    );
    const outdated =
      templates.length === 0
        ? sql`array[]::uuid[]`
        : sql`array(
            select n.id from unnest(${templates.map(({ id }) => id)}::uuid[], ${templates.map(({ key }) => key)}::text[],
              ${templates.map(({ version }) => version)}::int[], ${templates.map(({ contentId }) => contentId)}::uuid[])
              n(id, key, version, content_id)
            where ${isOutdated(scope, { key: sql`n.key collate "C"`, version: sql`n.version`, contentId: sql`n.content_id` })}
          )`;
    return sql<Terms>`${named('message_terms')}
      select (
          select s.reason from messaging.sending_stops s
          where s.environment_id = ${scope.environmentId} and s.stream = 'TRANSACTIONAL' and s.resumed_at is null
        ) as stopped, array(
          select k.key from unnest(${keys}::text[]) k(key) where ${this.suppressions.isColumnSuppressed(scope, sql`k.key collate "C"`, 'TRANSACTIONAL')}
        ) as suppressed,
        ${notificationsThat(this.suppressions.isColumnSuppressed(scope, sql`n.key collate "C"`, 'MARKETING'))} as unwanted,
        ${notificationsThat(sql`not ${this.recipients.isSubscribed(scope, sql`n.key collate "C"`, sql`n.topic_id`)}`)} as unsubscribed,
        ${outdated} as outdated,
        coalesce((
          select json_agg(json_build_object('key', t.key, 'messages', r.messages, 'oldest', r.oldest))
          from unnest(${[...toKeys]}::text[], ${digests}::bytea[]) t(key, digest) cross join lateral (
            select count(*)::int as messages, min(created_at) as oldest from (
              select m.created_at from messaging.messages m
              where m.environment_id = ${scope.environmentId} and m.to_digest = t.digest and m.created_at > ${before(now, DAY_MS)}
              order by m.created_at desc, m.id desc limit ${this.config.MESSAGES_PER_ADDRESS_A_DAY}
            ) m
          ) r where r.messages > 0
        ), '[]') as recent`;
  }

  /**
   * Demands the plan's e-mails for all, last of what is written, since other reservations may wait for it. They are settled as the
   * mails end; mail of the test environment is not counted.
   */
  #demanded(
    scope: ProjectScope,
    outcomes: readonly Outcome[],
    plan: EmailPlan | undefined,
    now: Date,
  ): Reserved {
    const mails = mailsOf(outcomes);
    if (scope.environment === 'TEST' || mails === 0) return { outcomes, usagePeriod: null, reserving: [] };
    const { periodStart, statement } = this.quota.demand(scope, plan, mails, now);
    return { outcomes, usagePeriod: periodStart, reserving: [statement] };
  }

  /** Reserves the plan's e-mails for as many as it has room for, in their order, and refuses the others. */
  async #afforded(scope: ProjectScope, outcomes: readonly Outcome[], now: Date): Promise<Reserved> {
    const { granted, periodStart, remaining, isSendingAllowed } = await this.quota.reserve(
      scope,
      mailsOf(outcomes),
      now,
    );
    if (granted) return { outcomes, usagePeriod: periodStart, reserving: [] };
    let left = Math.max(0, remaining);
    const afforded = outcomes.map((outcome) => {
      if (outcome instanceof Error) return outcome;
      const { path, recipients } = outcome;
      if (recipients.length > left)
        return new DomainValidationError({
          [`${path}to`]: isSendingAllowed
            ? `is one of ${recipients.length} recipients, and the plan has ${left} e-mails left this month`
            : 'cannot get it: the subscription does not allow sending',
        });
      left -= recipients.length;
      return outcome;
    });
    // The refused reservation holds the tenant's row, so that nothing comes between.
    await this.quota.reserve(scope, mailsOf(afforded), now);
    return { outcomes: afforded, usagePeriod: periodStart, reserving: [] };
  }

  /** The sealed keys of the files that it writes, by message. */
  async #writeFiles(
    scope: ProjectScope,
    messages: readonly CheckedMessage[],
    now: Date,
  ): Promise<ReadonlyMap<string, string>> {
    const keys = new Map<string, string>();
    for (const { id, attachments } of messages)
      if (attachments.length > 0) keys.set(id, await this.attachments.write(scope, id, attachments, now));
    return keys;
  }

  /** Removes the files of messages that the plan had no e-mails left for. */
  async #removeFiles(
    scope: ProjectScope,
    written: ReadonlyMap<string, string>,
    accepted: readonly CheckedMessage[],
  ): Promise<void> {
    const kept = new Set(accepted.map(({ id }) => id));
    const refused = [...written.keys()].filter((id) => !kept.has(id));
    if (refused.length > 0)
      await forgetAttachments(scope, sql`message_id = any(${refused}::uuid[])`).execute(
        this.database.tables(),
      );
  }
}

/** Templates that have got other content since they were looked up: their messages are checked anew. */
class OutdatedTemplates extends Error {
  constructor(readonly messages: readonly NewMessage[]) {
    super('Templates have got other content.');
  }
}

/** Another run of the same request has accepted the message. */
const isOfRequest = (error: unknown): boolean =>
  sqlStateOf(error) === SQL_STATE.uniqueViolation && String(error).includes('messages_of_request');

/** The path of a recipient among `[to, ...cc, ...bcc]`. */
function pathOf({ cc }: NewMessage, place: number): string {
  if (place === 0) return 'to';
  return place <= cc.length ? `cc[${place - 1}]` : `bcc[${place - 1 - cc.length}]`;
}

const acceptable = (outcomes: readonly Outcome[]): CheckedMessage[] =>
  outcomes.filter((outcome): outcome is CheckedMessage => !(outcome instanceof Error));

const mailsOf = (outcomes: readonly Outcome[]): number =>
  acceptable(outcomes).reduce((sum, { recipients }) => sum + recipients.length, 0);

function refuseIfWhole(mode: Mode, outcomes: readonly Outcome[]): void {
  if (mode === 'EACH') return;
  const refusals = outcomes.filter((outcome) => outcome instanceof Error);
  if (refusals.length > 0) throw mode === 'ONE' ? refusals[0]! : refusalOfAll(refusals);
}

/** Locks the count of an address's messages, in one order: of those that are accepted at once, each sees the ones before. */
function locking({ environmentId }: ProjectScope, toKeys: readonly string[]): RawBuilder<unknown> {
  const keys = toKeys.map((key) => `messages of ${environmentId} to ${key}`);
  return sql`${named('lock_message_addresses')}
    select pg_advisory_xact_lock(hashtextextended(k, 0)) from unnest(${keys}::text[]) k`;
}
