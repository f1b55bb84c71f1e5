import { Get, Param, Post, Req, Res } from '@nestjs/common';
import { SkipThrottle } from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type Preferences,
  PreferencesService,
  type SuppressedStreams,
  topicNamesIn,
  UnsubscribeService,
} from '#audience';
import { NotFoundError } from '#kernel';
import { type DescribedMail, MailPagesService } from '#messaging';
import { html, type Html } from '../html.js';
import { formField, visitorOf } from './form-body.js';
import { form, page, type Page, signs, topicList } from './page-layout.js';
import { type PageLink, PageLinksService, viewBy } from './page-links.service.js';
import { accountMail, addressOf, formatsOf, say, senderName, type SenderView } from './page-view.js';
import { addressGonePage, addressGoneText, PublicPage, sendPage, sendText } from './public-page.js';

/** The part of a mail that its unsubscribe pages show. */
interface UnsubscribePageContent {
  readonly address: string;
  readonly topicNames: readonly string[];
}

/** The form field with the choice: unsubscribe from the `topics` of the mail, or from `everything`. */
const UNSUBSCRIBE_FIELD = 'scope';

/** Characters of topic names that three lines of a button on a phone can hold. */
const MAX_BUTTON_WORDS = 50;

/** Shows the choices; changes nothing by itself. */
export function unsubscribePage(view: SenderView, content: UnsubscribePageContent): Page {
  const { topicNames } = content;
  const aboutTopics = topicNames.length > 0;
  const fromEverything = say(view, 'unsubscribe.fromEverything');
  return page(view, {
    heading: view.wording.text('unsubscribe.heading'),
    sign: signs.letter,
    body: html`<p>${introduction(view, content)}</p>
      ${topicList(topicNames)}
      ${form(
        ...(aboutTopics ? [unsubscribeButton('first', 'topics', fromTopics(view, topicNames))] : []),
        unsubscribeButton(aboutTopics ? 'second' : 'first', 'everything', fromEverything),
      )}
      <p class="quiet">${say(view, 'unsubscribe.everythingMeans', { sender: senderName(view) })}</p>
      ${accountMail(view)}`,
  });
}

/** “Everything” takes two more presses, so that no second tap on the button before lands on it. */
export function unsubscribedFromTopicsPage(
  view: SenderView,
  { topicNames }: Pick<UnsubscribePageContent, 'topicNames'>,
  undoId: string | null,
): Page {
  const sender = senderName(view);
  return page(view, {
    heading: view.wording.text('unsubscribed.heading'),
    sign: signs.done,
    body: html`<p>${say(view, 'unsubscribed.topics', { sender })}</p>
      ${topicList(topicNames)}
      <p class="quiet">${say(view, 'page.stillOnItsWay')}</p>
      <div class="more afterwards">
        ${undoForm(view, undoId)}
        <details>
          <summary>${say(view, 'unsubscribed.rather', { sender })}</summary>
          ${accountMail(view)}
          ${form(unsubscribeButton('second', 'everything', say(view, 'unsubscribe.fromEverything')))}
        </details>
      </div>`,
  });
}

/** `barred`: the mail that the address does not get. */
export function unsubscribedFromEverythingPage(
  view: SenderView,
  barred: SuppressedStreams,
  undoId: string | null,
): Page {
  const undo = undoForm(view, undoId);
  return page(view, {
    heading: view.wording.text('unsubscribedAll.heading'),
    sign: signs.done,
    body: html`<p>${say(view, 'unsubscribedAll.text', { sender: senderName(view) })}</p>
      ${barred === 'MARKETING' ? accountMail(view) : null}
      <p class="quiet">${say(view, 'page.stillOnItsWay')}</p>
      ${undo === null ? null : html`<div class="more afterwards">${undo}</div>`}`,
  });
}

function introduction(view: SenderView, { address, topicNames }: UnsubscribePageContent): Html {
  const sender = senderName(view);
  const part = topicNames.length > 0 ? 'topics' : 'mail';
  return say(view, `unsubscribe.${part}To`, { sender, email: addressOf(address) });
}

function unsubscribeButton(weight: 'first' | 'second', reach: 'topics' | 'everything', label: Html): Html {
  return html`<button class="${weight}" name="${UNSUBSCRIBE_FIELD}" value="${reach}">${label}</button>`;
}

/** The names when they fit on a button, else how many: the page lists them above it. */
function fromTopics(view: SenderView, names: readonly string[]): Html {
  const topics = formatsOf(view.wording).list.format(names);
  if (names.length <= 2 && topics.length <= MAX_BUTTON_WORDS)
    return say(view, 'unsubscribe.fromTopics', { topics: html`<bdi>${topics}</bdi>` });
  return say(view, 'unsubscribe.fromCount', { count: names.length });
}

/** The form field with the id of the unsubscription to undo. */
export const UNDO_FIELD = 'undo';

/** Offers to undo an unsubscription; nothing where it cannot be undone. */
export function undoForm(view: SenderView, undoId: string | null): Html | null {
  if (undoId === null) return null;
  return form(
    html`<button class="second" name="${UNDO_FIELD}" value="${undoId}">${say(view, 'undo.button')}</button>`,
  );
}

/** Words of the button: part of the consent's record. */
export function undoText({ wording }: SenderView): string {
  return wording.text('undo.button');
}

/** `topicNames`: what mail is sent about again. */
export function undonePage(view: SenderView, topicNames: readonly string[]): Page {
  return page(view, {
    heading: view.wording.text('undone.heading'),
    sign: signs.done,
    body: html`${topicNames.length === 0 ? null : html`<p>${say(view, 'unsubscribe.topics', { sender: senderName(view) })}</p>`}
    ${topicList(topicNames)}`,
  });
}

/** 410: it was undone already, or its time is over. */
export function tooLateToUndoPage(view: SenderView): Page {
  return page(view, {
    status: 410,
    heading: view.wording.text('undoGone.heading'),
    sign: signs.late,
    body: html`<p>${say(view, 'undoGone.text')}</p>
      <p class="quiet">${say(view, 'page.signUpAgain', { sender: senderName(view) })}</p>`,
  });
}

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
    private readonly links: PageLinksService,
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
    const { link, described, view, topicNames } = mail;
    const { reader } = described;
    if (typeof reader === 'string') return sendPage(reply, addressGonePage(view, GONE_STATUS[reader]));
    const now = await this.preferences.of(link.scope, reader.subscriberId);
    if (now === null || !hasLeft(now, described))
      return sendPage(reply, unsubscribePage(view, { address: reader.email, topicNames }));
    const undoId = await this.leaving.undoOf(link.scope, reader.subscriberId, link.id);
    const left =
      now.suppressed === null
        ? unsubscribedFromTopicsPage(view, { topicNames }, undoId)
        : unsubscribedFromEverythingPage(view, now.suppressed, undoId);
    sendPage(reply, left);
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
    const undoId = formField(request, UNDO_FIELD);
    if (undoId !== null) {
      const opened = await this.#mailOf(token, request);
      return sendPage(reply, await this.#undo(opened, undoId, request));
    }
    const link = await this.links.open(token, 'unsubscribe');
    const choice = formField(request, UNSUBSCRIBE_FIELD);
    const reach = choice === 'everything' ? 'everything' : 'topics';
    const how = choice === reach ? 'SUBSCRIBER_PAGE' : 'ONE_CLICK';
    const by = { how, ...visitorOf(request) } as const;
    const { scope } = link;
    const [mail, done, senders] = await this.mails.unsubscribe(
      scope,
      link,
      reach,
      by,
      this.links.reading(link),
    );
    if (mail === null) throw new NotFoundError();
    const view = viewBy(senders, request, localesOf(mail));
    const { wording } = view;
    const { reader } = mail;
    if (typeof reader === 'string') {
      const status = GONE_STATUS[reader];
      if (how === 'ONE_CLICK') return sendText(reply, `${addressGoneText(view)}\n`, wording.locale, status);
      return sendPage(reply, addressGonePage(view, status));
    }
    if (how === 'ONE_CLICK')
      return sendText(reply, `${wording.text('unsubscribed.oneClick')}\n`, wording.locale);
    if (reach === 'everything') {
      const now = await this.preferences.of(scope, reader.subscriberId);
      return sendPage(reply, unsubscribedFromEverythingPage(view, now?.suppressed ?? 'MARKETING', done));
    }
    const topicNames = topicNamesIn(await this.mails.topicsOf(scope, mail), view.locale);
    sendPage(reply, unsubscribedFromTopicsPage(view, { topicNames }, done));
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

  async #mailOf(token: string, request: FastifyRequest): Promise<OpenedMail> {
    const link = await this.links.open(token, 'unsubscribe');
    const [described, senders] = await this.mails.describeMail(link.scope, link, this.links.reading(link));
    if (described === null) throw new NotFoundError();
    const view = viewBy(senders, request, localesOf(described));
    return { link, described, view, topicNames: topicNamesIn(described.topics, view.locale) };
  }
}

/** True for a reader who gets no more mail about any topic of the mail, or about any at all. */
function hasLeft(now: Preferences, { topics }: DescribedMail): boolean {
  if (now.suppressed !== null) return true;
  const mayGetMailAbout = ({ topicKey }: { readonly topicKey: string }) =>
    now.topics.some(
      ({ topicKey: key, status }) =>
        key === topicKey && (status === 'SUBSCRIBED' || status === 'PENDING_CONFIRMATION'),
    );
  return topics.length > 0 && !topics.some(mayGetMailAbout);
}

/** Languages that are known of a mail's reader, the own one first. */
function localesOf({ reader, locale }: Pick<DescribedMail, 'reader' | 'locale'>) {
  return [typeof reader === 'string' ? null : reader.locale, locale];
}
