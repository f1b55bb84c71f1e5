const SAME_PRESS_MS = 1_000;
const PARENT_CHECK_MS = 250;

/** Calls `stop` for the first request to stop, and `kill` for a later one. */
export interface StopHandlers {
  stop(): void;
  kill(): void;
}

/**
 * Listens for SIGINT and SIGTERM. One Ctrl-C can arrive twice, from the terminal and from npm, so signals within a second
 * count as one. Under npm the end of the shell between npm and us counts as a request too: npm sends the signal to that
 * shell, which does not pass it on.
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
