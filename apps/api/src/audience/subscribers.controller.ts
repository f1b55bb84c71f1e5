import { Body, Delete, Get, Headers, Param, Patch, Post, Put, Query } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { z } from 'zod';
import {
  AddressChangesService,
  consentProof,
  PersonalDataService,
  SignUpService,
  type SubscriberRef,
  SubscribersQuery,
  SubscribersService,
  UpsertService,
} from '#audience';
import type { ProjectScope } from '#kernel';
import { ApiController, type AuthenticatedCaller, Caller, InScope, Operation, toPage } from '#platform/http';
import { acceptedLocales, subscriberParam } from '../fields.js';
import {
  createSubscriberBody,
  subscriberListQuery,
  subscriberPage,
  subscriberView,
  updateSubscriberBody,
  upsertSubscriberBody,
} from './subscribers.dto.js';

const ACCEPT_LANGUAGE = {
  name: 'Accept-Language',
  description: 'The languages of the person, as their browser sent them.',
  schema: { type: 'string', example: 'de-AT,de;q=0.9,en;q=0.8' },
} as const;

const firstLocale = (languages: string | undefined): string | null =>
  acceptedLocales(languages).find((one) => one !== null) ?? null;

@ApiController('subscribers', { tag: 'Subscribers' })
export class SubscribersController {
  constructor(
    private readonly signUps: SignUpService,
    private readonly upserts: UpsertService,
    private readonly subscribers: SubscribersService,
    private readonly addresses: AddressChangesService,
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
    problems: [422],
  })
  async list(
    @InScope() scope: ProjectScope,
    @Query({ schema: subscriberListQuery }) query: z.output<typeof subscriberListQuery>,
  ) {
    return toPage(query, await this.query.page(scope, query, query));
  }

  @Post()
  @ApiHeader(ACCEPT_LANGUAGE)
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
    const locale = body.locale ?? firstLocale(languages);
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
  get(@InScope() scope: ProjectScope, @Param('email', { schema: subscriberParam }) ref: SubscriberRef) {
    return this.query.get(scope, ref);
  }

  @Put(':email')
  @ApiHeader(ACCEPT_LANGUAGE)
  @Operation({
    operationId: 'upsertSubscriber',
    sdk: 'subscribers.upsert',
    summary: 'Create a subscriber, or change the one with this address',
    description:
      'Whoever is new is created as by POST. Whoever exists is changed as by PATCH, and subscribed to those of the topics that are neither subscribed nor pending. Who unsubscribed from one of them stays so, and the request is refused, unless it says `resubscribe`; also for 365 days after the subscriber was deleted.',
    scope: 'subscribers:write',
    body: upsertSubscriberBody,
    response: {
      status: 200,
      schema: subscriberView,
      isNew: (made) => (made as { readonly isNew?: boolean }).isNew === true,
      location: ({ email }) => `subscribers/${encodeURIComponent(email)}`,
    },
    problems: [409],
  })
  async upsert(
    @Caller() { scope, keyId }: AuthenticatedCaller,
    @Param('email', { schema: subscriberParam }) ref: SubscriberRef,
    @Body({ schema: upsertSubscriberBody }) body: z.output<typeof upsertSubscriberBody>,
    @Headers('accept-language') languages: string | undefined,
  ) {
    const { topicKeys = [], consent, resubscribe, ...patch } = body;
    const proof = consent === undefined ? null : consentProof('API_KEY', keyId, consent);
    const locale = firstLocale(languages);
    const by = { actor: 'API_KEY', actorId: keyId } as const;
    const done = await this.upserts.upsert(scope, ref, { patch, topicKeys, by, proof, resubscribe, locale });
    return { ...done.subscriber, isNew: done.isNew };
  }

  @Patch(':email')
  @Operation({
    operationId: 'updateSubscriber',
    sdk: 'subscribers.update',
    summary: 'Change a subscriber',
    description:
      'JSON merge-patch (RFC 7396): absent fields stay, null clears a field. A new `email` is another address of the same person: topics with double opt-in ask its owner again unless `emailConfirmed` says that you have proof, a suppression and what was unsubscribed stay with the old address too, and mail under way goes once, to the one or the other.',
    scope: 'subscribers:write',
    body: updateSubscriberBody,
    response: { status: 200, schema: subscriberView },
    problems: [409],
  })
  update(
    @Caller() { scope, keyId }: AuthenticatedCaller,
    @Param('email', { schema: subscriberParam }) ref: SubscriberRef,
    @Body({ schema: updateSubscriberBody }) body: z.output<typeof updateSubscriberBody>,
  ) {
    const { email: address, emailConfirmed = null, ...patch } = body;
    const by = { actor: 'API_KEY', actorId: keyId } as const;
    if (address === undefined) return this.subscribers.update(scope, ref, patch, by);
    const proof = consentProof('API_KEY', keyId, { source: 'address-change' });
    return this.addresses.change(scope, ref, { address, emailConfirmed, patch }, proof);
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
    @Param('email', { schema: subscriberParam }) ref: SubscriberRef,
  ) {
    await this.erasure.erase(scope, ref, consentProof('API_KEY', keyId, { source: 'erasure' }));
  }
}
