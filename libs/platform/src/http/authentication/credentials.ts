import type { IncomingHttpHeaders } from 'node:http';

/** What a request says about its key: none, exactly one, or two that differ. */
export type Credentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'contradiction' };

/** RFC 9110 §11.1: the scheme is case-insensitive. What follows counts as a key, whatever it looks like. */
const BEARER = /^bearer +(\S.*)$/i;

/** Reads the key from `X-API-Key` or `Authorization: Bearer`. */
export function readCredentials(headers: IncomingHttpHeaders): Credentials {
  const own = String(headers['x-api-key'] ?? '').trim();
  const bearer = BEARER.exec((headers.authorization ?? '').trim())?.[1] ?? '';
  if (own !== '' && bearer !== '' && own !== bearer) return { kind: 'contradiction' };
  const key = own === '' ? bearer : own;
  return key === '' ? { kind: 'none' } : { kind: 'key', key };
}
