import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { CustomFieldsQuery, grantFault, type NamedTopic, TopicsQuery } from '#audience';
import { DomainValidationError, newId, NotFoundError, type ProjectScope } from '#kernel';
import type { Wording } from '#wording';
import { FromAddressesService, type MailOrigin } from '../campaigns/from-addresses.service.js';
import { type MailTrial, TRIAL_PARTS } from '../content/mail/mail-trial.js';
import { EMPTY_REVIEW, type MessageReview } from '../content/merge/merge-review.js';
import {
  addressAlone,
  type MergeValues,
  projectValues,
  SAMPLE_VALUES,
} from '../content/merge/merge-values.js';
import { ContentProcessesService, footerOf } from '../content/processes/content-processes.service.js';
import { MediaService } from '../media/media.service.js';
import { contentIdErrors, readAttachments } from './attachment.js';
import {
  type MessageRefusal,
  missingData,
  type NewMessage,
  timeFaults,
  trackFaults,
  unshowableData,
} from './message.js';
import { filledHeaders, isBlankWith } from './message-headers.js';
import { languageOf, MessageTemplatesService } from './message-templates.service.js';
import type { AskedMessage, CheckedMessage } from './message-writing.query.js';

/** A message that passed its checks, or its refusal. */
export type Outcome = CheckedMessage | MessageRefusal;

interface MessageSender {
  readonly origin: MailOrigin;
  readonly wording: Wording;
  /** Live mail from its domain must wait until that is verified. */
  readonly isBarred: boolean;
}

/** A message that was looked at, with all that is wrong with it. */
interface LookedAt {
  /** By field, without the message's own path. */
  readonly faults: Record<string, string>;
  readonly checked: CheckedMessage;
  readonly review: MessageReview;
  /** Dotted names of the values of `data` that it may lack. */
  readonly optional: readonly string[];
}

/** Findings about the messages of a batch, most of which have much in common. */
interface Known {
  readonly reviews: Map<string, MessageReview>;
  readonly senders: Map<string, MessageSender>;
  readonly topics: Map<string, NamedTopic | null>;
}

/** Checks messages by themselves: their content, headers, attachments, sender, topic and times. */
@Injectable()
export class MessageChecksService {
  readonly #senders = new LRUCache<string, MessageSender>({ max: 1_000, ttl: 1_000 });

  constructor(
    private readonly fromAddresses: FromAddressesService,
    private readonly fields: CustomFieldsQuery,
    private readonly processes: ContentProcessesService,
    private readonly topics: TopicsQuery,
    private readonly templates: MessageTemplatesService,
    private readonly media: MediaService,
  ) {}

  /** Messages whose content, headers, sender and times are as they must be, with their headers filled in; the others' faults. */
  async check(
    scope: ProjectScope,
    asked: readonly (AskedMessage | MessageRefusal)[],
    now: Date,
  ): Promise<readonly Outcome[]> {
    const known: Known = { reviews: new Map(), senders: new Map(), topics: new Map() };
    const looks: (LookedAt | MessageRefusal)[] = [];
    // One after the other: distinct contents would wait for the same process, and most of a batch have one in common.
    for (const each of asked)
      looks.push(each instanceof Error ? each : await this.#look(scope, each, known, now));
    await this.#tryOut(
      scope,
      looks.filter((look): look is LookedAt => !(look instanceof Error)),
      now,
    );
    return looks.map((look) => {
      if (look instanceof Error) return look;
      const { faults, checked } = look;
      return Object.keys(faults).length > 0
        ? new DomainValidationError(behind(checked.path, faults))
        : checked;
    });
  }

  /** Makes mails of messages whose merge tags have logic, which their data may make impossible, and adds what is wrong with them. */
  async #tryOut(scope: ProjectScope, looks: readonly LookedAt[], now: Date): Promise<void> {
    const groups = Map.groupBy(looks, ({ review }) => review.logic);
    for (const [logic, group] of groups) {
      if (logic === null) continue;
      const values = group.map(({ checked }) => trialValues(checked, now));
      const trials = await this.processes.tryOut(scope, logic, values);
      for (const [place, look] of group.entries()) addTrialFaults(look, trials[place]!);
    }
  }

  async #look(
    scope: ProjectScope,
    { message: given, path, place }: AskedMessage,
    { reviews, senders, topics }: Known,
    now: Date,
  ): Promise<LookedAt> {
    const { message, template, optional, faults: templateFaults } = await this.templates.fill(scope, given);
    const hasContent = given.template === undefined || template !== null;
    const { subject, previewText, contentJson, text, data, fromName, fromEmail, locale, topicKey } = message;
    const senderKey = JSON.stringify([scope.environmentId, fromName, fromEmail, locale]);
    const sender = senders.get(senderKey) ?? (await this.#sender(scope, senderKey, message));
    senders.set(senderKey, sender);
    const reviewKey = JSON.stringify([subject, previewText, contentJson, text, topicKey !== null, senderKey]);
    const review = !hasContent
      ? EMPTY_REVIEW
      : (reviews.get(reviewKey) ?? (await this.#review(scope, message, sender)));
    if (hasContent) reviews.set(reviewKey, review);
    const topic =
      topicKey === null ? null : (topics.get(topicKey) ?? (await this.topics.withKey(scope, topicKey)));
    if (topicKey !== null) topics.set(topicKey, topic);
    const topicFault = topicKey === null ? null : grantFault(topic ?? undefined);
    const filled = filledHeaders(message.headers, data);
    const missing = missingData([...review.requiredData, ...filled.requiredData], data, optional);
    const { attachments = [] } = message;
    const files = await readAttachments(attachments, (id) => this.#image(scope, id));
    const isReadable = Object.keys(review.faults).length === 0;
    const fieldFaults = template === null ? (found: Faults) => found : faultsOfTemplate;
    const faults: Record<string, string> = {
      ...(isReadable &&
        hasContent &&
        fieldFaults(contentIdErrors(attachments, review.contentIds, review.field))),
      ...('errors' in files && files.errors),
      ...(isReadable &&
        hasContent &&
        missing.length === 0 &&
        isBlankWith(data, subject) &&
        fieldFaults({ subject: 'is empty with this data' })),
      ...fieldFaults(review.faults),
      ...filled.faults,
      ...Object.fromEntries(missing.map((name) => [`data.${name}`, MISSING])),
      ...Object.fromEntries(unshowableData(review.shownData, data).map((name) => [`data.${name}`, OBJECT])),
      ...timeFaults(message, now),
      ...(hasContent && trackFaults(message)),
      ...(topicFault !== null && { topicKey: topicFault }),
      ...(sender.isBarred && {
        from: `is at ${sender.origin.sender.domain}, which is not a verified sending domain of the project`,
      }),
    };
    Object.assign(faults, templateFaults);
    const checked = {
      id: newId(),
      message: { ...message, headers: filled.headers },
      path,
      place,
      origin: sender.origin,
      template,
      topic,
      recipients: [message.to, ...message.cc, ...message.bcc],
      attachments: 'errors' in files ? [] : files.attachments,
    };
    return { faults, checked, review, optional };
  }

  async #image(scope: ProjectScope, id: string) {
    try {
      return await this.media.read(scope, id);
    } catch (error) {
      if (error instanceof NotFoundError) return null;
      throw error;
    }
  }

  async #review(
    scope: ProjectScope,
    { subject, previewText = null, contentJson, text, topicKey, translation }: NewMessage,
    { origin, wording }: MessageSender,
  ): Promise<MessageReview> {
    const hasTopic = topicKey !== null;
    const showsFields = /\bcustom\b/.test(`${subject} ${previewText} ${text} ${contentJson}`);
    return this.processes.reviewMessage(scope, {
      content: {
        subject,
        previewText,
        contentJson,
        contentText: text,
        language: languageOf(translation, wording.locale, origin.project.defaultLocale),
        showsFiles: true,
      },
      footer: { ...footerOf(origin.project, wording), isEmpty: !hasTopic, hasNoView: true },
      hasTopic,
      customKeys: showsFields ? (await this.fields.definitions(scope)).map(({ key }) => key) : [],
    });
  }

  /** The sender as it was found within the last second: what is sent is composed of what it is then. */
  async #sender(
    scope: ProjectScope,
    key: string,
    { fromName, fromEmail, locale }: NewMessage,
  ): Promise<MessageSender> {
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
}

/** Values of a message, with those of nobody in the place of its reader's. */
function trialValues({ message, origin: { project }, topic }: CheckedMessage, now: Date): MergeValues {
  return {
    ...SAMPLE_VALUES,
    subscriber: addressAlone(message.to.address.value),
    ...(topic !== null && { topic: { name: topic.name, key: topic.topicKey } }),
    project: projectValues(project),
    data: message.data,
    reader: {
      locale: message.locale ?? project.defaultLocale,
      timeZone: project.timeZone,
      now: now.toISOString(),
    },
  };
}

const MISSING = 'is missing: the content shows it';
const OBJECT = 'is an object, which the content would show as nothing: show its fields';

/** True where one of the paths is this path, or a beginning of it. */
const covers = (paths: readonly string[], path: string): boolean =>
  paths.some((outer) => path.startsWith(outer) && !/^[\w-]/.test(path.slice(outer.length)));

/** Adds what is wrong with a message that was made on trial; a fault may be nothing but what follows from data that is missing. */
function addTrialFaults({ faults, checked, review, optional }: LookedAt, trial: MailTrial): void {
  const { faults: ofParts, isBlank, missing, objects } = trial;
  const lacked = missingData(optional, checked.message.data);
  const known = [...Object.keys(faults), ...lacked.map((name) => `data.${name}`)];
  for (const path of missing) if (!covers(known, path)) faults[path] = MISSING;
  for (const path of objects) faults[path] ??= OBJECT;
  if (Object.keys(faults).some((name) => /^data\b/.test(name))) return;
  const { text } = checked.message;
  const fields = { subject: 'subject', html: review.field, text: text === null ? review.field : 'text' };
  const found: Record<string, string> = isBlank ? { subject: 'is empty with this data' } : {};
  for (const part of TRIAL_PARTS) {
    const fault = ofParts[part];
    // The HTML has the subject as its title, and is where the text is from that the message does not have.
    if (fault === undefined || Object.values(found).some((words) => words.endsWith(fault))) continue;
    found[fields[part]] = `has merge tags that cannot be filled in with this data: ${fault}`;
  }
  const named = checked.template === null ? found : faultsOfTemplate(found);
  for (const [field, words] of Object.entries(named)) faults[field] ??= words;
}

type Faults = Readonly<Record<string, string>>;

/** Faults of content that is a template's: those of its fields are of the template. */
function faultsOfTemplate(faults: Faults): Faults {
  const isOfFile = ([path]: readonly [string, string]) => path.startsWith('attachments');
  const own = Object.entries(faults).filter(isOfFile);
  const others = Object.entries(faults).filter((fault) => !isOfFile(fault));
  return {
    ...Object.fromEntries(own),
    ...(others.length > 0 && {
      templateKey: `has content that this message cannot have: ${others.map((fault) => fault.join(' ')).join('; ')}`,
    }),
  };
}

/** The errors of a message with the path of that message before each field. */
export const behind = (path: string, errors: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(errors).map(([field, message]) => [`${path}${field}`, message]));
