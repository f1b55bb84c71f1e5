import { defineEntity, p } from '@mikro-orm/postgresql';
import type { Metadata } from '#kernel';
import type { TemplateKind } from '../content/merge/template-variables.js';
import { Template, type TemplateContent } from './template.js';

/** messaging.templates */
export const TemplateSchema = defineEntity({
  class: Template,
  tableName: 'templates',
  schema: 'messaging',
  properties: {
    id: p.uuid().primary(),
    environmentId: p.bigint('number').primary(),
    templateKey: p.text(),
    alias: p.text().nullable(),
    name: p.text(),
    kind: p.string().$type<TemplateKind>(),
    metadata: p.json().$type<Metadata>(),
    draft: p.json().$type<TemplateContent>(),
    draftVersion: p.integer().nullable(),
    publishedVersion: p.integer().nullable(),
    lastVersion: p.integer(),
    contentId: p.uuid().nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
});
