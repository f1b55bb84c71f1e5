import type { ClaimedRun, RunMove, TakenStep } from './step-batch.js';

const MINUTE_MS = 60_000;
/** How long somebody rests who cannot go on; after one try more the run has failed. */
const RESTS_MS = [MINUTE_MS / 6, MINUTE_MS, 10 * MINUTE_MS, 60 * MINUTE_MS];

/** When somebody who could not go on so many times is tried again; null: no more. */
export function restAfter(failures: number, now: Date): Date | null {
  const rest = RESTS_MS[failures - 1];
  return rest === undefined ? null : new Date(now.getTime() + rest);
}

/** The end of a run that cannot go on, and what its last step says. */
export function failedRun(
  { id, position, isWaiting, enteredOn }: ClaimedRun,
  detail: string,
): { readonly move: RunMove; readonly steps: readonly TakenStep[] } {
  const move = { id, position, wakeAt: null, isWaiting: false, isCalling: false, status: 'FAILED' } as const;
  // Behind a delay, the delay itself is taken.
  const steps = isWaiting
    ? []
    : [{ runId: id, enteredOn, place: position, status: 'FAILED', detail } as const];
  return { move, steps };
}
