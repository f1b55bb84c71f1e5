/** A mailbox provider: domains whose mail it takes in together, and the rate that they get. */
interface MailboxProvider {
  readonly name: string;
  readonly mailsPerSecond: number;
  readonly domains: readonly string[];
}

const provider = (name: string, mailsPerSecond: number, domains: string): MailboxProvider => ({
  name,
  mailsPerSecond,
  domains: domains.split(' '),
});
const national = (name: string, endings: string): string => `${name}.${endings.replaceAll(' ', ` ${name}.`)}`;

/**
 * The large providers by recipients' domains. None publishes a rate that holds for every sender; these are what
 * a sender of middling reputation gets through from one address, and `THROTTLE_SCALE` moves them all.
 */
export const MAILBOX_PROVIDERS: readonly MailboxProvider[] = [
  provider('google', 50, 'gmail.com googlemail.com'),
  provider(
    'microsoft',
    30,
    [
      national('outlook', 'com de fr it es at be dk ie pt sk cz jp co.th'),
      national('hotmail', 'com de fr it es be nl se no dk fi ch co.uk com.br'),
      national('live', 'com de fr it at be nl se no dk ie co.uk com.au ca cn'),
      'msn.com passport.com windowslive.com',
    ].join(' '),
  ),
  provider(
    'yahoo',
    20,
    [
      national('yahoo', 'com de fr it es ie ca in co.uk co.in co.id com.br com.mx com.ar'),
      'ymail.com rocketmail.com aol.com aol.de aol.co.uk aim.com netscape.net verizon.net att.net sbcglobal.net bellsouth.net',
      'frontier.com sky.com',
    ].join(' '),
  ),
  provider('apple', 20, 'icloud.com me.com mac.com'),
  provider(
    'united-internet',
    20,
    'gmx.de gmx.net gmx.at gmx.ch gmx.com gmx.org web.de mail.com email.de 1und1.de',
  ),
  provider('t-online', 10, 't-online.de magenta.de'),
  provider('freenet', 10, 'freenet.de'),
  provider('orange', 5, 'orange.fr wanadoo.fr'),
  provider('la-poste', 5, 'laposte.net'),
  provider('free', 5, 'free.fr'),
  provider('sfr', 5, 'sfr.fr neuf.fr cegetel.net numericable.fr'),
  provider('libero', 5, 'libero.it iol.it virgilio.it inwind.it'),
  provider('comcast', 10, 'comcast.net xfinity.com'),
  provider('wp', 10, 'wp.pl o2.pl'),
  provider('seznam', 10, 'seznam.cz email.cz'),
  provider('mail-ru', 10, 'mail.ru inbox.ru list.ru bk.ru internet.ru'),
  provider('yandex', 10, 'yandex.ru yandex.com ya.ru'),
  provider('proton', 10, 'proton.me protonmail.com pm.me'),
  provider('qq', 5, 'qq.com foxmail.com'),
  provider('netease', 5, '163.com 126.com yeah.net'),
];

const PROVIDER_OF_DOMAIN: ReadonlyMap<string, MailboxProvider> = new Map(
  MAILBOX_PROVIDERS.flatMap((each) => each.domains.map((domain) => [domain, each] as const)),
);
const PROVIDERS: ReadonlyMap<string, MailboxProvider> = new Map(
  MAILBOX_PROVIDERS.map((each) => [each.name, each]),
);

/** All domains of the providers, whose limits are known. */
export const PROVIDER_DOMAINS: readonly string[] = [...PROVIDER_OF_DOMAIN.keys()];

/** Rate of mail to a destination. */
export interface DestinationLimit {
  /** Null: unlimited until it complains. */
  readonly mailsPerSecond: number | null;
  /** Mails at once after a rest. */
  readonly burst: number;
}

/** Settings of the operator. */
export interface LimitSettings {
  /** Factor of the providers' limits. */
  readonly scale: number;
  /** Mails a second to each domain that is no provider's; null: no limit. */
  readonly otherDomains: number | null;
}

/** Destination of mail to an address: a mailbox provider by its name, otherwise the domain itself, in lower case. */
export function destinationOf(address: string): string {
  const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase();
  return PROVIDER_OF_DOMAIN.get(domain)?.name ?? domain;
}

/** A destination's name where there are few of them: `other` for domains that are no provider's. */
export function providerOf(destination: string): string {
  return PROVIDERS.has(destination) ? destination : 'other';
}

/** The limit of a destination; a burst is a second's worth, and one mail at least. */
export function limitOf(destination: string, { scale, otherDomains }: LimitSettings): DestinationLimit {
  const known = PROVIDERS.get(destination);
  const mailsPerSecond = known === undefined ? otherDomains : known.mailsPerSecond * scale;
  return { mailsPerSecond, burst: Math.max(1, mailsPerSecond ?? 1) };
}

const MINUTE_MS = 60_000;

/**
 * Milliseconds from `now` until the last of so many mails may go to a destination that has all of its budget for them:
 * one a minute while it is slowed down, then its rate.
 */
export function linePlaceMs(
  mails: number,
  { mailsPerSecond, slowUntil }: { readonly mailsPerSecond: number | null; readonly slowUntil: Date | null },
  now: Date,
): number {
  const slowMs = slowUntil === null ? 0 : Math.max(0, slowUntil.getTime() - now.getTime());
  const slowMails = Math.floor(slowMs / MINUTE_MS);
  if (mails <= slowMails) return mails * MINUTE_MS;
  return slowMs + (mailsPerSecond === null ? 0 : ((mails - slowMails) / mailsPerSecond) * 1_000);
}
