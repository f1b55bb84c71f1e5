export type PlanTier = 'FREE' | 'STANDARD' | 'PRO';

/** What a limit says when there is none. */
export const UNLIMITED = -1;

/** What a plan allows; a count of −1 is unlimited. Months are those of `billingPeriod`. */
export interface PlanLimits {
  readonly maxSubscribers: number;
  readonly maxCampaignsPerMonth: number;
  readonly maxProjects: number;
  readonly maxAiRequestsPerMonth: number;
  readonly maxUsers: number;
  readonly maxEmailsPerMonth: number;
  readonly customFieldsEnabled: boolean;
  readonly automationsEnabled: boolean;
  readonly advancedSegmentsEnabled: boolean;
  readonly customDomainEnabled: boolean;
  readonly apiAccessEnabled: boolean;
  readonly prioritySupport: boolean;
}

export interface Plan {
  readonly tier: PlanTier;
  readonly name: string;
  readonly description: string;
  readonly limits: PlanLimits;
}
