import { defineEntity, p } from '@mikro-orm/postgresql';
import {
  CustomField,
  type CustomFieldOption,
  type CustomFieldStatus,
  type CustomFieldType,
} from './custom-field.js';

/** audience.custom_fields. SQL inserts new fields, since they replace an archived field with the same key. */
export const CustomFieldSchema = defineEntity({
  class: CustomField,
  tableName: 'custom_fields',
  schema: 'audience',
  properties: {
    id: p.uuid().primary(),
    environmentId: p.bigint('number').primary(),
    key: p.text(),
    type: p.string().$type<CustomFieldType>(),
    displayName: p.text(),
    description: p.text().nullable(),
    isRequired: p.boolean(),
    defaultValue: p.text().nullable(),
    options: p.json<readonly CustomFieldOption[]>(),
    status: p.string().$type<CustomFieldStatus>(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
    archivedAt: p.datetime(3).nullable(),
  },
});
