import { Body, Delete, Get, Param, Post } from '@nestjs/common';
import type { z } from 'zod';
import { ConfirmationsService, consentProof, ConsentsService } from '#audience';
import type { EmailAddress, ProjectScope } from '#kernel';
import {
  ApiController,
  type AuthenticatedCaller,
  Caller,
  emailParam,
  InScope,
  Operation,
} from '#platform/http';
import { consentPreferencesView, grantConsentBody, grantedConsentView } from './consents.dto.js';

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
  get(@InScope() scope: ProjectScope, @Param('email', { schema: emailParam }) address: EmailAddress) {
    return this.consents.preferences(scope, address);
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
    @Param('email', { schema: emailParam }) address: EmailAddress,
    @Body({ schema: grantConsentBody }) body: z.output<typeof grantConsentBody>,
  ) {
    const { topicKey, ...details } = body;
    const proof = consentProof('API_KEY', keyId, details);
    return this.consents.grant(scope, address, topicKey, proof);
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
    @Param('email', { schema: emailParam }) address: EmailAddress,
    @Param('topicKey') topicKey: string,
  ) {
    await this.consents.revoke(scope, address, topicKey, consentProof('API_KEY', keyId));
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
    @Param('email', { schema: emailParam }) address: EmailAddress,
    @Param('topicKey') topicKey: string,
  ) {
    await this.confirmations.resend(scope, address, topicKey, consentProof('API_KEY', keyId));
  }
}
