import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { ProjectsQuery } from '#access';
import { TopicsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG, Database } from '#platform';
import { compileCampaign } from '../campaigns/campaign-template.js';
import { senderIdentity } from '../campaigns/sender-identity.js';
import { compileMimeSkeleton } from '../content/mime-message.js';
import type { CampaignMail } from '../deliveries/campaign-mail.js';
import { VersionPlans } from './runs/version-plans.service.js';

const KEPT = 100;

/** A mail of an automation: a step of one of its versions. */
export interface AutomationMailStep {
  readonly versionId: number;
  readonly place: number;
}

/** Compiles the mails of automations; a version never changes, so each is compiled once a process. */
@Injectable()
export class AutomationMails {
  readonly #compiled = new Map<string, Promise<CampaignMail>>();

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(VersionPlans) private readonly plans: VersionPlans,
    @Inject(ProjectsQuery) private readonly projects: ProjectsQuery,
    @Inject(TopicsQuery) private readonly topics: TopicsQuery,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  of(scope: ProjectScope, step: AutomationMailStep): Promise<CampaignMail> {
    const key = `${step.versionId}/${step.place}`;
    const known = this.#compiled.get(key);
    if (known !== undefined) return known;
    const compiling = this.#compile(scope, step);
    compiling.catch(() => this.#compiled.delete(key));
    for (const oldest of [...this.#compiled.keys()].slice(0, Math.max(0, this.#compiled.size + 1 - KEPT)))
      this.#compiled.delete(oldest);
    this.#compiled.set(key, compiling);
    return compiling;
  }

  async #compile(scope: ProjectScope, { versionId, place }: AutomationMailStep): Promise<CampaignMail> {
    const plan = await this.plans.of(scope, versionId);
    const step = plan.steps[place];
    if (step?.type !== 'email') throw new Error('The step of the automation sends no mail.');
    const topicId = plan.mailTopicIds[place] ?? null;
    const topicIds = topicId === null ? [] : [topicId];
    const { project, topics, name } = await this.database.transaction(scope, async ({ db }) => ({
      project: await this.projects.ofScope(scope),
      topics: await this.topics.named(scope, topicIds),
      name: (
        await sql<{
          name: string;
        }>`select name from messaging.automations where id = ${plan.automationId}`.execute(db)
      ).rows[0]?.name,
    }));
    if (project === null || name === undefined) throw new Error('The automation, or its project, is gone.');
    const { fromName, fromEmail } = step.config;
    const sender = senderIdentity(
      fromName ?? project.senderName,
      fromEmail,
      project.defaultFromEmail,
      this.config.DEFAULT_FROM_EMAIL,
    );
    const template = await compileCampaign(step.config, project);
    const { html, text } = template;
    const skeleton = compileMimeSkeleton({ from: sender, headers: [], html, text });
    const campaign = {
      id: plan.automationId,
      campaignKey: plan.automationKey,
      name,
      topicIds,
      queuedAt: null,
    };
    return {
      scope,
      kind: 'AUTOMATION',
      campaign,
      project,
      topics,
      sender,
      template,
      skeleton,
      linkSet: null,
    };
  }
}
