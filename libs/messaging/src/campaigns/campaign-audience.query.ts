import { Inject, Injectable } from '@nestjs/common';
import {
  type AudienceSurvey,
  RecipientsQuery,
  SegmentsQuery,
  SubscriberRulesService,
  TopicsQuery,
  UsageCatalogueService,
} from '#audience';
import {
  type CampaignFacts,
  DestinationBudgetRepository,
  type DestinationFacts,
  destinationOf,
  limitOf,
  PROVIDER_DOMAINS,
} from '#deliverability';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG, Database } from '#platform';
import type { Campaign, CampaignDraft } from './campaign.js';
import { gotUnopened } from './unopened-mails.query.js';

/** The topics, segments and earlier campaign that choose an audience. */
type ChosenAudience = Pick<Campaign, 'topicIds' | 'segmentIds' | 'resendOf'>;

/** The people of an audience, and the destinations where they are held to limits: null where nothing limits. */
interface SurveyedAudience extends Pick<AudienceSurvey, 'breakdown'> {
  readonly destinations: readonly DestinationFacts[] | null;
}

type Faults = Readonly<Record<string, string>>;

const NOBODY: SurveyedAudience = {
  breakdown: { matched: 0, unconfirmed: 0, suppressed: 0, bounced: 0, capped: 0, willReceive: 0 },
  destinations: null,
};

/** The audience of a campaign: its topics and segments, and the people whom they choose. */
@Injectable()
export class CampaignAudienceQuery {
  constructor(
    private readonly database: Database,
    private readonly topics: TopicsQuery,
    private readonly segments: SegmentsQuery,
    private readonly rules: SubscriberRulesService,
    private readonly usage: UsageCatalogueService,
    private readonly recipients: RecipientsQuery,
    private readonly budgets: DestinationBudgetRepository,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Until the caller's transaction ends, nothing that the campaign names is taken away. */
  hold(scope: ProjectScope): Promise<void> {
    return this.database.transaction(scope, () => this.usage.hold(scope));
  }

  /** The draft with ids where its author chose topics and segments by their keys, and the faults of those, by field. */
  async chosen<Draft extends Partial<CampaignDraft>>(
    scope: ProjectScope,
    draft: Draft,
  ): Promise<{ readonly draft: Draft; readonly faults: Faults }> {
    const { topicIds = [], segmentIds = [] } = draft;
    const topics = await this.topics.chosen(scope, topicIds);
    const segments = await this.segments.chosen(scope, segmentIds);
    const faults = {
      ...faultsOf('topicIds', topicIds, (chosen) => (topics.has(chosen) ? null : 'is not a known topic')),
      ...faultsOf('segmentIds', segmentIds, (chosen) => {
        const segment = segments.get(chosen);
        if (segment === undefined) return 'is not a known segment';
        return segment.status === 'ACTIVE' ? null : 'is not an active segment';
      }),
    };
    const ids = {
      ...(draft.topicIds && { topicIds: topicIds.map((chosen) => topics.get(chosen)?.id ?? chosen) }),
      ...(draft.segmentIds && { segmentIds: segmentIds.map((chosen) => segments.get(chosen)?.id ?? chosen) }),
    };
    return { draft: { ...draft, ...ids }, faults };
  }

  /** The state of the topics and segments, for the pre-send checks. */
  async facts(
    scope: ProjectScope,
    { topicIds, segmentIds }: Pick<ChosenAudience, 'topicIds' | 'segmentIds'>,
  ): Promise<Pick<CampaignFacts, 'topics' | 'segments' | 'deleted' | 'segmentFaults'>> {
    const topics = await this.topics.held(scope, topicIds);
    const segments = await this.segments.named(scope, segmentIds);
    const deleted = {
      topics: topicIds.length - topics.length,
      segments: segmentIds.length - segments.length,
    };
    return { topics, segments, deleted, segmentFaults: await this.rules.faultsOf(scope, segmentIds) };
  }

  /** Counts the people, and those at destinations with limits; of other domains only at those that are slowed down now. */
  async survey(
    scope: ProjectScope,
    { topicIds, segmentIds, resendOf }: ChosenAudience,
    now: Date,
  ): Promise<SurveyedAudience> {
    if (topicIds.length === 0) return NOBODY;
    const among = resendOf === null ? undefined : await gotUnopened(this.database, scope, resendOf);
    const chosen = { topicIds, segmentIds, among };
    if (scope.environment !== 'LIVE' || !this.config.THROTTLE) {
      const { breakdown } = await this.recipients.survey(scope, chosen, [], now);
      return { breakdown, destinations: null };
    }
    const slowed = await this.budgets.slowedFor(scope, now);
    const others = [...slowed.keys()].filter((destination) => destination.includes('.'));
    const survey = await this.recipients.survey(scope, chosen, [...PROVIDER_DOMAINS, ...others], now);
    return { breakdown: survey.breakdown, destinations: this.#limited(survey, slowed) };
  }

  #limited(
    { recipientsByDomain }: AudienceSurvey,
    slowed: ReadonlyMap<string, Date>,
  ): readonly DestinationFacts[] {
    const { THROTTLE_SCALE: scale, THROTTLE_DOMAIN_RATE: otherDomains = null } = this.config;
    const counts = new Map<string, number>();
    for (const [domain, mails] of recipientsByDomain) {
      const destination = destinationOf(`@${domain}`);
      counts.set(destination, (counts.get(destination) ?? 0) + mails);
    }
    return [...counts].map(([destination, recipients]) => ({
      destination,
      recipients,
      mailsPerSecond: limitOf(destination, { scale, otherDomains }).mailsPerSecond,
      slowUntil: slowed.get(destination) ?? null,
    }));
  }
}

function faultsOf(field: string, ids: readonly string[], faultOf: (id: string) => string | null): Faults {
  const faults = ids.map((id, index) => [`${field}[${index}]`, faultOf(id)]);
  return Object.fromEntries(faults.filter(([, fault]) => fault !== null)) as Faults;
}
