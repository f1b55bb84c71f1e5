import { isIP } from 'node:net';
import { z } from 'zod';
import { line, prose, requiredLine } from '../text-fields.js';

function isWebUrl(value: string): boolean {
  const url = URL.parse(value);
  return url !== null && (url.protocol === 'https:' || url.protocol === 'http:');
}

/** An IPv4 or IPv6 address, without a zone. */
export const ipAddress = z
  .string()
  .refine((value) => isIP(value) !== 0 && !value.includes('%'), 'must be an IP address')
  .meta({ description: 'From which IPv4 or IPv6 address the consent was given.', example: '203.0.113.7' });

/** What a client tells of how a consent was given: it goes into the consent record. */
export const proofFields = {
  source: requiredLine(100).meta({ description: 'Where the consent was given.', example: 'signup-form' }),
  sourceUrl: line(2_000)
    .refine(isWebUrl, 'must be an http or https URL')
    .nullish()
    .meta({ description: 'The page with the form.', format: 'uri' }),
  ipAddress: ipAddress.nullish(),
  userAgent: line(500).nullish(),
  consentText: prose(5_000).nullish().meta({ description: 'The words that were agreed to.' }),
  formVersion: line(100).nullish(),
};
