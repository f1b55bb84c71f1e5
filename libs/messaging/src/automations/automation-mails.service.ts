import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { TopicsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import { compileCampaign } from '../campaigns/campaign-template.js';
import { Senders } from '../campaigns/senders.service.js';
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
    @Inject(Senders) private readonly senders: Senders,
    @Inject(TopicsQuery) private readonly topics: TopicsQuery,
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
    const { from, topics, name } = await this.database.transaction(scope, async ({ db }) => ({
      from: await this.senders.of(scope, step.config),
      topics: await this.topics.named(scope, topicIds),
      name: (
        await sql<{
          name: string;
        }>`select name from messaging.automations where id = ${plan.automationId}`.execute(db)
      ).rows[0]?.name,
    }));
    if (from === null || name === undefined) throw new Error('The automation, or its project, is gone.');
    const { project, sender } = from;
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
