import { type Plan, type PlanTier, UNLIMITED } from './plan.js';

/** Every plan can do everything; they differ in how much of it, and in support. */
const FEATURES = {
  customFieldsEnabled: true,
  automationsEnabled: true,
  advancedSegmentsEnabled: true,
  customDomainEnabled: true,
  apiAccessEnabled: true,
} as const;

/** The plans on offer, smallest first. */
export const PLAN_CATALOGUE: Readonly<Record<PlanTier, Plan>> = {
  FREE: {
    tier: 'FREE',
    name: 'Free',
    description: 'For a first product and its first ten thousand readers.',
    limits: {
      maxSubscribers: 10_000,
      maxCampaignsPerMonth: 500,
      maxProjects: 3,
      maxAiRequestsPerMonth: 50,
      maxUsers: 3,
      maxEmailsPerMonth: 50_000,
      ...FEATURES,
      prioritySupport: false,
    },
  },
  STANDARD: {
    tier: 'STANDARD',
    name: 'Standard',
    description: 'For teams that write to their readers every week.',
    limits: {
      maxSubscribers: 100_000,
      maxCampaignsPerMonth: 5_000,
      maxProjects: 20,
      maxAiRequestsPerMonth: 1_000,
      maxUsers: 20,
      maxEmailsPerMonth: 1_000_000,
      ...FEATURES,
      prioritySupport: false,
    },
  },
  PRO: {
    tier: 'PRO',
    name: 'Pro',
    description: 'No limits on readers, campaigns or mail.',
    limits: {
      maxSubscribers: UNLIMITED,
      maxCampaignsPerMonth: UNLIMITED,
      maxProjects: UNLIMITED,
      maxAiRequestsPerMonth: 10_000,
      maxUsers: UNLIMITED,
      maxEmailsPerMonth: UNLIMITED,
      ...FEATURES,
      prioritySupport: true,
    },
  },
};
