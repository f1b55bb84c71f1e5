import { Controller, Get, Inject, Param, Post, Req, Res, UseFilters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  consentProof,
  ConsentsQuery,
  ConsentsService,
  RecipientsQuery,
  SuppressionsService,
} from '#audience';
import { Clock, type EmailAddress, parseEmailAddress } from '#kernel';
import { formField } from './form-body.js';
import { notFoundPage } from './not-found-page.js';
import { PageFailures } from './page-failures.filter.js';
import type { Page } from './page-layout.js';
import { type PageLink, PageLinks } from './page-links.service.js';
import { sendPage } from './page-reply.js';
import { PREFERENCES_FIELDS, preferencesPage } from './preferences-page.js';
import { visitorOf } from './visitor.js';

/** Where a subscriber sees all topics and leaves them one by one. */
@ApiExcludeController()
@UseFilters(PageFailures)
@Controller('p')
export class PreferencesController {
  constructor(
    @Inject(PageLinks) private readonly links: PageLinks,
    @Inject(RecipientsQuery) private readonly recipients: RecipientsQuery,
    @Inject(ConsentsQuery) private readonly query: ConsentsQuery,
    @Inject(ConsentsService) private readonly consents: ConsentsService,
    @Inject(SuppressionsService) private readonly suppressions: SuppressionsService,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get(':token')
  async show(@Param('token') token: string, @Res() reply: FastifyReply): Promise<void> {
    const link = await this.links.open(token, 'preferences');
    const address = link && (await this.#addressOf(link));
    sendPage(
      reply,
      link === null || address === null ? notFoundPage : await this.#page(link, address, false),
    );
  }

  @Post(':token')
  async change(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const link = await this.links.open(token, 'preferences');
    const address = link && (await this.#addressOf(link));
    if (link === null || address === null) return sendPage(reply, notFoundPage);
    const changed = await this.#change(link, address, request);
    sendPage(reply, await this.#page(link, address, changed));
  }

  async #change({ scope }: PageLink, address: EmailAddress, request: FastifyRequest): Promise<boolean> {
    const by = consentProof('SUBSCRIBER_PAGE', null, visitorOf(request));
    if (formField(request, PREFERENCES_FIELDS.scope) === PREFERENCES_FIELDS.everything) {
      await this.suppressions.suppress(scope, address, 'GLOBAL_UNSUBSCRIBE', by);
      return true;
    }
    const topicKey = formField(request, PREFERENCES_FIELDS.leave);
    if (topicKey !== null) await this.consents.revoke(scope, address, topicKey, by);
    return topicKey !== null;
  }

  async #page({ scope, sender }: PageLink, address: EmailAddress, saved: boolean): Promise<Page> {
    const { subscriberEmail, globallySuppressed, consents } = await this.query.preferences(scope, address);
    const content = { sender, email: subscriberEmail, suppressed: globallySuppressed, topics: consents };
    return preferencesPage(content, saved);
  }

  /** null when the subscriber was erased. */
  async #addressOf({ scope, id }: PageLink): Promise<EmailAddress | null> {
    const found = await this.recipients.lookUp(scope, [], [id], this.clock.now());
    const parsed = parseEmailAddress(found.get(id)?.email ?? '');
    return 'address' in parsed ? parsed.address : null;
  }
}
