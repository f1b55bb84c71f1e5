import { z } from 'zod';
import { CONSENT_ACTORS, CONSENT_STATUSES } from '#audience';
import { firstIpAddress } from '#kernel';
import {
  emailField,
  emailText,
  pageOf,
  pageQuery,
  PLACES,
  strictBody,
  timestamp,
  uuid,
} from '#platform/http';
import { batchResults, line, prose, requiredLine } from '../fields.js';

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

const keptUrl = (url: string): string | null => (isWebUrl(url) ? cut(url, MAX_URL) : null);
const keptAgent = (agent: string): string => cut(agent, MAX_USER_AGENT);

const SOURCE_URL = {
  description: `The page with the form: an http or https URL, and any other value is dropped; cut to ${MAX_URL} characters.`,
  example: 'https://example.com/newsletter',
};
const IP_ADDRESS = {
  description:
    'The IPv4 or IPv6 address from which the consent was given. A port is removed, only the first address of a list is kept, and a value that is not an address is dropped.',
  example: '203.0.113.7',
};
const USER_AGENT = {
  description: `The browser in which the consent was given; cut to ${MAX_USER_AGENT} characters.`,
};

/** Accepts what proxies report: an address with a port, or the first of a list. Null when there is no address. */
export const ipAddress = z.string().transform(firstIpAddress).nullish().meta(IP_ADDRESS);

/**
 * Proof of a consent, as the client reports it for the consent record. Values from browsers and proxies are cut to fit instead of
 * refused, so that they never cost a sign-up.
 */
export const proofFields = {
  source: requiredLine(100).meta({ description: 'Where the consent was given.', example: 'signup-form' }),
  sourceUrl: z.string().transform(keptUrl).nullish().meta(SOURCE_URL),
  ipAddress,
  userAgent: z.string().transform(keptAgent).nullish().meta(USER_AGENT),
  consentText: prose(5_000).nullish().meta({ description: 'The words that the person agreed to.' }),
  formVersion: line(100).nullish(),
};

/** The same for an import, which has a place to report the parts that were dropped or cut: `losses`, by path. */
export const importedProof = strictBody({
  ...proofFields,
  sourceUrl: z.string().nullish().meta(SOURCE_URL),
  ipAddress: z.string().nullish().meta(IP_ADDRESS),
  userAgent: z.string().nullish().meta(USER_AGENT),
}).transform((sent) => {
  const { sourceUrl: url, ipAddress: address, userAgent: agent } = sent;
  const kept = {
    ...sent,
    sourceUrl: url == null ? null : keptUrl(url),
    ipAddress: address == null ? null : firstIpAddress(address),
    userAgent: agent == null ? null : keptAgent(agent),
  };
  const losses: Record<string, string> = {};
  if (url != null && kept.sourceUrl === null)
    losses['consent.sourceUrl'] = 'was dropped: must be an http or https URL';
  else if ((url ?? '').length > MAX_URL)
    losses['consent.sourceUrl'] = `was cut: must have at most ${MAX_URL} characters`;
  if (address != null && kept.ipAddress === null)
    losses['consent.ipAddress'] = 'was dropped: must be an IPv4 or IPv6 address';
  if ((agent ?? '').length > MAX_USER_AGENT)
    losses['consent.userAgent'] = `was cut: must have at most ${MAX_USER_AGENT} characters`;
  return { kept, losses };
});

export const grantConsentBody = strictBody({
  topicKey: z.string().min(1),
  ...proofFields,
}).meta({ id: 'GrantConsent' });

export const grantedConsentView = z
  .object({
    topicKey: z.string(),
    status: z.enum(CONSENT_STATUSES),
    requiresConfirmation: z.boolean(),
    grantedAt: timestamp.nullable(),
    confirmedAt: timestamp.nullable(),
    tokenExpiresAt: timestamp.nullable(),
  })
  .meta({ id: 'Consent' });

export const consentPreferencesView = z
  .object({
    subscriberEmail: z.string(),
    globallySuppressed: z
      .boolean()
      .meta({ description: 'Whether the address is suppressed, for any reason.' }),
    consents: z.array(
      z
        .object({
          topicKey: z.string(),
          topicName: z.string(),
          status: z.enum(CONSENT_STATUSES),
          grantedAt: timestamp.nullable(),
          confirmedAt: timestamp.nullable(),
          revokedAt: timestamp.nullable(),
          textLocale: z.string().nullable().meta({
            description:
              'The language of the opt-in mail or page on which the person agreed last; null when that was elsewhere.',
          }),
          textVersion: z.int().nullable().meta({
            description: 'The version of the project’s texts in it; null when they were ours.',
          }),
        })
        .meta({ id: 'ConsentPreference' }),
    ),
  })
  .meta({ id: 'ConsentPreferences' });

export const consentRecordListQuery = pageQuery({}, [PLACES.number]);

export const consentRecordView = z
  .object({
    id: uuid,
    topicKey: z.string(),
    fromStatus: z
      .enum(CONSENT_STATUSES)
      .nullable()
      .meta({ description: 'Null where consent was never given before.' }),
    toStatus: z.enum(CONSENT_STATUSES),
    actor: z.enum(CONSENT_ACTORS),
    actorId: z.string().nullable().meta({
      description: 'The API key, confirmation, mail, import or automation through which the actor acted.',
    }),
    source: z.string().nullable(),
    sourceUrl: z.string().nullable(),
    ipAddress: z.string().nullable(),
    userAgent: z.string().nullable(),
    consentText: z.string().nullable(),
    formVersion: z.string().nullable(),
    messageId: z.string().nullable().meta({
      description: 'The Message-ID of the mail whose link the person used.',
    }),
    textLocale: z.string().nullable().meta({
      description: 'The language of the opt-in mail or page on which the person agreed.',
    }),
    textVersion: z.int().nullable().meta({
      description: 'The version of the project’s texts in it; null when they were ours.',
    }),
    addressChange: z
      .object({
        from: z.string(),
        to: z.string(),
        emailConfirmed: z
          .object({ source: z.string(), confirmedAt: timestamp })
          .nullable()
          .meta({ description: 'The proof that came with the new address; null: none.' }),
      })
      .nullable()
      .meta({
        description:
          'The change of the person’s address by which the consent passed to another one, also where its status stayed; null for all other changes.',
      }),
    occurredAt: timestamp,
    createdAt: timestamp,
    updatedAt: timestamp.meta({ description: 'That of `createdAt`: a record never changes.' }),
  })
  .meta({ id: 'ConsentRecord' });

export const consentRecordPage = pageOf(consentRecordView, 'ConsentRecordPage');

const MAX_BATCH = 1_000;

export const revocationInBatch = strictBody({ email: emailField, topicKey: z.string().min(1) });

export const revokeAllBody = strictBody({
  revocations: z.array(revocationInBatch).min(1).max(MAX_BATCH),
}).meta({ id: 'RevokeConsents' });

/** The same with parts that are looked at one by one. */
export const revocationsBody = strictBody({ revocations: z.array(z.unknown()).min(1).max(MAX_BATCH) });

export const revokedView = batchResults(
  'revocations',
  {
    email: emailText.optional(),
    topicKey: z.string().optional(),
    revoked: z
      .boolean()
      .optional()
      .meta({ description: 'False where there was nothing to revoke: it never was, or is revoked already.' }),
  },
  'RevokedConsents',
);
