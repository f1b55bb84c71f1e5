import { counted } from '#kernel';
import { escapeHtml } from '../merge/html-escape.js';

export interface OptInMailInput {
  readonly projectName: string;
  readonly senderName: string;
  readonly postalAddress: string;
  /** What the person asked to receive; at least one. */
  readonly topicNames: readonly string[];
  /** http(s) address of the page that confirms. */
  readonly confirmUrl: string;
  readonly expiresInHours: number;
}

/** A mail whose parts are final: they are no templates. */
export interface FinishedMail {
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
  const subject = oneLine(`Please confirm your subscription to ${input.projectName}`);
  return { subject, html: htmlPart(input, subject), text: textPart(input) };
}

const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();

function wording(input: OptInMailInput) {
  return {
    asked: `Someone, most likely you, asked ${oneLine(input.projectName)} to send you mail about:`,
    confirm: `To receive it, please confirm that this is your address. The link works for ${counted(input.expiresInHours, 'hour')}.`,
    ignore: 'If you did not ask for this, do nothing: you will not be subscribed.',
  };
}

function textPart(input: OptInMailInput): string {
  const { asked, confirm, ignore } = wording(input);
  const topics = input.topicNames.map((name) => `- ${oneLine(name)}`).join('\n');
  const sender = `${oneLine(input.senderName)}\n${input.postalAddress.trim()}`;
  return `${asked}\n\n${topics}\n\n${confirm}\n\nConfirm: ${input.confirmUrl}\n\n${ignore}\n\n--\n${sender}\n`;
}

const FONT =
  "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5";

function htmlPart(input: OptInMailInput, subject: string): string {
  const { asked, confirm, ignore } = wording(input);
  const topics = input.topicNames.map((name) => `<li dir="auto">${escapeHtml(oneLine(name))}</li>`).join('');
  const address = [input.senderName, ...input.postalAddress.split(/\r?\n/)].map((line) =>
    escapeHtml(oneLine(line)),
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(subject)}</title>
<style>@media (prefers-color-scheme: dark) { .mw-page { background-color: #16181c !important; } .mw-text { color: #f1f3f5 !important; } }</style>
</head>
<body class="mw-page" style="margin:0;padding:0;background-color:#ffffff">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr><td align="center" style="padding:24px">
<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="width:100%;max-width:600px"><tr><td class="mw-text" style="${FONT};color:#1f2933;text-align:left">
<h1 style="margin:0 0 16px;font-size:24px;line-height:1.25">Please confirm your subscription</h1>
<p style="margin:0 0 16px">${escapeHtml(asked)}</p>
<ul style="margin:0 0 16px;padding-left:24px">${topics}</ul>
<p style="margin:0 0 24px">${escapeHtml(confirm)}</p>
<table role="presentation" cellpadding="0" cellspacing="0" border="0"><tr><td style="border-radius:6px;background-color:#0b57d0">
<a href="${escapeHtml(input.confirmUrl)}" style="display:inline-block;padding:14px 28px;${FONT};font-weight:600;color:#ffffff;text-decoration:none">Confirm subscription</a>
</td></tr></table>
<p style="margin:24px 0 16px">${escapeHtml(ignore)}</p>
<p dir="auto" style="margin:32px 0 0">${address.filter((line) => line !== '').join('<br>')}</p>
</td></tr></table>
</td></tr></table>
</body>
</html>
`;
}
