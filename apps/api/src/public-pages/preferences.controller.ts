import { Get, Inject, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { consentProof, PAUSE_DAYS, type Preferences, PreferencesQuery, PreferencesService } from '#audience';
import { NotFoundError } from '#kernel';
import { formField } from './form-body.js';
import { notFoundPage } from './not-found-page.js';
import type { Page } from './page-layout.js';
import { type PageLink, PageLinks } from './page-links.service.js';
import { sendPage } from './page-reply.js';
import { EVERYTHING, leaveEverythingPage, PREFERENCES_FIELDS, preferencesPage } from './preferences-page.js';
import { PublicPage } from './public-page.decorator.js';
import { visitorOf } from './visitor.js';

/** The preference centre: a subscriber chooses topics, pauses all mail, or unsubscribes from everything. */
@PublicPage('p')
export class PreferencesController {
  constructor(
    @Inject(PageLinks) private readonly links: PageLinks,
    @Inject(PreferencesQuery) private readonly query: PreferencesQuery,
    @Inject(PreferencesService) private readonly preferences: PreferencesService,
  ) {}

  @Get(':token')
  async show(@Param('token') token: string, @Res() reply: FastifyReply): Promise<void> {
    const link = await this.links.open(token, 'preferences');
    sendPage(reply, link === null ? notFoundPage : await this.#page(link, false));
  }

  @Post(':token')
  async change(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const link = await this.links.open(token, 'preferences');
    const standing = link && (await this.query.of(link.scope, link.id));
    if (link === null || standing === null) return sendPage(reply, notFoundPage);
    const asksFirst = formField(request, PREFERENCES_FIELDS.scope) === EVERYTHING && !standing.suppressed;
    if (asksFirst)
      return sendPage(reply, leaveEverythingPage({ sender: link.sender, email: standing.email }));
    const outcome = await this.#change(link, standing, request).catch(goneOrThrow);
    const page = await this.#page(link, outcome === 'saved');
    sendPage(reply, outcome === 'gone' ? { ...page, status: 404 } : page);
  }

  /** `unchanged` when the form requests nothing, or something that a suppression prevents. */
  async #change(
    { scope, id }: PageLink,
    { suppressed }: Preferences,
    request: FastifyRequest,
  ): Promise<'saved' | 'unchanged'> {
    if (suppressed) return 'unchanged';
    const { preferences } = this;
    const by = consentProof('SUBSCRIBER_PAGE', null, { source: 'preferences', ...visitorOf(request) });
    const chosen = choiceOf(request);
    if (chosen.everything) await preferences.leaveEverything(scope, id, by);
    else if (chosen.leave !== null) await preferences.leave(scope, id, chosen.leave, by);
    else if (chosen.join !== null) await preferences.join(scope, id, chosen.join, by);
    else if (chosen.days !== undefined) await preferences.pause(scope, id, chosen.days);
    else if (chosen.resume) await preferences.resume(scope, id);
    else return 'unchanged';
    return 'saved';
  }

  /** The page of a broken link when the subscriber was erased. */
  async #page({ scope, id, sender }: PageLink, saved: boolean): Promise<Page> {
    const standing = await this.query.of(scope, id);
    return standing === null ? notFoundPage : preferencesPage({ sender, ...standing }, PAUSE_DAYS, saved);
  }
}

/** The topic was deleted after the page was shown: show the reader the current topics. */
function goneOrThrow(error: unknown): 'gone' {
  if (error instanceof NotFoundError) return 'gone';
  throw error;
}

function choiceOf(request: FastifyRequest) {
  const { confirm, leave, join, pause, resume } = PREFERENCES_FIELDS;
  return {
    everything: formField(request, confirm) === EVERYTHING,
    leave: formField(request, leave),
    join: formField(request, join),
    days: PAUSE_DAYS.find((days) => String(days) === formField(request, pause)),
    resume: formField(request, resume) !== null,
  };
}
