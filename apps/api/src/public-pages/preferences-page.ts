import { html, type Html, type HtmlValue } from './html.js';
import { maskedAddress } from './masked-address.js';
import { form, page, type Page, type PageSender, signs } from './page-layout.js';

export interface PreferencesPageContent {
  readonly sender: PageSender;
  readonly email: string;
  /** No mail at all goes to this address. */
  readonly suppressed: boolean;
  readonly topics: readonly TopicPreference[];
}

export interface TopicPreference {
  readonly topicKey: string;
  readonly topicName: string;
  readonly status: 'SUBSCRIBED' | 'PENDING_CONFIRMATION' | 'UNSUBSCRIBED' | 'EXPIRED';
}

/** The form fields of the page: the key of a topic to leave, or `scope=everything`. */
export const PREFERENCES_FIELDS = { leave: 'leave', scope: 'scope', everything: 'everything' } as const;

const STATUS_WORDS = {
  SUBSCRIBED: 'Subscribed',
  PENDING_CONFIRMATION: 'Waiting for your confirmation',
  UNSUBSCRIBED: 'Unsubscribed',
  EXPIRED: 'Not confirmed',
};

/** What the subscriber gets, with a way out of each topic and of everything. `saved`: something was just changed. */
export function preferencesPage(
  { sender, email, suppressed, topics }: PreferencesPageContent,
  saved = false,
): Page {
  const { scope, everything } = PREFERENCES_FIELDS;
  return page({
    heading: saved ? 'Your choice is saved' : 'Your mail preferences',
    sign: saved ? signs.done : signs.letter,
    sender,
    body: html`<p>${introduction(sender, email, suppressed, topics)}</p>
      ${
        topics.length === 0
          ? null
          : form(
              html`<ul class="topics" role="list">
                ${topics.map(topicRow)}
              </ul>`,
            )
      }
      ${suppressed ? null : form(html`<button class="second" name="${scope}" value="${everything}">Unsubscribe from everything</button>`)}`,
  });
}

function introduction(
  { name }: PageSender,
  email: string,
  suppressed: boolean,
  topics: readonly TopicPreference[],
): HtmlValue {
  const from = html`<b><bdi>${name}</bdi></b>`;
  const to = html`<b><bdi>${maskedAddress(email)}</bdi></b>`;
  if (suppressed) return html`${from} sends no mail to ${to}.`;
  if (topics.length === 0) return html`${to} is not subscribed to anything from ${from}.`;
  return html`What ${from} sends to ${to}:`;
}

function topicRow({ topicKey, topicName, status }: TopicPreference): Html {
  const canLeave = status === 'SUBSCRIBED' || status === 'PENDING_CONFIRMATION';
  return html`<li class="choice">
    <span><bdi>${topicName}</bdi><span class="status">${STATUS_WORDS[status]}</span></span>
    ${canLeave ? leaveButton(topicKey, topicName) : null}
  </li>`;
}

function leaveButton(topicKey: string, topicName: string): Html {
  return html`<button class="second" name="${PREFERENCES_FIELDS.leave}" value="${topicKey}">
    Unsubscribe<span class="spoken"> from ${topicName}</span>
  </button>`;
}
