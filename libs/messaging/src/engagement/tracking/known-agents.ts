/** A program that is known to fetch images or links of mails without a person in front of it. */
export interface KnownAgent {
  readonly name: string;
  readonly classification: 'proxy' | 'scanner';
  readonly pattern: RegExp;
  /** User agents as they were seen. */
  readonly samples: readonly string[];
}

/**
 * The first that fits counts. General HTTP libraries are not here: what they do is told by when and how they come.
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
