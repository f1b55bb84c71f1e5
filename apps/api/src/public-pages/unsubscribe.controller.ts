import { Get, Param, Post, Req, Res } from '@nestjs/common';
import { SkipThrottle } from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type PageReader, PreferencesService, topicNamesIn, UnsubscribeService } from '#audience';
import { type DescribedMail, MailPagesService } from '#messaging';
import { formField } from './form-body.js';
import { addressGonePage, addressGoneText, notFoundPage } from './not-found-page.js';
import type { Page } from './page-layout.js';
import { type PageLink, PageLinks } from './page-links.service.js';
import { sendPage, sendText } from './page-reply.js';
import { type SenderView, viewOf } from './page-view.js';
import { PageViews } from './page-views.service.js';
import { PublicPage } from './public-page.decorator.js';
import { tooLateToUndoPage, UNDO_FIELD, undonePage, undoText } from './undo-page.js';
import {
  UNSUBSCRIBE_FIELD,
  unsubscribedFromEverythingPage,
  unsubscribedFromTopicsPage,
  unsubscribePage,
} from './unsubscribe-page.js';
import { visitorOf } from './visitor.js';

interface OpenedMail {
  readonly link: PageLink;
  readonly described: DescribedMail;
  readonly view: SenderView;
  readonly topicNames: readonly string[];
}

/** Nobody gets mail at an address that was erased, which is what was asked for; a later subscriber may. */
const GONE_STATUS = { nobody: 200, unknown: 404 } as const;

/** The unsubscribe link of a mail: a page for its reader, one-click (RFC 8058) for mailbox providers. Never expires. */
@PublicPage('u')
export class UnsubscribeController {
  constructor(
    private readonly links: PageLinks,
    private readonly views: PageViews,
    private readonly mails: MailPagesService,
    private readonly preferences: PreferencesService,
    private readonly leaving: UnsubscribeService,
  ) {}

  /** Unsubscribes from nothing: mail scanners follow links. */
  @Get(':token')
  async show(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const mail = await this.#mailOf(token, request);
    if (mail === null) return sendPage(reply, notFoundPage(viewOf(request)));
    const { link, described, view, topicNames } = mail;
    const { reader } = described;
    if (typeof reader === 'string') return sendPage(reply, addressGonePage(view, GONE_STATUS[reader]));
    const left = await this.#leftAlready(link, reader, described);
    const undoId = left === null ? null : await this.leaving.undoOf(link.scope, reader.subscriberId, link.id);
    if (left === 'everything') return sendPage(reply, unsubscribedFromEverythingPage(view, undoId));
    if (left === 'topics') return sendPage(reply, unsubscribedFromTopicsPage(view, { topicNames }, undoId));
    sendPage(reply, unsubscribePage(view, { address: reader.email, topicNames }));
  }

  /**
   * A post without a choice is a one-click (RFC 8058 §3.2): it unsubscribes at once, without page or redirect. It is not
   * rate limited: mailbox providers post for all of their users from few addresses.
   */
  @Post(':token')
  @SkipThrottle()
  async unsubscribe(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const mail = await this.#mailOf(token, request);
    if (mail === null) return sendPage(reply, notFoundPage(viewOf(request)));
    const { link, described, view, topicNames } = mail;
    const undoId = formField(request, UNDO_FIELD);
    if (undoId !== null) return sendPage(reply, await this.#undo(mail, undoId, request));
    const choice = formField(request, UNSUBSCRIBE_FIELD);
    const reach = choice === 'everything' ? 'everything' : 'topics';
    const how = choice === reach ? 'SUBSCRIBER_PAGE' : 'ONE_CLICK';
    const outcome = await this.mails.unsubscribe(link.scope, link, reach, { how, ...visitorOf(request) });
    const { wording } = view;
    if (outcome === 'no-reader') {
      const status = GONE_STATUS[described.reader === 'unknown' ? 'unknown' : 'nobody'];
      if (how === 'ONE_CLICK') return sendText(reply, `${addressGoneText(view)}\n`, wording.locale, status);
      return sendPage(reply, addressGonePage(view, status));
    }
    if (how === 'ONE_CLICK')
      return sendText(reply, `${wording.text('unsubscribed.oneClick')}\n`, wording.locale);
    sendPage(
      reply,
      reach === 'everything'
        ? unsubscribedFromEverythingPage(view, outcome.undoId)
        : unsubscribedFromTopicsPage(view, { topicNames }, outcome.undoId),
    );
  }

  async #undo({ link, view }: OpenedMail, undoId: string, request: FastifyRequest): Promise<Page> {
    const topics = await this.mails.undo(link.scope, link, undoId, {
      source: 'undo',
      wording: { locale: view.wording.locale, version: view.version },
      consentText: undoText(view),
      ...visitorOf(request),
    });
    return topics === null ? tooLateToUndoPage(view) : undonePage(view, topicNamesIn(topics, view.locale));
  }

  /** What the reader is now unsubscribed from; null for neither. */
  async #leftAlready(
    { scope }: PageLink,
    { subscriberId }: PageReader,
    { topics }: DescribedMail,
  ): Promise<'topics' | 'everything' | null> {
    const now = await this.preferences.of(scope, subscriberId);
    if (now === null) return null;
    if (now.suppressed) return 'everything';
    const mayGetMailAbout = ({ topicKey }: { readonly topicKey: string }) =>
      now.topics.some(
        ({ topicKey: key, status }) =>
          key === topicKey && (status === 'SUBSCRIBED' || status === 'PENDING_CONFIRMATION'),
      );
    return topics.length > 0 && !topics.some(mayGetMailAbout) ? 'topics' : null;
  }

  async #mailOf(token: string, request: FastifyRequest): Promise<OpenedMail | null> {
    const link = await this.links.open(token, 'unsubscribe');
    const described = link && (await this.mails.describeMail(link.scope, link));
    if (link === null || described === null) return null;
    const { reader, locale, topics } = described;
    const own = typeof reader === 'string' ? null : reader.locale;
    const view = await this.views.of(request, link, [own, locale]);
    return { link, described, view, topicNames: topicNamesIn(topics, view.locale) };
  }
}
