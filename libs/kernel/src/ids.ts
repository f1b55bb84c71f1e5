import { v7, validate } from 'uuid';

/** A new UUID v7 (RFC 9562 §5.7): sorts by the time it was made. */
export function newId(): string {
  return v7();
}

/** True for a UUID of any version, in its canonical text form. */
export function isUuid(value: string): boolean {
  return validate(value);
}
