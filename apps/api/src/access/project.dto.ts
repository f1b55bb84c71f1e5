import { z } from 'zod';
import {
  defaultLocaleFault,
  type Project,
  type ProjectChanges,
  type ProjectTexts,
  timeZoneFault,
  trackingHostFault,
  webAddressFault,
} from '#access';
import { DNS_RECORD_STATUSES, type TrackingHostView } from '#deliverability';
import { parseColour, SHIPPED_LOCALES } from '#kernel';
import { type Answer, emailText, int64, strictBody, timestamp } from '#platform/http';
import { type WordingKey, wordingKeys } from '#wording';
import { addressField, checked, leftOut, prose, requiredLine } from '../fields.js';

const LOGO =
  'An https address of a PNG, JPEG, GIF or WebP image of at most 1 MB, above opt-in mails and pages.';
const COLOR =
  'Of buttons and links in opt-in mails and pages. Its contrast with white is at least 3; what is written on it, links ' +
  'and the dark colours are made from it.';

const TRACKING_HOST =
  'A host of your own that points here, by which links, pixels, pages and List-Unsubscribe of mails begin once it is ' +
  'verified. Set to the same again, it is looked up again. Null goes back to ours.';

const PRIVACY =
  'The https address of your privacy policy: linked from opt-in mails, pages and footers, and kept with the words of consents.';
const CONTACT = 'Whom readers may write to about their data: named beside the privacy policy.';

const colour = checked((text) => (parseColour(text) === null ? 'must be a colour such as #1a73e8' : null));

/** All that PATCH takes; what is left out stays. */
export const updateProjectBody = strictBody({
  name: leftOut(requiredLine(200)),
  description: prose(1000).nullish(),
  senderName: leftOut(requiredLine(100)),
  fromEmail: addressField.nullish(),
  replyTo: addressField.nullish(),
  postalAddress: leftOut(
    prose(1000)
      .refine((text) => text.trim() !== '', 'must not be empty')
      .meta({ minLength: 1, maxLength: 1000 }),
  ),
  defaultLocale: leftOut(checked(defaultLocaleFault)),
  timeZone: leftOut(checked(timeZoneFault)),
  brand: strictBody({
    logoUrl: checked(webAddressFault).nullish().meta({ format: 'uri', description: LOGO }),
    color: colour.nullish().meta({ description: COLOR }),
  })
    .nullish()
    .meta({ description: 'What is left out of it stays; null clears both.' }),
  trackingHost: checked(trackingHostFault)
    .nullish()
    .meta({ example: 'links.example.com', description: TRACKING_HOST }),
  privacyUrl: checked(webAddressFault).nullish().meta({ format: 'uri', description: PRIVACY }),
  contactEmail: addressField.nullish().meta({ description: CONTACT }),
}).meta({ id: 'UpdateProject' });

const trackingHostStatus = z
  .object({
    status: z.enum(DNS_RECORD_STATUSES).meta({
      description:
        'New mails use the host while it is VERIFIED, which it stays until it has pointed elsewhere for a day.',
    }),
    checkedAt: timestamp.nullable(),
    lastError: z.string().nullable().meta({
      example: 'MISSING: the name does not exist',
      description: 'What the last look found to be wrong.',
    }),
    expectedRecord: z
      .object({ type: z.enum(['CNAME', 'A', 'AAAA']), name: z.string(), value: z.string() })
      .meta({ description: 'To publish in the DNS. Addresses equal to those of its value will do as well.' }),
  })
  .meta({ id: 'TrackingHostStatus' });

/** The project that the request's key belongs to. */
export const projectView = z
  .object({
    id: int64,
    projectKey: z
      .string()
      .meta({ example: 'APIT', description: 'The prefix of the keys of its topics, campaigns and so on.' }),
    name: z.string(),
    description: z.string().nullable(),
    senderName: z.string().meta({ description: 'The name in From, where a campaign has none.' }),
    fromEmail: emailText.nullable().meta({ description: 'The address in From, where a campaign has none.' }),
    replyTo: emailText.nullable().meta({ description: 'Where answers go, when a campaign does not say.' }),
    postalAddress: z.string().meta({ description: 'In the footer of every mail.' }),
    defaultLocale: z.string().meta({
      example: 'de',
      description: 'Of readers whose own language is not known, or not shipped (BCP 47).',
    }),
    timeZone: z.string().meta({
      example: 'Europe/Berlin',
      description: 'Of subscribers whose own is not known (IANA).',
    }),
    brand: z
      .object({
        logoUrl: z.string().nullable().meta({ format: 'uri', description: LOGO }),
        color: z.string().nullable().meta({ example: '#1a73e8', description: COLOR }),
      })
      .meta({ id: 'Brand' }),
    trackingHost: z.string().nullable().meta({ example: 'links.example.com', description: TRACKING_HOST }),
    trackingHostStatus: trackingHostStatus
      .nullable()
      .meta({ description: 'Where the tracking host points; null without one.' }),
    privacyUrl: z
      .string()
      .nullable()
      .meta({ format: 'uri', example: 'https://example.com/privacy', description: PRIVACY }),
    contactEmail: emailText.nullable().meta({ description: CONTACT }),
    selected: z.boolean().nullable().meta({ description: 'Always true.' }),
    aiSegmentSuggestionsEnabled: z.boolean().nullable(),
    environment: z
      .enum(['LIVE', 'TEST'])
      .meta({ description: 'The environment that the API key belongs to.' }),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Project' });

export function toProjectView(project: Project, host: TrackingHostView | null): Answer<typeof projectView> {
  const { defaultFromEmail: fromEmail, logoUrl, color, ...plain } = project;
  return { ...plain, fromEmail, brand: { logoUrl, color }, trackingHostStatus: host, selected: true };
}

export function toProjectChanges(body: z.output<typeof updateProjectBody>): ProjectChanges {
  const { fromEmail: defaultFromEmail, brand, ...plain } = body;
  const looks = brand === null ? { logoUrl: null, color: null } : (brand ?? {});
  return { ...plain, ...looks, defaultFromEmail };
}

const LONGEST_TEXT = 2_000;

/** `pt` was one catalogue before there were two, and goes on as that of most who write it. */
const BEFORE_THERE_WERE_TWO = { pt: 'pt-BR' } as const;

export const localeParam = z
  .enum([...SHIPPED_LOCALES, 'pt'])
  .transform((locale) => (locale === 'pt' ? BEFORE_THERE_WERE_TWO[locale] : locale))
  .meta({ description: '`pt` stands for `pt-BR`.' });

export const updateProjectTextsBody = strictBody({
  texts: strictBody(byKey(requiredLine(LONGEST_TEXT).nullish())).meta({
    description:
      'ICU messages by key, with the placeholders of ours. Null goes back to ours; what is left out stays.',
    example: { [wordingKeys()[0] ?? '']: null },
  }),
}).meta({ id: 'UpdateProjectTexts' });

const texts = z.record(z.string(), z.string());

export const projectTextsView = z
  .object({
    locale: z.enum(SHIPPED_LOCALES),
    version: z.int().meta({
      description: 'Counts the changes; 0 before the first. Consents name the version that was read.',
    }),
    texts: texts.meta({ description: 'What readers get: your own texts, and ours in place of all others.' }),
    overrides: texts.meta({ description: 'Only your own.' }),
    defaults: texts.meta({ description: 'Ours, which `null` goes back to.' }),
    createdAt: timestamp.nullable().meta({ description: 'Of the first version.' }),
    updatedAt: timestamp.nullable().meta({ description: 'Of this version.' }),
  })
  .meta({ id: 'ProjectTexts' });

export function toProjectTextsView({ own, ...found }: ProjectTexts): Answer<typeof projectTextsView> {
  return { ...found, texts: { ...found.defaults, ...own }, overrides: own };
}

function byKey<Schema>(schema: Schema): Record<WordingKey, Schema> {
  return Object.fromEntries(wordingKeys().map((key) => [key, schema])) as Record<WordingKey, Schema>;
}
