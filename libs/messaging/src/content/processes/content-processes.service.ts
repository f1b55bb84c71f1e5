import { Inject, Injectable, type OnApplicationShutdown, Optional } from '@nestjs/common';
import type { ReviewedContent } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { Wording } from '#wording';
import type { MailFooter, MailSources } from '../mail/campaign-template.js';
import type { Faults, MailReview } from '../review/mail-faults.js';
import type { MergeValues } from '../merge/merge-template.js';
import { expectContent } from './content.channel.js';
import { ContentPool } from './content-pool.service.js';
import type { TaskInput, TaskName, TaskValue } from './content-tasks.js';
import type { Done } from './content-process.js';
import { KeptResults } from './kept-results.js';
import type { LogicParts, RenderedBatch, RenderedMail } from './mail-renderer.js';
import { RenderBudget } from './render-budget.js';
import { ContentTooComplexError, errorOf } from './task-fault.js';

/** Honest content takes a second; what is let through by its bounds, six. */
const COMPILING = { cpuMs: 10_000, memoryMb: 256 };
const RENDERING = { cpuMs: 5_000, memoryMb: 128 };
/** How long one project's mails are rendered before others' turn. */
const SLICE_MS = 250;
const TOO_COMPLEX = 'is too complex';

/** Mails rendered ahead, in the order asked for; the rest has to wait. */
export interface RenderedAhead {
  readonly rendered: RenderedBatch;
  /** Until the first of the rest may be rendered, and then for each. */
  readonly waitMs: number;
  readonly eachMs: number;
}

/** The processes that do it, for all projects. */
export class ContentPools {
  readonly compiling = new ContentPool(COMPILING, 'compile');
  readonly rendering = new ContentPool(RENDERING);

  close(): void {
    this.compiling.close();
    this.rendering.close();
  }
}

/** Has projects' content compiled and filled in by processes of their own, so that no content holds up this one. */
@Injectable()
export class ContentProcesses implements OnApplicationShutdown {
  readonly #kept = new KeptResults();
  readonly #budget = new RenderBudget(() => performance.now());
  /** By the content: CPU time of one mail. */
  readonly #paces = new Map<string, number>();

  /** `database`: tells the other programs what is at hand; none where there are none. */
  constructor(
    @Optional() private readonly pools: ContentPools = new ContentPools(),
    @Optional() @Inject(Database) private readonly database: Database | null = null,
  ) {}

  /** Something is probably compiled soon: what does it starts meanwhile. */
  warm(): void {
    this.pools.compiling.warm();
  }

  /**
   * @throws {MergeTemplateError} when a merge tag is not closed
   * @throws {ContentCompileError} when it cannot be made into a mail; `ContentTooComplexError` when it would take too much
   */
  async compile(scope: ProjectScope, input: TaskInput<'compile'>): Promise<MailSources> {
    return valueOf(await this.#compiled(scope, 'compile', input));
  }

  /** The content as the pre-send checks need it: a worker will probably compile it next. @throws {ContentTooComplexError} */
  async review(scope: ProjectScope, input: TaskInput<'review'>): Promise<ReviewedContent> {
    if (this.database !== null) expectContent(this.database);
    return valueOf(await this.#compiled(scope, 'review', input));
  }

  /** A mail of an automation: what is wrong with it, and what it loses. */
  async reviewMail(scope: ProjectScope, input: TaskInput<'reviewMail'>): Promise<MailReview> {
    const tooComplex = { faults: { contentJson: TOO_COMPLEX }, removed: [] };
    return this.#orTooComplex(this.#compiled(scope, 'reviewMail', input), tooComplex);
  }

  /** What is wrong with the body of an automation's webhook, by its path. */
  async bodyFaults(scope: ProjectScope, input: TaskInput<'bodyFaults'>): Promise<Faults> {
    return this.#orTooComplex(this.#rendered(scope, 'bodyFaults', input, input), { body: TOO_COMPLEX });
  }

  /** The keys of the custom fields that merge tags name. @throws {ContentTooComplexError} */
  async customKeys(
    { projectId }: ProjectScope,
    written: TaskInput<'customKeys'>,
  ): Promise<readonly string[]> {
    return valueOf(await this.pools.rendering.run(projectId, 'customKeys', written));
  }

  /** A webhook's body with its merge tags filled in. @throws {MergeTemplateError} @throws {ContentTooComplexError} */
  async filled({ projectId }: ProjectScope, body: unknown, values: MergeValues): Promise<unknown> {
    if (!/\{[{%]/.test(JSON.stringify(body))) return body;
    return valueOf(await this.pools.rendering.run(projectId, 'fill', { body, values }));
  }

  /** One mail, kept for the next look at it. @throws {MergeTemplateError} @throws {ContentTooComplexError} */
  async renderOne(scope: ProjectScope, parts: LogicParts, values: MergeValues): Promise<RenderedMail> {
    const input = { parts, values: [values], sliceMs: 0 };
    const [mail] = valueOf(await this.#rendered(scope, 'render', input, [parts.key, values]));
    if (mail === undefined) throw new Error('Nothing was rendered.');
    if ('fault' in mail) throw errorOf({ kind: 'merge-tags', message: mail.fault });
    return mail;
  }

  /** As many mails as there is time for, now. @throws {MergeTemplateError} @throws {ContentTooComplexError} */
  async renderAhead(
    scope: ProjectScope,
    parts: LogicParts,
    values: readonly MergeValues[],
  ): Promise<RenderedAhead> {
    const { projectId } = scope;
    const eachMs = this.#paces.get(parts.key) ?? 0;
    const waitMs = this.#budget.waitMs(projectId);
    if (waitMs > 0 || values.length === 0) return { rendered: [], waitMs, eachMs };
    const input = { parts, values, sliceMs: SLICE_MS };
    const done = await this.pools.rendering.run(projectId, 'render', input);
    this.#budget.spend(projectId, done.cpuMs);
    const rendered = valueOf(done);
    const pace = done.cpuMs / rendered.length;
    this.#keepPace(parts.key, pace);
    return { rendered, waitMs: this.#budget.waitMs(projectId), eachMs: pace };
  }

  onApplicationShutdown(): void {
    this.pools.close();
  }

  async #compiled<Name extends 'compile' | 'review' | 'reviewMail'>(
    { projectId }: ProjectScope,
    name: Name,
    input: TaskInput<Name>,
  ): Promise<Done<Name>> {
    return this.#kept.of(
      [projectId, name, input],
      () => this.pools.compiling.run(projectId, name, input),
      isLasting,
    );
  }

  async #rendered<Name extends 'bodyFaults' | 'render'>(
    { projectId }: ProjectScope,
    name: Name,
    input: TaskInput<Name>,
    key: unknown,
  ): Promise<Done<Name>> {
    return this.#kept.of(
      [projectId, name, key],
      () => this.pools.rendering.run(projectId, name, input),
      isLasting,
    );
  }

  async #orTooComplex<Name extends 'reviewMail' | 'bodyFaults'>(
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

  #keepPace(key: string, pace: number): void {
    this.#paces.delete(key);
    this.#paces.set(key, pace);
    for (const oldest of [...this.#paces.keys()].slice(0, -100)) this.#paces.delete(oldest);
  }
}

interface FooterSender
  extends Pick<MailFooter, 'senderName' | 'postalAddress'>, Partial<Pick<MailFooter, 'color'>> {
  readonly privacyUrl?: string | null;
  readonly contactEmail?: string | null;
}

/** As much of a project, and in the words of a language, as its mails show; nothing else of it has to leave this process. */
export function footerOf(
  { senderName, postalAddress, color = null, privacyUrl = null, contactEmail = null }: FooterSender,
  wording: Wording,
): MailFooter {
  const { locale, direction } = wording;
  // The link takes its place when the mail is compiled.
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

function valueOf<Name extends TaskName>(done: Done<Name>): TaskValue<Name> {
  if ('fault' in done) throw errorOf(done.fault);
  return done.value;
}

/** What was stopped may come to an end another time. */
const isLasting = (done: Done<TaskName>): boolean =>
  !('fault' in done) || done.fault.kind === 'merge-tags' || done.fault.kind === 'content';
