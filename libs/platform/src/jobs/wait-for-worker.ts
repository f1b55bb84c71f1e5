import type { Notifications } from '../notifications.js';

/** A client of the api waits no longer than this for the worker. */
const WAIT_MS = 15_000;
const LOOK_AGAIN_MS = 250;

/** Work of a worker that a client waits for. */
export interface AwaitedWork<Progress> {
  /** Channel on which the worker tells of progress; the payload is `id`. */
  readonly channel: string;
  readonly id: string;
  readonly look: () => Promise<Progress>;
  readonly isOver: (progress: Progress) => boolean;
}

/** Waits until the work is over and gives what was found then, or null when that took more than 15 seconds. */
export async function waitForWorker<Progress>(
  notifications: Notifications,
  { channel, id, look, isOver }: AwaitedWork<Progress>,
): Promise<Progress | null> {
  const deadline = performance.now() + WAIT_MS;
  for (;;) {
    const change = changeOf(notifications, channel, id);
    try {
      const progress = await look();
      if (isOver(progress)) return progress;
      if (performance.now() > deadline) return null;
      await change.happened;
    } finally {
      change.forget();
    }
  }
}

/** Resolves when the worker tells of it, or after a while, to look anyway. */
function changeOf(
  notifications: Notifications,
  channel: string,
  id: string,
): { readonly happened: Promise<void>; readonly forget: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, LOOK_AGAIN_MS);
  const stopListening = notifications.listen(channel, (payload) => {
    if (payload === null || payload === id) resolve();
  });
  const forget = () => {
    clearTimeout(timer);
    stopListening();
  };
  return { happened: promise, forget };
}
