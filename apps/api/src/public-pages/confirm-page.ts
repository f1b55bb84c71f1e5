import { CONFIRMATION_VALID_MS } from '#audience';
import { html, type Html } from '../html.js';
import { maskedAddress } from './masked-address.js';
import { form, page, type Page, signs, topicList } from './page-layout.js';
import { addressOf, privacyLines, say, senderName, type SenderView } from './page-view.js';

/** The part of a confirmation that its pages show. */
export interface ConfirmPageContent {
  readonly email: string;
  readonly topicNames: readonly string[];
}

/** The form field and value that request another confirmation mail. */
export const CONFIRM_ACTION = { field: 'action', resend: 'resend' } as const;

const LINK_HOURS = CONFIRMATION_VALID_MS / 3_600_000;

/** Shows the topics to confirm, with a button that confirms them. */
export function confirmPage(view: SenderView, { email, topicNames }: ConfirmPageContent): Page {
  const values = { sender: senderName(view), email: addressOf(email) };
  return page(view, {
    heading: view.wording.text('confirm.heading'),
    sign: signs.letter,
    body: html`<p>${say(view, 'confirm.asked', values)}</p>
      ${topicList(topicNames)}
      <p>${say(view, 'confirm.withdraw')}</p>
      ${form(html`<button>${say(view, 'confirm.button')}</button>`)}
      <p class="quiet">${say(view, 'confirm.ignore')}</p>`,
  });
}

/** Words that the button is pressed under, with the right to withdraw the consent (GDPR Art. 7 (3)). */
export function confirmText(view: SenderView, content: ConfirmPageContent): string {
  const { wording, sender } = view;
  const values = { sender: sender.name, email: maskedAddress(content.email) };
  const asked = wording.text('confirm.asked', values);
  const agreed = [wording.text('confirm.withdraw'), wording.text('confirm.button')];
  return [asked, ...content.topicNames, ...agreed, ...privacyLines(view)].join('\n');
}

export function confirmedPage(view: SenderView, { topicNames }: ConfirmPageContent): Page {
  return page(view, {
    heading: view.wording.text('confirmed.heading'),
    sign: signs.done,
    body: html`<p>${say(view, 'confirmed.topics', { sender: senderName(view) })}</p>
      ${topicList(topicNames)}
      <p class="quiet">${say(view, 'confirmed.changeYourMind')}</p>`,
  });
}

export function alreadyConfirmedPage(view: SenderView, { email, topicNames }: ConfirmPageContent): Page {
  return page(view, {
    heading: view.wording.text('alreadyConfirmed.heading'),
    sign: signs.done,
    body: html`<p>${say(view, 'alreadyConfirmed.text', { email: addressOf(email) })}</p>
      ${topicList(topicNames)}
      <p class="quiet">${say(view, 'alreadyConfirmed.more')}</p>
      ${form(resendButton(view, 'second'))}`,
  });
}

/** 410: the link has expired; offers a new one. */
export function expiredConfirmationPage(view: SenderView, { email, topicNames }: ConfirmPageContent): Page {
  const key = topicNames.length > 0 ? 'confirmExpired.topics' : 'confirmExpired.text';
  return page(view, {
    status: 410,
    heading: view.wording.text('confirmExpired.heading'),
    sign: signs.late,
    body: html`<p>${say(view, key, { hours: LINK_HOURS, email: addressOf(email) })}</p>
      ${topicList(topicNames)} ${form(resendButton(view, 'first'))}`,
  });
}

/** 404: a valid link to something since revoked, erased or stopped. Reveals nothing about the reader. */
export function goneConfirmationPage(view: SenderView): Page {
  return page(view, {
    status: 404,
    heading: view.wording.text('confirmGone.heading'),
    sign: signs.late,
    body: html`<p>${say(view, 'confirmGone.text')}</p>
      ${signUpAgain(view)}`,
  });
}

export function confirmationSentPage(view: SenderView, { email }: ConfirmPageContent): Page {
  return page(view, {
    heading: view.wording.text('confirmSent.heading'),
    sign: signs.letter,
    body: html`<p>${say(view, 'confirmSent.text', { email: addressOf(email) })}</p>
      <p class="quiet">${say(view, 'confirmSent.wait')}</p>`,
  });
}

export function confirmationTooSoonPage(view: SenderView, { email }: ConfirmPageContent): Page {
  return page(view, {
    heading: view.wording.text('confirmTooSoon.heading'),
    sign: signs.late,
    body: html`<p>${say(view, 'confirmTooSoon.text', { email: addressOf(email) })}</p>
      <p class="quiet">${say(view, 'confirmTooSoon.later')}</p>`,
  });
}

/** `topicNames`: what the reader is subscribed to, where all of it was confirmed before. */
export function confirmationNotNeededPage(view: SenderView, { email, topicNames }: ConfirmPageContent): Page {
  const isSubscribed = topicNames.length > 0;
  const key = isSubscribed ? 'confirmNotNeeded.subscribed' : 'confirmNotNeeded.text';
  return page(view, {
    heading: view.wording.text('confirmNotNeeded.heading'),
    sign: signs.done,
    body: html`<p>${say(view, key, { email: addressOf(email) })}</p>
      ${topicList(topicNames)}
      ${isSubscribed ? html`<p class="quiet">${say(view, 'confirmed.changeYourMind')}</p>` : signUpAgain(view)}`,
  });
}

function signUpAgain(view: SenderView): Html {
  return html`<p class="quiet">${say(view, 'page.signUpAgain', { sender: senderName(view) })}</p>`;
}

function resendButton(view: SenderView, weight: 'first' | 'second'): Html {
  return html`<button class="${weight}" name="${CONFIRM_ACTION.field}" value="${CONFIRM_ACTION.resend}">
    ${say(view, 'confirm.resend')}
  </button>`;
}
