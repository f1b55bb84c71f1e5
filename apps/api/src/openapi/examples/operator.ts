import type { z } from 'zod';
import type { rotateApiKeyBody } from '../../access/api-keys.dto.js';
import type { auditEntryView } from '../../access/audit.dto.js';
import type { creditBalanceView } from '../../billing/billing.dto.js';
import type { sendingDomainView } from '../../deliverability/sending-domain.dto.js';
import type {
  apiKeyView,
  changeProjectBody,
  createdApiKeyView,
  createProjectBody,
  createProjectKeyBody,
  createTenantBody,
  listedProjectView,
  operatedProjectView,
  projectKeyPage,
  retentionBody,
  retentionView,
  tenantView,
} from '../../operator/accounts.dto.js';
import type {
  addCreditsBody,
  cancelSubscriptionBody,
  changeSubscriptionBody,
  invoicePage,
  offeredPlans,
  subscriptionReport,
} from '../../operator/billing.controller.js';
import type { checkView, domainPage, overviewView, suspendBody } from '../../operator/system.controller.js';
import { onePage, type WrittenExamples } from './written-example.js';

/** Another story: the operator takes Initrode in, whose project NEWS has these ids. */
export const OPERATED = {
  tenantKey: 'INITRODE',
  projectId: 1042,
  liveEnvironmentId: 2083,
  testEnvironmentId: 2084,
  keyId: '019cb84c-15c0-7c1e-9c3e-2f6b8a4d1e90',
  invoiceNumber: 'INITRODE-2026-000001',
} as const;
const { tenantKey } = OPERATED;
const PLACE = { tenantKey, projectKey: 'NEWS', environment: 'LIVE' } as const;

const NEW_TENANT = { tenantKey, name: 'Initrode Ltd' } satisfies z.input<typeof createTenantBody>;
const TENANT = {
  ...NEW_TENANT,
  id: 42,
  planTier: 'FREE',
  subscriptionStatus: 'ACTIVE',
  createdAt: '2026-03-04T09:58:00.000Z',
  updatedAt: '2026-03-04T09:58:00.000Z',
} satisfies z.output<typeof tenantView>;
const ACME = {
  id: 1,
  tenantKey: 'ACME',
  name: 'Acme Inc',
  planTier: 'STANDARD',
  subscriptionStatus: 'ACTIVE',
  createdAt: '2026-01-12T08:00:00.000Z',
  updatedAt: '2026-01-12T08:00:00.000Z',
} satisfies z.output<typeof tenantView>;

const NEW_PROJECT = {
  tenantKey,
  projectKey: 'NEWS',
  name: 'News',
  senderName: 'Initrode',
  postalAddress: '1 Main Street, Springfield',
  fromEmail: 'news@example.org',
} satisfies z.input<typeof createProjectBody>;
const LISTED = {
  id: OPERATED.projectId,
  tenantKey,
  projectKey: 'NEWS',
  name: 'News',
  liveEnvironmentId: OPERATED.liveEnvironmentId,
  testEnvironmentId: OPERATED.testEnvironmentId,
  createdAt: '2026-03-04T10:00:00.000Z',
  updatedAt: '2026-03-04T10:00:00.000Z',
} satisfies z.output<typeof listedProjectView>;
const PROJECT = {
  ...LISTED,
  description: null,
  senderName: 'Initrode',
  fromEmail: 'news@example.org',
  replyTo: null,
  postalAddress: '1 Main Street, Springfield',
  defaultLocale: 'en',
  timeZone: 'UTC',
  brand: { logoUrl: null, color: null },
  trackingHost: null,
  privacyUrl: null,
  contactEmail: null,
  aiSegmentSuggestionsEnabled: false,
  retention: { deliveriesDays: null, eventsDays: null },
} satisfies z.output<typeof operatedProjectView>;
const PROJECT_CHANGES = { name: 'Initrode News', timeZone: 'Europe/Berlin' } satisfies z.input<
  typeof changeProjectBody
>;
const CHANGED_PROJECT = {
  ...PROJECT,
  ...PROJECT_CHANGES,
  updatedAt: '2026-03-04T10:05:00.000Z',
} satisfies z.output<typeof operatedProjectView>;
const RETENTION = { deliveriesDays: 365, eventsDays: 90 } satisfies z.input<typeof retentionBody> &
  z.output<typeof retentionView>;

const NEW_KEY = {
  environmentId: OPERATED.liveEnvironmentId,
  name: 'Website',
  scopes: ['subscribers:write', 'topics:read'],
  allowedNetworks: ['203.0.113.0/28'],
} satisfies z.input<typeof createProjectKeyBody>;
const KEY = {
  id: OPERATED.keyId,
  name: 'Website',
  prefix: 'mw_live_',
  lastFour: 'mple',
  status: 'ACTIVE',
  scopes: ['subscribers:write', 'topics:read'],
  expiresAt: null,
  rateLimitPerMinute: null,
  allowedNetworks: ['203.0.113.0/28'],
  lastUsedAt: null,
  createdBy: 'OPERATOR',
  replacedBy: null,
  revokedAt: null,
  createdAt: '2026-03-04T10:02:00.000Z',
  updatedAt: '2026-03-04T10:02:00.000Z',
} satisfies z.output<typeof apiKeyView>;
/** Its checksum does not hold: secret scanners let it pass. */
const CREATED_KEY = {
  ...KEY,
  key: 'mw_live_ThisIsWhereTheKeyIsShownOnceAsAnExample',
} satisfies z.output<typeof createdApiKeyView>;
const KEYS = onePage({
  ...KEY,
  tenantKey,
  projectId: OPERATED.projectId,
  projectKey: 'NEWS',
  environment: 'LIVE' as const,
}) satisfies z.output<typeof projectKeyPage>;
const ROTATION = { overlapHours: 48 } satisfies z.input<typeof rotateApiKeyBody>;
const SUCCESSOR = {
  ...CREATED_KEY,
  id: '019cc260-0a80-7c1e-9c3e-2f6b8a4d1e90',
  createdAt: '2026-03-06T09:00:00.000Z',
  updatedAt: '2026-03-06T09:00:00.000Z',
} satisfies z.output<typeof createdApiKeyView>;

const PLANS = [
  {
    tier: 'FREE',
    version: 1,
    name: 'Free',
    variants: [
      {
        aiCredits: 50,
        prices: [
          { currency: 'EUR', monthlyCents: 0, yearlyCents: 0 },
          { currency: 'USD', monthlyCents: 0, yearlyCents: 0 },
        ],
      },
    ],
  },
  {
    tier: 'STANDARD',
    version: 1,
    name: 'Standard',
    variants: [
      {
        aiCredits: 500,
        prices: [
          { currency: 'EUR', monthlyCents: 2_700, yearlyCents: 27_000 },
          { currency: 'USD', monthlyCents: 2_900, yearlyCents: 29_000 },
        ],
      },
    ],
  },
] satisfies z.output<typeof offeredPlans>;
const TERMS = {
  tier: 'STANDARD',
  interval: 'MONTHLY',
  currency: 'EUR',
  aiCredits: 500,
  buyer: { name: 'Initrode Ltd', address: '1 Main Street, Springfield' },
} satisfies z.input<typeof changeSubscriptionBody>;
const SUBSCRIPTION = {
  tenantKey,
  planTier: 'STANDARD',
  planVersion: 1,
  status: 'ACTIVE',
  billingInterval: 'MONTHLY',
  aiCredits: 500,
  currency: 'EUR',
  currentPeriodStart: '2026-03-04T10:10:00.000Z',
  currentPeriodEnd: '2026-04-04T10:10:00.000Z',
  trialEndsAt: null,
  pendingPlanTier: null,
  pendingAiCredits: null,
  pendingBillingInterval: null,
  cancelAtPeriodEnd: false,
  cancelledAt: null,
  cancellationReason: null,
  pastDueSince: null,
  restrictedSince: null,
  endedAt: null,
  provider: 'MANUAL',
  openInvoices: 1,
} satisfies z.output<typeof subscriptionReport>;
const CANCELLATION = { when: 'PERIOD_END', reason: 'Moved elsewhere' } satisfies z.input<
  typeof cancelSubscriptionBody
>;
const CANCELLED = {
  ...SUBSCRIPTION,
  cancelAtPeriodEnd: true,
  cancelledAt: '2026-03-20T08:00:00.000Z',
  cancellationReason: 'Moved elsewhere',
} satisfies z.output<typeof subscriptionReport>;
const INVOICES = onePage({
  id: 311,
  status: 'OPEN' as const,
  invoiceNumber: OPERATED.invoiceNumber,
  billingReason: 'subscription_create' as const,
  amountCents: 2_700,
  currency: 'EUR',
  invoiceUrl: 'https://mailwright.example/i/Vb3nXk7Rz0mQ5wTy2HcLpA',
  dueAt: '2026-03-18T10:10:00.000Z',
  paidAt: null,
  createdAt: '2026-03-04T10:10:00.000Z',
}) satisfies z.output<typeof invoicePage>;
const GRANT = { type: 'GRANT', credits: 100, description: 'For the outage of March 3' } satisfies z.input<
  typeof addCreditsBody
>;
const BALANCE = {
  balance: 600,
  creditsDepleted: false,
  lastUpdatedAt: '2026-03-05T08:00:00.000Z',
} satisfies z.output<typeof creditBalanceView>;

const DOMAINS = onePage({
  id: 77,
  environmentId: OPERATED.liveEnvironmentId,
  ...PLACE,
  domainName: 'example.org',
  status: 'SUSPENDED' as const,
  sendingAllowed: false,
  suspensionReason: 'Mail to addresses that never signed up',
  healthScore: 100,
  lastCheckedAt: '2026-03-10T06:00:00.000Z',
  createdAt: '2026-03-04T10:20:00.000Z',
  updatedAt: '2026-03-10T08:00:00.000Z',
}) satisfies z.output<typeof domainPage>;
const SUSPENSION = { reason: 'Mail to addresses that never signed up' } satisfies z.input<typeof suspendBody>;
const RESUMED = {
  id: 77,
  domainName: 'example.org',
  domainType: 'CUSTOM',
  status: 'ACTIVE',
  healthScore: 100,
  projectId: OPERATED.projectId,
  dnsRecords: [
    {
      id: 1,
      recordType: 'TXT',
      host: '_mailwright.example.org',
      expectedValue: 'mailwright-verification=0b5f6b1c2f0d4a3e9c7d8e1f2a3b4c5d6e7f8a9b',
      actualValue: 'mailwright-verification=0b5f6b1c2f0d4a3e9c7d8e1f2a3b4c5d6e7f8a9b',
      status: 'VERIFIED',
      lastCheckedAt: '2026-03-10T06:00:00.000Z',
      failureReason: null,
    },
  ],
  verifiedAt: '2026-03-04T11:00:00.000Z',
  lastHealthCheckAt: '2026-03-10T06:00:00.000Z',
  expiresAt: null,
  suspensionReason: null,
  verificationAttempts: 7,
  sendingAllowed: true,
  createdAt: '2026-03-04T10:20:00.000Z',
  updatedAt: '2026-03-10T09:00:00.000Z',
} satisfies z.output<typeof sendingDomainView>;
const SUSPENDED = {
  ...RESUMED,
  status: 'SUSPENDED',
  suspensionReason: SUSPENSION.reason,
  sendingAllowed: false,
  updatedAt: '2026-03-10T08:00:00.000Z',
} satisfies z.output<typeof sendingDomainView>;

const NONE = { due: 0, later: 0, deferred: 0, inFlight: 0, oldestDueAt: null };
const WAITING = { ...NONE, due: 1_200, deferred: 3, inFlight: 16, oldestDueAt: '2026-03-10T08:59:58.000Z' };
const LATELY = { sent: 48_000, bounced: 21, complained: 1 };
const OVERVIEW = {
  at: '2026-03-10T09:00:00.000Z',
  isPartial: false,
  checks: [
    { name: 'database', state: 'ok', reason: null },
    { name: 'queue', state: 'ok', reason: null },
  ],
  workerSeenAt: '2026-03-10T08:59:59.000Z',
  open: WAITING,
  minutes: [
    { minute: '2026-03-10T08:59:00.000Z', sent: 1_640 },
    { minute: '2026-03-10T09:00:00.000Z', sent: 0 },
  ],
  deferrals: [
    {
      reason: '421 4.7.0 try again later',
      mails: 3,
      providers: ['google'],
      projects: [`${tenantKey}/NEWS`],
    },
  ],
  projects: [{ ...PLACE, ...WAITING, ...LATELY, stoppedFor: null }],
  installationRelay: { isConfigured: true, ...NONE, sent: 0, bounced: 0, complained: 0 },
  relays: [
    {
      ...PLACE,
      relayKey: 'NEWS-1',
      name: 'Amazon SES',
      status: 'ACTIVE',
      lastError: null,
      retryAt: null,
      ...WAITING,
      sent: LATELY.sent,
    },
  ],
  providers: [{ provider: 'google', slowUntil: null, ...WAITING, ...LATELY }],
  domains: [],
  lateJobs: [],
  failedJobs: [],
} satisfies z.output<typeof overviewView>;
const CHECK = {
  name: 'credits',
  isCorrect: true,
  discrepancyCount: 0,
  discrepancies: [],
} satisfies z.output<typeof checkView>;

/** Its hash is right. */
const ENTRY = {
  sequence: 57,
  id: '019cb84e-d4e0-7b62-93d8-1a5e7c9f4b20',
  createdAt: '2026-03-04T10:05:00.000Z',
  updatedAt: '2026-03-04T10:05:00.000Z',
  actor: {
    type: 'KEY',
    keyId: '019cb841-1940-7d14-8a3e-5b7c9f1e2d46',
    keyName: 'Provisioning',
    network: '10.0.0.0/24',
  },
  requestId: '019cb84e-d4e0-7e91-a6c4-8d2f5b7e3a19',
  action: 'changeProject',
  target: { type: 'project', id: String(OPERATED.projectId) },
  items: null,
  outcome: 'SUCCEEDED',
  problem: null,
  before: { name: 'News', timeZone: 'UTC' },
  after: { name: 'Initrode News', timeZone: 'Europe/Berlin' },
  previousHash: '7e6cdbc4c5534a27574aca4fc8970435debb0354dac651401163448fb1d98feb',
  hash: '8f921fd3f3020af3afdea12d2ecf26b571b151ca93cc3f71da39f627cd575c1e',
} satisfies z.output<typeof auditEntryView>;

export const OPERATOR_EXAMPLES: WrittenExamples = {
  listTenants: { answer: onePage<z.output<typeof tenantView>>(ACME, TENANT) },
  createTenant: { body: NEW_TENANT, answer: TENANT },
  getTenant: { answer: TENANT },
  listProjects: { answer: onePage(LISTED) },
  createProject: { body: NEW_PROJECT, answer: PROJECT },
  getOperatedProject: { answer: PROJECT },
  changeProject: { body: PROJECT_CHANGES, answer: CHANGED_PROJECT },
  changeProjectRetention: { body: RETENTION, answer: RETENTION },
  listProjectKeys: { answer: KEYS },
  createProjectKey: { body: NEW_KEY, answer: CREATED_KEY },
  getProjectKey: { answer: KEY },
  rotateProjectKey: { body: ROTATION, answer: SUCCESSOR },
  listOfferedPlans: { answer: PLANS },
  getTenantSubscription: { answer: SUBSCRIPTION },
  changeTenantSubscription: { body: TERMS, answer: SUBSCRIPTION },
  cancelTenantSubscription: { body: CANCELLATION, answer: CANCELLED },
  listTenantInvoices: { answer: INVOICES },
  getTenantCredits: { answer: BALANCE },
  addTenantCredits: { body: GRANT, answer: BALANCE },
  listOperatedDomains: { answer: DOMAINS },
  getOperatedDomain: { answer: SUSPENDED },
  suspendDomain: { body: SUSPENSION, answer: SUSPENDED },
  resumeDomain: { answer: RESUMED },
  getOverview: { answer: OVERVIEW },
  runCheck: { answer: CHECK },
  listOperatorAuditLog: { answer: onePage<z.output<typeof auditEntryView>>(ENTRY) },
};
