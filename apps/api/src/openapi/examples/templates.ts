import type { z } from 'zod';
import type { previewLinkView } from '../../messaging/campaign.dto.js';
import type {
  createTemplateBody,
  duplicateTemplateBody,
  patchTemplateBody,
  previewTemplateBody,
  publishTemplateBody,
  templatePage,
  templatePreviewView,
  templateVersionPage,
  templateVersionView,
  templateView,
  validatedTemplateView,
  validateTemplateBody,
} from '../../messaging/templates.dto.js';
import { onePage, type WrittenExamples } from './written-example.js';

const CONTENT = {
  purpose: 'The person bought something.',
  subject: 'Your order {{ data.order.id }}',
  previewText: null,
  contentJson: JSON.stringify({
    blocks: [{ type: 'text', html: '<p>Thank you. You paid {{ data.order.total | money: "EUR" }}.</p>' }],
  }),
  contentText: null,
  translations: {},
  variables: [
    { name: 'order.id', type: 'STRING', required: true },
    { name: 'order.total', type: 'NUMBER', required: true },
  ],
  layout: null,
} satisfies Partial<z.output<typeof templateView>>;

const SUMMARY = {
  id: '019d3df8-aa80-7c38-9d21-6a4f8b2c7e20',
  templateKey: 'APIT-1',
  alias: 'receipt',
  name: 'Receipt',
  kind: 'MESSAGE',
  publishedVersion: null,
  draftVersion: 1,
  metadata: {},
  createdAt: '2026-03-30T09:00:00.000Z',
  updatedAt: '2026-03-30T09:00:00.000Z',
} satisfies z.output<typeof templatePage>['data'][number];

const TEMPLATE = { ...SUMMARY, ...CONTENT } satisfies z.output<typeof templateView>;
const PUBLISHED = {
  ...TEMPLATE,
  publishedVersion: 1,
  draftVersion: null,
  updatedAt: '2026-03-30T09:05:00.000Z',
} satisfies z.output<typeof templateView>;

const VERSION = {
  id: '019d3dfd-3e60-7c38-9d21-6a4f8b2c7e21',
  version: 1,
  createdAt: PUBLISHED.updatedAt,
  updatedAt: PUBLISHED.updatedAt,
} satisfies z.output<typeof templateVersionPage>['data'][number];

const { purpose, subject, contentJson, variables } = CONTENT;
const NEW_TEMPLATE = {
  name: 'Receipt',
  kind: 'MESSAGE',
  alias: 'receipt',
  purpose,
  subject,
  contentJson,
  variables: [...variables],
} satisfies z.input<typeof createTemplateBody>;

const CHANGES = { subject: 'Order {{ data.order.id }}' } satisfies z.input<typeof patchTemplateBody>;
const PUBLISH = {} satisfies z.input<typeof publishTemplateBody>;
const COPY = { name: 'Receipt of a subscription' } satisfies z.input<typeof duplicateTemplateBody>;
const VALIDATE = { kind: 'MESSAGE', subject, contentJson } satisfies z.input<typeof validateTemplateBody>;

const VALIDATED = {
  variables: [...variables],
  data: { order: { id: 'id', total: 1 } },
  faults: {
    subject: 'has {{ data.order.id }}, which variables do not declare',
    'contentJson.blocks[0].html': 'has {{ data.order.total }}, which variables do not declare',
  },
  removed: [],
} satisfies z.output<typeof validatedTemplateView>;

const PREVIEW = { data: { order: { id: '4711', total: 12.5 } }, locale: 'en' } satisfies z.input<
  typeof previewTemplateBody
>;
const PREVIEW_LINK = {
  url: 'https://mailwright.example/d/AQkAAAAAAQGcmj_TAH1VnD4va4pNHpsBxXpY0kq7Zt1mPiW8vGgR2c',
  expiresAt: '2026-03-05T14:00:00.000Z',
} satisfies z.output<typeof previewLinkView>;
const PREVIEWED = {
  subject: 'Your order 4711',
  previewText: null,
  html: '<!doctype html><html lang="en">…<p>Thank you. You paid €12.50.</p>…</html>',
  text: 'Thank you. You paid €12.50.',
  faults: {},
  removed: [],
} satisfies z.output<typeof templatePreviewView>;

export const TEMPLATE_EXAMPLES: WrittenExamples = {
  listTemplates: {
    answer: onePage({ ...SUMMARY, publishedVersion: 1, draftVersion: null, updatedAt: PUBLISHED.updatedAt }),
  },
  createTemplate: { body: NEW_TEMPLATE, answer: TEMPLATE },
  getTemplate: { answer: PUBLISHED },
  updateTemplate: {
    body: CHANGES,
    answer: { ...PUBLISHED, ...CHANGES, draftVersion: 2, updatedAt: '2026-03-30T09:10:00.000Z' },
  },
  publishTemplate: { body: PUBLISH, answer: PUBLISHED },
  previewTemplate: { body: PREVIEW, answer: PREVIEWED },
  linkTemplatePreview: { answer: PREVIEW_LINK },
  duplicateTemplate: {
    body: COPY,
    answer: {
      ...TEMPLATE,
      ...COPY,
      id: '019d3e01-d240-7c38-9d21-6a4f8b2c7e22',
      templateKey: 'APIT-2',
      alias: null,
      createdAt: '2026-03-30T09:10:00.000Z',
      updatedAt: '2026-03-30T09:10:00.000Z',
    },
  },
  listTemplateVersions: { answer: onePage(VERSION) },
  getTemplateVersion: {
    answer: { ...VERSION, ...CONTENT } satisfies z.output<typeof templateVersionView>,
  },
  validateTemplate: { body: VALIDATE, answer: VALIDATED },
};
