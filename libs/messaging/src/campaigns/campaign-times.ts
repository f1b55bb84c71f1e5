import { firstMomentOf, lastMomentOf } from '#kernel';
import type { CampaignDraft } from './campaign-draft.js';

/** When a campaign is to go out; with a local time, `scheduledAt` is the first of its moments. */
export type CampaignTimes = Pick<CampaignDraft, 'scheduledAt' | 'scheduledAtLocal'>;

/** The times of `before` with changes: of a moment and a local time one takes the other's place. */
export function changedTimes(changes: Partial<CampaignTimes>, before: CampaignTimes): CampaignTimes {
  const { scheduledAt, scheduledAtLocal } = changes;
  if (typeof scheduledAtLocal === 'string')
    return { scheduledAt: firstMomentOf(scheduledAtLocal), scheduledAtLocal };
  const isCleared = scheduledAtLocal === null && before.scheduledAtLocal !== null;
  if (scheduledAt === undefined && !isCleared)
    return { scheduledAt: before.scheduledAt, scheduledAtLocal: before.scheduledAtLocal };
  return { scheduledAt: scheduledAt ?? null, scheduledAtLocal: null };
}

/** The last moment at which a recipient is to get it. */
export function lastTimeOf({ scheduledAt, scheduledAtLocal }: CampaignTimes): Date | null {
  return scheduledAtLocal === null ? scheduledAt : lastMomentOf(scheduledAtLocal);
}

/** What is wrong with the times that an author chose, by field. */
export function timeFaults(
  { scheduledAt = null, scheduledAtLocal = null }: Partial<CampaignTimes>,
  now: Date,
): Readonly<Record<string, string>> {
  const last = lastTimeOf({ scheduledAt, scheduledAtLocal });
  if (last === null || last > now) return {};
  return { [scheduledAtLocal === null ? 'scheduledAt' : 'scheduledAtLocal']: 'must be in the future' };
}
