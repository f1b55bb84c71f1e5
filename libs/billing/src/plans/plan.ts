export const PLAN_TIERS = ['FREE', 'STANDARD', 'PRO'] as const;
export type PlanTier = (typeof PLAN_TIERS)[number];

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

/** What a plan costs, in minor units of the currency. */
export interface PlanPrice {
  /** ISO 4217. */
  readonly currency: string;
  readonly monthlyCents: number;
  readonly yearlyCents: number;
}

/** A plan is sold with different numbers of AI credits. */
export interface PlanVariant {
  readonly id: number;
  /** A month, whatever the plan is billed by. */
  readonly aiCredits: number;
  readonly prices: readonly PlanPrice[];
}

/** One version of a plan. It never changes: another price is another version. */
export class Plan {
  readonly id!: number;
  readonly tier!: PlanTier;
  readonly version!: number;
  readonly name!: string;
  readonly description!: string;
  readonly limits!: PlanLimits;
  /** Fewest AI credits first. */
  readonly variants!: readonly PlanVariant[];
  /** Since when nobody can subscribe to it; null while it is on offer. */
  readonly retiredAt!: Date | null;
}

/** The currency that every plan has a price in. */
export const BASE_CURRENCY = 'USD';

/** The price in `currency`, or in the base currency where the plan has none in it. */
export function priceIn(variant: PlanVariant, currency: string): PlanPrice {
  const price =
    variant.prices.find((candidate) => candidate.currency === currency) ??
    variant.prices.find((candidate) => candidate.currency === BASE_CURRENCY);
  if (price === undefined) throw new Error(`The variant ${variant.id} has no price in ${BASE_CURRENCY}.`);
  return price;
}
