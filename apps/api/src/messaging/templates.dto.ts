import { z } from 'zod';
import { TEMPLATE_ALIAS, TEMPLATE_KEY, TEMPLATE_KINDS, VARIABLE_TYPES } from '#messaging';
import { emailField, pageOf, pageQuery, strictBody, timestamp } from '#platform/http';
import {
  jsonObject,
  leftOut,
  line,
  localeField,
  metadataField,
  metadataView,
  prose,
  requiredLine,
  translations,
} from '../fields.js';
import { contentForms, hasOneForm, withContentJson } from './content.dto.js';

/** Contents in many languages. */
export const MAX_TEMPLATE_BYTES = 5 * 1_024 * 1_024;
const MAX_CONTENT = 500_000;
const MAX_VARIABLES = 200;
const MAX_DATA_BYTES = 256 * 1_024;

const NAME = /^[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*){0,9}$/;

const variable = strictBody({
  name: z
    .string()
    .max(200)
    .regex(NAME, 'must be a name such as order.id')
    .meta({ description: 'Dotted, as merge tags have it behind `data.`.', example: 'order.id' }),
  type: z.enum(VARIABLE_TYPES).meta({ description: 'DATE is text: `2027-01-05` or `2027-01-05T09:00:00Z`.' }),
  required: z
    .boolean()
    .nullish()
    .transform((given) => given ?? false)
    .meta({ default: false }),
  default: z
    .unknown()
    .optional()
    .meta({ description: 'Of the `type`; it stands in where `data` has nothing or null. Null: none.' }),
}).transform(({ default: byDefault, ...rest }) => ({
  ...rest,
  ...(byDefault != null && { default: byDefault }),
}));

const variables = z
  .array(variable)
  .max(MAX_VARIABLES)
  .nullish()
  .transform((given) => (given === null ? [] : given))
  .meta({
    description:
      'Of MESSAGE and PARTIAL: values of `data` that merge tags show as `{{ data.order.id }}`. One that is shown and not declared is a ' +
      'fault when it is published. Those of partials and layout come on top.',
  });

const templateKeyField = z.string().regex(TEMPLATE_KEY, 'must be the key of a template such as APIT-1');

const alias = z
  .string()
  .regex(
    TEMPLATE_ALIAS,
    'must be lower-case letters, digits, dots, dashes and underscores, with a letter first',
  )
  .nullish()
  .meta({
    description:
      'A name of yours, at most 100 characters, which can stand wherever `templateKey` does. PATCH moves it.',
    example: 'receipt',
  });

const content = {
  subject: requiredLine(500).nullish(),
  previewText: line(500).nullish(),
  ...contentForms,
  contentText: prose(MAX_CONTENT).nullish(),
};

/** A translation without content has the template's, under its own subject. */
const translation = strictBody(content)
  .superRefine(hasOneForm)
  .transform((given) => {
    const {
      subject = null,
      previewText = null,
      contentJson = null,
      contentText = null,
    } = withContentJson(given);
    return { subject, previewText, contentJson, contentText };
  });

const contentFields = {
  purpose: requiredLine(500)
    .nullish()
    .meta({ description: 'Of MESSAGE: why mail of it may be sent without consent.' }),
  ...content,
  translations: translations(
    translation,
    'The content in other languages,',
    'A reader gets the one that fits their language, else the template’s own content.',
  ),
  variables,
  layout: templateKeyField
    .nullish()
    .meta({ description: '`templateKey` of the PARTIAL with a `content` block that this is put into.' }),
};

const kind = z.enum(TEMPLATE_KINDS).meta({
  description:
    'CAMPAIGN for campaigns and automations, MESSAGE for messages, OPT_IN for mail that asks for a confirmation. A PARTIAL is a piece ' +
    'of others, and their layout if it has a `content` block. It stays.',
});

export const createTemplateBody = strictBody({
  name: requiredLine(200),
  kind,
  alias,
  ...contentFields,
  metadata: metadataField,
})
  .superRefine(hasOneForm)
  .transform(withContentJson);

/** JSON merge-patch (RFC 7396): absent fields stay, null clears. */
export const patchTemplateBody = strictBody({
  name: requiredLine(200).optional(),
  alias,
  ...contentFields,
  metadata: metadataField,
})
  .superRefine(hasOneForm)
  .transform(withContentJson);

export const publishTemplateBody = strictBody({
  version: leftOut(
    z.int().min(1).max(999_999_999).meta({ description: 'A version to put in use; left out: the draft.' }),
  ),
});

export const duplicateTemplateBody = strictBody({
  name: leftOut(requiredLine(200).meta({ description: 'Left out: the same.' })),
  alias,
});

export const validateTemplateBody = strictBody({
  kind: kind
    .nullish()
    .transform((given) => given ?? 'MESSAGE')
    .meta({ default: 'MESSAGE' }),
  ...contentFields,
})
  .superRefine(hasOneForm)
  .transform(withContentJson);

export const previewTemplateBody = strictBody({
  version: leftOut(z.int().min(1).max(999_999_999).meta({ description: 'Left out: the draft.' })),
  data: leftOut(jsonObject(MAX_DATA_BYTES)),
  locale: leftOut(localeField),
  email: leftOut(
    emailField.meta({ description: 'Shows it to this subscriber, or to somebody of whom no more is known.' }),
  ),
});

export const templateListQuery = pageQuery({
  kind: z.enum(TEMPLATE_KINDS).optional(),
  alias: line(100).optional(),
});
export const templateVersionListQuery = pageQuery({});
/** Text that is no such number names no version: 0. */
export const versionParam = z
  .preprocess((text) => (/^[1-9]\d{0,8}$/.test(String(text)) ? Number(text) : 0), z.int())
  .meta({ description: 'Number of the version.' });

const variableView = z.object({
  name: z.string(),
  type: z.enum(VARIABLE_TYPES),
  required: z.boolean(),
  default: z.unknown().optional(),
});

const translationView = z.object({
  subject: z.string().nullable(),
  previewText: z.string().nullable(),
  contentJson: z.string().nullable(),
  contentText: z.string().nullable(),
});

const contentView = {
  purpose: z.string().nullable(),
  ...translationView.shape,
  contentJson: z.string().nullable().meta({
    description: 'The content as a JSON string: `{"blocks":[…]}`, `{"html":"…"}` or `{"mjml":"…"}`.',
  }),
  translations: z.record(z.string(), translationView),
  variables: z.array(variableView),
  layout: z.string().nullable(),
};

const identityView = {
  id: z.uuid(),
  templateKey: z.string(),
  alias: z.string().nullable(),
  name: z.string(),
  kind: z.enum(TEMPLATE_KINDS),
  publishedVersion: z.int().nullable().meta({ description: 'The version in use; null: none yet.' }),
  draftVersion: z
    .int()
    .nullable()
    .meta({ description: 'The number that the draft would get; null: it is what is in use.' }),
  metadata: metadataView,
  createdAt: timestamp,
  updatedAt: timestamp,
};

export const templateView = z
  .object({ ...identityView, ...contentView })
  .meta({ id: 'Template', description: 'A template with its draft.' });
export const templatePage = pageOf(z.object(identityView).meta({ id: 'TemplateSummary' }), 'TemplatePage');

const versionIdentityView = { id: z.uuid(), version: z.int(), createdAt: timestamp, updatedAt: timestamp };
export const templateVersionView = z
  .object({ ...versionIdentityView, ...contentView })
  .meta({ id: 'TemplateVersion', description: 'A version as it was published.' });
export const templateVersionPage = pageOf(
  z.object(versionIdentityView).meta({ id: 'TemplateVersionSummary' }),
  'TemplateVersionPage',
);

const faults = z
  .record(z.string(), z.string())
  .meta({ description: 'Field path → fault, as publishing would refuse it.' });
const removed = z
  .array(z.string())
  .meta({ description: 'Pieces that no mail can carry, which are taken out, each with its path.' });

export const validatedTemplateView = z
  .object({
    variables: z
      .array(variableView)
      .meta({ description: 'Values of `data` that it shows, as they could be declared.' }),
    data: z.record(z.string(), z.unknown()).meta({ description: 'Values to try it with.' }),
    faults,
    removed,
  })
  .meta({ id: 'ValidatedTemplate' });

export const templatePreviewView = z
  .object({
    subject: z.string().nullable(),
    previewText: z.string().nullable(),
    html: z.string().nullable(),
    text: z.string().nullable(),
    faults,
    removed,
  })
  .meta({ id: 'TemplatePreview', description: 'Null is what cannot be shown for its faults.' });
