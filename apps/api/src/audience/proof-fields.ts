import { z } from 'zod';
import { firstIpAddress } from '#kernel';
import { line, prose, requiredLine } from '../text-fields.js';

const MAX_USER_AGENT = 500;
const MAX_URL = 2_000;

/** The first so many characters, without what no line of text has. */
function cut(text: string, longest: number): string {
  const shown = text.replaceAll(/\p{Cc}/gu, ' ').toWellFormed();
  return shown.length > longest ? Array.from(shown).slice(0, longest).join('') : shown;
}

function isWebUrl(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && (url.protocol === 'https:' || url.protocol === 'http:');
}

/** What a proxy reported counts, too: an address with a port, the first one of a list. Null where there is none. */
export const ipAddress = z.string().transform(firstIpAddress).nullish().meta({
  description:
    'From which IPv4 or IPv6 address the consent was given. Of a list, or with a port, the first address is kept; what is none is not.',
  example: '203.0.113.7',
});

/**
 * What a client tells of how a consent was given: it goes into the consent record. What a browser or proxy reports is
 * made to fit rather than refused: it is no reason to lose a sign-up.
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
    .meta({ description: `With which browser; cut to ${MAX_USER_AGENT} characters.` }),
  consentText: prose(5_000).nullish().meta({ description: 'The words that were agreed to.' }),
  formVersion: line(100).nullish(),
};
