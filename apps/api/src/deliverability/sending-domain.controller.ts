import { Body, Delete, Get, Patch, Post } from '@nestjs/common';
import type { z } from 'zod';
import { DomainVerificationService, SendingDomainsQuery, SendingDomainsService } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { ApiController, InScope, Operation } from '#platform/http';
import {
  createSendingDomainBody,
  dnsInstructionsView,
  domainVerificationView,
  sendingDomainView,
  toDomainVerificationView,
  toSendingDomainView,
  updateSendingDomainBody,
} from './sending-domain.dto.js';

/** Each environment has one sending domain. */
@ApiController('sending-domain', { tag: 'Sending domain' })
export class SendingDomainController {
  constructor(
    private readonly domains: SendingDomainsService,
    private readonly query: SendingDomainsQuery,
    private readonly verification: DomainVerificationService,
  ) {}

  @Get()
  @Operation({
    operationId: 'getSendingDomain',
    sdk: 'sendingDomain.get',
    summary: 'Get the sending domain',
    scope: 'sending_domains:read',
    response: { status: 200, schema: sendingDomainView },
    problems: [404],
  })
  async get(@InScope() scope: ProjectScope) {
    return toSendingDomainView(scope, await this.query.ofScope(scope));
  }

  @Post()
  @Operation({
    operationId: 'createSendingDomain',
    sdk: 'sendingDomain.create',
    summary: 'Set up the sending domain',
    description:
      'Creates its keys and returns the DNS records that it needs. Mail can be sent once all of them are found.',
    scope: 'sending_domains:write',
    body: createSendingDomainBody,
    response: { status: 201, schema: sendingDomainView, location: () => 'sending-domain' },
    problems: [409],
  })
  async create(
    @InScope() scope: ProjectScope,
    @Body({ schema: createSendingDomainBody }) { domainName }: z.output<typeof createSendingDomainBody>,
  ) {
    await this.domains.create(scope, domainName);
    return toSendingDomainView(scope, await this.query.ofScope(scope));
  }

  @Patch()
  @Operation({
    operationId: 'updateSendingDomain',
    sdk: 'sendingDomain.update',
    summary: 'Change the sending domain to another name',
    description:
      'Creates new keys and records, which have to be verified. Sending the current name changes nothing.',
    scope: 'sending_domains:write',
    body: updateSendingDomainBody,
    response: { status: 200, schema: sendingDomainView },
    problems: [404, 409],
  })
  async update(
    @InScope() scope: ProjectScope,
    @Body({ schema: updateSendingDomainBody }) { domainName }: z.output<typeof updateSendingDomainBody>,
  ) {
    await this.domains.change(scope, domainName);
    return toSendingDomainView(scope, await this.query.ofScope(scope));
  }

  @Delete()
  @Operation({
    operationId: 'deleteSendingDomain',
    sdk: 'sendingDomain.delete',
    summary: 'Remove the sending domain',
    description:
      'Refused with 409 `in-use` while a campaign is scheduled or under way, or an active automation sends mail. Its keys are deleted for good.',
    scope: 'sending_domains:write',
    response: { status: 204 },
    problems: [404, 409],
  })
  async delete(@InScope() scope: ProjectScope) {
    await this.domains.remove(scope);
  }

  @Get('dns-instructions')
  @Operation({
    operationId: 'getDnsInstructions',
    sdk: 'sendingDomain.dnsInstructions',
    summary: 'Get the DNS records to add, with instructions',
    scope: 'sending_domains:read',
    response: { status: 200, schema: dnsInstructionsView },
    problems: [404],
  })
  instructions(@InScope() scope: ProjectScope) {
    return this.query.instructions(scope);
  }

  @Post('verify-dns')
  @Operation({
    operationId: 'verifyDns',
    sdk: 'sendingDomain.verifyDns',
    summary: 'Check the DNS records now',
    description:
      'Returns what was found, even when records are missing or wrong. 503 when the check takes more than 15 seconds.',
    scope: 'sending_domains:write',
    response: { status: 200, schema: domainVerificationView },
    problems: [404],
  })
  async verify(@InScope() scope: ProjectScope) {
    return toDomainVerificationView(await this.verification.verify(scope));
  }
}
