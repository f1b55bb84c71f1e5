import { Inject, Injectable } from '@nestjs/common';
import { TopicsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG, MAX_TRACKED_PLACES } from '#platform';
import { type OwnSender, Senders } from '../../campaigns/senders/senders.service.js';
import { type CampaignContent, plainPartsOf } from '../../content/mail/campaign-template.js';
import type { LinkTracking } from '../../content/mail/link-rewriting.js';
import { projectValues } from '../../content/merge/merge-values.js';
import { compileMimeSkeleton } from '../../content/mime/mime-message.js';
import { ContentProcesses, footerOf } from '../../content/processes/content-processes.service.js';
import { hashOf } from '../../content/processes/kept-results.js';
import { type LinkSetContent, LinkSets } from '../../engagement/tracking/link-sets.service.js';
import { type CampaignMail, wireAddress } from './campaign-mail.js';

/** What the mails of a campaign, or of a step of an automation, are made of. */
export interface MailSource extends Pick<CampaignMail, 'kind' | 'campaign'> {
  readonly content: CampaignContent & OwnSender;
  /** Null where answers go to the sender. */
  readonly replyTo: string | null;
}

/** Compiles what all mails of a campaign, or of a step of an automation, have in common. */
@Injectable()
export class MailCompiler {
  constructor(
    @Inject(Senders) private readonly senders: Senders,
    @Inject(TopicsQuery) private readonly topics: TopicsQuery,
    @Inject(ContentProcesses) private readonly processes: ContentProcesses,
    @Inject(LinkSets) private readonly linkSets: LinkSets,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * `tracked`: whose mails they are; null where nobody is tracked, as in a preview. Rejects when the project no longer exists.
   * @throws {MergeTemplateError} @throws {ContentCompileError}
   */
  async compile(
    scope: ProjectScope,
    { kind, campaign, content, replyTo }: MailSource,
    tracked: Omit<LinkSetContent, 'urls'> | null,
  ): Promise<CampaignMail> {
    const from = await this.senders.of(scope, content);
    if (from === null) throw new Error('The project no longer exists.');
    const { project, sender } = from;
    const wording = await this.senders.wording(scope, project.defaultLocale);
    const topics = await this.topics.named(scope, campaign.topicIds);
    const { subject, previewText, contentJson, contentText } = content;
    const { targets, ...parts } = await this.processes.compile(scope, {
      content: { subject, previewText, contentJson, contentText },
      footer: footerOf(project, wording),
      tracking: tracked === null ? null : this.#trackingOf({ campaign, project }),
    });
    const plain = plainPartsOf(parts);
    const { html, text } = plain ?? { html: null, text: null };
    const answerTo = replyTo === null ? null : wireAddress(replyTo);
    return {
      scope,
      kind,
      campaign,
      project,
      topics,
      sender,
      template: { parts: { ...parts, key: hashOf(parts) }, plain, targets },
      skeleton: compileMimeSkeleton({ from: sender, replyTo: answerTo, headers: [], html, text }),
      linkSet:
        tracked === null || targets === null
          ? null
          : await this.linkSets.register(scope, { ...tracked, urls: targets }),
    };
  }

  #trackingOf({ campaign, project }: Pick<CampaignMail, 'campaign' | 'project'>): LinkTracking | null {
    const { PUBLIC_URL: baseUrl, TRACKING } = this.config;
    const { name, campaignKey: key } = campaign;
    const shared = { campaign: { name, key }, project: projectValues(project) };
    return TRACKING ? { baseUrl, shared, places: MAX_TRACKED_PLACES } : null;
  }
}
