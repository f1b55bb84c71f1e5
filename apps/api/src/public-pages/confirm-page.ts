import { html, type Html } from './html.js';
import { maskedAddress } from './masked-address.js';
import { form, page, type Page, type PageSender, signs, topicList } from './page-layout.js';

/** The part of a confirmation that its pages show. */
export interface ConfirmPageContent {
  readonly sender: PageSender;
  readonly email: string;
  readonly topicNames: readonly string[];
}

/** The form field and value that request another confirmation mail. */
export const CONFIRM_ACTION = { field: 'action', resend: 'resend' } as const;

/** Shows the topics to confirm, with a button that confirms them. */
export function confirmPage({ sender, email, topicNames }: ConfirmPageContent): Page {
  return page({
    heading: 'Confirm your subscription',
    sign: signs.letter,
    sender,
    body: html` <p>
        You asked for mail from <b><bdi>${sender.name}</bdi></b> to ${addressOf(email)}. Please confirm that
        you want:
      </p>
      ${topicList(topicNames)} ${form(html`<button>Confirm subscription</button>`)}
      <p class="quiet">
        You didn’t ask for this? Just close this page. Unless you confirm, you get no mail about these topics.
      </p>`,
  });
}

export function confirmedPage({ sender, topicNames }: ConfirmPageContent): Page {
  return page({
    heading: 'You’re subscribed',
    sign: signs.done,
    sender,
    body: html` <p>
        Thank you. From now on you get mail from <b><bdi>${sender.name}</bdi></b> about:
      </p>
      ${topicList(topicNames)}
      <p class="quiet">Changed your mind? Every mail has a link to unsubscribe.</p>`,
  });
}

export function alreadyConfirmedPage({ sender, email, topicNames }: ConfirmPageContent): Page {
  return page({
    heading: 'Already confirmed',
    sign: signs.done,
    sender,
    body: html` <p>
        This subscription of ${addressOf(email)} was confirmed before. There is nothing left to do.
      </p>
      ${topicList(topicNames)}
      <p class="quiet">Something is still waiting for your confirmation? Ask for a new link.</p>
      ${form(resendButton('second'))}`,
  });
}

/** 410: the link has expired; offers a new one. */
export function expiredConfirmationPage({ sender, email, topicNames }: ConfirmPageContent): Page {
  return page({
    status: 410,
    heading: 'This link has expired',
    sign: signs.late,
    sender,
    body: html` <p>
        A link to confirm a subscription is good for 48 hours. We can send a fresh one to
        ${addressOf(email)}${topicNames.length > 0 ? ', for:' : '.'}
      </p>
      ${topicList(topicNames)} ${form(resendButton('first'))}`,
  });
}

/** 404: a valid link to something since revoked, erased or stopped. Reveals nothing about the reader. */
export function goneConfirmationPage({ sender }: Pick<ConfirmPageContent, 'sender'>): Page {
  return page({
    status: 404,
    heading: 'This link is no longer valid',
    sign: signs.late,
    sender,
    body: html`<p>There is nothing left that it could confirm.</p>
      <p class="quiet">
        Would you like to get mail from <bdi>${sender.name}</bdi>? Then please sign up again where you did
        before.
      </p>`,
  });
}

export function confirmationSentPage({ sender, email }: ConfirmPageContent): Page {
  return page({
    heading: 'Check your inbox',
    sign: signs.letter,
    sender,
    body: html` <p>
        A new mail is on its way to ${addressOf(email)}. Open it and follow the link to confirm.
      </p>
      <p class="quiet">It can take a few minutes. If you can’t find it, look in your spam folder.</p>`,
  });
}

export function confirmationTooSoonPage({ sender, email }: ConfirmPageContent): Page {
  return page({
    heading: 'A mail was sent already',
    sign: signs.late,
    sender,
    body: html` <p>
        We sent a mail to ${addressOf(email)} not long ago. Please give it a few minutes, and look in your
        spam folder too.
      </p>
      <p class="quiet">Still nothing? Then come back later and ask again.</p>`,
  });
}

export function confirmationNotNeededPage({ sender, email }: ConfirmPageContent): Page {
  return page({
    heading: 'Nothing to confirm',
    sign: signs.done,
    sender,
    body: html` <p>No subscription of ${addressOf(email)} is waiting to be confirmed, so no mail was sent.</p>
      <p class="quiet">
        Would you like to get mail from <bdi>${sender.name}</bdi>? Then please sign up again where you did
        before.
      </p>`,
  });
}

function resendButton(weight: 'first' | 'second'): Html {
  return html`<button class="${weight}" name="${CONFIRM_ACTION.field}" value="${CONFIRM_ACTION.resend}">
    Send me a new mail
  </button>`;
}

function addressOf(email: string): Html {
  return html`<b><bdi>${maskedAddress(email)}</bdi></b>`;
}
