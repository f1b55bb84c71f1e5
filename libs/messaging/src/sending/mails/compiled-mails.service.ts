import { LRUCache } from 'lru-cache';
import { type CampaignMail, wireAddress } from './campaign-mail.js';
import { Inject, Injectable } from '@nestjs/common';
import { TopicsQuery } from '#audience';
import { matchLocale, type ProjectScope, shippedLocale } from '#kernel';
import type { ShippedLocale } from '#wording';
import { type Config, CONFIG, Database, MAX_TRACKED_PLACES } from '#platform';
import { CampaignContentsQuery, contentWith } from '../../campaigns/campaign-contents.query.js';
import { FromAddressesService, type OwnSender } from '../../campaigns/from-addresses.service.js';
import type { CampaignContent } from '../../content/document/content-compiler.js';
import { plainTemplatesOf } from '../../content/mail/mail-renderer.js';
import type { LinkTracking } from '../../content/mail/link-tracking.js';
import { projectValues } from '../../content/merge/merge-values.js';
import { type Header, listHeaders } from '../../content/mail/header-field.js';
import { compileMimeSkeleton } from '../../content/mail/mime-message.js';
import {
  ContentProcessesService,
  footerOf,
  hashOf,
} from '../../content/processes/content-processes.service.js';
import { type LinkSetContent, LinkSetsService } from '../../engagement/link-sets.service.js';
import { Campaign } from '../../campaigns/campaign.js';
import { withVariant } from '../../campaigns/campaign-variants.js';
import { type CONTENT_PARTS, contentIn, translationFor } from '../../content/document/translated-content.js';
import { TemplateContentsQuery } from '../../templates/template-contents.query.js';
import { VersionPlansQuery } from '../../automations/runs/version-plans.query.js';
import type { EmailConfig } from '../../automations/graph/node-config.js';
import type { MessagingTables } from '../../messaging-tables.js';

/** Room for some hundreds of usual mails. */
const KEPT_CHARACTERS = 32_000_000;
const KEPT_CAMPAIGNS = 100;
/** The stable last part of Feedback-ID, by which a mailbox provider knows the sending system. */
export const FEEDBACK_SENDER = 'mailwright';

/** Mails that were compiled, or are just being, by a key that tells apart what is compiled apart. */
class MailCache {
  readonly #mails = new LRUCache<string, Promise<CampaignMail>>({ maxSize: KEPT_CHARACTERS });

  of(key: string, compile: () => Promise<CampaignMail>): Promise<CampaignMail> {
    const known = this.#mails.get(key);
    if (known !== undefined) return known;
    const compiling = compile();
    this.#mails.set(key, compiling, { size: 1 });
    compiling.then(
      (mail) => this.#mails.set(key, compiling, { size: sizeOf(mail) }),
      () => this.#mails.delete(key),
    );
    return compiling;
  }
}

const sizeOf = ({ template: { parts } }: CampaignMail): number => 1 + parts.html.length + parts.text.length;

/** The languages of a mail. */
interface MailLanguage {
  /** The locale of a translation; null where the content is in the project's language. */
  readonly translation: string | null;
  /** The reader's, in which their footer is; null: the project's. */
  readonly footerLocale: ShippedLocale | null;
}

/** The language of the footer for a reader with this language, of whose mail it is the translation. */
export const footerLocaleOf = (locale: string | null, translation: string | null): ShippedLocale | null =>
  shippedLocale([locale, translation]);

/** The parts of the mails of a campaign, or of a step of an automation. */
interface MailSource extends MailLanguage, Pick<CampaignMail, 'kind' | 'campaign'> {
  readonly content: CampaignContent & OwnSender;
  /** Null where answers go where the project says. */
  readonly replyTo: string | null;
}

/** A campaign as it was queued; `version` tells the contents apart that it has had. */
interface QueuedCampaign {
  readonly scope: ProjectScope;
  readonly campaignId: string;
  readonly version: string;
}

/** The reader's language, and the number of the variant that they get; null: the first, where there are any. */
export interface MailChoice {
  readonly locale: string | null;
  readonly variant: number | null;
}

/** Mails of an automation that are alike: of one step of one version, queued on one day, with a footer in one language. */
export interface AutomationMailStep {
  readonly versionId: number;
  readonly place: number;
  /** `YYYY-MM-DD` */
  readonly queuedOn: string;
  /** The reader's, in which the footer is; null: the project's. */
  readonly footerLocale: ShippedLocale | null;
  /** The template's content; null where the step has its own. */
  readonly contentId: string | null;
  readonly translation: string | null;
}

/** A step of a run. */
export interface StepOfRun extends Pick<AutomationMailStep, 'versionId' | 'place'> {
  readonly enteredAt: Date;
}

/** The content of a template that a step's mails have. */
export interface StepContent {
  readonly id: string;
  /** Locales of its translations. */
  readonly translations: readonly string[];
}

/** The parts of a campaign that its mails are made of, its template's content in them. */
export type DraftOfMail = CampaignMail['campaign'] &
  Pick<
    Campaign,
    (typeof CONTENT_PARTS)[number] | 'translations' | 'variants' | 'fromName' | 'fromEmail' | 'replyTo'
  >;

/** A campaign with the content that its mails have. */
type FilledCampaign = DraftOfMail & Pick<Campaign, 'audienceAt' | 'queuedAt'>;

/** The owner of tracked mails. */
type TrackedMails = Omit<LinkSetContent, 'urls' | 'translation'>;

/**
 * Compiles the mails of campaigns and automations. A queued campaign and a version of an automation do not change: each is compiled
 * once a process, in each of its languages; a version's mails once a day.
 */
@Injectable()
export class CompiledMailsService {
  readonly #campaigns = new MailCache();
  readonly #steps = new MailCache();
  readonly #queued = new LRUCache<string, FilledCampaign, QueuedCampaign>({
    max: KEPT_CAMPAIGNS,
    fetchMethod: (_key, _stale, { context: { scope, campaignId } }) => this.#find(scope, campaignId),
  });

  constructor(
    private readonly database: Database,
    private readonly plans: VersionPlansQuery,
    private readonly contents: CampaignContentsQuery,
    private readonly templates: TemplateContentsQuery,
    private readonly fromAddresses: FromAddressesService,
    private readonly topics: TopicsQuery,
    private readonly processes: ContentProcessesService,
    private readonly linkSets: LinkSetsService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * A queued campaign's variant in the translation for readers with this language, compiled; rejects when it, or its project, is gone.
   */
  async ofQueued(queued: QueuedCampaign, { locale, variant }: MailChoice): Promise<CampaignMail> {
    const { scope, campaignId, version } = queued;
    const key = `${campaignId}/${version}`;
    const campaign = withVariant(await this.#queued.forceFetch(key, { context: queued }), variant);
    const language = languageFor(campaign, locale);
    const { translation, footerLocale } = language;
    return this.#campaigns.of(`${key}/${variant ?? ''}/${translation ?? ''}/${footerLocale ?? ''}`, () => {
      const queuedOn = campaign.queuedAt?.toISOString().slice(0, 10);
      const tracked = queuedOn === undefined ? null : { owner: { campaignId }, queuedOn };
      return this.#compileCampaign(scope, campaign, language, tracked);
    });
  }

  /** The campaign as it stands, without tracking: for a look at it. */
  async compile(
    scope: ProjectScope,
    campaignId: string,
    { locale, variant }: MailChoice = { locale: null, variant: null },
  ): Promise<CampaignMail> {
    return this.compileDraft(scope, withVariant(await this.#find(scope, campaignId), variant), locale);
  }

  /** The same of a campaign with changes that nothing has stored, or with one of its variants. */
  compileDraft(scope: ProjectScope, draft: DraftOfMail, locale: string | null): Promise<CampaignMail> {
    return this.#compileCampaign(scope, draft, languageFor(draft, locale), null);
  }

  /** A queued campaign's mail, when all variants and translations can be compiled, too: `ofQueued` has them from then on. */
  async compileAll(scope: ProjectScope, campaignId: string): Promise<CampaignMail> {
    const campaign = await this.#find(scope, campaignId);
    const { audienceAt, variants } = campaign;
    // As its deliveries are created.
    const queued = { scope, campaignId, version: audienceAt?.toISOString() ?? '' };
    const numbers = variants.length === 0 ? [null] : variants.map((_, index) => index + 1);
    for (const variant of numbers)
      for (const locale of [null, ...Object.keys(withVariant(campaign, variant).translations)])
        await this.ofQueued(queued, { locale, variant });
    return this.ofQueued(queued, { locale: null, variant: numbers[0] ?? null });
  }

  #compileCampaign(
    scope: ProjectScope,
    campaign: DraftOfMail,
    language: MailLanguage,
    tracked: TrackedMails | null,
  ): Promise<CampaignMail> {
    const { fromName, fromEmail, replyTo } = campaign;
    const content = { ...contentIn(campaign, language.translation), fromName, fromEmail };
    const source = { ...language, kind: 'CAMPAIGN', campaign, content, replyTo } as const;
    return this.#compile(scope, source, tracked);
  }

  async #find(scope: ProjectScope, id: string): Promise<FilledCampaign> {
    const campaign = await this.database.transaction(scope, () =>
      this.database.em.findOneOrFail(Campaign, { environmentId: scope.environmentId, id }),
    );
    return this.contents.filled(scope, campaign);
  }

  /** The contents of templates that were in use when runs began, by their steps in order; null for a step with its own. */
  async contentsOf(
    scope: ProjectScope,
    steps: readonly StepOfRun[],
  ): Promise<readonly (StepContent | null)[]> {
    const moments = await Promise.all(
      steps.map(async ({ versionId, place, enteredAt: at }, index) => {
        // A version that is gone fails where the mail is made.
        const plan = await this.plans.of(scope, versionId).catch(() => null);
        const templateId = plan?.mailTemplateIds[place] ?? null;
        const step = plan?.steps[place];
        if (templateId === null || step?.type !== 'email') return [];
        return [{ index, templateId, version: step.config.templateVersion, at }];
      }),
    );
    const asked = moments.flat();
    const ids = await this.templates.inUseAt(scope, asked);
    const found: (StepContent | null)[] = steps.map(() => null);
    for (const [n, { index }] of asked.entries()) {
      const id = ids[n] ?? null;
      const content = id === null ? null : await this.templates.withId(scope, id);
      if (id !== null && content !== null)
        found[index] = { id, translations: Object.keys(content.translations) };
    }
    return found;
  }

  /** The mail of a step of an automation, compiled. */
  ofStep(scope: ProjectScope, step: AutomationMailStep): Promise<CampaignMail> {
    return this.#steps.of(keyOf(step), () => this.#compileStep(scope, step));
  }

  async #compileStep(
    scope: ProjectScope,
    { versionId, place, queuedOn, footerLocale, contentId, translation }: AutomationMailStep,
  ): Promise<CampaignMail> {
    const { automationId: id, automationKey: campaignKey, ...plan } = await this.plans.of(scope, versionId);
    const step = plan.steps[place];
    if (step?.type !== 'email') throw new Error('The automation step sends no e-mail.');
    const topicId = plan.mailTopicIds[place] ?? null;
    const { name } = await this.database.transaction(scope, () =>
      this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.automations')
        .select('name')
        .where('id', '=', id)
        .where('environmentId', '=', scope.environmentId)
        .executeTakeFirstOrThrow(),
    );
    const campaign = { id, campaignKey, name, topicIds: topicId === null ? [] : [topicId] };
    const content = {
      ...step.config,
      ...(await this.#contentOfStep(scope, step.config, contentId, translation)),
    };
    const source = { campaign, content, translation, footerLocale, replyTo: null };
    const tracked = { owner: { campaignId: null, versionId, place }, queuedOn } as const;
    return this.#compile(scope, { ...source, kind: 'AUTOMATION' }, tracked);
  }

  async #contentOfStep(
    scope: ProjectScope,
    config: EmailConfig,
    contentId: string | null,
    translation: string | null,
  ): Promise<CampaignContent> {
    const own = { ...config, translations: {} };
    if (config.templateKey === null) return contentIn(own, null);
    const kept = contentId === null ? null : await this.templates.withId(scope, contentId);
    if (kept === null) throw new Error('The content of the template is not there.');
    return contentIn(contentWith(own, kept), translation);
  }

  /**
   * The common part of all mails of a campaign, or of a step of an automation. `tracked`: the owner of the mails; null where nobody is
   * tracked, as in a preview. Rejects when the project no longer exists.
   * @throws {MergeTemplateError} @throws {ContentCompileError}
   */
  async #compile(
    scope: ProjectScope,
    { kind, campaign, content, translation, footerLocale, replyTo }: MailSource,
    tracked: TrackedMails | null,
  ): Promise<CampaignMail> {
    const { fromName, fromEmail } = content;
    const isPersonal = /\{[{%]/.test(fromName ?? '');
    const from = await this.fromAddresses.of(scope, { fromName: isPersonal ? null : fromName, fromEmail });
    if (from === null) throw new Error('The project no longer exists.');
    const { project, sender, linkBase } = from;
    const wording = await this.fromAddresses.wording(scope, footerLocale);
    const topics = await this.topics.named(scope, campaign.topicIds);
    const { subject, previewText, contentJson, contentText } = content;
    const language = translation ?? project.defaultLocale;
    const { targets, shows, customKeys, ...parts } = await this.processes.compile(scope, {
      content: {
        subject,
        fromName: isPersonal ? fromName : null,
        previewText,
        contentJson,
        contentText,
        language,
      },
      footer: footerOf(project, wording),
      tracking: tracked === null ? null : this.#trackingOf({ campaign, project, linkBase }),
    });
    const plain = plainTemplatesOf(parts);
    const { html, text } = plain ?? { html: null, text: null };
    const answers = replyTo ?? project.replyTo;
    const answerTo = answers === null ? [] : [wireAddress(answers)];
    const headers = headersOf({ kind, campaign, project, sender, topics });
    return {
      scope,
      kind,
      campaign,
      project,
      topics,
      sender,
      linkBase,
      template: { parts: { ...parts, key: hashOf(parts) }, plain, targets, shows, customKeys },
      language,
      skeleton: compileMimeSkeleton({ from: sender, replyTo: answerTo, language, headers, html, text }),
      linkSet:
        tracked === null || targets === null
          ? null
          : await this.linkSets.register(scope, { ...tracked, translation, urls: targets }),
    };
  }

  #trackingOf({
    campaign,
    project,
    linkBase,
  }: Pick<CampaignMail, 'campaign' | 'project' | 'linkBase'>): LinkTracking | null {
    const { name, campaignKey: key } = campaign;
    const shared = { campaign: { name, key }, project: projectValues(project) };
    const { privacyUrl: untracked } = project;
    return this.config.TRACKING ? { baseUrl: linkBase, shared, places: MAX_TRACKED_PLACES, untracked } : null;
  }
}

function headersOf({
  kind,
  campaign,
  project,
  sender,
  topics: [topic],
}: Pick<CampaignMail, 'kind' | 'campaign' | 'project' | 'sender' | 'topics'>): Header[] {
  return listHeaders({
    listId: `${(topic?.topicKey ?? campaign.campaignKey).toLowerCase()}.${sender.domain}`,
    listName: topic?.name ?? project.senderName,
    feedbackId: `${campaign.campaignKey}:${project.projectKey}:${kind.toLowerCase()}:${FEEDBACK_SENDER}`,
  });
}

function languageFor(campaign: Pick<Campaign, 'translations'>, locale: string | null): MailLanguage {
  const translation = translationFor(campaign, locale);
  return { translation, footerLocale: footerLocaleOf(locale, translation) };
}

/** The step's mail for readers with this language. */
export function stepFor(
  step: Pick<AutomationMailStep, 'versionId' | 'place' | 'queuedOn'>,
  content: StepContent | null,
  locale: string | null,
): AutomationMailStep {
  const translation = content === null ? null : matchLocale([locale], content.translations);
  const footerLocale = footerLocaleOf(locale, translation);
  return { ...step, footerLocale, contentId: content?.id ?? null, translation };
}

/** The key of mails that are compiled together. */
export function keyOf(step: AutomationMailStep): string {
  const { versionId, place, queuedOn, footerLocale, contentId, translation } = step;
  return `${versionId}/${place}/${queuedOn}/${footerLocale ?? ''}/${contentId ?? ''}/${translation ?? ''}`;
}
