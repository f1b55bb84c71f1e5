import { Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  consentProof,
  PAUSE_DAYS,
  type Preferences,
  PreferencesService,
  type SuppressedStreams,
  topicIn,
  UnsubscribeService,
} from '#audience';
import { NotFoundError } from '#kernel';
import { html, type Html, type HtmlValue } from '../html.js';
import { formField, visitorOf } from './form-body.js';
import { form, page, type Page, signs } from './page-layout.js';
import { type PageLink, PageLinksService } from './page-links.service.js';
import { accountMail, addressOf, privacyLines, say, senderName, type SenderView } from './page-view.js';
import { addressGonePage, PublicPage, sendPage } from './public-page.js';
import { tooLateToUndoPage, UNDO_FIELD, undoForm, undoText } from './unsubscribe.controller.js';

interface PreferencesPageContent {
  readonly email: string;
  /** IANA; null where it is not known. */
  readonly timeZone: string | null;
  /** The mail that the address does not get; null where only consents decide. */
  readonly suppressed: SuppressedStreams | null;
  /** When the pause of all mail ends; null when mail is not paused. */
  readonly pausedUntil: Date | null;
  readonly topics: readonly ShownTopic[];
}

export interface ShownTopic {
  readonly topicKey: string;
  readonly name: string;
  readonly description: string | null;
  /** null where consent was never given. */
  readonly status: 'SUBSCRIBED' | 'PENDING_CONFIRMATION' | 'UNSUBSCRIBED' | 'EXPIRED' | null;
  /** True where people can subscribe to it, not only unsubscribe. */
  readonly isActive: boolean;
}

/** The form fields of the page. `scope=everything` asks for confirmation, `confirm=everything` unsubscribes. */
const PREFERENCES_FIELDS = {
  leave: 'leave',
  join: 'join',
  pause: 'pause',
  resume: 'resume',
  scope: 'scope',
  confirm: 'confirm',
} as const;
const EVERYTHING = 'everything';

const STATUS_KEYS = {
  SUBSCRIBED: 'preferences.status.subscribed',
  PENDING_CONFIRMATION: 'preferences.status.pending',
  UNSUBSCRIBED: 'preferences.status.unsubscribed',
  EXPIRED: 'preferences.status.expired',
} as const;

/** The reader's last change on the page, and the unsubscription that can be undone, if any. */
interface JustDone {
  readonly heading: 'preferences.saved' | 'undone.heading' | null;
  readonly undoId: string | null;
}

/**
 * The preference centre: choose topics, pause all mail, or unsubscribe from everything. `pauseDays`: the pauses on offer. What
 * can be undone comes behind the topics, so that these stay where they were.
 */
export function preferencesPage(
  view: SenderView,
  content: PreferencesPageContent,
  pauseDays: readonly number[],
  { heading, undoId }: JustDone = { heading: null, undoId: null },
): Page {
  const button = undoForm(view, undoId);
  const undo = button === null ? null : html`<div class="afterwards">${button}</div>`;
  return page(view, {
    heading: view.wording.text(heading ?? 'preferences.heading'),
    sign: heading === null ? signs.letter : signs.done,
    body: html`<p>${introduction(view, content)}</p>
      ${content.suppressed === 'MARKETING' ? accountMail(view) : null}
      ${content.suppressed !== null ? (undo ?? howToComeBack(view)) : [choices(view, content, pauseDays, undo), leavingSection(view)]}`,
  });
}

/** Words of the button that subscribes to a topic, or confirms it. */
export function joinText(view: SenderView, { name: topic, status }: ShownTopic): string {
  const spoken = SPOKEN[status === 'PENDING_CONFIRMATION' ? 'confirm' : 'subscribe'];
  return [view.wording.text(spoken, { topic }), ...privacyLines(view)].join('\n');
}

/** Asks for confirmation before unsubscribing from everything. */
export function leaveEverythingPage(
  view: SenderView,
  { email }: Pick<PreferencesPageContent, 'email'>,
): Page {
  const { confirm } = PREFERENCES_FIELDS;
  const values = { sender: senderName(view), email: addressOf(email) };
  return page(view, {
    heading: view.wording.text('leaveEverything.heading'),
    sign: signs.letter,
    body: html`<p>${say(view, 'leaveEverything.text', values)}</p>
      ${accountMail(view)}
      ${form(
        html`<button name="${confirm}" value="${EVERYTHING}">${say(view, 'leaveEverything.yes')}</button>`,
        html`<button class="second">${say(view, 'leaveEverything.no')}</button>`,
      )}`,
  });
}

function introduction(view: SenderView, content: PreferencesPageContent): Html {
  const { email, suppressed, pausedUntil, topics } = content;
  const values = { sender: senderName(view), email: addressOf(email) };
  if (suppressed !== null) return say(view, 'preferences.introSuppressed', values);
  if (topics.length === 0) return say(view, 'preferences.introNothing', values);
  return say(view, pausedUntil === null ? 'preferences.intro' : 'preferences.introPaused', values);
}

/** A current pause comes first. */
function choices(
  view: SenderView,
  content: PreferencesPageContent,
  pauseDays: readonly number[],
  undo: Html | null,
): HtmlValue {
  const topics = [topicChoices(view, content.topics), undo];
  return content.pausedUntil === null
    ? [topics, breakSection(view, pauseDays)]
    : [pausedSection(view, content.pausedUntil, content.timeZone), topics];
}

function topicChoices(view: SenderView, topics: readonly ShownTopic[]): Html | null {
  if (topics.length === 0) return null;
  return form(
    html`<ul class="topics" role="list">
      ${topics.map((topic) => topicRow(view, topic))}
    </ul>`,
  );
}

function topicRow(view: SenderView, topic: ShownTopic): Html {
  const { name, description, status } = topic;
  const shownStatus = say(view, status === null ? 'preferences.status.none' : STATUS_KEYS[status]);
  return html`<li>
    <bdi>${name}</bdi>
    ${description === null ? null : html`<span class="about"><bdi>${description}</bdi></span>`}
    <div class="choice">
      <span class="status">${shownStatus}</span>
      ${topicButtons(view, topic)}
    </div>
  </li>`;
}

/** Pending consents can be confirmed here as well: this link came by mail too, so it proves the address. */
function topicButtons(view: SenderView, shown: ShownTopic): Html | null {
  const { topicKey, name: topic, status, isActive } = shown;
  const button = (choice: 'subscribe' | 'confirm' | 'unsubscribe') => {
    const { join, leave } = PREFERENCES_FIELDS;
    const spoken = view.wording.text(SPOKEN[choice], { topic });
    const name = choice === 'unsubscribe' ? leave : join;
    return html`<button name="${name}" value="${topicKey}" aria-label="${spoken}">
      ${say(view, `preferences.${choice}`)}
    </button>`;
  };
  const isPending = status === 'PENDING_CONFIRMATION';
  const offered = [
    ...(isActive && status !== 'SUBSCRIBED' ? [button(isPending ? 'confirm' : 'subscribe')] : []),
    ...(isPending || status === 'SUBSCRIBED' ? [button('unsubscribe')] : []),
  ];
  return offered.length === 0 ? null : html`<span class="actions">${offered}</span>`;
}

const SPOKEN = {
  subscribe: 'preferences.subscribeTo',
  confirm: 'preferences.confirmTopic',
  unsubscribe: 'preferences.unsubscribeFrom',
} as const;

function pausedSection(view: SenderView, until: Date, timeZone: string | null): Html {
  const date = view.wording.day(until, timeZone ?? view.sender.timeZone ?? 'UTC');
  return html`<section class="more">
    <h2>${say(view, 'preferences.paused.heading')}</h2>
    <p>${say(view, 'preferences.paused.text', { date })}</p>
    ${form(html`<button name="${PREFERENCES_FIELDS.resume}" value="yes">${say(view, 'preferences.paused.resume')}</button>`)}
  </section>`;
}

function breakSection(view: SenderView, pauseDays: readonly number[]): Html {
  return html`<section class="more">
    <h2>${say(view, 'preferences.pause.heading')}</h2>
    <p>${say(view, 'preferences.pause.text')}</p>
    ${form(
      html`<div class="row">
        ${pauseDays.map(
          (days) =>
            html`<button
              class="second"
              name="${PREFERENCES_FIELDS.pause}"
              value="${days}"
              aria-label="${view.wording.text('preferences.pause.forDays', { days })}"
            >
              ${say(view, 'preferences.pause.days', { days })}
            </button>`,
        )}
      </div>`,
    )}
  </section>`;
}

function leavingSection(view: SenderView): Html {
  return html`<section class="more">
    <h2>${say(view, 'preferences.leave.heading')}</h2>
    <p>${say(view, 'preferences.leave.text', { sender: senderName(view) })}</p>
    ${accountMail(view)}
    ${form(html`<button class="second" name="${PREFERENCES_FIELDS.scope}" value="${EVERYTHING}">${say(view, 'preferences.leave.button')}</button>`)}
  </section>`;
}

function howToComeBack(view: SenderView): Html {
  return html`<p class="quiet">${say(view, 'preferences.comeBack', { sender: senderName(view) })}</p>`;
}

/** The preference centre: a subscriber chooses topics, pauses all mail, or unsubscribes from everything. */
@PublicPage('p')
export class PreferencesController {
  constructor(
    private readonly links: PageLinksService,
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
    sendPage(reply, await this.#page(request, link, null));
  }

  @Post(':token')
  async change(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const link = await this.links.open(token, 'preferences');
    const current = await this.preferences.of(link.scope, link.id);
    if (current === null) return sendPage(reply, await this.#page(request, link, null));
    const view = await this.links.view(request, link, [current.locale]);
    const asksFirst =
      formField(request, PREFERENCES_FIELDS.scope) === EVERYTHING && current.suppressed === null;
    if (asksFirst) return sendPage(reply, leaveEverythingPage(view, current));
    const outcome = await this.#change(link, current, view, request).catch(goneOrThrow);
    if (outcome === 'too-late') return sendPage(reply, tooLateToUndoPage(view));
    const changed = await this.#page(request, link, outcome === 'gone' ? null : outcome);
    sendPage(reply, outcome === 'gone' ? { ...changed, status: 404 } : changed);
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
    if (suppressed !== null) return null;
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
    const current = await this.preferences.of(scope, id);
    const view = await this.links.view(request, link, [current?.locale ?? null]);
    if (current === null) return addressGonePage(view, 404);
    const topics = current.topics.map((topic) => ({ ...topic, ...topicIn(topic, view.locale) }));
    const undoId =
      done?.undoId ?? (current.suppressed !== null ? await this.leaving.undoOf(scope, id, id) : null);
    const { heading } = done ?? { heading: null };
    return preferencesPage(view, { ...current, topics }, PAUSE_DAYS, { heading, undoId });
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
