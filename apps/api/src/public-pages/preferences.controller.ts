import { Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  consentProof,
  PAUSE_DAYS,
  type Preferences,
  PreferencesService,
  topicIn,
  UnsubscribeService,
} from '#audience';
import { NotFoundError } from '#kernel';
import { formField } from './form-body.js';
import { addressGonePage, notFoundPage } from './not-found-page.js';
import type { Page } from './page-layout.js';
import { type PageLink, PageLinks } from './page-links.service.js';
import { sendPage } from './page-reply.js';
import { type SenderView, viewOf } from './page-view.js';
import { PageViews } from './page-views.service.js';
import {
  EVERYTHING,
  joinText,
  type JustDone,
  leaveEverythingPage,
  PREFERENCES_FIELDS,
  preferencesPage,
} from './preferences-page.js';
import { PublicPage } from './public-page.decorator.js';
import { tooLateToUndoPage, UNDO_FIELD, undoText } from './undo-page.js';
import { visitorOf } from './visitor.js';

/** The preference centre: a subscriber chooses topics, pauses all mail, or unsubscribes from everything. */
@PublicPage('p')
export class PreferencesController {
  constructor(
    private readonly links: PageLinks,
    private readonly views: PageViews,
    private readonly preferences: PreferencesService,
    private readonly leaving: UnsubscribeService,
  ) {}

  @Get(':token')
  async show(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const link = await this.links.open(token, 'preferences');
    if (link === null) return sendPage(reply, notFoundPage(viewOf(request)));
    sendPage(reply, await this.#page(request, link, null));
  }

  @Post(':token')
  async change(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const link = await this.links.open(token, 'preferences');
    if (link === null) return sendPage(reply, notFoundPage(viewOf(request)));
    const standing = await this.preferences.of(link.scope, link.id);
    if (standing === null) return sendPage(reply, await this.#page(request, link, null));
    const view = await this.views.of(request, link, [standing.locale]);
    const asksFirst = formField(request, PREFERENCES_FIELDS.scope) === EVERYTHING && !standing.suppressed;
    if (asksFirst) return sendPage(reply, leaveEverythingPage(view, standing));
    const outcome = await this.#change(link, standing, view, request).catch(goneOrThrow);
    if (outcome === 'too-late') return sendPage(reply, tooLateToUndoPage(view));
    const page = await this.#page(request, link, outcome === 'gone' ? null : outcome);
    sendPage(reply, outcome === 'gone' ? { ...page, status: 404 } : page);
  }

  /** null when the form requests nothing, or something that a suppression prevents. */
  async #change(
    { scope, id }: PageLink,
    { suppressed, topics }: Preferences,
    view: SenderView,
    request: FastifyRequest,
  ): Promise<JustDone | null | 'too-late'> {
    const { leaving, preferences } = this;
    const wording = { locale: view.wording.locale, version: view.version };
    const visitor = visitorOf(request);
    const chosen = choiceOf(request);
    if (chosen.undo !== null) {
      const details = { source: 'undo', wording, consentText: undoText(view), ...visitor };
      const undone = await leaving.undo(
        scope,
        id,
        chosen.undo,
        consentProof('SUBSCRIBER_PAGE', null, details),
      );
      return undone === null ? 'too-late' : { heading: 'undone.heading', undoId: null };
    }
    if (suppressed) return null;
    const joined = topics.find(({ topicKey }) => topicKey === chosen.join);
    const by = consentProof('SUBSCRIBER_PAGE', null, {
      source: 'preferences',
      wording,
      consentText: joined && joinText(view, { ...joined, ...topicIn(joined, view.locale) }),
      ...visitor,
    });
    let undoId: string | null = null;
    if (chosen.everything) undoId = await leaving.leaveEverything(scope, id, by);
    else if (chosen.leave !== null) undoId = await leaving.leave(scope, id, chosen.leave, by);
    else if (chosen.join !== null) await preferences.join(scope, id, chosen.join, by);
    else if (chosen.days !== undefined) await preferences.pause(scope, id, chosen.days);
    else if (chosen.resume) await preferences.resume(scope, id);
    else return null;
    return { heading: 'preferences.saved', undoId };
  }

  async #page(request: FastifyRequest, link: PageLink, done: JustDone | null): Promise<Page> {
    const { scope, id } = link;
    const standing = await this.preferences.of(scope, id);
    const view = await this.views.of(request, link, [standing?.locale ?? null]);
    if (standing === null) return addressGonePage(view, 404);
    const topics = standing.topics.map((topic) => ({ ...topic, ...topicIn(topic, view.locale) }));
    const undoId = done?.undoId ?? (standing.suppressed ? await this.leaving.undoOf(scope, id, id) : null);
    const { heading } = done ?? { heading: null };
    return preferencesPage(view, { ...standing, topics }, PAUSE_DAYS, { heading, undoId });
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
    undo: formField(request, UNDO_FIELD),
  };
}
