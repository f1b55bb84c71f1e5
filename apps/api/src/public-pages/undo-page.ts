import { html, type Html } from '../html.js';
import { form, page, type Page, signs, topicList } from './page-layout.js';
import { say, senderName, type SenderView } from './page-view.js';

/** The form field with the id of the unsubscription to undo. */
export const UNDO_FIELD = 'undo';

/** Offers to undo an unsubscription; nothing where it cannot be undone. */
export function undoForm(view: SenderView, undoId: string | null): Html | null {
  if (undoId === null) return null;
  return form(
    html`<button class="second" name="${UNDO_FIELD}" value="${undoId}">${say(view, 'undo.button')}</button>`,
  );
}

/** What the button says to who presses it: part of the consent's record. */
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
