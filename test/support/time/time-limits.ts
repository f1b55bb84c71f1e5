import { type Clock, install } from '@sinonjs/fake-timers';
import { eventually } from './eventually.js';

/** Shorter than any limit of ours: between two steps the code under test hears what has come by then. */
const STEP_MS = 30_000;

let stopped: Clock | undefined;

/**
 * Stops `setTimeout` and `performance` of the code under test, until `letTimeGo`: no limit of its is over because the
 * machine is slow. What comes over sockets comes, and `eventually` goes on.
 */
export function stopTime(): void {
  stopped = install({ toFake: ['setTimeout', 'clearTimeout', 'performance'], shouldClearNativeTimers: true });
}

export function letTimeGo(): void {
  stopped?.uninstall();
  stopped = undefined;
}

export function passTime(milliseconds: number): void {
  stopped?.tick(milliseconds);
}

/** Time left of the timers that were set since time stopped, in ms. */
export function waitingTimers(): readonly number[] {
  return (stopped?.timerHeap?.timers ?? []).map(({ callAt = 0 }) => callAt - (stopped?.now ?? 0));
}

/** Outcome of `asked` when nothing more happens once `isWaiting`, however long it waits. Between `stopTime` and `letTimeGo`. */
export async function timedOut<Answer>(asked: Promise<Answer>, isWaiting: () => boolean): Promise<Answer> {
  const answer = asked.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  let isOver = false;
  void answer.then(() => (isOver = true));
  await eventually('it waits', isWaiting);
  await eventually('its time is over', () => {
    if (!isOver) passTime(STEP_MS);
    return isOver;
  });
  return asked;
}
