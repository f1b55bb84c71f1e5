import { UNLIMITED } from '../plans/plan.js';

/** How much of one thing is used, and how much there may be; −1 is unlimited. */
export interface Usage {
  readonly current: number;
  readonly limit: number;
}

/** What a tenant uses of its plan; months are those of its subscription. */
export interface UsageSummary {
  readonly subscribers: Usage;
  readonly campaigns: Usage;
  readonly projects: Usage;
  readonly aiCredits: Usage;
  readonly emails: Usage;
}

/** 0–100 with two decimals, rounded down so that only a limit that is reached says 100; 0 without a limit. */
export function percentOf({ current, limit }: Usage): number {
  if (limit === UNLIMITED) return 0;
  if (current >= limit) return limit === 0 && current === 0 ? 0 : 100;
  return Math.floor((current * 10_000) / limit) / 100;
}
