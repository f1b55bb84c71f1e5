import type { z } from 'zod';
import type {
  createRelayBody,
  relayCheckView,
  relayView,
  updateRelayBody,
} from '../../deliverability/relays.dto.js';
import type {
  createSendingDomainBody,
  dnsInstructionsView,
  domainVerificationView,
  sendingDomainView,
  updateSendingDomainBody,
} from '../../deliverability/sending-domain.dto.js';
import { onePage, type WrittenExamples } from './written-example.js';

type Domain = z.output<typeof sendingDomainView>;

const NEW_RELAY = {
  name: 'Amazon SES',
  kind: 'SES',
  options: { region: 'eu-central-1' },
  username: 'AKIAIOSFODNN7EXAMPLE',
  password: 'the password of its SMTP credentials',
  streams: ['CAMPAIGN', 'AUTOMATION'],
  connections: 10,
  ratePerSecond: 14,
} satisfies z.input<typeof createRelayBody>;

const CREATED_RELAY = {
  id: '019bb695-5a80-7c1e-9c3e-2f6b8a4d1e9f',
  relayKey: 'APIT-1',
  name: 'Amazon SES',
  kind: 'SES',
  host: 'email-smtp.eu-central-1.amazonaws.com',
  port: 587,
  tls: 'REQUIRED',
  username: 'AKIAIOSFODNN7EXAMPLE',
  options: { region: 'eu-central-1' },
  streams: ['CAMPAIGN', 'AUTOMATION'],
  priority: 1,
  weight: 1,
  connections: 10,
  ratePerSecond: 14,
  signing: 'OWN',
  status: 'ACTIVE',
  lastError: null,
  lastUsedAt: null,
  feedbackUrl: 'https://mailwright.example/feedback/uJx2mRkq0Vn8sT4wYb6ZcA',
  lastFeedbackAt: null,
  createdAt: '2026-01-13T09:00:00.000Z',
  updatedAt: '2026-01-13T09:00:00.000Z',
} satisfies z.output<typeof relayView>;

const USED_RELAY = {
  ...CREATED_RELAY,
  lastUsedAt: '2026-03-02T08:01:30.000Z',
  lastFeedbackAt: '2026-03-02T09:12:00.000Z',
} satisfies z.output<typeof relayView>;

const RELAY_CHANGES = { ratePerSecond: 50, status: 'PAUSED' } satisfies z.input<typeof updateRelayBody>;

const CHANGED_RELAY = {
  ...USED_RELAY,
  ...RELAY_CHANGES,
  updatedAt: '2026-03-03T10:00:00.000Z',
} satisfies z.output<typeof relayView>;

const ROTATED_RELAY = {
  ...USED_RELAY,
  feedbackUrl: 'https://mailwright.example/feedback/Qe7hD3fLp9KaX1vNz5RtMg',
  updatedAt: '2026-03-04T10:00:00.000Z',
} satisfies z.output<typeof relayView>;

const CHECK = {
  isReady: true,
  stage: null,
  detail: null,
  capabilities: { pipelining: false, chunking: false, eightBitMime: true, smtpUtf8: false, size: 41_943_040 },
} satisfies z.output<typeof relayCheckView>;

const NEW_DOMAIN = { domainName: 'example.com' } satisfies z.input<typeof createSendingDomainBody>;
const OTHER_DOMAIN = { domainName: 'news.example.com' } satisfies z.input<typeof updateSendingDomainBody>;

const EXPECTED_RECORDS = [
  ['TXT', '_mailwright', 'mailwright-verification=a78a4cbd33d5bb0f10c7ab7820ca8d608a1fcc2b'],
  [
    'TXT',
    'mwed2318d231._domainkey',
    'v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAr2RT…IDAQAB',
  ],
  ['TXT', 'bounce', 'v=spf1 include:spf.mailwright.example ~all'],
  ['MX', 'bounce', '10 bounces.mailwright.example'],
  ['TXT', '_dmarc', 'v=DMARC1; p=none'],
] as const;

/** The records of a domain, found at `lastCheckedAt`, or not looked for yet. */
function recordsOf(domainName: string, lastCheckedAt: string | null): Domain['dnsRecords'] {
  return EXPECTED_RECORDS.map(([recordType, host, expectedValue], index) => ({
    id: index + 1,
    recordType,
    host: `${host}.${domainName}`,
    expectedValue,
    actualValue: lastCheckedAt === null ? null : expectedValue,
    status: lastCheckedAt === null ? 'PENDING' : 'VERIFIED',
    lastCheckedAt,
    failureReason: null,
  }));
}

const CREATED_DOMAIN: Domain = {
  id: 1,
  domainName: 'example.com',
  domainType: 'CUSTOM',
  status: 'PENDING_VERIFICATION',
  healthScore: null,
  projectId: 1,
  dnsRecords: recordsOf('example.com', null),
  verifiedAt: null,
  lastHealthCheckAt: null,
  expiresAt: '2026-01-16T09:30:00.000Z',
  suspensionReason: null,
  verificationAttempts: 0,
  sendingAllowed: false,
  createdAt: '2026-01-13T09:30:00.000Z',
  updatedAt: '2026-01-13T09:30:00.000Z',
};

/** It begins anew with the records of the other name. */
const CHANGED_DOMAIN: Domain = {
  ...CREATED_DOMAIN,
  domainName: 'news.example.com',
  dnsRecords: recordsOf('news.example.com', null),
  expiresAt: '2026-01-16T09:40:00.000Z',
  updatedAt: '2026-01-13T09:40:00.000Z',
};

const CHECKED_AT = '2026-03-01T06:00:00.000Z';

const DOMAIN: Domain = {
  ...CREATED_DOMAIN,
  status: 'ACTIVE',
  healthScore: 100,
  dnsRecords: recordsOf('example.com', CHECKED_AT),
  verifiedAt: '2026-01-13T10:05:00.000Z',
  lastHealthCheckAt: CHECKED_AT,
  expiresAt: null,
  verificationAttempts: 48,
  sendingAllowed: true,
  updatedAt: CHECKED_AT,
};

const INSTRUCTIONS = {
  domainName: 'example.com',
  requiredRecords: recordsOf('example.com', null),
  instructionsText:
    'To send mail as example.com, add these 5 records where the DNS of example.com is managed: at your registrar or DNS ' +
    'provider, on the page for DNS records. Leave every other record as it is.\n…',
} satisfies z.output<typeof dnsInstructionsView>;

const VERIFICATION = {
  domainId: 1,
  resultingStatus: 'ACTIVE',
  healthScore: 100,
  records: recordsOf('example.com', CHECKED_AT),
  allVerified: true,
} satisfies z.output<typeof domainVerificationView>;

export const DELIVERABILITY_EXAMPLES: WrittenExamples = {
  listRelays: { answer: onePage(USED_RELAY) },
  createRelay: { body: NEW_RELAY, answer: CREATED_RELAY },
  getRelay: { answer: USED_RELAY },
  updateRelay: { body: RELAY_CHANGES, answer: CHANGED_RELAY },
  checkRelay: { answer: CHECK },
  rotateRelayFeedbackToken: { answer: ROTATED_RELAY },
  getSendingDomain: { answer: DOMAIN },
  createSendingDomain: { body: NEW_DOMAIN, answer: CREATED_DOMAIN },
  updateSendingDomain: { body: OTHER_DOMAIN, answer: CHANGED_DOMAIN },
  getDnsInstructions: { answer: INSTRUCTIONS },
  verifyDns: { answer: VERIFICATION },
};
