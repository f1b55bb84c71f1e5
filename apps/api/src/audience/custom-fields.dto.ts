import { z } from 'zod';
import { CUSTOM_FIELD_STATUSES, CUSTOM_FIELD_TYPES } from '#audience';
import { strictBody, timestamp, uuid } from '#platform/http';
import { leftOut, prose, requiredLine } from '../fields.js';

const MAX_OPTIONS = 500;

const option = strictBody({
  value: requiredLine(100).meta({ description: 'The value that is stored and returned.', example: 'pro' }),
  label: requiredLine(100).meta({ description: 'The label that people see.', example: 'Professional' }),
});

const options = z
  .array(option)
  .max(MAX_OPTIONS)
  .superRefine(
    (list, context) => {
      for (const index of repeated(list)) {
        context.addIssue({ code: 'custom', path: [index, 'value'], message: 'must be unique' });
      }
    },
    { when: ({ value }) => Array.isArray(value) },
  )
  .meta({ description: 'For SELECT and MULTI_SELECT only, in the order in which they are shown.' });

const displayName = requiredLine(100);
const details = {
  description: prose(500).nullish(),
  isRequired: leftOut(z.boolean()).meta({
    description: 'Whether new subscribers must have a value, which then cannot be cleared. Default: false.',
  }),
};
const defaultValue = z.string().nullish().meta({
  description: 'The value that merge tags show for a subscriber without one. Must be valid for the type.',
});

/** The indexes of options that repeat an earlier value. Other checks may have failed, so an option can be any JSON. */
function repeated(list: readonly unknown[]): number[] {
  const values = list.map((one) =>
    typeof one === 'object' && one !== null && 'value' in one ? one.value : undefined,
  );
  return values.flatMap((value, index) =>
    typeof value === 'string' && values.indexOf(value) < index ? [index] : [],
  );
}

const hasOptions = (type: unknown) => type === 'SELECT' || type === 'MULTI_SELECT';

const createBody = strictBody({
  key: z
    .string()
    .regex(
      /^[a-z][a-z0-9_]{0,63}$/,
      'must be 1 to 64 lower-case letters, digits and _, and must start with a letter',
    )
    .meta({ example: 'plan' }),
  displayName,
  type: z.enum(CUSTOM_FIELD_TYPES),
  ...details,
  defaultValue,
  options: leftOut(options),
});

export const createCustomFieldBody = createBody
  .refine(({ type, options: given }) => !hasOptions(type) || !isWithout(given), {
    path: ['options'],
    error: 'is required for SELECT and MULTI_SELECT',
    when: ({ value }) => typeIs(value, true),
  })
  .refine(({ options: given }) => isWithout(given), {
    path: ['options'],
    error: 'must be absent unless the type is SELECT or MULTI_SELECT',
    when: ({ value }) => typeIs(value, false),
  })
  .meta({ id: 'CreateCustomField' });

export const customFieldDetailsBody = strictBody({ displayName: displayName.optional(), ...details }).meta({
  id: 'UpdateCustomFieldDetails',
});
export const customFieldConfigBody = strictBody({ options: leftOut(options), defaultValue }).meta({
  id: 'UpdateCustomFieldConfig',
});

export const customFieldView = z
  .object({
    id: uuid,
    key: z.string().meta({ example: 'plan' }),
    displayName: z.string(),
    description: z.string().nullable(),
    type: z.enum(CUSTOM_FIELD_TYPES),
    status: z.enum(CUSTOM_FIELD_STATUSES),
    isSystem: z
      .boolean()
      .meta({ description: 'Whether the field exists in every project and cannot be changed.' }),
    isRequired: z.boolean(),
    defaultValue: z.string().nullable(),
    options: z.array(z.object({ value: z.string(), label: z.string() })),
    createdAt: timestamp,
    updatedAt: timestamp,
    archivedAt: timestamp.nullable(),
  })
  .meta({ id: 'CustomField' });

export const customFieldList = z.array(customFieldView);

/** True where the options are absent or empty. The value may be any JSON; another check refuses what is not a list. */
function isWithout(given: unknown): boolean {
  return given === undefined || given === null || (Array.isArray(given) && given.length === 0);
}

/** True where the body has a type that does, or does not, take options. The body may be any JSON. */
function typeIs(value: unknown, withOptions: boolean): boolean {
  if (typeof value !== 'object' || value === null || !('type' in value)) return false;
  const { type } = value;
  return CUSTOM_FIELD_TYPES.some((known) => known === type) && hasOptions(type) === withOptions;
}
