/** The originator of an open or a click: a person, a proxy that hides its reader, or a program that looks at mail before them. */
export type Classification = 'human' | 'proxy' | 'scanner';

/** Kinds of programs; all that is kept of a user agent. */
export const AGENT_KINDS = [
  'apple',
  'android',
  'outlook',
  'desktop',
  'proxy',
  'scanner',
  'simulator',
  'other',
] as const;
export type AgentKind = (typeof AGENT_KINDS)[number];

/** A program that is known to fetch images or links of mails without a person in front of it. */
export interface KnownAgent {
  readonly name: string;
  readonly classification: 'proxy' | 'scanner';
  readonly pattern: RegExp;
  /** User agents as they were seen. */
  readonly samples: readonly string[];
}

/**
 * The first that fits counts. General HTTP libraries are not here: they are judged by the time of their requests.
 */
export const KNOWN_AGENTS: readonly KnownAgent[] = [
  {
    // Fetches all images of a mail on its arrival or later, whether or not it is opened.
    name: 'Apple Mail Privacy Protection',
    classification: 'proxy',
    pattern: /^Mozilla\/5\.0$/,
    samples: ['Mozilla/5.0'],
  },
  {
    name: 'Gmail image proxy',
    classification: 'proxy',
    pattern: /GoogleImageProxy/,
    samples: ['Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)'],
  },
  {
    name: 'Yahoo Mail proxy',
    classification: 'proxy',
    pattern: /YahooMailProxy/,
    samples: ['YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html'],
  },
  {
    name: 'Microsoft Office, which asks whether a link exists',
    classification: 'scanner',
    pattern: /Microsoft Office (?:Existence|Protocol) Discovery/i,
    samples: ['Microsoft Office Existence Discovery', 'Microsoft Office Protocol Discovery'],
  },
  {
    name: 'mail and web security gateways',
    classification: 'scanner',
    pattern:
      /barracuda|proofpoint|mimecast|messagelabs|symantec|cloudmark|fireeye|trend ?micro|bitdefender|sophos|forcepoint|zscaler|checkpoint|ironport|safelinks|vade ?secure|avanan|abnormalsecurity/i,
    samples: [
      'Barracuda Sentinel (EE)',
      'Mozilla/5.0 (compatible; Proofpoint URL Defense)',
      'Mozilla/5.0 (compatible; Zscaler)',
    ],
  },
  {
    name: 'link previews of chats and networks',
    classification: 'scanner',
    pattern:
      /facebookexternalhit|SkypeUriPreview|BingPreview|WhatsApp\/|Google-PageRenderer|Google Web Preview/i,
    samples: [
      'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
      'Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5',
      'WhatsApp/2.23.20.0',
    ],
  },
  {
    name: 'crawlers, which call themselves so',
    classification: 'scanner',
    pattern: /bot\b|crawler|spider/i,
    samples: [
      'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
      'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
      'Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)',
    ],
  },
  {
    name: 'browsers without a window',
    classification: 'scanner',
    pattern: /HeadlessChrome|PhantomJS/,
    samples: [
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/120.0.0.0 Safari/537.36',
    ],
  },
];

const PEOPLE: readonly (readonly [pattern: RegExp, kind: AgentKind])[] = [
  [/\b(?:iPhone|iPad|iPod)\b/, 'apple'],
  [/\bAndroid\b/, 'android'],
  [/\b(?:Microsoft Outlook|MSOffice|ms-office)\b/i, 'outlook'],
  [/\b(?:Windows NT|Macintosh|X11|CrOS)\b/, 'desktop'],
];

/** The kind of program that a user agent is. */
export function kindOfAgent(userAgent: string | undefined): AgentKind {
  const text = userAgent ?? '';
  const known = KNOWN_AGENTS.find(({ pattern }) => pattern.test(text));
  return known?.classification ?? PEOPLE.find(([pattern]) => pattern.test(text))?.[1] ?? 'other';
}

/** The classification that the kind alone gives; null where it gives none. */
export function classificationOf(kind: AgentKind): Classification | null {
  return kind === 'proxy' || kind === 'scanner' ? kind : null;
}

/** So many different links of a mail in so short a time are followed by a program. */
const BURST_LINKS = 3;
/** The longest time between two clicks of one burst. */
export const BURST_MS = 1_000;

/** A click, wherever it is kept. */
export interface Click {
  readonly at: Date;
  readonly linkNumber: number | null;
}

/**
 * The clicks of one mail that are part of a burst: within some second, three different links or more. Says the same
 * in whatever order the clicks became known, and more clicks never take one out of a burst.
 */
export function burstsOf<Item extends Click>(clicks: readonly Item[]): Set<Item> {
  const inOrder = clicks.toSorted((a, b) => a.at.getTime() - b.at.getTime());
  const links = new Map<number | null, number>();
  const bursts = new Set<Item>();
  let end = 0;
  let marked = 0;
  for (const [begin, first] of inOrder.entries()) {
    for (let next = inOrder[end]; next !== undefined && isWithin(first, next); next = inOrder[end]) {
      links.set(next.linkNumber, (links.get(next.linkNumber) ?? 0) + 1);
      end += 1;
    }
    if (links.size >= BURST_LINKS) {
      for (const click of inOrder.slice(Math.max(begin, marked), end)) bursts.add(click);
      marked = end;
    }
    const left = (links.get(first.linkNumber) ?? 0) - 1;
    if (left > 0) links.set(first.linkNumber, left);
    else links.delete(first.linkNumber);
  }
  return bursts;
}

const isWithin = (first: Click, next: Click): boolean => next.at.getTime() - first.at.getTime() <= BURST_MS;
