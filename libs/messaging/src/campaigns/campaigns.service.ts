import { Injectable } from '@nestjs/common';
import { TopicsQuery } from '#audience';
import { PlanLimitsService } from '#billing';
import {
  Clock,
  DomainValidationError,
  InvalidStateError,
  type Page,
  type PageRequest,
  type ProjectScope,
} from '#kernel';
import { Database } from '#platform';
import { ContentCompileError, lossesIn, MergeTemplateError } from '../content/content.errors.js';
import { contentField, parseContentDocument } from '../content/document/content-document.js';
import {
  ContentProcessesService,
  expectContent,
  footerOf,
} from '../content/processes/content-processes.service.js';
import {
  type Campaign,
  type CampaignChanges,
  type CampaignPatch,
  type CampaignStatus,
  type ContentSource,
  type KeptTemplates,
  NO_CONTENT,
  type NewCampaign,
  sourceWith,
  timeFaults,
} from './campaign.js';
import { patchedTest, variantFaults } from './campaign-variants.js';
import { CampaignAudienceQuery } from './campaign-audience.query.js';
import { CampaignContentsQuery } from './campaign-contents.query.js';
import {
  contentFaults,
  inLanguages,
  pathOf,
  type WrittenContent,
  type WrittenParts,
} from '../content/document/translated-content.js';
import type { MailFooter } from '../content/document/mail-footer.js';
import { FromAddressesService } from './from-addresses.service.js';
import { CampaignRepository, type CampaignRow } from './campaign.repository.js';
import { findOpenable } from './unopened-mails.query.js';

export interface CampaignFilter {
  readonly status?: CampaignStatus | undefined;
  readonly topicKey?: string | undefined;
}

/** The changes of a copy. */
export interface CampaignCopy {
  readonly name?: string | undefined;
  /** The audience is those who got the original and did not open it. */
  readonly resendTo?: 'NOT_OPENED' | undefined;
}

/** Writing campaigns. Sending them is `CampaignLifecycleService`. */
@Injectable()
export class CampaignsService {
  constructor(
    private readonly database: Database,
    private readonly campaigns: CampaignRepository,
    private readonly audience: CampaignAudienceQuery,
    private readonly contents: CampaignContentsQuery,
    private readonly topics: TopicsQuery,
    private readonly fromAddresses: FromAddressesService,
    private readonly processes: ContentProcessesService,
    private readonly planLimits: PlanLimitsService,
    private readonly clock: Clock,
  ) {}

  /** Newest first; none for a topic that does not exist. */
  async list(
    scope: ProjectScope,
    request: PageRequest,
    { status, topicKey }: CampaignFilter,
  ): Promise<Page<CampaignRow>> {
    const topicId = topicKey === undefined ? undefined : await this.topics.idOf(scope, topicKey);
    if (topicId === null) return { items: [], totalElements: 0, next: null };
    return this.campaigns.list(scope, request, { status, topicId });
  }

  /** The campaign, or `NotFoundError`. */
  get(scope: ProjectScope, campaignKey: string): Promise<Campaign> {
    return this.campaigns.named(scope, campaignKey);
  }

  /**
   * Adds a DRAFT. Throws `DomainValidationError` with every field that this project does not allow, or
   * `PlanLimitReachedError` when the plan allows no more this month.
   */
  create(scope: ProjectScope, draft: NewCampaign): Promise<Campaign> {
    return this.database.transaction(scope, async () => {
      const now = this.clock.now();
      const { changes: named } = await this.#checked(scope, draft, NO_CONTENT, now);
      await this.planLimits.admitCampaign(scope, now);
      expectContent(this.database);
      return this.campaigns.add(scope, named, now);
    });
  }

  /**
   * Adds a DRAFT with the content, sender and audience of a campaign. With `resendTo`, `InvalidStateError` unless that one is SENT
   * and its opens were recorded and are kept. `DomainValidationError` and `PlanLimitReachedError` as `create`.
   */
  duplicate(scope: ProjectScope, campaignKey: string, { name, resendTo }: CampaignCopy): Promise<Campaign> {
    return this.database.transaction(scope, async () => {
      const now = this.clock.now();
      const original = await this.campaigns.named(scope, campaignKey);
      if (resendTo !== undefined) await this.#refuseUnlessResendable(scope, original);
      await this.planLimits.admitCampaign(scope, now);
      expectContent(this.database);
      const written = original.copy();
      const variants = written.variants.map((variant) => ({
        ...variant,
        templateContentId: null,
        isVersionKept: false,
      }));
      const copy = { ...written, variants, ...(name !== undefined && { name }) };
      if (namesTemplate(copy)) await this.#checked(scope, templatesOf(copy), NO_CONTENT, now);
      const resendOf = resendTo === undefined ? original.resendOf : original.campaignKey;
      return this.campaigns.add(scope, copy, now, resendOf);
    });
  }

  async #refuseUnlessResendable(scope: ProjectScope, original: Campaign): Promise<void> {
    original.refuseUnlessAllowed('resend');
    await this.campaigns.refuseWithoutDeliveries(scope, original);
    if ((await findOpenable(this.database, scope, original.campaignKey)) === null)
      throw new InvalidStateError('The campaign’s opens were not recorded.', original.status, []);
  }

  /** Changes what is given and leaves the rest. */
  revise(scope: ProjectScope, campaignKey: string, { test, ...given }: CampaignPatch): Promise<Campaign> {
    return this.campaigns.whileLocked(scope, campaignKey, async (campaign, now) => {
      const tested = test == null ? test : patchedTest(campaign.test, test);
      const changes = tested === undefined ? given : { ...given, test: tested };
      if (campaign.status === 'SCHEDULED') await this.audience.hold(scope);
      const checked = await this.#checked(scope, changes, campaign, now);
      campaign.revise(checked.changes, now);
      if (campaign.status === 'SCHEDULED') campaign.keepTemplates(checked.templates);
      expectContent(this.database);
      return campaign;
    });
  }

  /** Deletes it. Throws `InvalidStateError` while the worker has it and when its mails are out. */
  async remove(scope: ProjectScope, campaignKey: string): Promise<void> {
    await this.campaigns.whileLocked(scope, campaignKey, (campaign, now) => {
      campaign.refuseUnlessAllowed('delete');
      this.campaigns.remove(campaign, now);
    });
  }

  /** Throws DomainValidationError with what mails would lose of the content that is given, by its path. */
  async refuseLosses(scope: ProjectScope, given: Omit<CampaignChanges, 'test'>): Promise<void> {
    const origin = await this.fromAddresses.of(scope);
    // Faults of the document itself are told when it is saved.
    if (origin === null || Object.keys(contentFaults(given)).length > 0) return;
    const losses: Record<string, string> = {};
    const filled = namesTemplate(given) ? await this.#contentOfTemplates(scope, given) : null;
    const contents = [
      { prefix: '', source: given, content: given.templateKey == null ? given : filled! },
      ...(given.variants ?? []).map((variant, index) => {
        const content = variant.templateKey == null ? variant : filled!.variants[index]!;
        return { prefix: `variants[${index}].`, source: variant, content };
      }),
    ];
    for (const { prefix, source, content } of contents)
      for (const [locale, { contentJson: json = null }] of inLanguages<WrittenContent, WrittenParts>(
        content,
      )) {
        if (json === null) continue;
        const footer = footerOf(origin.project, await this.fromAddresses.wording(scope, locale));
        const loss = await this.#lossOf(scope, json, footer);
        if (loss === null) continue;
        const isOwn = source.templateKey == null;
        const path = isOwn ? contentField(parseContentDocument(json).document) : 'templateKey';
        losses[`${prefix}${isOwn ? pathOf(locale) : ''}${path}`] ??= loss;
      }
    if (Object.keys(losses).length > 0) throw new DomainValidationError(losses);
  }

  async #contentOfTemplates(scope: ProjectScope, given: CampaignChanges) {
    const source = { ...NO_CONTENT, ...sourceWith(given, NO_CONTENT), variants: given.variants ?? [] };
    return (await this.contents.of(scope, source)).content;
  }

  async #lossOf(scope: ProjectScope, contentJson: string, footer: MailFooter): Promise<string | null> {
    const content = { subject: '', previewText: null, contentJson, contentText: null };
    try {
      const { removed } = await this.processes.compile(scope, { content, footer, tracking: null });
      return lossesIn(removed);
    } catch (error) {
      if (error instanceof MergeTemplateError || error instanceof ContentCompileError)
        return `cannot be made into a mail: ${error.message}`;
      throw error;
    }
  }

  /**
   * The changes with the ids of what they name by key, and the content of a template that the campaign then has. Throws
   * DomainValidationError with all their faults.
   */
  async #checked<Draft extends CampaignChanges>(
    scope: ProjectScope,
    given: Draft,
    before: ContentSource & Partial<Pick<Campaign, 'variants' | 'test' | 'scheduledAtLocal' | 'queuedAt'>>,
    now: Date,
  ): Promise<{ readonly changes: Draft; readonly templates: KeptTemplates }> {
    if (namesTemplate(given)) await this.audience.hold(scope);
    const { draft, faults } = await this.audience.chosen(scope, given);
    const { changes, templates, faults: ofTemplates } = await this.contents.chosen(scope, draft, before);
    const errors = {
      ...faults,
      ...contentFaults(draft),
      ...variantFaults(draft, before),
      ...ofTemplates,
      ...timeFaults(draft, now),
    };
    if (Object.keys(errors).length > 0) throw new DomainValidationError(errors);
    return { changes, templates };
  }
}

const namesTemplate = ({ templateKey, variants = [] }: CampaignChanges): boolean =>
  [templateKey, ...variants.map((variant) => variant.templateKey)].some((key) => key != null);

const templatesOf = ({ templateKey, templateVersion, translations, variants, test }: CampaignChanges) => ({
  templateKey,
  templateVersion,
  translations,
  variants,
  test,
});
