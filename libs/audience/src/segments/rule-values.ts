import { parseDate, parseDateTime } from '../custom-fields/custom-field-value.js';
import { parseDuration, type RuleDuration } from './rule-duration.js';
import type { RuleFaults } from './rule-faults.js';
import type { DayOrMoment } from './segment-rules.js';

/** A duration; null after adding an error. */
export function readDuration(value: unknown, path: string, faults: RuleFaults): RuleDuration | null {
  const text = faults.string(value, path);
  if (text === null) return null;
  const parsed = parseDuration(text);
  return 'fault' in parsed ? faults.add(path, parsed.fault) : parsed.duration;
}

/** A timestamp with its offset; null after adding an error. */
export function readMoment(value: unknown, path: string, faults: RuleFaults): Date | null {
  const text = faults.string(value, path);
  if (text === null) return null;
  const parsed = parseDateTime(text);
  return 'fault' in parsed ? faults.add(path, parsed.fault) : new Date(String(parsed.value));
}

/** A day, or for DATETIME also a timestamp; null after adding an error. */
export function readDayOrMoment(
  value: unknown,
  path: string,
  of: 'date' | 'moment',
  faults: RuleFaults,
): DayOrMoment | null {
  const text = faults.string(value, path);
  if (text === null) return null;
  const day = parseDate(text);
  if ('value' in day) return { day: String(day.value) };
  if (of === 'date') return faults.add(path, day.fault);
  const moment = parseDateTime(text);
  return 'fault' in moment ? faults.add(path, moment.fault) : { moment: new Date(String(moment.value)) };
}
