import { AsyncLocalStorage } from 'node:async_hooks';

/** What every log line of a piece of work carries, such as `requestId`. */
export type LogContext = Readonly<Record<string, string | number>>;

/** The context of the work that runs at the moment. */
export const logContext = new AsyncLocalStorage<LogContext>();
