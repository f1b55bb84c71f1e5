import { isIP } from 'node:net';
import { counted } from '#kernel';
import type { CampaignFacts, ContentFacts } from './campaign-facts.js';
import { check, CONTENT_WEIGHTS, fail, listed, pass, type PreSendCheck, skip } from './pre-send-check.js';

/** The facts of a campaign's content in one language. */
export type ReviewedContent = Pick<CampaignFacts, 'mergeTagFaults' | 'contentFault' | 'content'>;

const CODES = Object.keys(CONTENT_WEIGHTS) as (keyof typeof CONTENT_WEIGHTS)[];

/** Message of content checks that are not made. */
const UNREADABLE = 'Not looked at: the content cannot be read yet.';

/** The content checks that refuse `schedule` and `send`, for one language. */
export function criticalContentChecks(facts: ReviewedContent): PreSendCheck[] {
  return [mergeTagCheck(facts.mergeTagFaults), ...contentChecks(facts)];
}

/** The content checks, warnings too, that one mail fails. */
export function failedContentChecks(facts: ReviewedContent): PreSendCheck[] {
  const checks = [...criticalContentChecks(facts), ...contentWarnings(facts.content)];
  return checks.filter(({ result }) => result === 'FAIL');
}

/** `faults`: what is wrong with merge tags, one phrase each. */
export function mergeTagCheck(faults: readonly string[]): PreSendCheck {
  return check('merge-tags', faults.length === 0, 'All merge tags are known.', listed('Merge tags', faults));
}

function contentChecks({ content, contentFault }: ReviewedContent): PreSendCheck[] {
  if (content === null) {
    return [
      contentFault === null
        ? skip('content-empty', UNREADABLE)
        : fail('content-empty', `The content cannot be made into a mail: ${contentFault}.`),
      skip('unsubscribe-link', UNREADABLE),
      skip('postal-address', UNREADABLE),
      skip('links', UNREADABLE),
      skip('text-contrast', UNREADABLE),
    ];
  }
  return [
    check(
      'content-empty',
      content.hasSubject && !content.empty,
      'There is content.',
      content.hasSubject
        ? 'The campaign has no content: set contentJson or contentText.'
        : 'The campaign has no subject.',
    ),
    check(
      'unsubscribe-link',
      content.hasUnsubscribeLink,
      'There is an unsubscribe link.',
      'The mail has no unsubscribe link that a reader can see.',
    ),
    check(
      'postal-address',
      content.hasPostalAddress,
      'There is a postal address.',
      "The mail does not show the sender's postal address: {{ project.postal_address }}.",
    ),
    check(
      'links',
      content.linkFaults.length === 0,
      'All links are well-formed.',
      listed('Links', content.linkFaults),
    ),
    contrastCheck(content),
  ];
}

function contrastCheck({ unreadable }: ContentFacts): PreSendCheck {
  const code = 'text-contrast';
  if (unreadable === null)
    return skip(code, 'Not looked at: the style sheets hold too many rules for so many elements.');
  return check(
    code,
    unreadable.length === 0,
    'All text stands out from what is behind it, in light and in dark.',
    listed('Nobody can read these on what is behind them', unreadable),
  );
}

/** The content checks that suggest improvements. */
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
    check(
      'gone-images',
      content.goneImages.length === 0,
      'No uploaded image is missing.',
      listed('Readers see a gap, since these images were deleted or never uploaded', content.goneImages),
    ),
    check(
      'empty-subject',
      !content.subjectMayBeEmpty,
      'The subject says something to every reader.',
      'The subject is empty for readers without its values: add words, or a default as in {{ subscriber.first_name | default: "you" }}.',
    ),
    check(
      'empty-links',
      content.emptyLinks.length === 0,
      'All links lead somewhere for every reader.',
      listed(
        'These lead nowhere for readers without the value: give a default, or leave the link out by an if',
        content.emptyLinks,
      ),
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
  const found = `${counted(characters, 'character')} of text beside ${counted(images.length, 'image')}`;
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

/** Limits beyond which content does worse. */
const CONTENT_LIMITS = {
  /** Characters of a subject; mail programs on phones show fewer still. */
  subjectLength: 70,
  /** Bytes of the HTML part as it is sent: Gmail clips what is beyond some 102 KB. */
  htmlBytes: 100 * 1024,
  /** Characters of text that should stand beside each image. */
  textPerImage: 100,
  /** A text part should say at least this share of what the HTML part says, by length … */
  textShare: 0.2,
  /** … when the HTML part has at least so many characters. */
  textShareFrom: 200,
} as const;

/** Hosts that hide where a link leads. Block lists hold many of them. */
const LINK_SHORTENERS: ReadonlySet<string> = new Set(
  `adf.ly bit.do bit.ly buff.ly cutt.ly goo.gl is.gd j.mp lnkd.in ow.ly rb.gy rebrand.ly s.id shorte.st shorturl.at soo.gd t.co
  t.ly t2m.io tiny.cc tinyurl.com tr.im v.gd x.co`.split(/\s+/),
);

/** The hosts among web addresses that are link shorteners or bare IP addresses, each once. */
function doubtfulHosts(urls: readonly string[]): string[] {
  const found = new Set<string>();
  for (const url of urls) {
    const host = hostOf(url);
    if (host === null) continue;
    if (LINK_SHORTENERS.has(host.replace(/^www\./, ''))) found.add(`${host} (a link shortener)`);
    else if (isIP(host.replaceAll(/^\[|\]$/g, '')) !== 0) found.add(`${host} (an IP address)`);
  }
  return [...found];
}

/** As a browser reads it: `http://2130706433/` is 127.0.0.1. Null for what leads nowhere, or where is not known yet. */
function hostOf(url: string): string | null {
  if (!/^\s*https?:/i.test(url) || !URL.canParse(url)) return null;
  return new URL(url).hostname.replace(/\.$/, '');
}

/** Phrases that filters and readers know from unwanted mail; whole words, in any case. */
const SPAM_WORDS: readonly string[] = [
  '100% free',
  '100% satisfied',
  'act now',
  'additional income',
  'be your own boss',
  'best price',
  'billion dollars',
  'buy direct',
  'cash bonus',
  'casino',
  'cheap meds',
  'click below',
  'congratulations you',
  'credit card debt',
  'double your income',
  'earn extra cash',
  'easy money',
  'eliminate debt',
  'extra income',
  'fast cash',
  'financial freedom',
  'for instant access',
  'free access',
  'free gift',
  'free money',
  'get paid',
  'get rich',
  'guaranteed winner',
  'hidden charges',
  'increase sales',
  'incredible deal',
  'limited time only',
  'lose weight',
  'lowest price',
  'make money',
  'meet singles',
  'million dollars',
  'miracle',
  'money back guarantee',
  'multi-level marketing',
  'no catch',
  'no cost',
  'no credit check',
  'no obligation',
  'no strings attached',
  'not spam',
  'once in a lifetime',
  'online pharmacy',
  'order now',
  'pre-approved',
  'risk-free',
  'serious cash',
  'special promotion',
  'this is not spam',
  'urgent response',
  'viagra',
  'weight loss',
  'while supplies last',
  'why pay more',
  'winner',
  'work from home',
  'you are a winner',
  'you have been selected',
];
