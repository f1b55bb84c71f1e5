import { z } from 'zod';
import { strictBody, uuid } from '#platform/http';

const MAX_PROPERTIES_BYTES = 8 * 1024;
const MAX_DEPTH = 20;

const moment = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text))
  .meta({ description: 'Default: now. At most 730 days ago.' });

/** What can be written as JSON, kept by PostgreSQL and read again as the same. */
function faultIn(value: unknown, depth = 0): string | null {
  if (depth > MAX_DEPTH) return `must not be nested more than ${MAX_DEPTH} levels deep`;
  if (typeof value === 'number' && !Number.isFinite(value)) return 'has a number that is too large';
  if (typeof value === 'string') return textFault(value);
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, item] of Object.entries(value)) {
    const fault = textFault(key) ?? faultIn(item, depth + 1);
    if (fault !== null) return fault;
  }
  return null;
}

function textFault(text: string): string | null {
  if (!text.isWellFormed()) return 'has text that is not valid Unicode';
  return text.includes('\0') ? 'has text with a NUL character' : null;
}

const properties = z
  .record(z.string(), z.unknown())
  .superRefine((value, context) => {
    const fault =
      Buffer.byteLength(JSON.stringify(value)) > MAX_PROPERTIES_BYTES
        ? 'must be at most 8 KB'
        : faultIn(value);
    if (fault !== null) context.addIssue({ code: 'custom', message: fault });
  })
  .meta({ description: 'What is to be known of it, at most 8 KB of JSON.', example: { plan: 'pro' } });

export const recordEventBody = strictBody({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_.]{0,63}$/)
    .meta({ example: 'order.completed' }),
  properties: properties.nullish(),
  occurredAt: moment.nullish(),
}).meta({ id: 'RecordSubscriberEvent' });

export const recordedEventView = z.object({ id: uuid }).meta({ id: 'RecordedSubscriberEvent' });
