import { Inject, Injectable } from '@nestjs/common';
import { ProjectsQuery } from '#access';
import { TopicsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG, Database } from '#platform';
import { Campaign } from '../campaigns/campaign.js';
import { compileCampaign } from '../campaigns/campaign-template.js';
import { senderIdentity } from '../campaigns/sender-identity.js';
import { compileMimeSkeleton } from '../content/mime-message.js';
import type { CampaignMail } from './campaign-mail.js';

const KEPT = 20;

/** Compiles campaigns for sending; a queued one does not change, so it is compiled once a process. */
@Injectable()
export class CampaignMailsService {
  readonly #compiled = new Map<string, Promise<CampaignMail>>();

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(ProjectsQuery) private readonly projects: ProjectsQuery,
    @Inject(TopicsQuery) private readonly topics: TopicsQuery,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** The campaign that was queued at `queuedAt`, compiled; rejects when it, or its project, is gone. */
  ofQueued(scope: ProjectScope, campaignId: string, queuedOn: string): Promise<CampaignMail> {
    const key = `${campaignId}/${queuedOn}`;
    const known = this.#compiled.get(key);
    if (known !== undefined) return known;
    const compiling = this.compile(scope, campaignId);
    compiling.catch(() => this.#compiled.delete(key));
    for (const oldest of [...this.#compiled.keys()].slice(0, this.#compiled.size + 1 - KEPT))
      this.#compiled.delete(oldest);
    this.#compiled.set(key, compiling);
    return compiling;
  }

  async compile(scope: ProjectScope, campaignId: string): Promise<CampaignMail> {
    const { campaign, project, topics } = await this.database.transaction(scope, async ({ em }) => {
      const found = await em.findOneOrFail(Campaign, { environmentId: scope.environmentId, id: campaignId });
      return {
        campaign: found,
        project: await this.projects.ofScope(scope),
        topics: await this.topics.named(scope, found.topicIds),
      };
    });
    if (project === null) throw new Error('The project of this scope is gone.');
    const sender = senderIdentity(
      campaign.fromName ?? project.senderName,
      campaign.fromEmail,
      project.defaultFromEmail,
      this.config.DEFAULT_FROM_EMAIL,
    );
    const template = await compileCampaign(campaign, project);
    const { html, text } = template;
    const skeleton = compileMimeSkeleton({ from: sender, headers: [], html, text });
    return { scope, campaign, project, topics, sender, template, skeleton };
  }
}
