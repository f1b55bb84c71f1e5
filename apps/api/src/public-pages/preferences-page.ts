import { html, type Html, type HtmlValue } from './html.js';
import { maskedAddress } from './masked-address.js';
import { form, page, type Page, type PageSender, signs } from './page-layout.js';

export interface PreferencesPageContent {
  readonly sender: PageSender;
  readonly email: string;
  /** Whether the address gets no mail at all. */
  readonly suppressed: boolean;
  /** When the pause of all mail ends; null when mail is not paused. */
  readonly pausedUntil: Date | null;
  readonly topics: readonly ShownTopic[];
}

export interface ShownTopic {
  readonly topicKey: string;
  readonly topicName: string;
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

const STATUS_WORDS = {
  SUBSCRIBED: 'Subscribed',
  PENDING_CONFIRMATION: 'Waiting for your confirmation',
  UNSUBSCRIBED: 'Unsubscribed',
  EXPIRED: 'Not confirmed',
};

const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

/**
 * The preference centre: choose topics, pause all mail, or unsubscribe from everything. `saved`: something was just
 * changed. `pauseDays`: the pauses on offer.
 */
export function preferencesPage(
  content: PreferencesPageContent,
  pauseDays: readonly number[],
  saved = false,
): Page {
  const { sender, suppressed } = content;
  return page({
    heading: saved ? 'Your choice is saved' : 'Your mail preferences',
    sign: saved ? signs.done : signs.letter,
    sender,
    body: html`<p>${introduction(content)}</p>
      ${suppressed ? howToComeBack(sender) : [choices(content, pauseDays), leavingSection(sender)]}`,
  });
}

/** Asks for confirmation before unsubscribing from everything. */
export function leaveEverythingPage({
  sender,
  email,
}: Pick<PreferencesPageContent, 'sender' | 'email'>): Page {
  const { confirm } = PREFERENCES_FIELDS;
  return page({
    heading: 'Unsubscribe from everything?',
    sign: signs.letter,
    sender,
    body: html`<p>
        <b><bdi>${sender.name}</bdi></b> will send no more mail to ${addressOf(email)}, whatever it is about.
      </p>
      ${form(
        html`<button name="${confirm}" value="${EVERYTHING}">Yes, unsubscribe from everything</button>`,
        html`<button class="second">No, keep my preferences</button>`,
      )}`,
  });
}

function introduction({ sender, email, suppressed, pausedUntil, topics }: PreferencesPageContent): HtmlValue {
  const from = html`<b><bdi>${sender.name}</bdi></b>`;
  if (suppressed) return html`${from} sends no mail to ${addressOf(email)}.`;
  if (topics.length === 0) return html`There is nothing from ${from} to choose for ${addressOf(email)}.`;
  if (pausedUntil !== null) return html`${from} sends to ${addressOf(email)} what you choose here.`;
  return html`What ${from} sends to ${addressOf(email)}:`;
}

/** A current pause comes first. */
function choices(content: PreferencesPageContent, pauseDays: readonly number[]): HtmlValue {
  const topics = topicChoices(content.topics);
  return content.pausedUntil === null
    ? [topics, breakSection(pauseDays)]
    : [pausedSection(content.pausedUntil), topics];
}

function topicChoices(topics: readonly ShownTopic[]): Html | null {
  if (topics.length === 0) return null;
  return form(
    html`<ul class="topics" role="list">
      ${topics.map(topicRow)}
    </ul>`,
  );
}

function topicRow(topic: ShownTopic): Html {
  const { topicName, description, status } = topic;
  return html`<li class="choice">
    <span
      ><bdi>${topicName}</bdi
      >${description === null ? null : html`<span class="about"><bdi>${description}</bdi></span>`}<span
        class="status"
        >${status === null ? 'Not subscribed' : STATUS_WORDS[status]}</span
      ></span
    >
    ${topicButtons(topic)}
  </li>`;
}

/** Pending consents can be confirmed here as well: this link came by mail too, so it proves the address. */
function topicButtons({ topicKey, topicName, status, isActive }: ShownTopic): Html | null {
  const { join, leave } = PREFERENCES_FIELDS;
  const unsubscribe = html`<button class="second" name="${leave}" value="${topicKey}">
    Unsubscribe<span class="spoken"> from ${topicName}</span>
  </button>`;
  if (status === 'SUBSCRIBED') return unsubscribe;
  const isPending = status === 'PENDING_CONFIRMATION';
  if (!isActive) return isPending ? unsubscribe : null;
  const subscribe = html`<button name="${join}" value="${topicKey}">
    ${isPending ? 'Confirm' : 'Subscribe'}<span class="spoken">${isPending ? ' ' : ' to '}${topicName}</span>
  </button>`;
  return isPending ? html`<span class="pair">${subscribe} ${unsubscribe}</span>` : subscribe;
}

function pausedSection(until: Date): Html {
  return html`<section class="more">
    <h2>Your mail is paused</h2>
    <p>You get no mail until ${day.format(until)}. Your subscriptions stay as they are.</p>
    ${form(html`<button name="${PREFERENCES_FIELDS.resume}" value="yes">Get mail again now</button>`)}
  </section>`;
}

function breakSection(pauseDays: readonly number[]): Html {
  return html`<section class="more">
    <h2>Need a break?</h2>
    <p>Pause all mail for a while. Your subscriptions stay as they are.</p>
    ${form(
      html`<div class="row">
        ${pauseDays.map(
          (days) =>
            html`<button class="second" name="${PREFERENCES_FIELDS.pause}" value="${days}">
              <span class="spoken">Pause for </span>${days} days
            </button>`,
        )}
      </div>`,
    )}
  </section>`;
}

function leavingSection(sender: PageSender): Html {
  return html`<section class="more">
    <h2>Leave for good</h2>
    <p>Stop all mail from <bdi>${sender.name}</bdi>, whatever it is about.</p>
    ${form(html`<button class="second" name="${PREFERENCES_FIELDS.scope}" value="${EVERYTHING}">Unsubscribe from everything</button>`)}
  </section>`;
}

function howToComeBack({ name }: PageSender): Html {
  return html`<p class="quiet">
    Would you like to get mail again? Then please write to <bdi>${name}</bdi>: only they can take your address
    from the list of those who get none.
  </p>`;
}

function addressOf(email: string): Html {
  return html`<b><bdi>${maskedAddress(email)}</bdi></b>`;
}
