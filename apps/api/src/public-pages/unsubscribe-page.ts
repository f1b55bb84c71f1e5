import { html, type Html } from '../html.js';
import { formatsOf } from './page-formats.js';
import { form, page, type Page, signs, topicList } from './page-layout.js';
import { addressOf, say, senderName, type SenderView } from './page-view.js';
import { undoForm } from './undo-page.js';

/** The part of a mail that its unsubscribe pages show. */
export interface UnsubscribePageContent {
  readonly address: string;
  readonly topicNames: readonly string[];
}

/** The form field with the choice: unsubscribe from the `topics` of the mail, or from `everything`. */
export const UNSUBSCRIBE_FIELD = 'scope';

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
      <p class="quiet">${say(view, 'unsubscribe.everythingMeans', { sender: senderName(view) })}</p>`,
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
          ${form(unsubscribeButton('second', 'everything', say(view, 'unsubscribe.fromEverything')))}
        </details>
      </div>`,
  });
}

export function unsubscribedFromEverythingPage(view: SenderView, undoId: string | null): Page {
  const undo = undoForm(view, undoId);
  return page(view, {
    heading: view.wording.text('unsubscribedAll.heading'),
    sign: signs.done,
    body: html`<p>${say(view, 'unsubscribedAll.text', { sender: senderName(view) })}</p>
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
