/** A mailbox provider: domains whose mail it takes in together, and as much as it is sent a second. */
export interface MailboxProvider {
  readonly name: string;
  readonly mailsPerSecond: number;
  readonly domains: readonly string[];
}

/**
 * The large providers by recipients' domains. None publishes a rate that holds for every sender; these are what
 * a sender of middling reputation gets through from one address, and `THROTTLE_SCALE` moves them all.
 */
export const MAILBOX_PROVIDERS: readonly MailboxProvider[] = [
  { name: 'google', mailsPerSecond: 50, domains: ['gmail.com', 'googlemail.com'] },
  {
    name: 'microsoft',
    mailsPerSecond: 30,
    domains: [
      ...['com', 'de', 'fr', 'it', 'es', 'at', 'be', 'dk', 'ie', 'pt', 'sk', 'cz', 'jp', 'co.th'].map(
        (ending) => `outlook.${ending}`,
      ),
      ...['com', 'de', 'fr', 'it', 'es', 'be', 'nl', 'se', 'no', 'dk', 'fi', 'ch', 'co.uk', 'com.br'].map(
        (ending) => `hotmail.${ending}`,
      ),
      ...[
        'com',
        'de',
        'fr',
        'it',
        'at',
        'be',
        'nl',
        'se',
        'no',
        'dk',
        'ie',
        'co.uk',
        'com.au',
        'ca',
        'cn',
      ].map((ending) => `live.${ending}`),
      'msn.com',
      'passport.com',
      'windowslive.com',
    ],
  },
  {
    name: 'yahoo',
    mailsPerSecond: 20,
    domains: [
      ...[
        'com',
        'de',
        'fr',
        'it',
        'es',
        'ie',
        'ca',
        'in',
        'co.uk',
        'co.in',
        'co.id',
        'com.br',
        'com.mx',
        'com.ar',
      ].map((ending) => `yahoo.${ending}`),
      'ymail.com',
      'rocketmail.com',
      'aol.com',
      'aol.de',
      'aol.co.uk',
      'aim.com',
      'netscape.net',
      'verizon.net',
      'att.net',
      'sbcglobal.net',
      'bellsouth.net',
      'frontier.com',
      'sky.com',
    ],
  },
  { name: 'apple', mailsPerSecond: 20, domains: ['icloud.com', 'me.com', 'mac.com'] },
  {
    name: 'united-internet',
    mailsPerSecond: 20,
    domains: [
      'gmx.de',
      'gmx.net',
      'gmx.at',
      'gmx.ch',
      'gmx.com',
      'gmx.org',
      'web.de',
      'mail.com',
      'email.de',
      '1und1.de',
    ],
  },
  { name: 't-online', mailsPerSecond: 10, domains: ['t-online.de', 'magenta.de'] },
  { name: 'freenet', mailsPerSecond: 10, domains: ['freenet.de'] },
  { name: 'orange', mailsPerSecond: 5, domains: ['orange.fr', 'wanadoo.fr'] },
  { name: 'la-poste', mailsPerSecond: 5, domains: ['laposte.net'] },
  { name: 'free', mailsPerSecond: 5, domains: ['free.fr'] },
  { name: 'sfr', mailsPerSecond: 5, domains: ['sfr.fr', 'neuf.fr', 'cegetel.net', 'numericable.fr'] },
  { name: 'libero', mailsPerSecond: 5, domains: ['libero.it', 'iol.it', 'virgilio.it', 'inwind.it'] },
  { name: 'comcast', mailsPerSecond: 10, domains: ['comcast.net', 'xfinity.com'] },
  { name: 'wp', mailsPerSecond: 10, domains: ['wp.pl', 'o2.pl'] },
  { name: 'seznam', mailsPerSecond: 10, domains: ['seznam.cz', 'email.cz'] },
  {
    name: 'mail-ru',
    mailsPerSecond: 10,
    domains: ['mail.ru', 'inbox.ru', 'list.ru', 'bk.ru', 'internet.ru'],
  },
  { name: 'yandex', mailsPerSecond: 10, domains: ['yandex.ru', 'yandex.com', 'ya.ru'] },
  { name: 'proton', mailsPerSecond: 10, domains: ['proton.me', 'protonmail.com', 'pm.me'] },
  { name: 'qq', mailsPerSecond: 5, domains: ['qq.com', 'foxmail.com'] },
  { name: 'netease', mailsPerSecond: 5, domains: ['163.com', '126.com', 'yeah.net'] },
];
