import { Inject, Injectable } from '@nestjs/common';
import { RecipientsQuery, type AudienceSurvey, type ChosenAudience } from '#audience';
import {
  DestinationBudgets,
  type DestinationFacts,
  destinationOf,
  limitOf,
  PROVIDER_DOMAINS,
} from '#deliverability';
import type { ProjectScope } from '#kernel';
import { type Config, CONFIG } from '#platform';

/** An audience, and where it is held to limits. */
export interface AudienceOutlook extends Pick<AudienceSurvey, 'breakdown'> {
  /** Null where nothing limits. */
  readonly destinations: readonly DestinationFacts[] | null;
}

/** Surveys an audience with the limits of the destinations that its people are at. */
@Injectable()
export class DestinationOutlook {
  constructor(
    private readonly recipients: RecipientsQuery,
    private readonly budgets: DestinationBudgets,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Of other domains only those that are slowed down now are counted. */
  async of(scope: ProjectScope, chosen: ChosenAudience, now: Date): Promise<AudienceOutlook> {
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
