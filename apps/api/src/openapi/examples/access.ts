import type { z } from 'zod';
import type {
  projectTextsView,
  projectView,
  updateProjectBody,
  updateProjectTextsBody,
} from '../../access/project.dto.js';
import type { WrittenExamples } from './written-example.js';

const CHANGES = {
  name: 'Acme News',
  senderName: 'Acme',
  fromEmail: 'news@example.com',
  replyTo: 'hello@example.com',
  timeZone: 'Europe/Berlin',
  brand: { color: '#1a73e8' },
  trackingHost: 'links.example.com',
  privacyUrl: 'https://example.com/privacy',
  contactEmail: 'privacy@example.com',
} satisfies z.input<typeof updateProjectBody>;

const HOST_RECORD = { type: 'CNAME', name: 'links.example.com', value: 'mailwright.example' } as const;

const CHANGED = {
  id: 1,
  projectKey: 'APIT',
  name: 'Acme News',
  description: 'News for customers of Acme',
  senderName: 'Acme',
  fromEmail: 'news@example.com',
  replyTo: 'hello@example.com',
  postalAddress: '1 Main Street, Springfield',
  defaultLocale: 'en',
  timeZone: 'Europe/Berlin',
  brand: { logoUrl: 'https://example.com/logo.png', color: '#1a73e8' },
  trackingHost: 'links.example.com',
  privacyUrl: 'https://example.com/privacy',
  contactEmail: 'privacy@example.com',
  trackingHostStatus: { status: 'PENDING', checkedAt: null, lastError: null, expectedRecord: HOST_RECORD },
  selected: true,
  aiSegmentSuggestionsEnabled: false,
  environment: 'LIVE',
  createdAt: '2026-01-12T08:00:00.000Z',
  updatedAt: '2026-01-13T08:30:00.000Z',
} satisfies z.output<typeof projectView>;

const PROJECT = {
  ...CHANGED,
  trackingHostStatus: {
    status: 'VERIFIED',
    checkedAt: '2026-02-01T06:00:00.000Z',
    lastError: null,
    expectedRecord: HOST_RECORD,
  },
} satisfies z.output<typeof projectView>;

const TEXT_CHANGES = {
  texts: { 'optIn.subject': 'One click, and you get emails from {project}' },
} satisfies z.input<typeof updateProjectTextsBody>;

const TEXTS = {
  locale: 'en',
  version: 1,
  texts: {
    'optIn.subject': 'One click, and you get emails from {project}',
    'optIn.heading': 'Please confirm your subscription',
  },
  overrides: { 'optIn.subject': 'One click, and you get emails from {project}' },
  defaults: {
    'optIn.subject': 'Please confirm your subscription to {project}',
    'optIn.heading': 'Please confirm your subscription',
  },
  createdAt: '2026-01-13T08:45:00.000Z',
  updatedAt: '2026-01-13T08:45:00.000Z',
} satisfies z.output<typeof projectTextsView>;

export const ACCESS_EXAMPLES: WrittenExamples = {
  getProject: { answer: PROJECT },
  updateProject: { body: CHANGES, answer: CHANGED },
  getProjectTexts: { answer: TEXTS },
  updateProjectTexts: { body: TEXT_CHANGES, answer: TEXTS },
};
