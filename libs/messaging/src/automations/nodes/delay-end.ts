import { durationAfter } from '#audience';
import type { DelayConfig } from '../graph/node-config.js';
import { nextLocalTime } from './local-time.js';

/** When somebody goes on who comes to the delay now. */
export function delayEnd(config: DelayConfig, now: Date): Date {
  return 'until' in config ? nextLocalTime(config.until, now) : durationAfter(now, config.duration);
}

/** What the log of steps says of it. */
export function delayDetail(until: Date): string {
  return `until ${until.toISOString()}`;
}
