import { Body, Delete, Get, Headers, HttpCode, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { z } from 'zod';
import { consentProof, type SubscriberRef, SuppressionsService, UnsuppressUnconfirmedError } from '#audience';
import type { ProjectScope } from '#kernel';
import { ApiController, type AuthenticatedCaller, Caller, InScope, Operation, toPage } from '#platform/http';
import { type Config, CONFIG } from '#platform';
import { eachOf, subscriberParam } from '../fields.js';
import {
  suppressAllBody,
  suppressBody,
  suppressedView,
  suppressionInBatch,
  suppressionListQuery,
  suppressionPage,
  suppressionsBody,
  suppressionView,
} from './suppressions.dto.js';

@ApiController('suppressions', { tag: 'Suppressions' })
export class SuppressionsController {
  constructor(
    private readonly suppressions: SuppressionsService,
    @Inject(CONFIG) private readonly config: Pick<Config, 'PUBLIC_URL'>,
  ) {}

  @Get()
  @Operation({
    operationId: 'listSuppressions',
    sdk: 'suppressions.all',
    summary: 'List suppressed addresses, newest first',
    scope: 'suppressions:manage',
    query: suppressionListQuery,
    response: { status: 200, schema: suppressionPage },
  })
  async list(
    @InScope() scope: ProjectScope,
    @Query({ schema: suppressionListQuery }) query: z.output<typeof suppressionListQuery>,
  ) {
    return toPage(query, await this.suppressions.page(scope, query, query));
  }

  @Post()
  @Operation({
    operationId: 'suppress',
    sdk: 'suppressions.add',
    summary: 'Suppress an address',
    description:
      'If the address is already suppressed, the first reason and time stay and are returned. A reason that bars all mail widens ' +
      '`streams` to ALL; none narrows them.',
    scope: 'suppressions:manage',
    body: suppressBody,
    response: {
      status: 201,
      schema: suppressionView,
      location: ({ email }) => `suppressions/${encodeURIComponent(email)}`,
    },
  })
  async suppress(
    @Caller() { scope, keyId }: AuthenticatedCaller,
    @Body({ schema: suppressBody }) body: z.output<typeof suppressBody>,
  ) {
    const { email: address, reason, ipAddress } = body;
    const proof = consentProof('API_KEY', keyId, { source: reason, ipAddress });
    return { ...(await this.suppressions.suppress(scope, address, reason, proof)), suppressed: true };
  }

  @Post('batch')
  @HttpCode(200)
  @Operation({
    operationId: 'suppressAll',
    sdk: 'suppressions.addAll',
    summary: 'Suppress up to 1 000 addresses',
    description:
      'Each counts for itself, as by `POST /suppressions`: one that is not valid, or named before, has a problem in its place, and the ' +
      'others are suppressed. Twice is once.',
    scope: 'suppressions:manage',
    body: suppressAllBody,
    bulk: ['suppressions'],
    response: { status: 200, schema: suppressedView },
  })
  suppressAll(
    @Caller() { scope, keyId }: AuthenticatedCaller,
    @Body({ schema: suppressionsBody }) { suppressions: parts }: z.output<typeof suppressionsBody>,
  ) {
    const batch = { list: 'suppressions', parts, schema: suppressionInBatch, config: this.config };
    return eachOf(batch, async (valid) => {
      const wanted = valid.map(({ email, reason }) => ({ address: email, reason }));
      const done = await this.suppressions.suppressEach(scope, wanted, (source) =>
        consentProof('API_KEY', keyId, { source }),
      );
      return done.map((one) => (one instanceof Error ? one : { suppression: { ...one, suppressed: true } }));
    });
  }

  @Get(':email')
  @Operation({
    operationId: 'getSuppression',
    sdk: 'suppressions.get',
    summary: 'Get whether an address is suppressed',
    scope: 'suppressions:manage',
    response: { status: 200, schema: suppressionView },
  })
  get(@InScope() scope: ProjectScope, @Param('email', { schema: subscriberParam }) ref: SubscriberRef) {
    return this.suppressions.of(scope, ref);
  }

  @Delete(':email')
  @ApiHeader({
    name: 'X-Confirm-Unsuppress',
    required: true,
    description: 'Confirms that mail to this address is to be allowed again.',
    schema: { type: 'string', enum: ['true'] },
  })
  @Operation({
    operationId: 'unsuppress',
    sdk: 'suppressions.remove',
    summary: 'Remove an address from the suppression list',
    description:
      'Any mail may go there again. Consents do not change: revoked ones have to be granted again.',
    scope: 'suppressions:manage',
    response: { status: 204 },
    problems: [400],
  })
  async lift(
    @InScope() scope: ProjectScope,
    @Param('email', { schema: subscriberParam }) ref: SubscriberRef,
    @Headers('x-confirm-unsuppress') confirmation: string | undefined,
  ) {
    if (confirmation !== 'true') throw new UnsuppressUnconfirmedError();
    await this.suppressions.lift(scope, ref);
  }
}
