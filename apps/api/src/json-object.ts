import { z } from 'zod';

const MAX_DEPTH = 20;

/** A JSON object of at most `maxBytes` that PostgreSQL stores and returns unchanged. */
export function jsonObject(maxBytes: number) {
  return z.record(z.string(), z.unknown()).superRefine((value, context) => {
    const fault =
      Buffer.byteLength(JSON.stringify(value)) > maxBytes
        ? `must be at most ${maxBytes / 1024} KB`
        : faultIn(value);
    if (fault !== null) context.addIssue({ code: 'custom', message: fault });
  });
}

/** The reason why PostgreSQL could not store the value as JSON and return it unchanged, or null. */
function faultIn(value: unknown, depth = 0): string | null {
  if (depth > MAX_DEPTH) return `must not be nested more than ${MAX_DEPTH} levels deep`;
  if (typeof value === 'number' && !Number.isFinite(value))
    return 'must not contain a number that is too large';
  if (typeof value === 'string') return textFault(value);
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, item] of Object.entries(value)) {
    const fault = textFault(key) ?? faultIn(item, depth + 1);
    if (fault !== null) return fault;
  }
  return null;
}

function textFault(text: string): string | null {
  if (!text.isWellFormed()) return 'must contain valid Unicode only';
  return text.includes('\0') ? 'must not contain a NUL character' : null;
}
