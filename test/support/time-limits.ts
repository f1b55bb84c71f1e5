import { jest } from '@jest/globals';
import { eventually } from './eventually.js';

/** Longer than any limit of ours. */
const LIMIT_MS = 60 * 60_000;

/**
 * Stops `setTimeout` and `performance` of the code under test, until `letTimeGo`: no limit of its is over because the
 * machine is slow. What comes over sockets comes, and `eventually` goes on.
 */
export function stopTime(): void {
  jest.useFakeTimers({
    doNotFake: [
      'Date',
      'clearImmediate',
      'clearInterval',
      'hrtime',
      'nextTick',
      'queueMicrotask',
      'setImmediate',
      'setInterval',
    ],
  });
}

export function letTimeGo(): void {
  jest.useRealTimers();
}

export function passTime(milliseconds: number): void {
  jest.advanceTimersByTime(milliseconds);
}

/** How many timers wait, of those that were set since time stopped. */
export function waitingTimers(): number {
  return jest.getTimerCount();
}

/** What `asked` comes to when nothing more happens once `isWaiting`, however long it waits. Between `stopTime` and `letTimeGo`. */
export async function timedOut<Answer>(asked: Promise<Answer>, isWaiting: () => boolean): Promise<Answer> {
  const answer = asked.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  let isOver = false;
  void answer.then(() => (isOver = true));
  await eventually('it waits', isWaiting);
  await eventually('its time is over', () => {
    if (!isOver) passTime(LIMIT_MS);
    return isOver;
  });
  return asked;
}
