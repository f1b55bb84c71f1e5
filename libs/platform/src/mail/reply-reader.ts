import { enhancedCodeOf, withoutEnhancedCode } from './enhanced-code.js';
import type { SmtpReply } from './mail-transport.js';

/** A reply is at most a few lines of 512 octets (RFC 5321 §4.5.3.1.5); this only stops a relay that never ends one. */
const MAX_REPLY_OCTETS = 65_536;
const LINE = /^([2-5]\d\d)(?:([ -])(.*))?$/;

/** The peer does not speak SMTP. */
export class SmtpProtocolError extends Error {}

/** Cuts the relay's octets into replies, multi-line ones included (RFC 5321 §4.2.1). */
export class ReplyReader {
  #rest = '';
  #lines: string[] = [];
  #octets = 0;

  /** The replies that this chunk completes. Throws SmtpProtocolError on anything that is no reply. */
  push(chunk: Buffer): SmtpReply[] {
    const parts = (this.#rest + chunk.toString('latin1')).split('\n');
    this.#rest = parts.pop() ?? '';
    this.#octets += chunk.length;
    const replies: SmtpReply[] = [];
    for (const part of parts) {
      const reply = this.#line(part.endsWith('\r') ? part.slice(0, -1) : part);
      if (reply !== null) replies.push(reply);
    }
    if (replies.length > 0) this.#octets = this.#rest.length;
    if (this.#octets > MAX_REPLY_OCTETS) throw new SmtpProtocolError('The relay sent a reply without end.');
    return replies;
  }

  #line(line: string): SmtpReply | null {
    const match = LINE.exec(line);
    if (match === null) throw new SmtpProtocolError('The relay sent a line that is no SMTP reply.');
    this.#lines.push(match[3] ?? '');
    if (match[2] === '-') return null;
    const reply = replyOf(Number(match[1]), this.#lines);
    this.#lines = [];
    return reply;
  }
}

function replyOf(code: number, lines: string[]): SmtpReply {
  let enhancedCode: string | null = null;
  for (const line of lines) enhancedCode ??= enhancedCodeOf(code, line);
  return { code, enhancedCode, text: lines.map(readable).filter(Boolean).join(' ') };
}

/** Replies are ASCII or, in practice, UTF-8; what is neither stays as Latin-1. A database takes no NUL for text. */
function readable(line: string): string {
  return decoded(withoutEnhancedCode(line)).replaceAll(/\p{Cc}/gu, ' ');
}

function decoded(text: string): string {
  if (!/[\x80-\xff]/.test(text)) return text;
  const utf8 = Buffer.from(text, 'latin1').toString('utf8');
  return utf8.includes('\uFFFD') ? text : utf8;
}
