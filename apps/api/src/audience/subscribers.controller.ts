import { Body, Delete, Get, Headers, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { z } from 'zod';
import {
  consentProof,
  PersonalDataService,
  SignUpService,
  SubscribersQuery,
  SubscribersService,
} from '#audience';
import type { EmailAddress, ProjectScope } from '#kernel';
import {
  ApiController,
  type AuthenticatedCaller,
  Caller,
  emailParam,
  InScope,
  Operation,
  toPage,
} from '#platform/http';
import { acceptedLocales } from '../fields.js';
import {
  createSubscriberBody,
  recordedEventView,
  recordEventBody,
  subscriberListQuery,
  subscriberPage,
  subscriberView,
  updateSubscriberBody,
} from './subscribers.dto.js';

@ApiController('subscribers', { tag: 'Subscribers' })
export class SubscribersController {
  constructor(
    private readonly signUps: SignUpService,
    private readonly subscribers: SubscribersService,
    private readonly query: SubscribersQuery,
    private readonly erasure: PersonalDataService,
  ) {}

  @Get()
  @Operation({
    operationId: 'listSubscribers',
    sdk: 'subscribers.all',
    summary: 'List subscribers, newest first',
    scope: 'subscribers:read',
    query: subscriberListQuery,
    response: { status: 200, schema: subscriberPage },
  })
  async list(
    @InScope() scope: ProjectScope,
    @Query({ schema: subscriberListQuery }) query: z.output<typeof subscriberListQuery>,
  ) {
    return toPage(query, await this.query.page(scope, query, query));
  }

  @Post()
  @ApiHeader({
    name: 'Accept-Language',
    description: 'The languages of the person, as their browser sent them.',
    schema: { type: 'string', example: 'de-AT,de;q=0.9,en;q=0.8' },
  })
  @Operation({
    operationId: 'createSubscriber',
    sdk: 'subscribers.create',
    summary: 'Create a subscriber with consent to at least one topic',
    description:
      'One confirmation mail asks for all topics with double opt-in. Its link is valid for 48 hours. Without `locale` the language is the first that the Accept-Language header asks for: pass on the header that came with your form.',
    scope: 'subscribers:write',
    body: createSubscriberBody,
    response: {
      status: 201,
      schema: subscriberView,
      location: ({ email }) => `subscribers/${encodeURIComponent(email)}`,
    },
    problems: [409],
  })
  create(
    @Caller() { scope, keyId }: AuthenticatedCaller,
    @Body({ schema: createSubscriberBody }) body: z.output<typeof createSubscriberBody>,
    @Headers('accept-language') languages: string | undefined,
  ) {
    const { email: address, consent, ...rest } = body;
    const locale = body.locale ?? acceptedLocales(languages).find((one) => one !== null) ?? null;
    return this.signUps.create(
      scope,
      { ...rest, address, locale, source: 'API' },
      consentProof('API_KEY', keyId, consent),
    );
  }

  @Get(':email')
  @Operation({
    operationId: 'getSubscriber',
    sdk: 'subscribers.get',
    summary: 'Get a subscriber',
    scope: 'subscribers:read',
    response: { status: 200, schema: subscriberView },
  })
  get(@InScope() scope: ProjectScope, @Param('email', { schema: emailParam }) address: EmailAddress) {
    return this.query.byAddress(scope, address);
  }

  @Patch(':email')
  @Operation({
    operationId: 'updateSubscriber',
    sdk: 'subscribers.update',
    summary: 'Change a subscriber',
    description: 'JSON merge-patch (RFC 7396): absent fields stay, null clears a field.',
    scope: 'subscribers:write',
    body: updateSubscriberBody,
    response: { status: 200, schema: subscriberView },
  })
  update(
    @InScope() scope: ProjectScope,
    @Param('email', { schema: emailParam }) address: EmailAddress,
    @Body({ schema: updateSubscriberBody }) body: z.output<typeof updateSubscriberBody>,
  ) {
    return this.subscribers.update(scope, address, body);
  }

  @Delete(':email')
  @Operation({
    operationId: 'eraseSubscriber',
    sdk: 'subscribers.erase',
    summary: 'Erase a subscriber',
    description:
      'Erases personal data everywhere, from deliveries within seconds. A suppressed address stays suppressed: a keyed hash of it is kept.',
    scope: 'subscribers:write',
    response: { status: 204 },
  })
  async erase(
    @Caller() { scope, keyId }: AuthenticatedCaller,
    @Param('email', { schema: emailParam }) address: EmailAddress,
  ) {
    await this.erasure.erase(scope, address, consentProof('API_KEY', keyId, { source: 'erasure' }));
  }
}

@ApiController('subscribers/:email/events', { tag: 'Subscribers' })
export class EventsController {
  constructor(private readonly subscribers: SubscribersService) {}

  @Post()
  @Operation({
    operationId: 'recordSubscriberEvent',
    sdk: 'subscribers.recordEvent',
    summary: 'Record what a subscriber did',
    description: 'Segment rules can use the event, and automations can start from it.',
    scope: 'subscribers:write',
    body: recordEventBody,
    response: { status: 202, schema: recordedEventView },
  })
  async record(
    @InScope() scope: ProjectScope,
    @Param('email', { schema: emailParam }) address: EmailAddress,
    @Body({ schema: recordEventBody }) body: z.output<typeof recordEventBody>,
  ) {
    const { name, properties, occurredAt } = body;
    const id = await this.subscribers.recordEvent(scope, address, {
      name,
      properties: properties ?? undefined,
      occurredAt: occurredAt ?? undefined,
    });
    return { id };
  }
}
