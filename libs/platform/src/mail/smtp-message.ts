import { isAscii as hasOnlyAscii } from 'node:buffer';
import { domainToASCII } from 'node:url';
import { type MailBody, type Octets, octetsOf, sizeOf } from '#kernel';
import type { OutgoingMessage, SmtpReply, SmtpStage } from './mail-transport.js';

const CR = 0x0d;
const LF = 0x0a;
const DOT = 0x2e;
const END_OF_DATA = '.\r\n';

/** The body with bare CR and LF as CRLF, so that no message can end itself early, here or at a later relay (SMTP smuggling). */
export function bodyOf(raw: Buffer): MailBody {
  // A string is searched much faster than a buffer, the conversion included.
  const text = raw.toString('latin1');
  const isCanonical = !hasBareLineBreak(text);
  const message = isCanonical ? raw : Buffer.from(text.replaceAll(/\r\n|\r|\n/g, '\r\n'), 'latin1');
  const ends = message.length === 0 || message[message.length - 1] === LF;
  const ascii = hasOnlyAscii(raw);
  const pieces = ends ? [message] : [message, '\r\n'];
  return {
    pieces,
    size: sizeOf(pieces),
    isAscii: ascii,
    hasAsciiHeaders: ascii || hasOnlyAscii(headersOf(message)),
    hasDots: message[0] === DOT || !isCanonical || text.includes('\n.'),
  };
}

/** The octets for DATA: dot-stuffed, with the line `.` that ends it (RFC 5321 §4.5.2). */
export function dataOf(body: MailBody): readonly Octets[] {
  return (body.hasDots ? doubled(octetsOf(body)) : body.pieces).concat(END_OF_DATA);
}

function headersOf(message: Buffer): Buffer {
  const end = message.indexOf('\r\n\r\n');
  return end === -1 ? message : message.subarray(0, end);
}

function hasBareLineBreak(text: string): boolean {
  let pairs = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    if (text.charCodeAt(at - 1) !== CR) return true;
    pairs++;
  }
  for (let at = text.indexOf('\r'); at !== -1; at = text.indexOf('\r', at + 1)) pairs--;
  return pairs !== 0;
}

/** The message cut before each dot that has to be doubled. */
function doubled(message: Buffer): Octets[] {
  const pieces: Octets[] = [];
  let from = 0;
  if (message[0] === DOT) pieces.push('.');
  for (let at = message.indexOf('\n.'); at !== -1; at = message.indexOf('\n.', at + 1)) {
    pieces.push(message.subarray(from, at + 1), '.');
    from = at + 1;
  }
  pieces.push(message.subarray(from));
  return pieces;
}

/** Extensions that a relay offered in its EHLO reply, as far as we use them. */
export interface Capabilities {
  /** RFC 2920. */
  readonly pipelining: boolean;
  /** RFC 3030: takes messages by BDAT, which is not used. */
  readonly chunking: boolean;
  /** RFC 6152. */
  readonly eightBitMime: boolean;
  /** RFC 6531. */
  readonly smtpUtf8: boolean;
  /** RFC 1870: the largest message in octets, 0 where the relay sets no limit, null where SIZE is not offered. */
  readonly size: number | null;
}

/** Reads the last reply of a session's opening; anything but an EHLO reply (after HELO, say) offers nothing. */
export function capabilitiesOf(ehloReply: string): Capabilities {
  const offered = new Map<string, string>();
  for (const line of ehloReply.split(/\r?\n/).slice(1)) {
    const match = /^250[ -]([A-Za-z0-9][A-Za-z0-9-]*)(?:[ \t]+(.*))?$/.exec(line.trim());
    if (match?.[1] !== undefined) offered.set(match[1].toUpperCase(), match[2] ?? '');
  }
  const size = offered.get('SIZE');
  return {
    pipelining: offered.has('PIPELINING'),
    chunking: offered.has('CHUNKING'),
    eightBitMime: offered.has('8BITMIME'),
    smtpUtf8: offered.has('SMTPUTF8'),
    size: size === undefined ? null : Number(/^\d+/.exec(size)?.[0] ?? 0),
  };
}

/** The commands that open a transaction. */
export interface Envelope {
  readonly mail: string;
  readonly rcpt: string;
}

/** Reason why a message cannot be given to this relay at all; nothing was sent. */
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

/** Refusal with the codes of RFC 6531 §3.7.4.2. */
function withoutSmtpUtf8(isAsciiRecipient: boolean): EnvelopeRefusal {
  if (!isAsciiRecipient)
    return refusal('rcpt', 553, '5.6.7', 'The relay takes no internationalised addresses.');
  const why = 'The relay takes no internationalised headers (SMTPUTF8), as this sender’s address needs them.';
  return refusal('mail', 550, '5.6.9', why);
}

function refusal(stage: SmtpStage, code: number, enhancedCode: string, text: string): EnvelopeRefusal {
  return { stage, reply: { code, enhancedCode, text } };
}

/** The address for a command, its domain as A-labels (RFC 6531 §3.2); null when it could break out of the command. */
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
