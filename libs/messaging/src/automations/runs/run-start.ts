import { delayDetail, delayEnd } from '../nodes/delay-end.js';
import type { VersionPlan } from '../nodes/version-plan.js';

/** Where a run begins that is created now, and the steps that it has taken then. */
export interface RunStart {
  readonly position: number;
  readonly wakeAt: Date;
  readonly isWaiting: boolean;
  readonly steps: readonly { readonly place: number; readonly detail: string | null }[];
}

/**
 * Behind the trigger, and in the delay where one follows: what is the same for all runs is done when they are created,
 * so that one that is to wait is written once.
 */
export function runStart({ trigger, steps }: VersionPlan, now: Date): RunStart {
  const next = steps[trigger.next.get('') ?? -1];
  if (next === undefined) return { position: trigger.place, wakeAt: now, isWaiting: false, steps: [] };
  const begun = { place: trigger.place, detail: null };
  if (next.type !== 'delay') return { position: next.place, wakeAt: now, isWaiting: false, steps: [begun] };
  const wakeAt = delayEnd(next.config, now);
  const waited = { place: next.place, detail: delayDetail(wakeAt) };
  return { position: next.place, wakeAt, isWaiting: true, steps: [begun, waited] };
}
