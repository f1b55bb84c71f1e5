import { html, type Html } from './html.js';
import { maskedAddress } from './masked-address.js';
import { form, page, type Page, type PageSender, signs, topicList } from './page-layout.js';

/** The part of a mail that its unsubscribe pages show. */
export interface UnsubscribePageContent {
  readonly sender: PageSender;
  /** null when the address has been erased. */
  readonly address: string | null;
  readonly topicNames: readonly string[];
}

/** The form field with the choice: unsubscribe from the `topics` of the mail, or from `everything`. */
export const UNSUBSCRIBE_FIELD = 'scope';

/** Characters of topic names that three lines of a button on a phone can hold. */
const MAX_BUTTON_WORDS = 50;

/** Shows the choices; changes nothing by itself. */
export function unsubscribePage({ sender, address, topicNames }: UnsubscribePageContent): Page {
  const to = address === null ? null : html` to <b><bdi>${maskedAddress(address)}</bdi></b>`;
  const from = html`<b><bdi>${sender.name}</bdi></b>`;
  const aboutTopics = topicNames.length > 0;
  return page({
    heading: 'Unsubscribe',
    sign: signs.letter,
    sender,
    body: html` <p>
        ${aboutTopics ? html`You get mail from ${from}${to} about:` : html`You get mail from ${from}${to}.`}
      </p>
      ${topicList(topicNames)}
      ${form(
        ...(aboutTopics
          ? [unsubscribeButton('first', 'topics', `Unsubscribe from ${topicsInWords(topicNames)}`)]
          : []),
        unsubscribeButton(aboutTopics ? 'second' : 'first', 'everything', 'Unsubscribe from everything'),
      )}
      <p class="quiet">“Everything” stops all mail from <bdi>${sender.name}</bdi>, whatever it is about.</p>`,
  });
}

export function unsubscribedFromTopicsPage({ sender, topicNames }: UnsubscribePageContent): Page {
  return page({
    heading: 'You’re unsubscribed',
    sign: signs.done,
    sender,
    body: html` <p>
        <b><bdi>${sender.name}</bdi></b> won’t send you mail any more about:
      </p>
      ${topicList(topicNames)}
      <p class="quiet">A mail that is already on its way may still arrive.</p>
      <div class="more">
        <p>Rather get no mail from <bdi>${sender.name}</bdi> at all?</p>
        ${form(unsubscribeButton('second', 'everything', 'Unsubscribe from everything'))}
      </div>`,
  });
}

export function unsubscribedFromEverythingPage({ sender }: UnsubscribePageContent): Page {
  return page({
    heading: 'You’re unsubscribed from everything',
    sign: signs.done,
    sender,
    body: html` <p>
        <b><bdi>${sender.name}</bdi></b> won’t send you mail any more.
      </p>
      <p class="quiet">A mail that is already on its way may still arrive.</p>`,
  });
}

function unsubscribeButton(weight: 'first' | 'second', reach: 'topics' | 'everything', label: string): Html {
  return html`<button class="${weight}" name="${UNSUBSCRIBE_FIELD}" value="${reach}">${label}</button>`;
}

/** The names when they fit on a button, else how many: the page lists them above it. */
function topicsInWords(names: readonly string[]): string {
  const words = names.join(' and ');
  if (names.length <= 2 && words.length <= MAX_BUTTON_WORDS) return words;
  return names.length === 1 ? 'this topic' : `these ${names.length} topics`;
}
