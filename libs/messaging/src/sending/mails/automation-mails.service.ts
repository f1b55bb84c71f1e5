import { Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import type { ShippedLocale } from '#wording';
import { Database } from '#platform';
import { VersionPlans } from '../../automations/runs/version-plans.query.js';
import type { MessagingTables } from '../../messaging-tables.js';
import type { CampaignMail } from './campaign-mail.js';
import { CompiledMails } from './compiled-mails.js';
import { MailCompiler } from './mail-compiler.service.js';

/** Mails of an automation that are alike: of a step of one of its versions, on the day of their deliveries, with a footer in one language. */
export interface AutomationMailStep {
  readonly versionId: number;
  readonly place: number;
  /** `YYYY-MM-DD` */
  readonly queuedOn: string;
  /** The reader's, in which the footer is; null: the project's. */
  readonly footerLocale: ShippedLocale | null;
}

/** Compiles the mails of automations; a version never changes, so each is compiled once a process and day. */
@Injectable()
export class AutomationMails {
  readonly #compiled = new CompiledMails();

  constructor(
    private readonly database: Database,
    private readonly plans: VersionPlans,
    private readonly compiler: MailCompiler,
  ) {}

  of(scope: ProjectScope, step: AutomationMailStep): Promise<CampaignMail> {
    return this.#compiled.of(keyOf(step), () => this.#compile(scope, step));
  }

  async #compile(
    scope: ProjectScope,
    { versionId, place, queuedOn, footerLocale }: AutomationMailStep,
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
    const source = { campaign, content: step.config, translation: null, footerLocale, replyTo: null };
    const tracked = { owner: { campaignId: null, versionId, place }, queuedOn } as const;
    return this.compiler.compile(scope, { ...source, kind: 'AUTOMATION' }, tracked);
  }
}

/** What tells mails apart that are compiled apart. */
export function keyOf({ versionId, place, queuedOn, footerLocale }: AutomationMailStep): string {
  return `${versionId}/${place}/${queuedOn}/${footerLocale ?? ''}`;
}
