import { Inject, Injectable } from '@nestjs/common';
import { TopicsQuery } from '#audience';
import { type ProjectScope, shippedLocale } from '#kernel';
import type { ShippedLocale } from '#wording';
import { type Config, CONFIG, MAX_TRACKED_PLACES } from '#platform';
import type { OwnSender } from '../../campaigns/sender-identity.js';
import { Senders } from '../../campaigns/senders.service.js';
import type { CampaignContent } from '../../content/document/content-compiler.js';
import { plainTemplatesOf } from '../../content/mail/mail-renderer.js';
import type { LinkTracking } from '../../content/mail/link-tracking.js';
import { projectValues } from '../../content/merge/merge-values.js';
import { compileMimeSkeleton, type Header, listHeaders } from '../../content/mail/mime-message.js';
import { ContentProcesses, footerOf, hashOf } from '../../content/processes/content-processes.service.js';
import { type LinkSetContent, LinkSetsService } from '../../engagement/link-sets.service.js';
import { type CampaignMail, wireAddress } from './campaign-mail.js';

/** The stable last part of Feedback-ID, by which a mailbox provider knows the sending system. */
const FEEDBACK_SENDER = 'mailwright';

/** In which languages a mail is. */
export interface MailLanguage {
  /** The locale of a translation; null where the content is in the project's language. */
  readonly translation: string | null;
  /** The reader's, in which their footer is; null: the project's. */
  readonly footerLocale: ShippedLocale | null;
}

/** The language of the footer for a reader with this language, of whose mail it is the translation. */
export const footerLocaleOf = (locale: string | null, translation: string | null): ShippedLocale | null =>
  shippedLocale([locale, translation]);

/** What the mails of a campaign, or of a step of an automation, are made of. */
export interface MailSource extends MailLanguage, Pick<CampaignMail, 'kind' | 'campaign'> {
  readonly content: CampaignContent & OwnSender;
  /** Null where answers go where the project says. */
  readonly replyTo: string | null;
}

/** Compiles what all mails of a campaign, or of a step of an automation, have in common. */
@Injectable()
export class MailCompiler {
  constructor(
    private readonly senders: Senders,
    private readonly topics: TopicsQuery,
    private readonly processes: ContentProcesses,
    private readonly linkSets: LinkSetsService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * `tracked`: whose mails they are; null where nobody is tracked, as in a preview. Rejects when the project no longer exists.
   * @throws {MergeTemplateError} @throws {ContentCompileError}
   */
  async compile(
    scope: ProjectScope,
    { kind, campaign, content, translation, footerLocale, replyTo }: MailSource,
    tracked: Omit<LinkSetContent, 'urls' | 'translation'> | null,
  ): Promise<CampaignMail> {
    const { fromName, fromEmail } = content;
    const isPersonal = /\{[{%]/.test(fromName ?? '');
    const from = await this.senders.of(scope, { fromName: isPersonal ? null : fromName, fromEmail });
    if (from === null) throw new Error('The project no longer exists.');
    const { project, sender, linkBase } = from;
    const wording = await this.senders.wording(scope, footerLocale);
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
    const answerTo = answers === null ? null : wireAddress(answers);
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
