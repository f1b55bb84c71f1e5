import { Body, Delete, Get, HttpCode, Inject, Param, Post, Query } from '@nestjs/common';
import type { z } from 'zod';
import {
  ConfirmationsService,
  consentProof,
  ConsentRecordsQuery,
  ConsentsService,
  type SubscriberRef,
} from '#audience';
import type { ProjectScope } from '#kernel';
import { ApiController, type AuthenticatedCaller, Caller, InScope, Operation, toPage } from '#platform/http';
import { type Config, CONFIG } from '#platform';
import { eachOf, subscriberParam } from '../fields.js';
import {
  consentPreferencesView,
  consentRecordListQuery,
  consentRecordPage,
  grantConsentBody,
  grantedConsentView,
  revocationInBatch,
  revocationsBody,
  revokeAllBody,
  revokedView,
} from './consents.dto.js';

@ApiController('subscribers/:email/consents', { tag: 'Consents' })
export class ConsentsController {
  constructor(
    private readonly consents: ConsentsService,
    private readonly confirmations: ConfirmationsService,
  ) {}

  @Get()
  @Operation({
    operationId: 'getConsents',
    sdk: 'consents.of',
    summary: 'Get the consents of a subscriber',
    scope: 'consents:manage',
    response: { status: 200, schema: consentPreferencesView },
  })
  get(@InScope() scope: ProjectScope, @Param('email', { schema: subscriberParam }) ref: SubscriberRef) {
    return this.consents.preferences(scope, ref);
  }

  @Post()
  @Operation({
    operationId: 'grantConsent',
    sdk: 'consents.grant',
    summary: 'Grant consent to a topic',
    description:
      'On a topic with double opt-in the consent is pending until the owner of the address confirms it.',
    scope: 'consents:manage',
    body: grantConsentBody,
    response: { status: 201, schema: grantedConsentView },
    problems: [409],
  })
  grant(
    @Caller() { scope, keyId }: AuthenticatedCaller,
    @Param('email', { schema: subscriberParam }) ref: SubscriberRef,
    @Body({ schema: grantConsentBody }) body: z.output<typeof grantConsentBody>,
  ) {
    const { topicKey, ...details } = body;
    const proof = consentProof('API_KEY', keyId, details);
    return this.consents.grant(scope, ref, topicKey, proof);
  }

  @Delete(':topicKey')
  @Operation({
    operationId: 'revokeConsent',
    sdk: 'consents.revoke',
    summary: 'Revoke the consent to one topic',
    scope: 'consents:manage',
    response: { status: 204 },
  })
  async revoke(
    @Caller() { scope, keyId }: AuthenticatedCaller,
    @Param('email', { schema: subscriberParam }) ref: SubscriberRef,
    @Param('topicKey') topicKey: string,
  ) {
    await this.consents.revoke(scope, ref, topicKey, consentProof('API_KEY', keyId));
  }

  @Post(':topicKey/resend')
  @Operation({
    operationId: 'resendConfirmation',
    sdk: 'consents.resend',
    summary: 'Send the confirmation mail of a pending consent again',
    description: 'At most once a minute and five times a day for one consent.',
    scope: 'consents:manage',
    response: { status: 202 },
    problems: [409],
  })
  async resend(
    @Caller() { scope, keyId }: AuthenticatedCaller,
    @Param('email', { schema: subscriberParam }) ref: SubscriberRef,
    @Param('topicKey') topicKey: string,
  ) {
    await this.confirmations.resend(scope, ref, topicKey, consentProof('API_KEY', keyId));
  }
}

@ApiController('consents', { tag: 'Consents' })
export class RevocationsController {
  constructor(
    private readonly consents: ConsentsService,
    @Inject(CONFIG) private readonly config: Pick<Config, 'PUBLIC_URL'>,
  ) {}

  @Post('revoke-batch')
  @HttpCode(200)
  @Operation({
    operationId: 'revokeConsents',
    sdk: 'consents.revokeAll',
    summary: 'Revoke up to 1 000 consents',
    description:
      'Each counts for itself, as by `DELETE /subscribers/{email}/consents/{topicKey}`: one that is not valid, or of nobody, has a ' +
      'problem in its place, and the others are revoked. Twice is once.',
    scope: 'consents:manage',
    body: revokeAllBody,
    bulk: ['revocations'],
    response: { status: 200, schema: revokedView },
  })
  revokeAll(
    @Caller() { scope, keyId }: AuthenticatedCaller,
    @Body({ schema: revocationsBody }) { revocations: parts }: z.output<typeof revocationsBody>,
  ) {
    const batch = { list: 'revocations', parts, schema: revocationInBatch, config: this.config };
    return eachOf(batch, async (valid) => {
      const wanted = valid.map(({ email: address, topicKey }) => ({ address, topicKey }));
      const done = await this.consents.revokeEach(scope, wanted, consentProof('API_KEY', keyId));
      return done.map((revoked, index) => {
        const { address, topicKey } = wanted[index]!;
        return typeof revoked === 'boolean' ? { email: address.value, topicKey, revoked } : revoked;
      });
    });
  }
}

@ApiController('subscribers/:email/consent-records', { tag: 'Consents' })
export class ConsentRecordsController {
  constructor(private readonly records: ConsentRecordsQuery) {}

  @Get()
  @Operation({
    operationId: 'listConsentRecords',
    sdk: 'consents.records',
    summary: 'List every change of a subscriber’s consents with its proof, newest first',
    description: 'What shows that a person consented (GDPR Art. 7 (1)). Records are added and never changed.',
    scope: 'consents:manage',
    query: consentRecordListQuery,
    response: { status: 200, schema: consentRecordPage },
  })
  async list(
    @InScope() scope: ProjectScope,
    @Param('email', { schema: subscriberParam }) ref: SubscriberRef,
    @Query({ schema: consentRecordListQuery }) query: z.output<typeof consentRecordListQuery>,
  ) {
    const page = await this.records.page(scope, ref, query);
    const items = page.items.map((record) => ({
      ...record,
      createdAt: record.occurredAt,
      updatedAt: record.occurredAt,
    }));
    return toPage(query, { ...page, items });
  }
}
