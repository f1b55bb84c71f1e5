import type { DeliveryKind, MailLinks } from '../../deliveries/delivery.js';

/** A mail of the test environment, as a list shows it. */
export interface TestInboxMessage {
  readonly id: string;
  readonly to: string;
  readonly from: string;
  readonly subject: string;
  readonly kind: DeliveryKind;
  readonly receivedAt: Date;
  readonly links: MailLinks;
}

/** The same with what its reader sees and the headers as they are on the wire, unfolded. */
export interface OpenedTestInboxMessage extends TestInboxMessage {
  readonly html: string;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Reads the raw message (RFC 5322) and puts its parts beside the summary. */
export async function openMessage(summary: TestInboxMessage, raw: Buffer): Promise<OpenedTestInboxMessage> {
  const { default: PostalMime } = await import('postal-mime');
  const parsed = await PostalMime.parse(raw);
  return { ...summary, html: parsed.html ?? '', text: parsed.text ?? '', headers: headersOf(raw) };
}

/** Names as they were sent; of a repeated header all values, a line each. */
function headersOf(raw: Buffer): Record<string, string> {
  const text = raw.toString('utf8');
  const end = text.indexOf('\r\n\r\n');
  const headers: Record<string, string> = {};
  for (const line of text
    .slice(0, end === -1 ? undefined : end)
    .replaceAll(/\r\n(?=[ \t])/g, '')
    .split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon < 1) continue;
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}\n${value}`;
  }
  return headers;
}
