import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { ProjectsQuery } from '#access';
import { type AudienceBreakdown, CustomFieldsQuery, RecipientsQuery, TopicsQuery } from '#audience';
import { EmailQuota, SubscriptionsQuery } from '#billing';
import { type CampaignFacts, criticalChecks, type PreSendAnalysis, summarise } from '#deliverability';
import { type Config, CONFIG } from '#platform';
import type { CompiledContent } from '../content/content-compiler.js';
import { authoredLinks, hasUnsubscribeLink, isEmptyContent, linkFault } from '../content/content-links.js';
import { parseContentDocument } from '../content/content-document.js';
import { compileMergeTemplate, MergeTemplateError, unknownVariables } from '../content/merge-template.js';
import type { Campaign } from './campaign.js';
import { compileSources, type MailFooter } from './campaign-template.js';
import { senderIdentity } from './sender-identity.js';

/** As much of a bad link as a message shows. */
const SHOWN_URL = 100;

export interface CampaignAnalysis extends PreSendAnalysis {
  readonly audience: AudienceBreakdown;
  /** How many would receive it now. */
  readonly recipients: number;
}

const NOBODY: AudienceBreakdown = {
  matched: 0,
  unconfirmed: 0,
  suppressed: 0,
  bounced: 0,
  capped: 0,
  willReceive: 0,
};

/** Looks at a campaign as it stands before it may be sent. */
@Injectable()
export class CampaignAnalysisService {
  constructor(
    @Inject(TopicsQuery) private readonly topics: TopicsQuery,
    @Inject(RecipientsQuery) private readonly recipients: RecipientsQuery,
    @Inject(CustomFieldsQuery) private readonly customFields: CustomFieldsQuery,
    @Inject(ProjectsQuery) private readonly projects: ProjectsQuery,
    @Inject(SubscriptionsQuery) private readonly subscriptions: SubscriptionsQuery,
    @Inject(EmailQuota) private readonly quota: EmailQuota,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async analyse(scope: ProjectScope, campaign: Campaign, now: Date): Promise<CampaignAnalysis> {
    const project = await this.projects.ofScope(scope);
    if (project === null) throw new Error('The project of this scope is gone.');
    const audience =
      campaign.topicIds.length === 0 ? NOBODY : await this.recipients.breakdown(scope, campaign, now);
    const recipients = audience.willReceive;
    const subscription = await this.subscriptions.ofTenant(scope);
    const customKeys = (await this.customFields.definitions(scope)).map(({ key }) => key);
    const facts: CampaignFacts = {
      topics: await this.topics.held(scope, campaign.topicIds),
      recipients,
      senderDomain: this.#senderDomain(scope, campaign, project.defaultFromEmail),
      sendingAllowed: subscription?.isSendingAllowed === true,
      emailsRemaining: scope.environment === 'LIVE' ? await this.quota.remaining(scope, now) : null,
      ...(await contentFacts(campaign, project, customKeys)),
    };
    return { ...summarise(criticalChecks(facts)), audience, recipients };
  }

  /** Null where none is asked for. No domain can be verified yet, so where one is, none is verified. */
  #senderDomain(
    scope: ProjectScope,
    { fromEmail }: Campaign,
    projectFrom: string | null,
  ): CampaignFacts['senderDomain'] {
    if (scope.environment === 'TEST' || !this.config.REQUIRE_VERIFIED_DOMAIN) return null;
    const { domain } = senderIdentity('', fromEmail, projectFrom, this.config.DEFAULT_FROM_EMAIL);
    return { name: domain, verified: false };
  }
}

type ContentFacts = Pick<
  CampaignFacts,
  'contentEmpty' | 'hasUnsubscribeLink' | 'mergeTagFaults' | 'linkFaults'
>;

async function contentFacts(
  campaign: Campaign,
  footer: MailFooter,
  customKeys: readonly string[],
): Promise<ContentFacts> {
  try {
    return factsOf(campaign, await compileSources(campaign, footer), customKeys);
  } catch (error) {
    if (!(error instanceof MergeTemplateError)) throw error;
    // Until its tags can be told from its text, nothing else can be said of it.
    return { contentEmpty: false, hasUnsubscribeLink: true, mergeTagFaults: [error.message], linkFaults: [] };
  }
}

function factsOf(campaign: Campaign, sources: CompiledContent, customKeys: readonly string[]): ContentFacts {
  return {
    contentEmpty:
      (campaign.contentJson === null && campaign.contentText === null) ||
      isEmptyContent(sources.html, sources.text),
    hasUnsubscribeLink: hasUnsubscribeLink(sources.html),
    mergeTagFaults: mergeTagFaults(sources, customKeys),
    linkFaults: linkFaults(campaign.contentJson),
  };
}

/** Of the links as they were written: sanitising has taken the dangerous ones from the compiled HTML. */
function linkFaults(contentJson: string | null): string[] {
  const { document } = contentJson === null ? {} : parseContentDocument(contentJson);
  return (document === undefined ? [] : authoredLinks(document)).flatMap((url) => {
    const fault = linkFault(url);
    return fault === null ? [] : [`${url.slice(0, SHOWN_URL)} ${fault}`];
  });
}

function mergeTagFaults({ subject, html, text }: CompiledContent, customKeys: readonly string[]): string[] {
  const faults = new Set<string>();
  for (const [part, source] of Object.entries({ subject, html, text })) {
    try {
      const template = compileMergeTemplate(source, 'none');
      for (const name of unknownVariables(template, customKeys)) faults.add(`{{ ${name} }} is not known`);
    } catch (error) {
      if (!(error instanceof MergeTemplateError)) throw error;
      faults.add(`${part}: ${error.message}`);
    }
  }
  return [...faults];
}
