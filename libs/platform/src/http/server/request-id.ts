import type { IncomingMessage } from 'node:http';
import { newId } from '#kernel';

const FORM = /^[A-Za-z0-9._-]{1,128}$/;

/** The client's own request id when it is usable, else a new one. */
export function requestIdOf(
  { headers }: Pick<IncomingMessage, 'headers'>,
  make: () => string = newId,
): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && FORM.test(given) ? given : make();
}
