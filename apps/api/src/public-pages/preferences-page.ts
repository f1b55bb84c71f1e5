import { html, type Html, type HtmlValue } from '../html.js';
import { form, page, type Page, signs } from './page-layout.js';
import { addressOf, privacyLines, say, senderName, type SenderView } from './page-view.js';
import { undoForm } from './undo-page.js';

export interface PreferencesPageContent {
  readonly email: string;
  /** IANA; null where it is not known. */
  readonly timeZone: string | null;
  /** Whether the address gets no mail at all. */
  readonly suppressed: boolean;
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
  /** Whether people can subscribe to it, not only unsubscribe. */
  readonly isActive: boolean;
}

/** The form fields of the page. `scope=everything` asks for confirmation, `confirm=everything` unsubscribes. */
export const PREFERENCES_FIELDS = {
  leave: 'leave',
  join: 'join',
  pause: 'pause',
  resume: 'resume',
  scope: 'scope',
  confirm: 'confirm',
} as const;
export const EVERYTHING = 'everything';

const STATUS_KEYS = {
  SUBSCRIBED: 'preferences.status.subscribed',
  PENDING_CONFIRMATION: 'preferences.status.pending',
  UNSUBSCRIBED: 'preferences.status.unsubscribed',
  EXPIRED: 'preferences.status.expired',
} as const;

/** What the reader just did on the page, and the unsubscription that can be undone, if any. */
export interface JustDone {
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
      ${content.suppressed ? (undo ?? howToComeBack(view)) : [choices(view, content, pauseDays, undo), leavingSection(view)]}`,
  });
}

/** What the button says that subscribes to a topic, or confirms it. */
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
      ${form(
        html`<button name="${confirm}" value="${EVERYTHING}">${say(view, 'leaveEverything.yes')}</button>`,
        html`<button class="second">${say(view, 'leaveEverything.no')}</button>`,
      )}`,
  });
}

function introduction(view: SenderView, content: PreferencesPageContent): Html {
  const { email, suppressed, pausedUntil, topics } = content;
  const values = { sender: senderName(view), email: addressOf(email) };
  if (suppressed) return say(view, 'preferences.introSuppressed', values);
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
  const standing = say(view, status === null ? 'preferences.status.none' : STATUS_KEYS[status]);
  return html`<li>
    <bdi>${name}</bdi>
    ${description === null ? null : html`<span class="about"><bdi>${description}</bdi></span>`}
    <div class="choice">
      <span class="status">${standing}</span>
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
    ${form(html`<button class="second" name="${PREFERENCES_FIELDS.scope}" value="${EVERYTHING}">${say(view, 'preferences.leave.button')}</button>`)}
  </section>`;
}

function howToComeBack(view: SenderView): Html {
  return html`<p class="quiet">${say(view, 'preferences.comeBack', { sender: senderName(view) })}</p>`;
}
