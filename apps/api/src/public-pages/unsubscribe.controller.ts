import { Get, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { SkipThrottle } from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PreferencesQuery, topicNamesIn } from '#audience';
import { type DescribedMail, MailPagesService } from '#messaging';
import { formField } from './form-body.js';
import { notFoundPage } from './not-found-page.js';
import { type PageLink, PageLinks } from './page-links.service.js';
import { sendPage, sendText } from './page-reply.js';
import { type SenderView, viewOf } from './page-view.js';
import { PageViews } from './page-views.service.js';
import { PublicPage } from './public-page.decorator.js';
import {
  UNSUBSCRIBE_FIELD,
  unsubscribedFromEverythingPage,
  unsubscribedFromTopicsPage,
  unsubscribePage,
  type UnsubscribePageContent,
} from './unsubscribe-page.js';
import { visitorOf } from './visitor.js';

interface OpenedMail {
  readonly link: PageLink;
  readonly described: DescribedMail;
  readonly view: SenderView;
  readonly content: UnsubscribePageContent;
}

/** The unsubscribe link of a mail: a page for its reader, one-click (RFC 8058) for mailbox providers. Never expires. */
@PublicPage('u')
export class UnsubscribeController {
  constructor(
    @Inject(PageLinks) private readonly links: PageLinks,
    @Inject(PageViews) private readonly views: PageViews,
    @Inject(MailPagesService) private readonly mails: MailPagesService,
    @Inject(PreferencesQuery) private readonly preferences: PreferencesQuery,
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
    const { link, described, view, content } = mail;
    const left = await this.#leftAlready(link, described);
    if (left === 'everything') return sendPage(reply, unsubscribedFromEverythingPage(view));
    const shownPage = left === 'topics' ? unsubscribedFromTopicsPage : unsubscribePage;
    sendPage(reply, shownPage(view, content));
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
    const { link, view, content } = mail;
    const choice = formField(request, UNSUBSCRIBE_FIELD);
    const reach = choice === 'everything' ? 'everything' : 'topics';
    const how = choice === reach ? 'SUBSCRIBER_PAGE' : 'ONE_CLICK';
    await this.mails.unsubscribe(link.scope, link, reach, { how, ...visitorOf(request) });
    const { wording } = view;
    if (how === 'ONE_CLICK')
      return sendText(reply, `${wording.text('unsubscribed.oneClick')}\n`, wording.locale);
    sendPage(
      reply,
      reach === 'everything'
        ? unsubscribedFromEverythingPage(view)
        : unsubscribedFromTopicsPage(view, content),
    );
  }

  /** What the reader is now unsubscribed from; null for neither. */
  async #leftAlready(
    { scope }: PageLink,
    { subscriberId, topics }: DescribedMail,
  ): Promise<'topics' | 'everything' | null> {
    const now = subscriberId === null ? null : await this.preferences.of(scope, subscriberId);
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
    const mail = link && (await this.mails.describeMail(link.scope, link));
    if (link === null || mail === null) return null;
    const address = mail.subscriberId === null ? null : mail.address;
    const { subscriberId } = mail;
    const own = subscriberId === null ? null : await this.preferences.localeOf(link.scope, subscriberId);
    const view = await this.views.of(request, link, [own, mail.locale]);
    const topicNames = topicNamesIn(mail.topics, view.locale);
    return { link, described: mail, view, content: { address, topicNames } };
  }
}
