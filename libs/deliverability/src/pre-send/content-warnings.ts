import type { ContentFacts } from './campaign-facts.js';
import { CONTENT_WEIGHTS } from './check-weights.js';
import { CONTENT_LIMITS } from './content-limits.js';
import { UNREADABLE } from './critical-checks.js';
import { doubtfulHosts } from './doubtful-hosts.js';
import { check, listed, pass, type PreSendCheck, skip } from './pre-send-check.js';
import { SPAM_WORDS } from './spam-words.js';

const CODES = Object.keys(CONTENT_WEIGHTS) as (keyof typeof CONTENT_WEIGHTS)[];

/** What an author could do better. */
export function contentWarnings(content: ContentFacts | null): PreSendCheck[] {
  if (content === null) return CODES.map((code) => skip(code, UNREADABLE));
  return [
    subjectCheck(content),
    check(
      'preview-text',
      (content.previewText ?? '').trim() !== '',
      'There is a preview text.',
      'Set previewText: without it, inboxes show the first words of the mail.',
    ),
    spamCheck(content),
    imageTextCheck(content),
    plainTextCheck(content),
    sizeCheck(content),
    check(
      'removed-content',
      content.removed.length === 0,
      'All that was written is in the mail.',
      listed('No mail carries these, so they were left out', content.removed),
    ),
    altCheck(content),
    linkDomainsCheck(content),
    personalisationCheck(content),
  ];
}

function subjectCheck({ subject }: ContentFacts): PreSendCheck {
  const length = Array.from(subject).length;
  const message = `The subject has ${length} characters`;
  return check(
    'subject-length',
    length <= CONTENT_LIMITS.subjectLength,
    `${message}.`,
    `${message}; inboxes cut it off after ${CONTENT_LIMITS.subjectLength}.`,
  );
}

function spamCheck({ subject, visibleText, ownText }: ContentFacts): PreSendCheck {
  const text = ` ${[subject, visibleText, ownText ?? ''].map(plainWords).join(' ')} `;
  const found = SPAM_WORDS.filter((phrase) => text.includes(` ${plainWords(phrase)} `));
  return check(
    'spam-words',
    found.length === 0,
    'No words of unwanted mail.',
    listed('Filters know these words from unwanted mail', found),
  );
}

/** Lower case, words and numbers only, one space between them. */
const plainWords = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}%]+/gu, ' ')
    .trim();

function imageTextCheck({ images, visibleText }: ContentFacts): PreSendCheck {
  const code = 'image-text-ratio';
  if (images.length === 0) return pass(code, 'There are no images.');
  const characters = visibleText.length;
  const found = `${characters} characters of text beside ${images.length} images`;
  return check(
    code,
    characters >= images.length * CONTENT_LIMITS.textPerImage,
    `${found}.`,
    `${found}; ${CONTENT_LIMITS.textPerImage} for each would do better, since many readers see no images.`,
  );
}

function plainTextCheck({ ownText, visibleText }: ContentFacts): PreSendCheck {
  const code = 'plain-text';
  const shown = visibleText.length;
  if (ownText === null)
    return check(
      code,
      shown > 0,
      'The text part is made from the HTML.',
      'The text part says nothing: the mail is made of images alone. Set contentText.',
    );
  const fits =
    shown < CONTENT_LIMITS.textShareFrom || ownText.trim().length >= shown * CONTENT_LIMITS.textShare;
  return check(
    code,
    fits,
    'The text part says what the HTML says.',
    'contentText says much less than the HTML part; filters compare them.',
  );
}

function sizeCheck({ htmlBytes }: ContentFacts): PreSendCheck {
  const found = `The HTML part has ${Math.ceil(htmlBytes / 1024)} KB as it is sent`;
  return check(
    'html-size',
    htmlBytes <= CONTENT_LIMITS.htmlBytes,
    `${found}.`,
    `${found}; Gmail hides what is beyond 100 KB, the unsubscribe link with it.`,
  );
}

function altCheck({ images }: ContentFacts): PreSendCheck {
  const without = images.filter((alt) => alt.trim() === '').length;
  return check(
    'alt-text',
    without === 0,
    'All images have a text.',
    `${without} of ${images.length} images have no alt text, which is all that many readers get of them.`,
  );
}

function personalisationCheck({ personal }: ContentFacts): PreSendCheck {
  if (personal === null) return skip('personalisation', UNREADABLE);
  return check(
    'personalisation',
    personal,
    'The mail uses what is known of its reader.',
    'The mail is the same for everybody: a merge tag such as {{ subscriber.first_name }} makes it personal.',
  );
}

function linkDomainsCheck({ urls }: ContentFacts): PreSendCheck {
  const doubtful = doubtfulHosts(urls);
  return check(
    'link-domains',
    doubtful.length === 0,
    'Links lead to hosts with names of their own.',
    listed('Filters distrust links to', doubtful),
  );
}
