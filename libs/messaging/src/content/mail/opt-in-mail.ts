import { coloursOf, escapeHtml, parseColour } from '#kernel';
import type { Wording } from '#wording';

interface OptInMailInput {
  readonly wording: Wording;
  /** Name of the sender who asks. */
  readonly senderName: string;
  readonly postalAddress: string;
  /** https; null where it has none. */
  readonly logoUrl: string | null;
  /** #rrggbb of the button; null for ours. */
  readonly color: string | null;
  /** Topics that the person asked to receive; at least one. */
  readonly topicNames: readonly string[];
  /** http(s) address of the page that confirms. */
  readonly confirmUrl: string;
  /** End of the link's validity. */
  readonly expiresAt: Date;
  /** IANA, of the reader. */
  readonly timeZone: string;
  readonly now: Date;
  /** https; null where it has none. */
  readonly privacyUrl: string | null;
  /** Address for questions about one's data; null where there is none. */
  readonly contactEmail: string | null;
}

/** A mail whose parts are final: they are no templates. */
interface FinishedMail {
  readonly subject: string;
  readonly html: string;
  readonly text: string;
}

/**
 * The mail that asks a person to confirm a subscription. It advertises nothing and has no unsubscribe link,
 * since whoever ignores it stays unsubscribed.
 */
export function optInMail(input: OptInMailInput): FinishedMail {
  if (!/^https?:\/\//i.test(input.confirmUrl)) throw new TypeError('confirmUrl must be an http(s) URL');
  const subject = oneLine(input.wording.text('optIn.subject', { project: input.senderName }));
  return { subject, html: htmlPart(input, subject), text: textPart(input) };
}

const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();

function sentences(input: OptInMailInput) {
  const { wording, senderName, privacyUrl, contactEmail } = input;
  const confirm = wording.text('optIn.confirm');
  return {
    asked: wording.text('optIn.asked', { project: oneLine(senderName) }),
    // Chinese and Japanese have no space after a full stop.
    confirm: `${confirm}${confirm.endsWith('。') ? '' : ' '}${expiry(input)}`,
    ignore: wording.text('optIn.ignore'),
    privacy: privacyUrl === null ? null : wording.text('footer.privacyLink', { url: privacyUrl }),
    contact: contactEmail === null ? null : wording.text('footer.contact', { contact: contactEmail }),
  };
}

const HOUR_MS = 3_600_000;

/** The day and hour, unless the project says only for how long in words of its own. */
function expiry({ wording, expiresAt, timeZone, now }: OptInMailInput): string {
  if (!wording.isOwn('optIn.expiry') || wording.isOwn('optIn.until'))
    return wording.text('optIn.until', { date: wording.dayAndHour(expiresAt, timeZone) });
  const hours = Math.max(1, Math.round((expiresAt.getTime() - now.getTime()) / HOUR_MS));
  return wording.text('optIn.expiry', { hours });
}

function textPart(input: OptInMailInput): string {
  const { asked, confirm, ignore, privacy, contact } = sentences(input);
  const topics = input.topicNames.map((name) => `- ${oneLine(name)}`).join('\n');
  const link = input.wording.text('optIn.link', { url: input.confirmUrl });
  const address = `${oneLine(input.senderName)}\n${input.postalAddress.trim()}`;
  const sender = [address, privacy, contact].filter((line) => line !== null).join('\n');
  return `${asked}\n\n${topics}\n\n${confirm}\n\n${link}\n\n${ignore}\n\n--\n${sender}\n`;
}

const FONT = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const TABLE = 'role="presentation" cellpadding="0" cellspacing="0" border="0"';
/** Keeps words whole where browsers do not by themselves; as on the pages: see assets/pages.css. */
const WHOLE_WORDS = ':lang(ja) h1 { word-break: auto-phrase; } :lang(ko) { word-break: keep-all; }';
/** The colours of the pages: see assets/pages.css. */
const LIGHT = { paper: '#f3f0ea', card: '#ffffff', edge: '#ddd7cc', ink: '#1e2329', quiet: '#59616b' };
const DARK = { paper: '#14171a', card: '#1d2226', edge: '#343b41', ink: '#eceff1', quiet: '#a9b2ba' };

/** Looks like the page that its button leads to. */
function htmlPart(input: OptInMailInput, subject: string): string {
  const { wording } = input;
  const { asked, confirm, ignore, contact } = sentences(input);
  const { light, dark } = coloursOf(input.color === null ? null : parseColour(input.color));
  const start = wording.direction === 'rtl' ? 'right' : 'left';
  const topic = `class="mw-edge mw-text" dir="auto" style="padding:10px 0;border-bottom:1px solid ${LIGHT.edge};${FONT};font-size:16px;line-height:1.5;font-weight:600;color:${LIGHT.ink};text-align:${start}"`;
  const topics = input.topicNames.map((name) => `<tr><td ${topic}>${escapeHtml(oneLine(name))}</td></tr>`);
  const address = [input.senderName, ...input.postalAddress.split(/\r?\n/)]
    .map(oneLine)
    .filter((line) => line !== '')
    .map((line) => `<bdi>${escapeHtml(line)}</bdi>`);
  const inTheDark = [
    `.mw-page { background-color: ${DARK.paper} !important; }`,
    `.mw-card { background-color: ${DARK.card} !important; border-color: ${DARK.edge} !important; }`,
    `.mw-edge { border-color: ${DARK.edge} !important; }`,
    `.mw-text { color: ${DARK.ink} !important; }`,
    `.mw-quiet { color: ${DARK.quiet} !important; }`,
    `.mw-button { background-color: ${dark.accent} !important; }`,
    `.mw-button a { color: ${dark.onAccent} !important; }`,
    '.mw-logo { padding: 6px 10px; border-radius: 8px; background-color: #ffffff; }',
  ];
  return `<!doctype html>
<html lang="${wording.locale}" dir="${wording.direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(subject)}</title>
<style>${WHOLE_WORDS} @media (prefers-color-scheme: dark) { ${inTheDark.join(' ')} }</style>
</head>
<body class="mw-page" style="margin:0;padding:0;background-color:${LIGHT.paper}">
<table ${TABLE} dir="${wording.direction}" width="100%"><tr><td class="mw-page" align="center" style="padding:24px 16px;background-color:${LIGHT.paper}">
<table ${TABLE} style="width:100%;max-width:480px">
<tr><td class="mw-text" align="center" dir="auto" style="padding:0 0 16px;${FONT};font-size:16px;line-height:1.5;font-weight:600;color:${LIGHT.ink}">${masthead(input)}</td></tr>
<tr><td class="mw-card mw-text" style="padding:32px 24px;border:1px solid ${LIGHT.edge};border-radius:16px;background-color:${LIGHT.card};${FONT};font-size:16px;line-height:1.5;color:${LIGHT.ink};text-align:${start};overflow-wrap:anywhere">
<h1 style="margin:0 0 12px;font-size:24px;line-height:1.25;text-wrap:balance">${escapeHtml(wording.text('optIn.heading'))}</h1>
<p style="margin:0 0 16px">${escapeHtml(asked)}</p>
<table ${TABLE} class="mw-edge" width="100%" style="margin:0 0 24px;border-top:1px solid ${LIGHT.edge}">${topics.join('')}</table>
<p style="margin:0 0 24px">${escapeHtml(confirm)}</p>
<table ${TABLE} width="100%"><tr><td class="mw-button" align="center" style="border-radius:12px;background-color:${light.accent}">
<a href="${escapeHtml(input.confirmUrl)}" style="display:block;padding:14px 20px;${FONT};font-size:16px;line-height:1.5;font-weight:600;color:${light.onAccent};text-decoration:none">${escapeHtml(wording.text('optIn.button'))}</a>
</td></tr></table>
<p class="mw-quiet" style="margin:20px 0 0;font-size:15px;color:${LIGHT.quiet}">${escapeHtml(ignore)}</p>
</td></tr>
<tr><td class="mw-quiet" align="center" dir="auto" style="padding:20px 0 0;${FONT};font-size:14px;line-height:1.5;color:${LIGHT.quiet}">
${[...privacyParts(input, contact), ...address].join('<br>')}
</td></tr></table>
</td></tr></table>
</body>
</html>
`;
}

function privacyParts({ wording, privacyUrl }: OptInMailInput, contact: string | null): string[] {
  const link = (url: string) =>
    `<a class="mw-quiet" href="${escapeHtml(url)}" style="color:${LIGHT.quiet}">${escapeHtml(wording.text('footer.privacy'))}</a>`;
  return [
    ...(privacyUrl === null ? [] : [link(privacyUrl)]),
    ...(contact === null ? [] : [escapeHtml(contact)]),
  ];
}

/** The logo, or the name of the sender. */
function masthead({ logoUrl, senderName }: OptInMailInput): string {
  const name = escapeHtml(oneLine(senderName));
  if (logoUrl === null || !/^https:\/\//i.test(logoUrl)) return name;
  return `<img src="${escapeHtml(logoUrl)}" alt="${name}" class="mw-logo" style="max-width:100%;max-height:48px;border:0">`;
}
