const SAME_PRESS_MS = 1_000;
const PARENT_CHECK_MS = 250;

/** Calls `stop` for the first request to end, and `kill` for a later one. */
export interface StopHandlers {
  stop(): void;
  kill(): void;
}

/**
 * Listens for SIGINT and SIGTERM. One Ctrl-C can come twice, from the terminal and passed on by npm, so
 * what follows within a second belongs to the first. Under npm the death of the shell between npm and us
 * counts as a request too: npm passes a signal to that shell, which does not pass it on.
 */
export function onStopRequest(handlers: StopHandlers, underNpm: boolean, now: () => number): void {
  let first: number | undefined;
  const request = () => {
    if (first === undefined) {
      first = now();
      handlers.stop();
    } else if (now() - first > SAME_PRESS_MS) handlers.kill();
  };
  process.on('SIGINT', request);
  process.on('SIGTERM', request);
  if (!underNpm) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    request();
  }, PARENT_CHECK_MS);
  timer.unref();
}
