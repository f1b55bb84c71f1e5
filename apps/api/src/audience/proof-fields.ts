import { z } from 'zod';
import { firstIpAddress } from '#kernel';
import { line, prose, requiredLine } from '../text-fields.js';

const MAX_USER_AGENT = 500;
const MAX_URL = 2_000;

/** The first `max` characters, without control characters. */
function cut(text: string, longest: number): string {
  const shown = text.replaceAll(/\p{Cc}/gu, ' ').toWellFormed();
  return shown.length > longest ? Array.from(shown).slice(0, longest).join('') : shown;
}

function isWebUrl(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && (url.protocol === 'https:' || url.protocol === 'http:');
}

/** Accepts what proxies report: an address with a port, or the first of a list. Null when there is no address. */
export const ipAddress = z.string().transform(firstIpAddress).nullish().meta({
  description:
    'The IPv4 or IPv6 address from which the consent was given. A port is removed, only the first address of a list is kept, and a value that is not an address is dropped.',
  example: '203.0.113.7',
});

/**
 * How a consent was given, as the client reports it for the consent record. Values from browsers and proxies are cut to
 * fit instead of refused, so that they never cost a sign-up.
 */
export const proofFields = {
  source: requiredLine(100).meta({ description: 'Where the consent was given.', example: 'signup-form' }),
  sourceUrl: z
    .string()
    .transform((url) => (isWebUrl(url) ? cut(url, MAX_URL) : null))
    .nullish()
    .meta({
      description: `The page with the form, http or https; cut to ${MAX_URL} characters.`,
      example: 'https://example.com/newsletter',
    }),
  ipAddress,
  userAgent: z
    .string()
    .transform((agent) => cut(agent, MAX_USER_AGENT))
    .nullish()
    .meta({
      description: `The browser in which the consent was given; cut to ${MAX_USER_AGENT} characters.`,
    }),
  consentText: prose(5_000).nullish().meta({ description: 'The words that the person agreed to.' }),
  formVersion: line(100).nullish(),
};
