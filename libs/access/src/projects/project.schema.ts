import { defineEntity, p } from '@mikro-orm/postgresql';
import { Project } from './project.js';

/** access.projects */
export const ProjectSchema = defineEntity({
  class: Project,
  tableName: 'projects',
  schema: 'access',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    tenantId: p.bigint('number'),
    projectKey: p.text(),
    name: p.text(),
    description: p.text().nullable(),
    senderName: p.text(),
    postalAddress: p.text(),
    defaultFromEmail: p.text().nullable(),
    replyTo: p.text().nullable(),
    defaultLocale: p.text(),
    timeZone: p.text(),
    logoUrl: p.text().nullable(),
    color: p.text().nullable(),
    trackingHost: p.text().nullable(),
    privacyUrl: p.text().nullable(),
    contactEmail: p.text().nullable(),
    aiSegmentSuggestionsEnabled: p.boolean(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
});
