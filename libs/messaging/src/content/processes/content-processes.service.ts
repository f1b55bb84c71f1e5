import { createHash } from 'node:crypto';
import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  Optional,
} from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { ReviewedContent } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { Database, Notifications } from '#platform';
import type { Wording } from '#wording';
import { ContentTooComplexError, errorOf } from '../content.errors.js';
import type { MailSources } from '../document/content-compiler.js';
import type { MailFooter } from '../document/mail-footer.js';
import type { MailReview } from '../document/content-review.js';
import type { TemplateReview } from '../document/template-review.js';
import type { Faults } from '../document/content-document.js';
import {
  filledIn,
  type LogicParts,
  type MailParts,
  plainTemplatesOf,
  type RenderedBatch,
  type RenderedMail,
} from '../mail/mail-renderer.js';
import type { MailTrial } from '../mail/mail-trial.js';
import {
  EMPTY_REVIEW,
  type EventPath,
  type LogicSources,
  type MessageReview,
  reviewPlainMessage,
} from '../merge/merge-review.js';
import type { MergeValues } from '../merge/merge-values.js';
import { ContentPoolService } from './content-pool.service.js';
import type { StoredImage } from './image.js';
import type { Done, TaskInput, TaskName, TaskValue } from './content-process.js';
import { RenderBudget } from './fair-queue.js';

/** Honest content takes a second; the worst that its bounds let through, six. */
const COMPILING = { cpuMs: 10_000, memoryMb: 256 };
const RENDERING = { cpuMs: 5_000, memoryMb: 128 };
/** The largest images that are taken need 3 s and 510 MB, the longest animations 11 s and 550 MB. */
const IMAGES = { cpuMs: 30_000, memoryMb: 128, processMb: 640 };
/** Time for which one project's mails are rendered before the next project's. */
const SLICE_MS = 250;
const TOO_COMPLEX = 'is too complex';
const TOO_COMPLEX_TRIAL: MailTrial = {
  faults: { html: 'it is too complex' },
  isBlank: false,
  missing: [],
  objects: [],
};
const KEPT_CHARACTERS = 8_000_000;
const KEPT_PACES = 100;

/** Channel on which programs hear of content that is probably compiled soon. */
const CONTENT_CHANNEL = 'mailwright_content';

/** Has all programs start the process that compiles, when the open transaction commits. */
export function expectContent(database: Database): void {
  database.notify(CONTENT_CHANNEL);
}

/** Mails rendered ahead, in the order asked for; the rest has to wait. */
interface RenderedAhead {
  readonly rendered: RenderedBatch;
  /** Wait until the first of the rest may be rendered, and then for each. */
  readonly waitMs: number;
  readonly eachMs: number;
}

/** The processes for content of all projects. */
export class ContentPools {
  readonly compiling = new ContentPoolService(COMPILING, 'compile');
  readonly rendering = new ContentPoolService(RENDERING);
  readonly images = new ContentPoolService(IMAGES, 'image');

  close(): void {
    this.compiling.close();
    this.rendering.close();
    this.images.close();
  }
}

/** Has projects' content compiled and filled in by processes of their own, so that no content holds up this one. */
@Injectable()
export class ContentProcessesService implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #results = new ResultCache();
  readonly #budget = new RenderBudget(() => performance.now());
  /** CPU time of one mail, by the content. */
  readonly #paces = new LRUCache<string, number>({ max: KEPT_PACES });
  #stopListening: () => void = () => undefined;

  /** `database` and `notifications` carry news of content to come between programs; null where there is only this one. */
  constructor(
    @Optional() private readonly pools: ContentPools = new ContentPools(),
    @Optional() @Inject(Database) private readonly database: Database | null = null,
    @Optional() @Inject(Notifications) private readonly notifications: Notifications | null = null,
  ) {}

  /** Compiles are expected while content is written or checked: the process starts then, and no campaign waits for it. */
  onApplicationBootstrap(): void {
    // A payload of null means that a message may have been missed: the process then starts when it is needed.
    const listening = this.notifications?.listen(CONTENT_CHANNEL, (payload) => {
      if (payload !== null) this.warm();
    });
    this.#stopListening = listening ?? this.#stopListening;
  }

  onApplicationShutdown(): void {
    this.#stopListening();
    this.pools.close();
  }

  /** Starts the process that compiles, or keeps it. */
  warm(): void {
    this.pools.compiling.warm();
  }

  /**
   * @throws {MergeTemplateError} when a merge tag is not closed
   * @throws {ContentCompileError} when it cannot be made into a mail; `ContentTooComplexError` when it would take too much
   */
  async compile(scope: ProjectScope, input: TaskInput<'compile'>): Promise<MailSources> {
    return valueOf(await this.#cached(this.pools.compiling, scope, 'compile', input));
  }

  /** Reviews a campaign's content for the pre-send checks: a worker will probably compile it next. */
  review(scope: ProjectScope, input: TaskInput<'review'>): Promise<ReviewedContent> {
    if (this.database !== null) expectContent(this.database);
    const contentFault = new ContentTooComplexError().message;
    const tooComplex = { mergeTagFaults: [], contentFault, content: null };
    return orTooComplex(this.#cached(this.pools.compiling, scope, 'review', input), tooComplex);
  }

  /** Faults of a mail of an automation, and the pieces that it loses. */
  reviewMail(scope: ProjectScope, input: TaskInput<'reviewMail'>): Promise<MailReview> {
    const tooComplex = { field: 'contentJson', faults: { contentJson: TOO_COMPLEX }, removed: [] };
    return orTooComplex(this.#cached(this.pools.compiling, scope, 'reviewMail', input), tooComplex);
  }

  /** Faults of a message's content, and the data that it needs. */
  async reviewMessage(scope: ProjectScope, input: TaskInput<'reviewMessage'>): Promise<MessageReview> {
    const { subject, contentJson, contentText } = input.content;
    const plain =
      contentJson === null ? reviewPlainMessage({ subject, text: contentText ?? '' }, input) : null;
    if (plain !== null) return plain;
    if (this.database !== null && contentJson !== null) expectContent(this.database);
    const tooComplex = { ...EMPTY_REVIEW, field: 'contentJson', faults: { contentJson: TOO_COMPLEX } };
    return orTooComplex(this.#cached(this.pools.compiling, scope, 'reviewMessage', input), tooComplex);
  }

  /** Faults of a template in one language, and the data that it shows. */
  reviewTemplate(scope: ProjectScope, input: TaskInput<'reviewTemplate'>): Promise<TemplateReview> {
    if (this.database !== null) expectContent(this.database);
    const tooComplex = { faults: { contentJson: TOO_COMPLEX }, removed: [], found: [] };
    return orTooComplex(this.#cached(this.pools.compiling, scope, 'reviewTemplate', input), tooComplex);
  }

  /** Faults of the body of an automation's webhook, by their paths. */
  bodyFaults(scope: ProjectScope, input: TaskInput<'bodyFaults'>): Promise<Faults> {
    const tooComplex = { body: TOO_COMPLEX };
    return orTooComplex(this.#cached(this.pools.rendering, scope, 'bodyFaults', input), tooComplex);
  }

  /** The keys of the custom fields that merge tags name. @throws {ContentTooComplexError} */
  async customKeys(
    { projectId }: ProjectScope,
    written: TaskInput<'customKeys'>,
  ): Promise<readonly string[]> {
    return valueOf(await this.pools.rendering.run(projectId, 'customKeys', written));
  }

  /** The paths in an event's properties that merge tags name; none where there would be too much to read. */
  async eventPaths(scope: ProjectScope, content: TaskInput<'eventPaths'>): Promise<readonly EventPath[]> {
    if (!/\bevent\s*\./.test(JSON.stringify(content))) return [];
    return orTooComplex(this.#cached(this.pools.rendering, scope, 'eventPaths', content), []);
  }

  /** A webhook's body with its merge tags filled in. @throws {MergeTemplateError} @throws {ContentTooComplexError} */
  async filled({ projectId }: ProjectScope, body: unknown, values: MergeValues): Promise<unknown> {
    if (!/\{[{%]/.test(JSON.stringify(body))) return body;
    return valueOf(await this.pools.rendering.run(projectId, 'fill', { body, values }));
  }

  /** An image as it is stored. @throws {ContentCompileError} whose message goes behind the name of the field */
  async image(
    { environmentId }: Pick<ProjectScope, 'environmentId'>,
    input: TaskInput<'image'>,
  ): Promise<StoredImage> {
    // The environment is all that is known of those who look at images.
    return valueOf(await this.pools.images.run(environmentId, 'image', input));
  }

  /** One mail, kept for the next look at it. @throws {MergeTemplateError} @throws {ContentTooComplexError} */
  async renderOne(scope: ProjectScope, parts: LogicParts, values: MergeValues): Promise<RenderedMail> {
    const input = { parts, values: [values], sliceMs: 0 };
    const done = await this.#cached(this.pools.rendering, scope, 'render', input, [parts.key, values]);
    const [mail] = valueOf(done);
    if (mail === undefined) throw new Error('Nothing was rendered.');
    if ('fault' in mail) throw errorOf({ kind: 'merge-tags', message: mail.fault });
    return mail;
  }

  /** One mail's parts: filled in here where their merge tags are plain, else by a process. @throws as `renderOne` */
  async fillIn(scope: ProjectScope, parts: MailParts, values: MergeValues): Promise<MailParts> {
    const plain = plainTemplatesOf(parts);
    return plain === null
      ? this.renderOne(scope, { ...parts, key: hashOf(parts) }, values)
      : filledIn(plain, values);
  }

  /** Trials of messages with the same content and values each, in their order. */
  async tryOut(
    { projectId }: ProjectScope,
    parts: LogicSources,
    values: readonly MergeValues[],
  ): Promise<readonly MailTrial[]> {
    const named = { ...parts, key: hashOf(parts) };
    const trials: MailTrial[] = [];
    let most = values.length;
    while (trials.length < values.length) {
      const next = values.slice(trials.length, trials.length + most);
      const input = { parts: named, values: next, sliceMs: SLICE_MS };
      const tried = await orTooComplex(this.pools.rendering.run(projectId, 'tryOut', input), []);
      // One of them was too much: each by itself tells which.
      if (tried.length === 0 && most > 1) most = 1;
      else trials.push(...(tried.length === 0 ? [TOO_COMPLEX_TRIAL] : tried));
    }
    return trials;
  }

  /** As many mails as there is time for, now. @throws {MergeTemplateError} @throws {ContentTooComplexError} */
  async renderAhead(
    { projectId }: ProjectScope,
    parts: LogicParts,
    values: readonly MergeValues[],
  ): Promise<RenderedAhead> {
    const eachMs = this.#paces.get(parts.key) ?? 0;
    const waitMs = this.#budget.waitMs(projectId);
    if (waitMs > 0 || values.length === 0) return { rendered: [], waitMs, eachMs };
    const input = { parts, values, sliceMs: SLICE_MS };
    const done = await this.pools.rendering.run(projectId, 'render', input);
    this.#budget.spend(projectId, done.cpuMs);
    const rendered = valueOf(done);
    const pace = done.cpuMs / rendered.length;
    this.#paces.set(parts.key, pace);
    return { rendered, waitMs: this.#budget.waitMs(projectId), eachMs: pace };
  }

  #cached<Name extends TaskName>(
    pool: ContentPoolService,
    { projectId }: ProjectScope,
    name: Name,
    input: TaskInput<Name>,
    key: unknown = input,
  ): Promise<Done<Name>> {
    return this.#results.get([projectId, name, key], () => pool.run(projectId, name, input));
  }
}

function valueOf<Name extends TaskName>(done: Done<Name>): TaskValue<Name> {
  if ('fault' in done) throw errorOf(done.fault);
  return done.value;
}

async function orTooComplex<Name extends TaskName>(
  done: Promise<Done<Name>>,
  tooComplex: TaskValue<Name>,
): Promise<TaskValue<Name>> {
  try {
    return valueOf(await done);
  } catch (error) {
    if (error instanceof ContentTooComplexError) return tooComplex;
    throw error;
  }
}

/** A task that was stopped may come to an end another time. */
const isLasting = (done: Done<TaskName>): boolean =>
  !('fault' in done) || done.fault.kind === 'merge-tags' || done.fault.kind === 'content';

/** Caches results that are the same whenever the same is asked; callers that ask meanwhile wait for the same result. */
class ResultCache {
  readonly #done = new LRUCache<string, { readonly json: string }>({
    maxSize: KEPT_CHARACTERS,
    sizeCalculation: ({ json }) => json.length + 1,
  });
  readonly #running = new Map<string, Promise<unknown>>();

  /** `key` is any value that names all that the result depends on. */
  async get<Name extends TaskName>(key: unknown, make: () => Promise<Done<Name>>): Promise<Done<Name>> {
    const name = hashOf(key);
    const kept = this.#done.get(name);
    if (kept !== undefined) return JSON.parse(kept.json) as Done<Name>;
    const running = this.#running.get(name);
    if (running !== undefined) return (await running) as Done<Name>;
    const making = make().finally(() => this.#running.delete(name));
    this.#running.set(name, making);
    const result = await making;
    if (isLasting(result)) this.#done.set(name, { json: JSON.stringify(result) });
    return result;
  }
}

export const hashOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64');

interface FooterSender
  extends Pick<MailFooter, 'senderName' | 'postalAddress'>, Partial<Pick<MailFooter, 'color'>> {
  readonly privacyUrl?: string | null;
  readonly contactEmail?: string | null;
}

/** Footer of a project's mails in the words of a language; nothing else of the project has to leave this process. */
export function footerOf(
  { senderName, postalAddress, color = null, privacyUrl = null, contactEmail = null }: FooterSender,
  wording: Wording,
): MailFooter {
  const { locale, direction } = wording;
  // Replaced by the link when the mail is compiled.
  const url = { url: '{url}' };
  const words = {
    unsubscribe: wording.text('footer.unsubscribe'),
    preferences: wording.text('footer.preferences'),
    view: wording.text('footer.view'),
    unsubscribeLink: wording.text('footer.unsubscribeLink', url),
    preferencesLink: wording.text('footer.preferencesLink', url),
    viewLink: wording.text('footer.viewLink', url),
  };
  const privacy = {
    url: privacyUrl,
    words: wording.text('footer.privacy'),
    line: privacyUrl === null ? null : wording.text('footer.privacyLink', { url: privacyUrl }),
    email: contactEmail,
    contact: contactEmail === null ? null : wording.text('footer.contact', { contact: contactEmail }),
  };
  return { senderName, postalAddress, color, locale, direction, words, privacy };
}
