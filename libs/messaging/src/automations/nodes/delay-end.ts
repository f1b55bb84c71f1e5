import { durationAfter } from '#audience';
import type { DelayConfig } from '../graph/node-config.js';
import { nextLocalTime } from './local-time.js';

/** When a run that comes to the delay now leaves it. */
export function delayEnd(config: DelayConfig, now: Date): Date {
  return 'until' in config ? nextLocalTime(config.until, now) : durationAfter(now, config.duration);
}

/** The detail of the logged step. */
export function delayDetail(until: Date): string {
  return `until ${until.toISOString()}`;
}
