import { Inject, Injectable } from '@nestjs/common';
import { TopicsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG, Database, MAX_TRACKED_PLACES } from '#platform';
import { Campaign } from '../../campaigns/campaign.js';
import { Senders } from '../../campaigns/senders/senders.service.js';
import { projectValues } from '../../content/merge/merge-values.js';
import type { LinkTracking } from '../../content/mail/link-rewriting.js';
import { LinkSets } from '../../engagement/tracking/link-sets.service.js';
import { type CampaignMail, wireAddress } from './campaign-mail.js';
import { MailCompiler } from './mail-compiler.service.js';

const KEPT = 20;

/** Compiles campaigns for sending; a queued one does not change, so it is compiled once a process. */
@Injectable()
export class CampaignMailsService {
  readonly #compiled = new Map<string, Promise<CampaignMail>>();

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Senders) private readonly senders: Senders,
    @Inject(TopicsQuery) private readonly topics: TopicsQuery,
    @Inject(LinkSets) private readonly linkSets: LinkSets,
    @Inject(MailCompiler) private readonly compiler: MailCompiler,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * A queued campaign, compiled; rejects when it, or its project, is gone. `version` tells the contents apart that a
   * campaign has had.
   */
  ofQueued(scope: ProjectScope, campaignId: string, version: string): Promise<CampaignMail> {
    const key = `${campaignId}/${version}`;
    const known = this.#compiled.get(key);
    if (known !== undefined) return known;
    const compiling = this.#compileTracked(scope, campaignId);
    compiling.catch(() => this.#compiled.delete(key));
    for (const oldest of [...this.#compiled.keys()].slice(0, this.#compiled.size + 1 - KEPT))
      this.#compiled.delete(oldest);
    this.#compiled.set(key, compiling);
    return compiling;
  }

  /** The campaign as it stands, without tracking: for a look at it. */
  async compile(scope: ProjectScope, campaignId: string): Promise<CampaignMail> {
    return this.#compile(scope, campaignId, () => null);
  }

  async #compileTracked(scope: ProjectScope, campaignId: string): Promise<CampaignMail> {
    const { PUBLIC_URL, TRACKING } = this.config;
    const mail = await this.#compile(scope, campaignId, ({ campaign, project }) =>
      TRACKING
        ? {
            baseUrl: PUBLIC_URL,
            places: MAX_TRACKED_PLACES,
            shared: {
              campaign: { name: campaign.name, key: campaign.campaignKey },
              project: projectValues(project),
            },
          }
        : null,
    );
    const urls = mail.template.targets;
    const queuedOn = mail.campaign.queuedAt?.toISOString().slice(0, 10);
    if (urls === null || queuedOn === undefined) return mail;
    return {
      ...mail,
      linkSet: await this.linkSets.register(scope, { owner: { campaignId }, queuedOn, urls }),
    };
  }

  async #compile(
    scope: ProjectScope,
    campaignId: string,
    trackingOf: (mail: Pick<CampaignMail, 'campaign' | 'project'>) => LinkTracking | null,
  ): Promise<CampaignMail> {
    const { campaign, from, topics } = await this.database.transaction(scope, async ({ em }) => {
      const found = await em.findOneOrFail(Campaign, { environmentId: scope.environmentId, id: campaignId });
      return {
        campaign: found,
        from: await this.senders.of(scope, found),
        topics: await this.topics.named(scope, found.topicIds),
      };
    });
    if (from === null) throw new Error('The project of this scope is gone.');
    const { project, sender } = from;
    const tracking = trackingOf({ campaign, project });
    const replyTo = campaign.replyTo === null ? null : wireAddress(campaign.replyTo);
    const compiled = await this.compiler.compile(scope, campaign, { project, sender, replyTo, tracking });
    return { scope, kind: 'CAMPAIGN', campaign, project, topics, sender, ...compiled, linkSet: null };
  }
}
