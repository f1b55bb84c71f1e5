import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { TopicsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG, Database, MAX_TRACKED_PLACES } from '#platform';
import { Senders } from '../../campaigns/senders/senders.service.js';
import { projectValues } from '../../content/merge/merge-values.js';
import type { CampaignMail } from './campaign-mail.js';
import { MailCompiler } from './mail-compiler.service.js';
import { LinkSets } from '../../engagement/tracking/link-sets.service.js';
import { VersionPlans } from '../../automations/runs/version-plans.service.js';

const KEPT = 100;

/** Mails of an automation that are alike: of a step of one of its versions, on the day of their deliveries. */
export interface AutomationMailStep {
  readonly versionId: number;
  readonly place: number;
  /** `YYYY-MM-DD` */
  readonly queuedOn: string;
}

/** Compiles the mails of automations; a version never changes, so each is compiled once a process and day. */
@Injectable()
export class AutomationMails {
  readonly #compiled = new Map<string, Promise<CampaignMail>>();

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(VersionPlans) private readonly plans: VersionPlans,
    @Inject(Senders) private readonly senders: Senders,
    @Inject(TopicsQuery) private readonly topics: TopicsQuery,
    @Inject(LinkSets) private readonly linkSets: LinkSets,
    @Inject(MailCompiler) private readonly compiler: MailCompiler,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  of(scope: ProjectScope, step: AutomationMailStep): Promise<CampaignMail> {
    const key = keyOf(step);
    const known = this.#compiled.get(key);
    if (known !== undefined) return known;
    const compiling = this.#compile(scope, step);
    compiling.catch(() => this.#compiled.delete(key));
    for (const oldest of [...this.#compiled.keys()].slice(0, Math.max(0, this.#compiled.size + 1 - KEPT)))
      this.#compiled.delete(oldest);
    this.#compiled.set(key, compiling);
    return compiling;
  }

  async #compile(scope: ProjectScope, mailStep: AutomationMailStep): Promise<CampaignMail> {
    const mail = await this.#compileTracked(scope, mailStep);
    const urls = mail.template.targets;
    if (urls === null) return mail;
    const { versionId, place, queuedOn } = mailStep;
    const owner = { campaignId: null, versionId, place };
    return { ...mail, linkSet: await this.linkSets.register(scope, { owner, queuedOn, urls }) };
  }

  async #compileTracked(
    scope: ProjectScope,
    { versionId, place }: AutomationMailStep,
  ): Promise<CampaignMail> {
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
    const { PUBLIC_URL, TRACKING } = this.config;
    const shared = { campaign: { name, key: plan.automationKey }, project: projectValues(project) };
    const tracking = TRACKING ? { baseUrl: PUBLIC_URL, shared, places: MAX_TRACKED_PLACES } : null;
    const compiled = await this.compiler.compile(scope, step.config, { project, sender, tracking });
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
      ...compiled,
      linkSet: null,
    };
  }
}

/** What tells mails apart that are compiled apart. */
export function keyOf({ versionId, place, queuedOn }: AutomationMailStep): string {
  return `${versionId}/${place}/${queuedOn}`;
}
