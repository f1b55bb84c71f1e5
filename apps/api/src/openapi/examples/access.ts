import type { z } from 'zod';
import { API_SCOPES } from '#kernel';
import type {
  apiKeyView,
  createApiKeyBody,
  createdApiKeyView,
  rotateApiKeyBody,
  updateApiKeyBody,
} from '../../access/api-keys.dto.js';
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

const OWNER_KEY = {
  id: '019bb141-37c0-7c1e-9c3e-2f6b8a4d1e90',
  name: 'Deployment',
  prefix: 'mw_live_',
  lastFour: 'a4Rt',
  status: 'ACTIVE',
  scopes: [...API_SCOPES],
  expiresAt: null,
  rateLimitPerMinute: null,
  allowedNetworks: ['203.0.113.0/24'],
  lastUsedAt: '2026-03-02T09:29:40.000Z',
  createdBy: 'OPERATOR',
  replacedBy: null,
  revokedAt: null,
  createdAt: '2026-01-12T08:10:00.000Z',
  updatedAt: '2026-01-12T08:10:00.000Z',
} satisfies z.output<typeof apiKeyView>;

export const SHOP_KEY_ID = '019c1d94-8a80-7c1e-9c3e-2f6b8a4d1e90';

const NEW_KEY = {
  name: 'Shop',
  scopes: ['subscribers:write', 'messages:send'],
  expiresAt: '2027-02-02T00:00:00.000Z',
  rateLimitPerMinute: 60,
  allowedNetworks: ['203.0.113.0/28', '2001:db8:7::/48'],
} satisfies z.input<typeof createApiKeyBody>;

const SHOP_KEY = {
  ...NEW_KEY,
  id: SHOP_KEY_ID,
  prefix: 'mw_live_',
  lastFour: 'mple',
  status: 'ACTIVE',
  lastUsedAt: null,
  createdBy: OWNER_KEY.id,
  replacedBy: null,
  revokedAt: null,
  createdAt: '2026-02-02T09:00:00.000Z',
  updatedAt: '2026-02-02T09:00:00.000Z',
} satisfies z.output<typeof apiKeyView>;

/** Its checksum does not hold: secret scanners let it pass. */
const CREATED_KEY = {
  ...SHOP_KEY,
  key: 'mw_live_ThisIsWhereTheKeyIsShownOnceAsAnExample',
} satisfies z.output<typeof createdApiKeyView>;

const KEY_CHANGES = {
  name: 'Web shop',
  rateLimitPerMinute: 30,
} satisfies z.input<typeof updateApiKeyBody>;

const USED_KEY = { ...SHOP_KEY, lastUsedAt: '2026-03-02T09:29:10.000Z' };

const CHANGED_KEY = {
  ...USED_KEY,
  ...KEY_CHANGES,
  updatedAt: '2026-03-02T09:20:00.000Z',
} satisfies z.output<typeof apiKeyView>;

const ROTATION = { overlapHours: 48 } satisfies z.input<typeof rotateApiKeyBody>;

const SUCCESSOR = {
  ...CREATED_KEY,
  ...KEY_CHANGES,
  id: '019cade2-11c0-7c1e-9c3e-2f6b8a4d1e90',
  createdAt: '2026-03-02T09:30:00.000Z',
  updatedAt: '2026-03-02T09:30:00.000Z',
} satisfies z.output<typeof createdApiKeyView>;

export const ACCESS_EXAMPLES: WrittenExamples = {
  listApiKeys: { answer: onePage<z.output<typeof apiKeyView>>(USED_KEY, OWNER_KEY) },
  createApiKey: { body: NEW_KEY, answer: CREATED_KEY },
  getCurrentApiKey: { answer: OWNER_KEY },
  getApiKey: { answer: USED_KEY },
  updateApiKey: { body: KEY_CHANGES, answer: CHANGED_KEY },
  rotateApiKey: { body: ROTATION, answer: SUCCESSOR },
  getProject: { answer: PROJECT },
  updateProject: { body: CHANGES, answer: CHANGED },
  getProjectTexts: { answer: TEXTS },
  updateProjectTexts: { body: TEXT_CHANGES, answer: TEXTS },
  listAuditLog: { answer: onePage<z.output<typeof auditEntryView>>(REFUSAL, CHANGE) },
  listRequests: { answer: onePage(REQUEST) },
};
