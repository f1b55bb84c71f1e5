import type { z } from 'zod';
import type { auditEntryView, loggedRequestView } from '../../access/audit.dto.js';
import type {
  projectTextsView,
  projectView,
  updateProjectBody,
  updateProjectTextsBody,
} from '../../access/project.dto.js';
import { onePage, type WrittenExamples } from './written-example.js';

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

/** Their hashes are right. */
const CHANGE = {
  sequence: 1,
  id: '019bb679-e340-7c0a-8d13-5e9f2b4a6c71',
  createdAt: '2026-01-13T08:30:00.000Z',
  updatedAt: '2026-01-13T08:30:00.000Z',
  actor: {
    type: 'KEY',
    keyId: '019bb13c-a3e0-7b21-9c64-3f1e8a7d5b02',
    keyName: 'Website',
    network: '203.0.113.0/24',
  },
  requestId: '019bb679-e340-7e44-a1b0-9d3c5f7e2a18',
  action: 'updateProject',
  target: {
    type: 'project',
    id: null,
  },
  items: null,
  outcome: 'SUCCEEDED',
  problem: null,
  before: {
    timeZone: 'UTC',
    replyTo: null,
  },
  after: {
    timeZone: 'Europe/Berlin',
    replyTo: 'changed',
  },
  previousHash: '0000000000000000000000000000000000000000000000000000000000000000',
  hash: '6b86f80b344d23d139f1d5480ca5c6a75018e9ff7f47e83a80e5e2b2e81103d7',
} satisfies z.output<typeof auditEntryView>;

const REFUSAL = {
  sequence: 2,
  id: '019bb67a-fc80-7f19-b27e-1c8d4a6f3b95',
  createdAt: '2026-01-13T08:31:12.000Z',
  updatedAt: '2026-01-13T08:31:12.000Z',
  actor: {
    type: 'KEY',
    keyId: '019bb13c-a3e0-7b21-9c64-3f1e8a7d5b02',
    keyName: 'Website',
    network: '203.0.113.0/24',
  },
  requestId: '019bb67a-fc80-7a83-90c5-6b1d8e4f2a37',
  action: 'deleteTopic',
  target: {
    type: 'topic',
    id: 'APIT-1',
  },
  items: null,
  outcome: 'REFUSED',
  problem: 'insufficient-scope',
  before: null,
  after: null,
  previousHash: '6b86f80b344d23d139f1d5480ca5c6a75018e9ff7f47e83a80e5e2b2e81103d7',
  hash: '409568d435a6cd3621f6eb96f7c17c191217451896e0faa6d467d7b5798d29b8',
} satisfies z.output<typeof auditEntryView>;

const REQUEST = {
  id: '019bb67a-fc84-7d52-8e0f-4a9c6b3d1f28',
  createdAt: '2026-01-13T08:31:12.004Z',
  updatedAt: '2026-01-13T08:31:12.004Z',
  method: 'DELETE',
  route: '/api/v1/topics/{topicKey}',
  status: 403,
  requestId: REFUSAL.requestId,
  keyId: REFUSAL.actor.keyId,
  ms: 3,
} satisfies z.output<typeof loggedRequestView>;

export const ACCESS_EXAMPLES: WrittenExamples = {
  getProject: { answer: PROJECT },
  updateProject: { body: CHANGES, answer: CHANGED },
  getProjectTexts: { answer: TEXTS },
  updateProjectTexts: { body: TEXT_CHANGES, answer: TEXTS },
  listAuditLog: { answer: onePage<z.output<typeof auditEntryView>>(REFUSAL, CHANGE) },
  listRequests: { answer: onePage(REQUEST) },
};
