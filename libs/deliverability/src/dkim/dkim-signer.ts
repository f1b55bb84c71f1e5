import { createHash, sign } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { joinOctets, type Octets, sizeOf } from '#kernel';
import {
  type HeaderField,
  headerFields,
  RelaxedBodyHash,
  relaxedBodyHash,
  relaxedField,
  UnsignableMessageError,
} from './canonical-form.js';
import type { SigningKey } from './dkim-key.js';

/**
 * Lets so many signatures be made at once. libuv's threads serve files and look-ups of host names too: whatever stood
 * behind a batch of a hundred signatures in its queue would wait for all of them.
 */
export class SigningTurns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(parallel: number) {
    this.#free = parallel;
  }

  async take<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

/**
 * Signed fields, as far as a message has them (RFC 6376 §5.4.1). Mailbox providers take a one-click unsubscription for
 * the sender's only when both its fields are signed (RFC 8058 §4).
 */
const SIGNED = [
  'From',
  'To',
  'Cc',
  'Subject',
  'Date',
  'Message-ID',
  'Reply-To',
  'MIME-Version',
  'List-Id',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'Feedback-ID',
];
const SIGNED_KEYS = new Set(SIGNED.map((name) => name.toLowerCase()));

/**
 * Named once more than they occur, so that nobody can add another one that a reader, or the program that parses the
 * body or unsubscribes, would take for ours (RFC 6376 §8.15). They are fields that a message has once at most (RFC 5322
 * §3.6, RFC 2045 §4, RFC 2369 §2), so nobody on the way has a reason to add one.
 */
const SEALED = [
  'From',
  'To',
  'Cc',
  'Subject',
  'Date',
  'Reply-To',
  'MIME-Version',
  'Content-Type',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
];

export interface SignedHeaders {
  /** The names for `h=`. */
  readonly names: readonly string[];
  /** The fields in the order of their names, the last of a name first (RFC 6376 §5.4.2). */
  readonly fields: readonly HeaderField[];
}

/** The fields of a message that its signature covers, `Content-*` included, except those that are replaced on the way. */
export function signedHeaders(fields: readonly HeaderField[], replaced: readonly string[]): SignedHeaders {
  const isKept = (key: string) => !replaced.includes(key);
  const signed = fields
    .filter(({ key }) => (SIGNED_KEYS.has(key) || key.startsWith('content-')) && isKept(key))
    .toReversed();
  const sealed = SEALED.filter((name) => isKept(name.toLowerCase()));
  return { names: [...signed.map(({ name }) => name), ...sealed], fields: signed };
}

/** A signer, with one key or several. */
export interface DkimIdentity {
  /** `d=`, as A-labels: the domain of From or one above it, so that DMARC aligns. */
  readonly domain: string;
  /** At least one. */
  readonly keys: readonly SigningKey[];
  /** Fields, in lower case, that the next hop replaces, and that are therefore not signed. */
  readonly replaced?: readonly string[];
}

const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_LIMIT = 76;
const SIGNATURE_LINE = 72;
const IN_HAND = 16;

/** The common part of all signatures of a message. */
interface Digest {
  readonly bodyHash: string;
  readonly names: readonly string[];
  /** The signed fields in relaxed form, each with its line end. */
  readonly canonical: string;
}

/**
 * Signs messages (RFC 6376, relaxed/relaxed, the whole body). The private key works on libuv's threads, so that the
 * event loop goes on; canonicalising and hashing take some 0.05 ms for 10 KB.
 */
export class DkimSigner {
  readonly #turns: SigningTurns;

  /**
   * @param parallel how many signatures are in hand at once. More than libuv has threads (UV_THREADPOOL_SIZE, 4), so
   * that none of them waits for the event loop; few, so that a file's or a host name's look-up waits some ms at most.
   */
  constructor(parallel = IN_HAND) {
    this.#turns = new SigningTurns(parallel);
  }

  /**
   * A DKIM-Signature field for each key, to stand before the message. Never none: rejects instead.
   * @param message pieces of it: RFC 5322, CRLF line ends only; its header section is in the first one
   * @throws {UnsignableMessageError} when the message has no From or its header section cannot be read
   */
  async sign(
    message: readonly Octets[],
    { domain, keys, replaced = [] }: DkimIdentity,
    signedAt: Date,
  ): Promise<string> {
    if (keys.length === 0) throw new RangeError('A signature needs a key.');
    const size = sizeOf(message);
    const digest =
      size > LARGE
        ? await digestOfLarge(message, replaced)
        : digestOf(joinOctets(message, Buffer.allocUnsafe(size)), replaced);
    const seconds = Math.floor(signedAt.getTime() / 1_000);
    const signatures = await Promise.all(keys.map((key) => this.#signature(digest, domain, key, seconds)));
    return signatures.join('');
  }

  async #signature(digest: Digest, domain: string, key: SigningKey, seconds: number): Promise<string> {
    const unsigned = unsignedField(digest, domain, key, seconds);
    const value = unsigned.slice(unsigned.indexOf(':') + 1);
    const canonical = relaxedField({ key: 'dkim-signature', value });
    const signed = Buffer.from(digest.canonical + canonical, 'latin1');
    const signature = await this.#turns.take(() => signatureOf(signed, key));
    return `${unsigned}${folded(signature.toString('base64'))}\r\n`;
  }
}

/** Octets from which a message is hashed piece by piece, neither copied nor in one go. */
const LARGE = 262_144;

function digestOf(message: Buffer, replaced: readonly string[]): Digest {
  const bodyAt = endOfHead(message);
  return {
    bodyHash: relaxedBodyHash(message.subarray(bodyAt)),
    ...digestOfHead(message, bodyAt, replaced),
  };
}

async function digestOfLarge(message: readonly Octets[], replaced: readonly string[]): Promise<Digest> {
  const [begin = '', ...rest] = message;
  const first = octets(begin);
  const bodyAt = endOfHead(first);
  const head = digestOfHead(first, bodyAt, replaced);
  const body = new RelaxedBodyHash();
  body.update(first.subarray(bodyAt));
  let unbroken = 0;
  for (const piece of rest) {
    body.update(octets(piece));
    unbroken += piece.length;
    if (unbroken < LARGE) continue;
    await nextTurn();
    unbroken = 0;
  }
  return { bodyHash: body.digest(), ...head };
}

const octets = (piece: Octets): Buffer => (typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece);

function endOfHead(message: Buffer): number {
  const end = message.indexOf(HEAD_END);
  if (end < 0) throw new UnsignableMessageError('The message has no end of its header section.');
  return end + HEAD_END.length;
}

function digestOfHead(
  message: Buffer,
  bodyAt: number,
  replaced: readonly string[],
): Omit<Digest, 'bodyHash'> {
  const head = message.toString('latin1', 0, bodyAt - HEAD_END.length);
  const { names, fields } = signedHeaders(headerFields(head), replaced);
  if (!fields.some(({ key }) => key === 'from')) throw new UnsignableMessageError('The message has no From.');
  return { names, canonical: fields.map((field) => `${relaxedField(field)}\r\n`).join('') };
}

/** The field up to the value of `b=`, folded. */
function unsignedField(
  { bodyHash, names }: Digest,
  domain: string,
  { algorithm, selector }: SigningKey,
  seconds: number,
): string {
  const list = names.reduce((lines, name) => {
    const column = lines.length - lines.lastIndexOf('\n') - 1;
    return `${lines}${column + name.length + 1 > LINE_LIMIT ? '\r\n ' : ''}${name}:`;
  }, ' h=');
  return [
    `DKIM-Signature: v=1; a=${algorithm}; c=relaxed/relaxed; d=${domain};`,
    ` s=${selector}; t=${seconds};`,
    `${list.slice(0, -1)};`,
    ` bh=${bodyHash};`,
    ' b=',
  ].join('\r\n');
}

/** Blanks in a signature are not part of it (RFC 6376 §3.5). */
function folded(base64: string): string {
  let lines = base64.slice(0, SIGNATURE_LINE);
  for (let at = SIGNATURE_LINE; at < base64.length; at += SIGNATURE_LINE)
    lines += `\r\n ${base64.slice(at, at + SIGNATURE_LINE)}`;
  return lines;
}

function signatureOf(signed: Buffer, { algorithm, key }: SigningKey): Promise<Buffer> {
  // RFC 8463 §3: Ed25519 signs the SHA-256 of what RSA would hash itself.
  return algorithm === 'ed25519-sha256'
    ? signOnPool(null, createHash('sha256').update(signed).digest(), key)
    : signOnPool('sha256', signed, key);
}

function signOnPool(algorithm: string | null, data: Buffer, key: SigningKey['key']): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // The callback makes Node sign on libuv's threads.
    sign(algorithm, data, key, (error, signature) => {
      if (error === null) resolve(signature);
      else reject(error);
    });
  });
}
