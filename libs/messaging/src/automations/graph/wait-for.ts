import {
  type Awaited,
  parseDuration,
  type PropertyTest,
  propertyTestsOf,
  type RuleDuration,
} from '#audience';
import type { ConfigReader } from './config-reader.js';

/** An event or rules that a run waits for, and how long at most. */
export interface WaitForConfig {
  readonly awaited: Awaited;
  readonly timeout: RuleDuration;
}

const MAX_EVENT_NAME = 64;
const EVENT_NAME = /^[a-z][a-z0-9_.]{0,63}$/;

export function readWaitFor(config: ConfigReader): WaitForConfig | null {
  const timeout = readTimeout(config);
  const awaited = readAwaited(config);
  return timeout === null || awaited === null ? null : { timeout, awaited };
}

function readTimeout(config: ConfigReader): RuleDuration | null {
  const text = config.required('timeout', { max: 100 });
  if (text === null) return null;
  const parsed = parseDuration(text);
  return 'fault' in parsed ? config.fault('timeout', parsed.fault) : parsed.duration;
}

function readAwaited(config: ConfigReader): Awaited | null {
  if (config.has('event') && config.has('rules'))
    return config.fault('rules', 'must be left out beside event');
  if (config.has('rules')) {
    const rules = config.json('rules');
    return rules === null ? null : { rules };
  }
  if (!config.has('event')) return config.fault('event', 'is required where there are no rules');
  const event = config.inner('event', ['type', 'name', 'where']);
  if (event === null) return null;
  if (event.has('type') && event.value('type') !== 'CUSTOM')
    event.fault('type', 'must be CUSTOM: events of mails can be named in rules');
  const name = event.has('name') ? readEventName(event, 'name') : event.fault('name', 'is required');
  const where = readWhere(event);
  return name === null || where === null ? null : { event: { name, where } };
}

/** The name of an event, null where there is none. */
export function readEventName(config: ConfigReader, field: string): string | null {
  const name = config.text(field, { max: MAX_EVENT_NAME });
  return name === null || EVENT_NAME.test(name) ? name : config.fault(field, 'must be like order.completed');
}

/** The tests of an event's properties; null when they have faults. */
export function readWhere(config: ConfigReader): readonly PropertyTest[] | null {
  const read = propertyTestsOf(config.value('where'), config.at('where'));
  if ('tests' in read) return read.tests;
  config.faults.addAll(read.errors);
  return null;
}
