import type { ClaimedRun, RunMove, TakenStep } from './step-batch.js';

const MINUTE_MS = 60_000;
/** Between one try of a step that fails and the next; after one more the run has failed. */
export const BACKOFF_MS = [MINUTE_MS / 6, MINUTE_MS, 10 * MINUTE_MS, 60 * MINUTE_MS];

/** The end of a run that cannot go on, and what its last step says. */
export function failedRun(
  { id, position, isWaiting, enteredOn }: ClaimedRun,
  detail: string,
): { readonly move: RunMove; readonly steps: readonly TakenStep[] } {
  const move = { id, position, wakeAt: null, isWaiting: false, isCalling: false, status: 'FAILED' } as const;
  // The step of a run that waits is logged already.
  const steps = isWaiting
    ? []
    : [{ runId: id, enteredOn, place: position, status: 'FAILED', detail } as const];
  return { move, steps };
}
