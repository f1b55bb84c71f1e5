import { Get, Inject, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  consentProof,
  PAUSE_DAYS,
  type Preferences,
  PreferencesQuery,
  PreferencesService,
  topicIn,
} from '#audience';
import { NotFoundError } from '#kernel';
import { formField } from './form-body.js';
import { notFoundPage } from './not-found-page.js';
import type { Page } from './page-layout.js';
import { type PageLink, PageLinks } from './page-links.service.js';
import { sendPage } from './page-reply.js';
import { type SenderView, viewOf } from './page-view.js';
import { PageViews } from './page-views.service.js';
import {
  EVERYTHING,
  joinText,
  leaveEverythingPage,
  PREFERENCES_FIELDS,
  preferencesPage,
} from './preferences-page.js';
import { PublicPage } from './public-page.decorator.js';
import { visitorOf } from './visitor.js';

/** The preference centre: a subscriber chooses topics, pauses all mail, or unsubscribes from everything. */
@PublicPage('p')
export class PreferencesController {
  constructor(
    @Inject(PageLinks) private readonly links: PageLinks,
    @Inject(PageViews) private readonly views: PageViews,
    @Inject(PreferencesQuery) private readonly query: PreferencesQuery,
    @Inject(PreferencesService) private readonly preferences: PreferencesService,
  ) {}

  @Get(':token')
  async show(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const link = await this.links.open(token, 'preferences');
    const page = link && (await this.#page(request, link, false));
    sendPage(reply, page ?? notFoundPage(viewOf(request)));
  }

  @Post(':token')
  async change(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const link = await this.links.open(token, 'preferences');
    const standing = link && (await this.query.of(link.scope, link.id));
    if (link === null || standing === null) return sendPage(reply, notFoundPage(viewOf(request)));
    const view = await this.views.of(request, link, [standing.locale]);
    const asksFirst = formField(request, PREFERENCES_FIELDS.scope) === EVERYTHING && !standing.suppressed;
    if (asksFirst) return sendPage(reply, leaveEverythingPage(view, standing));
    const outcome = await this.#change(link, standing, view, request).catch(goneOrThrow);
    const page = (await this.#page(request, link, outcome === 'saved')) ?? notFoundPage(viewOf(request));
    sendPage(reply, outcome === 'gone' ? { ...page, status: 404 } : page);
  }

  /** `unchanged` when the form requests nothing, or something that a suppression prevents. */
  async #change(
    { scope, id }: PageLink,
    { suppressed, topics }: Preferences,
    view: SenderView,
    request: FastifyRequest,
  ): Promise<'saved' | 'unchanged'> {
    if (suppressed) return 'unchanged';
    const { preferences } = this;
    const wording = { locale: view.wording.locale, version: view.version };
    const chosen = choiceOf(request);
    const joined = topics.find(({ topicKey }) => topicKey === chosen.join);
    const by = consentProof('SUBSCRIBER_PAGE', null, {
      source: 'preferences',
      wording,
      consentText: joined && joinText(view, { ...joined, ...topicIn(joined, view.locale) }),
      ...visitorOf(request),
    });
    if (chosen.everything) await preferences.leaveEverything(scope, id, by);
    else if (chosen.leave !== null) await preferences.leave(scope, id, chosen.leave, by);
    else if (chosen.join !== null) await preferences.join(scope, id, chosen.join, by);
    else if (chosen.days !== undefined) await preferences.pause(scope, id, chosen.days);
    else if (chosen.resume) await preferences.resume(scope, id);
    else return 'unchanged';
    return 'saved';
  }

  /** null when the subscriber was erased. */
  async #page(request: FastifyRequest, link: PageLink, saved: boolean): Promise<Page | null> {
    const standing = await this.query.of(link.scope, link.id);
    if (standing === null) return null;
    const view = await this.views.of(request, link, [standing.locale]);
    const topics = standing.topics.map((topic) => ({ ...topic, ...topicIn(topic, view.locale) }));
    return preferencesPage(view, { ...standing, topics }, PAUSE_DAYS, saved);
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
