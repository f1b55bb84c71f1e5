import { z } from 'zod';
import { durationAfter, parseDuration } from '#audience';
import { isUuid } from '#kernel';
import { emailField, int64, pageOf, pageQuery, strictBody, timestamp } from '#platform/http';
import {
  CAMPAIGN_STATUSES,
  SEND_STRATEGIES,
  TEST_DEFAULTS,
  TEST_MEASURES,
  UNDECIDED_RULES,
} from '#messaging';
import {
  addressField,
  isObject,
  leftOut,
  line,
  localeField,
  localTime,
  metadataField,
  metadataView,
  moment,
  prose,
  requiredLine,
  translations,
} from '../fields.js';
import { contentForms, hasOneForm, hasOneSource, templateForm, withContentJson } from './content.dto.js';

const MAX_CONTENT = 500_000;

/** Ids are stored and written in lower case (RFC 9562 §4); upper case is the same id. */
const KEY = /^[A-Z][A-Z0-9]{1,7}-[1-9]\d*$/;
const ids = z
  .array(
    z
      .string()
      .refine((chosen) => isUuid(chosen) || KEY.test(chosen), 'must be an id or a key such as APIT-1')
      .transform((chosen) => (isUuid(chosen) ? chosen.toLowerCase() : chosen)),
  )
  .max(100);
/** Null clears them. */
const chosenIds = ids.nullish().transform((given) => (given === null ? [] : given));

const name = requiredLine(200);
const content = {
  subject: requiredLine(500),
  previewText: line(500).nullish(),
  ...contentForms,
  contentText: prose(MAX_CONTENT).nullish(),
};

/** A translation without content has the campaign's, under its own subject. */
const translation = strictBody(content)
  .superRefine(hasOneForm)
  .transform((given) => ({
    previewText: null,
    contentJson: null,
    contentText: null,
    ...withContentJson(given),
  }));

/** Left out or null: as the campaign's, or what the campaign's translation has. */
const variantTexts = { ...content, subject: content.subject.nullish() };
const NOTHING = { subject: null, previewText: null, contentJson: null, contentText: null };

const variantTranslation = strictBody(variantTexts)
  .superRefine(hasOneForm)
  .transform((given) => ({ ...NOTHING, ...withContentJson(given) }));

const variant = strictBody({
  name: requiredLine(100),
  ...variantTexts,
  ...templateForm,
  fromName: line(100).nullish(),
  translations: translations(variantTranslation, 'The variant in other languages,'),
})
  .superRefine(hasOneForm)
  .superRefine(hasOneSource)
  .transform(({ translations: translated = {}, ...given }) => ({
    ...NOTHING,
    fromName: null,
    templateKey: null,
    templateVersion: null,
    ...withContentJson(given),
    translations: translated,
  }));

const variants = z
  .array(variant)
  .min(2)
  .max(5)
  .nullish()
  .transform((given) => (given === null ? [] : given))
  .meta({
    description:
      'Contents to compare, two to five. What one leaves out is the campaign’s own. The first is number 1. Not with ' +
      '`scheduledAtLocal`; PATCH replaces them all, null removes them with the `test`.',
  });

const HOUR_MS = 3_600_000;
const decideAfter = z.string().superRefine((text, context) => {
  const parsed = parseDuration(text);
  const start = new Date(0);
  const ms = 'fault' in parsed ? Number.NaN : durationAfter(start, parsed.duration).getTime();
  if (!(ms >= HOUR_MS && ms <= 7 * 24 * HOUR_MS))
    context.addIssue({
      code: 'custom',
      message: 'must be an ISO 8601 duration from PT1H to P7D',
      input: text,
    });
});

const testShape = {
  sharePercent: z.int().min(5).max(100).meta({
    description:
      'Percent of the audience that gets the variants in equal parts; the rest waits for the winner.',
  }),
  decideAfter: decideAfter.meta({
    description:
      'ISO 8601, PT1H to P7D: counts from the moment when 95 % of the test’s mails have left or were given up.',
    examples: ['PT4H'],
  }),
  by: z.enum(TEST_MEASURES).nullish().meta({
    default: TEST_DEFAULTS.by,
    description:
      'The rate that decides: mails clicked or opened, of those delivered. `MANUAL`: nothing but `choose-variant`.',
  }),
  ifUndecided: z
    .enum(UNDECIDED_RULES)
    .nullish()
    .meta({
      default: TEST_DEFAULTS.ifUndecided,
      description:
        'Where no variant is surely better (p < 0.05 against each other one): the one with the highest rate, the first, or none ' +
        'until `choose-variant`.',
    }),
};
const test = strictBody(testShape)
  .transform((given) => ({
    ...given,
    by: given.by ?? TEST_DEFAULTS.by,
    ifUndecided: given.ifUndecided ?? TEST_DEFAULTS.ifUndecided,
  }))
  .nullable()
  .optional();
const patchedTest = strictBody(testShape)
  .partial()
  .nullable()
  .meta({ description: 'Of a test that there is already, what is left out stays.' })
  .optional();

const fields = {
  name,
  ...content,
  ...templateForm,
  variants,
  test,
  translations: translations(
    translation,
    'The content in other languages,',
    'A reader gets the one that fits their `locale` (`de` also for `de-AT`), else the campaign’s own content.',
  ),
  fromEmail: addressField.nullish(),
  fromName: line(100).nullish(),
  replyTo: addressField
    .nullable()
    .meta({ description: 'The address for replies, when not `fromEmail`.' })
    .optional(),
  topicIds: chosenIds.meta({ description: 'Topics by `id` or `topicKey`; answers have the ids.' }),
  segmentIds: chosenIds.meta({ description: 'Segments by `id` or `segmentKey`; answers have the ids.' }),
  metadata: metadataField,
  sendStrategy: z.enum(SEND_STRATEGIES).nullish(),
  scheduledAt: moment.nullish(),
  scheduledAtLocal: localTime
    .nullable()
    .meta({
      description:
        'A time without offset: each recipient gets the campaign when it is that time where they are, by their `timeZone`, else ' +
        'the project’s. Instead of `scheduledAt`.',
      examples: ['2026-11-21T20:00'],
    })
    .optional(),
};

interface Times {
  readonly scheduledAt?: Date | null | undefined;
  readonly scheduledAtLocal?: string | null | undefined;
}
const hasOneTime = ({ scheduledAt = null, scheduledAtLocal = null }: Times) =>
  scheduledAt === null || scheduledAtLocal === null;
const TWO_TIMES = { path: ['scheduledAtLocal'], error: 'must not be given together with scheduledAt' };

const strict = leftOut(
  z.boolean().meta({
    description:
      'With `true` content that would lose something in the mail is refused: 422 with what goes. Otherwise the pre-send check `removed-content` names it.',
  }),
);

export const createCampaignBody = strictBody({
  ...fields,
  strict,
  subject: content.subject.nullish().meta({ description: 'Required without `templateKey`.' }),
})
  .refine(({ subject, templateKey }) => subject != null || templateKey != null, {
    path: ['subject'],
    error: 'is required',
    // Beside other faults, too.
    when: ({ value, issues }) => isObject(value) && !issues.some(({ path }) => path?.[0] === 'subject'),
  })
  .refine(hasOneTime, TWO_TIMES)
  .superRefine(hasOneForm)
  .superRefine(hasOneSource)
  .transform(withContentJson);

/** JSON merge-patch (RFC 7396): absent fields stay, null clears. */
export const patchCampaignBody = strictBody({
  ...fields,
  test: patchedTest,
  strict,
  name: name.optional(),
  subject: content.subject.nullish(),
})
  .refine(hasOneTime, TWO_TIMES)
  .superRefine(hasOneForm)
  .superRefine(hasOneSource)
  .transform(withContentJson);

export const duplicateCampaignBody = strictBody({
  name: leftOut(name.meta({ description: 'As the original’s when left out.' })),
  resendTo: leftOut(
    z.enum(['NOT_OPENED']).meta({
      description: '`NOT_OPENED`: of the audience only those who got the original and did not open it.',
    }),
  ),
});

/** Number of a variant. */
const variantNumber = z.int().min(1).max(5);
const VARIANT = { description: 'Number of the variant, from 1; the first when left out.' };

export const chooseVariantBody = strictBody({
  variant: variantNumber.meta({ description: 'Its number, from 1.' }),
});

/** The recipients of a test mail. */
export const testCampaignBody = strictBody({
  emails: z.array(emailField).min(1).max(5),
  variant: leftOut(variantNumber.meta(VARIANT)),
  locale: leftOut(localeField.meta({ description: 'Sends what readers with this language get.' })),
});

export const campaignListQuery = pageQuery({
  status: z.enum(CAMPAIGN_STATUSES).optional(),
  topicKey: z.string().optional(),
});

const textsView = {
  previewText: z.string().nullable(),
  contentJson: z.string().nullable(),
  contentText: z.string().nullable(),
};
const variantTextsView = { subject: z.string().nullable(), ...textsView };

const templateView = {
  templateKey: z.string().nullable().meta({
    description:
      'The template that the content is from, with `subject`, `previewText` and `translations` where there are none of its own.',
    example: 'APIT-1',
  }),
  templateVersion: z.int().nullable().meta({
    description:
      'The version that was chosen, or that it keeps since it was scheduled or sent; null: the one in use.',
  }),
};

export const campaignView = z
  .object({
    id: z.uuid(),
    campaignKey: z.string().nullable(),
    name: z.string(),
    subject: z.string().nullable(),
    previewText: z.string().nullable(),
    contentJson: z
      .string()
      .nullable()
      .meta({ description: 'The content as a JSON string: `{"blocks":[…]}`.' }),
    contentText: z.string().nullable(),
    translations: z.record(z.string(), z.object({ subject: z.string(), ...textsView })),
    variants: z.array(
      z.object({
        name: z.string(),
        ...variantTextsView,
        fromName: z.string().nullable(),
        translations: z.record(z.string(), z.object(variantTextsView)),
        templateKey: templateView.templateKey.default(null),
        templateVersion: templateView.templateVersion.default(null),
      }),
    ),
    ...templateView,
    test: z
      .object({
        sharePercent: z.int(),
        decideAfter: z.string(),
        by: z.enum(TEST_MEASURES),
        ifUndecided: z.enum(UNDECIDED_RULES),
      })
      .nullable(),
    testPhase: z
      .enum(['TESTING', 'DECIDED'])
      .nullable()
      .meta({ description: 'Null without variants, and before it is sent.' }),
    winningVariant: z.int().nullable().meta({
      description: 'Number of the variant that the rest of the audience gets; null until it is decided.',
    }),
    metadata: metadataView,
    status: z.enum(CAMPAIGN_STATUSES),
    sendStrategy: z.enum(SEND_STRATEGIES).nullable(),
    topicIds: z.array(z.uuid()).nullable(),
    segmentIds: z.array(z.uuid()).nullable(),
    estimatedRecipientCount: int64
      .nullable()
      .meta({ description: 'Null until the pre-send analysis, schedule or send counts it.' }),
    estimatedAt: timestamp.nullable().meta({ description: 'When `estimatedRecipientCount` was counted.' }),
    scheduledAt: timestamp.nullable().meta({
      description:
        'With `scheduledAtLocal` the first of its moments: where it is that time first, at UTC+14.',
    }),
    scheduledAtLocal: z
      .string()
      .nullable()
      .meta({
        description: 'Each recipient gets it when it is that time where they are.',
        examples: ['2026-11-21T20:00'],
      }),
    resendOf: z.string().nullable().meta({
      description:
        'Key of an earlier campaign: of the audience only those who got that one and did not open it.',
    }),
    completedAt: timestamp.nullable(),
    fromEmail: z.string().nullable(),
    fromName: z.string().nullable(),
    replyTo: z.string().nullable(),
    preSendScore: z.int().min(0).max(100).nullable(),
    preSendStatus: z.enum(['PENDING', 'PASSED', 'WARNING', 'FAILED']).nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Campaign' });
export const campaignPage = pageOf(campaignView, 'CampaignPage');

export const previewQuery = z.object({
  email: emailField.optional().meta({ description: 'Render it for this subscriber.' }),
  locale: localeField
    .optional()
    .meta({ description: 'Render what readers with this language get, whatever the subscriber’s own is.' }),
  variant: z.coerce.number().pipe(variantNumber).optional().meta(VARIANT),
});

/** Changes that are shown and not stored: absent fields are as stored, null clears. */
export const previewCampaignBody = strictBody({
  email: leftOut(emailField.meta({ description: 'Render it for this subscriber.' })),
  locale: leftOut(
    localeField.meta({
      description: 'Render what readers with this language get, whatever the subscriber’s own is.',
    }),
  ),
  variant: leftOut(variantNumber.meta(VARIANT)),
  ...content,
  subject: content.subject.nullish(),
  ...templateForm,
  fromName: fields.fromName,
  translations: fields.translations,
  variants: fields.variants,
})
  .superRefine(hasOneForm)
  .superRefine(hasOneSource)
  .transform(withContentJson);

const preSendCheckView = z
  .object({
    code: z.string().meta({ description: 'The check; new codes may be added.', example: 'recipients' }),
    severity: z.enum(['CRITICAL', 'WARNING', 'INFO']),
    result: z.enum(['PASS', 'FAIL', 'SKIPPED']),
    message: z.string().meta({ description: 'The result and, when the check failed, what to do.' }),
  })
  .meta({ id: 'PreSendCheck' });

export const campaignPreviewView = z
  .object({
    subject: z.string(),
    previewText: z.string().nullable(),
    fromName: z.string().meta({ description: 'Of the sender, as From shows it.' }),
    html: z.string(),
    text: z.string(),
    checks: z.array(preSendCheckView).meta({
      description:
        'The checks of content that this mail fails, as the pre-send analysis would name them: pieces that no mail can carry and ' +
        'were left out, merge tags that are not known and shown as nothing, links, and the rest.',
    }),
  })
  .meta({ id: 'CampaignPreview' });

export const previewLinkView = z.object({ url: z.url(), expiresAt: timestamp }).meta({ id: 'PreviewLink' });

export const preSendAnalysisView = z
  .object({
    score: z.int().min(0).max(100).meta({ description: '100 less the weight of each failed check.' }),
    status: z.enum(['PENDING', 'PASSED', 'WARNING', 'FAILED']),
    checks: z.array(preSendCheckView),
    audience: z.object({
      matched: int64.meta({ description: 'Signed up for one of the topics.' }),
      unconfirmed: int64.meta({ description: 'Did not confirm the sign-up.' }),
      suppressed: int64.meta({ description: 'Unsubscribed from everything, complained or blocked.' }),
      bounced: int64.meta({ description: 'The address does not exist.' }),
      capped: int64.meta({ description: 'Paused all mail.' }),
      willReceive: int64,
    }),
  })
  .meta({ id: 'PreSendAnalysis' });
