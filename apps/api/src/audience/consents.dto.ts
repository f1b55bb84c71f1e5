import { z } from 'zod';
import { CONSENT_STATUSES, type ConsentPreferences, type GrantedConsent } from '#audience';
import { strictBody, timestamp } from '#platform/http';
import { proofFields } from './proof-fields.js';

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

export function toGrantedConsentView(consent: GrantedConsent): z.output<typeof grantedConsentView> {
  return {
    ...consent,
    grantedAt: textOf(consent.grantedAt),
    confirmedAt: textOf(consent.confirmedAt),
    tokenExpiresAt: textOf(consent.tokenExpiresAt),
  };
}

export function toConsentPreferencesView(
  preferences: ConsentPreferences,
): z.output<typeof consentPreferencesView> {
  return {
    ...preferences,
    consents: preferences.consents.map((consent) => ({
      ...consent,
      grantedAt: textOf(consent.grantedAt),
      confirmedAt: textOf(consent.confirmedAt),
      revokedAt: textOf(consent.revokedAt),
    })),
  };
}

function textOf(moment: Date | null): string | null {
  return moment?.toISOString() ?? null;
}
