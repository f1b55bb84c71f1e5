import { domainToASCII } from 'node:url';
import type { MailBody } from '#kernel';
import type { Capabilities } from './capabilities.js';
import type { OutgoingMessage, SmtpReply, SmtpStage } from './mail-transport.js';

/** The commands that open a transaction. */
export interface Envelope {
  readonly mail: string;
  readonly rcpt: string;
}

/** Why a message cannot be given to this relay at all; nothing was sent. */
interface EnvelopeRefusal {
  readonly reply: SmtpReply;
  readonly stage: SmtpStage;
}

/** MAIL and RCPT for a message (RFC 5321 §4.1.1.2–3), with the parameters that the relay offered and the message needs. */
export function envelopeFor(
  message: OutgoingMessage,
  body: MailBody,
  relay: Capabilities,
): Envelope | EnvelopeRefusal {
  const from = wireAddress(message.envelopeFrom);
  const to = wireAddress(message.envelopeTo);
  if (from === null) return refusal('mail', 501, '5.1.7', 'The return path is no address.');
  if (to === null || to === '') return refusal('rcpt', 501, '5.1.3', 'The recipient is no address.');
  const parameters: string[] = [];
  if (relay.size !== null) {
    if (relay.size > 0 && body.size > relay.size) {
      return refusal('mail', 552, '5.3.4', `The relay takes at most ${relay.size} octets.`);
    }
    parameters.push(` SIZE=${body.size}`);
  }
  // RFC 6531 §3.4: what is not ASCII in the envelope or in the headers.
  if (!isAscii(from) || !isAscii(to) || !body.hasAsciiHeaders) {
    if (!relay.smtpUtf8) return withoutSmtpUtf8(isAscii(to));
    parameters.push(' SMTPUTF8');
  }
  if (!body.isAscii) {
    if (!relay.eightBitMime) return refusal('mail', 554, '5.6.3', 'The relay takes no 8-bit content.');
    parameters.push(' BODY=8BITMIME');
  }
  return { mail: `MAIL FROM:<${from}>${parameters.join('')}\r\n`, rcpt: `RCPT TO:<${to}>\r\n` };
}

/** With the codes of RFC 6531 §3.7.4.2. */
function withoutSmtpUtf8(isAsciiRecipient: boolean): EnvelopeRefusal {
  if (!isAsciiRecipient)
    return refusal('rcpt', 553, '5.6.7', 'The relay takes no internationalised addresses.');
  const why = 'The relay takes no internationalised headers (SMTPUTF8), as this sender’s address needs them.';
  return refusal('mail', 550, '5.6.9', why);
}

function refusal(stage: SmtpStage, code: number, enhancedCode: string, text: string): EnvelopeRefusal {
  return { stage, reply: { code, enhancedCode, text } };
}

/**
 * The address as a command may carry it, the domain as A-labels, so that only a local part outside ASCII
 * needs SMTPUTF8 (RFC 6531 §3.2). Null when it could break out of the command.
 */
function wireAddress(address: string): string | null {
  if (/[<>]/.test(address) || hasControlCharacter(address)) return null;
  if (isAscii(address)) return address;
  const at = address.lastIndexOf('@');
  const domain = domainToASCII(address.slice(at + 1));
  return at < 1 || domain === '' ? null : `${address.slice(0, at)}@${domain}`;
}

function hasControlCharacter(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x20 || unit === 0x7f) return true;
  }
  return false;
}

function isAscii(text: string): boolean {
  return !/[\u0080-\uffff]/.test(text);
}
