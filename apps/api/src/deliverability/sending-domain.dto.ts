import { z } from 'zod';
import {
  DNS_RECORD_STATUSES,
  DNS_RECORD_TYPES,
  SENDING_DOMAIN_STATUSES,
  SENDING_DOMAIN_TYPES,
  type SendingDomainView,
} from '#deliverability';
import type { ProjectScope } from '#kernel';
import { type Answer, int64, strictBody, timestamp } from '#platform/http';
import { requiredLine } from '../fields.js';

const domainName = requiredLine(253).meta({
  example: 'news.example.com',
  description: 'The domain in From: a domain that can be registered, or one below it.',
});

export const createSendingDomainBody = strictBody({ domainName }).meta({ id: 'CreateSendingDomain' });
export const updateSendingDomainBody = strictBody({ domainName }).meta({
  id: 'UpdateSendingDomain',
});

const FAILURES =
  'Begins with MISSING, MISMATCH, MULTIPLE, SYNTAX, SPF_TOO_MANY_LOOKUPS or DNS_ERROR, followed by an explanation for people.';

const dnsRecordView = z
  .object({
    id: int64.nullable(),
    recordType: z.enum(DNS_RECORD_TYPES).nullable(),
    host: z.string().nullable().meta({ description: 'In full.' }),
    expectedValue: z.string().nullable(),
    actualValue: z.string().nullable().meta({ description: 'The value found in DNS, one record a line.' }),
    status: z.enum(DNS_RECORD_STATUSES).nullable(),
    lastCheckedAt: timestamp.nullable(),
    failureReason: z
      .string()
      .nullable()
      .meta({ description: FAILURES, example: 'MISSING: the name does not exist' }),
  })
  .meta({ id: 'DnsRecordView' });

const healthScore = z.int().nullable().meta({ description: '0 to 100; null before the first check.' });

export const sendingDomainView = z
  .object({
    id: int64.nullable(),
    domainName: z.string().nullable().meta({ description: 'In lower case, as IDNA A-labels.' }),
    domainType: z.enum(SENDING_DOMAIN_TYPES).nullable(),
    status: z.enum(SENDING_DOMAIN_STATUSES).nullable(),
    healthScore,
    projectId: int64.nullable(),
    dnsRecords: z.array(dnsRecordView),
    verifiedAt: timestamp.nullable(),
    lastHealthCheckAt: timestamp.nullable(),
    expiresAt: timestamp
      .nullable()
      .meta({ description: 'When the verification is given up if nothing changes.' }),
    suspensionReason: z.string().nullable(),
    verificationAttempts: z.int().meta({ description: 'Checks so far, requested and scheduled.' }),
    sendingAllowed: z.boolean(),
    createdAt: timestamp.nullable(),
    updatedAt: timestamp.nullable(),
  })
  .meta({ id: 'SendingDomain' });

export const dnsInstructionsView = z
  .object({
    domainName: z.string().nullable(),
    requiredRecords: z.array(dnsRecordView),
    instructionsText: z
      .string()
      .nullable()
      .meta({ description: 'Instructions for the registrar or DNS provider.' }),
  })
  .meta({ id: 'DnsInstructions' });

export const domainVerificationView = z
  .object({
    domainId: int64.nullable(),
    resultingStatus: z.enum(SENDING_DOMAIN_STATUSES).nullable(),
    healthScore,
    records: z.array(dnsRecordView),
    allVerified: z.boolean().meta({ description: 'Whether this check found all records correct.' }),
  })
  .meta({ id: 'DomainVerification' });

export function toSendingDomainView(
  { projectId }: ProjectScope,
  domain: SendingDomainView,
): Answer<typeof sendingDomainView> {
  return { ...domain, projectId, lastHealthCheckAt: domain.lastCheckedAt };
}

export function toDomainVerificationView({
  id,
  status,
  dnsRecords,
  ...found
}: SendingDomainView): Answer<typeof domainVerificationView> {
  return { ...found, domainId: id, resultingStatus: status, records: dnsRecords };
}
