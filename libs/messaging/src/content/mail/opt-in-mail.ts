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

const FONT =
  "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5";

function htmlPart(input: OptInMailInput, subject: string): string {
  const { wording } = input;
  const { asked, confirm, ignore, contact } = sentences(input);
  const { light, dark } = coloursOf(input.color === null ? null : parseColour(input.color));
  const [start, end] = wording.direction === 'rtl' ? ['right', 'left'] : ['left', 'right'];
  const topics = input.topicNames.map((name) => `<li dir="auto">${escapeHtml(oneLine(name))}</li>`).join('');
  const address = [input.senderName, ...input.postalAddress.split(/\r?\n/)].map((line) =>
    escapeHtml(oneLine(line)),
  );
  return `<!doctype html>
<html lang="${wording.locale}" dir="${wording.direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(subject)}</title>
<style>@media (prefers-color-scheme: dark) { .mw-page { background-color: #1d2226 !important; } .mw-text { color: #eceff1 !important; } .mw-button { background-color: ${dark.accent} !important; } .mw-button a { color: ${dark.onAccent} !important; } .mw-logo { padding: 6px 10px; border-radius: 8px; background-color: #ffffff; } }</style>
</head>
<body class="mw-page" style="margin:0;padding:0;background-color:#ffffff">
<table role="presentation" dir="${wording.direction}" width="100%" cellpadding="0" cellspacing="0" border="0"><tr><td align="center" style="padding:24px">
<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="width:100%;max-width:600px"><tr><td class="mw-text" style="${FONT};color:#1f2933;text-align:${start}">
${logo(input)}<h1 style="margin:0 0 16px;font-size:24px;line-height:1.25">${escapeHtml(wording.text('optIn.heading'))}</h1>
<p style="margin:0 0 16px">${escapeHtml(asked)}</p>
<ul style="margin:0 0 16px;padding-${start}:24px;padding-${end}:0">${topics}</ul>
<p style="margin:0 0 24px">${escapeHtml(confirm)}</p>
<table role="presentation" cellpadding="0" cellspacing="0" border="0"><tr><td class="mw-button" style="border-radius:12px;background-color:${light.accent}">
<a href="${escapeHtml(input.confirmUrl)}" style="display:inline-block;padding:14px 28px;${FONT};font-weight:600;color:${light.onAccent};text-decoration:none">${escapeHtml(wording.text('optIn.button'))}</a>
</td></tr></table>
<p style="margin:24px 0 16px">${escapeHtml(ignore)}</p>
<p dir="auto" style="margin:32px 0 0;text-align:${start}">${address.filter((line) => line !== '').join('<br>')}</p>
${privacyPart(input, contact, start)}</td></tr></table>
</td></tr></table>
</body>
</html>
`;
}

function privacyPart({ wording, privacyUrl }: OptInMailInput, contact: string | null, start: string): string {
  const link = (url: string) =>
    `<a href="${escapeHtml(url)}" style="color:inherit">${escapeHtml(wording.text('footer.privacy'))}</a>`;
  const parts = [
    ...(privacyUrl === null ? [] : [link(privacyUrl)]),
    ...(contact === null ? [] : [escapeHtml(contact)]),
  ];
  if (parts.length === 0) return '';
  return `<p style="margin:8px 0 0;text-align:${start}">${parts.join('<br>')}</p>\n`;
}

function logo({ logoUrl, senderName }: OptInMailInput): string {
  if (logoUrl === null || !/^https:\/\//i.test(logoUrl)) return '';
  return `<img src="${escapeHtml(logoUrl)}" alt="${escapeHtml(oneLine(senderName))}" class="mw-logo" style="display:block;max-width:100%;max-height:48px;margin:0 0 24px;border:0">\n`;
}
