import { createHash, randomUUID } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';
import { LargeText, unescapedText } from '#kernel';
import { memberPath } from './body-parsers.js';

/** Texts of a JSON body that are taken out of it while it arrives. */
export interface LargeTexts {
  /** The member that holds one. */
  readonly member: string;
  /** Paths at which an operation takes one as a `LargeText`; elsewhere it is a string. */
  readonly at: RegExp;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while a body with large texts is read. */
    largeTexts: LargeTextFilter | null;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Octets that are passed on at least before a text that is looked for: its name. */
const TAIL = 64;
const NOTHING = Buffer.alloc(0);

interface Collected {
  readonly parts: Buffer[];
  readonly hash: ReturnType<typeof createHash>;
}

/**
 * Passes a JSON body on with a short text in place of each text of `member`, and keeps those as they came: none of them is joined,
 * decoded or parsed in one go, so that the event loop goes on and memory is taken once.
 */
export class LargeTextFilter extends Transform {
  /** Octets that came, which Fastify compares with Content-Length and the limit. */
  receivedEncodedLength = 0;
  readonly #texts: LargeText[] = [];
  /** Nobody can write a text that looks like one of ours. */
  readonly #mark = `${randomUUID()}:`;
  readonly #opening: RegExp;
  /** Within a text: null of one that is passed on. Undefined outside of texts. */
  #within: Collected | null | undefined;
  /** An escape whose end has not come. */
  #rest: Buffer = NOTHING;
  /** Latin-1. */
  #tail = '';

  constructor(
    private readonly options: LargeTexts,
    private readonly limit: number,
  ) {
    super();
    this.#opening = new RegExp(`"${options.member}"[ \\t\\r\\n]*:[ \\t\\r\\n]*"$`);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.receivedEncodedLength += chunk.length;
    if (this.receivedEncodedLength > this.limit) {
      // Its reader looks at the length with the next octet.
      this.#within = undefined;
      this.push(' ');
      return done();
    }
    const octets = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = NOTHING;
    for (let at = 0; at < octets.length;)
      at = this.#within === undefined ? this.#outside(octets, at) : this.#inside(octets, at);
    done();
  }

  /** Puts the texts back into the parsed body. @throws where one is no text of JSON */
  restored(body: unknown): unknown {
    if (this.#texts.length === 0) return body;
    const root = { body };
    const open: { readonly holder: Record<string, unknown>; readonly path: string }[] = [
      { holder: root, path: '' },
    ];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { holder, path } = next;
      for (const [name, value] of Object.entries(holder)) {
        const at = holder === root ? '' : memberPath(path, name, Array.isArray(holder));
        if (typeof value === 'string' && value.startsWith(this.#mark)) {
          const text = this.#texts[Number(value.slice(this.#mark.length))]!;
          holder[name] = this.options.at.test(at) ? text : text.toString();
        } else if (typeof value === 'object' && value !== null)
          open.push({ holder: value as Record<string, unknown>, path: at });
      }
    }
    return root.body;
  }

  #outside(octets: Buffer, at: number): number {
    const quote = octets.indexOf(QUOTE, at);
    const end = quote === -1 ? octets.length : quote + 1;
    this.#pass(octets.subarray(at, end));
    if (quote !== -1)
      this.#within = this.#opening.test(this.#tail) ? { parts: [], hash: createHash('sha256') } : null;
    return end;
  }

  #inside(octets: Buffer, at: number): number {
    const quote = endOfText(octets, at);
    const end = quote === -1 ? octets.length - openEscape(octets, at) : quote;
    const part = octets.subarray(at, end);
    const text = this.#within!;
    if (text === null) this.#pass(part);
    else if (part.length > 0) {
      text.parts.push(part);
      if (part.includes(BACKSLASH)) text.hash.update(unescapedText(part) ?? '', 'latin1');
      else text.hash.update(part);
    }
    if (quote === -1) {
      this.#rest = octets.subarray(end);
      return octets.length;
    }
    if (text !== null) {
      this.push(this.#mark + String(this.#texts.length));
      this.#texts.push(new LargeText(text.parts, text.hash.digest('base64')));
    }
    this.#pass(octets.subarray(quote, quote + 1));
    this.#within = undefined;
    return quote + 1;
  }

  #pass(octets: Buffer): void {
    if (octets.length === 0) return;
    this.push(octets);
    this.#tail = (this.#tail + octets.toString('latin1', Math.max(0, octets.length - TAIL))).slice(-TAIL);
  }
}

/** The place of the quote that ends a text; -1 where it has not come. */
function endOfText(octets: Buffer, from: number): number {
  for (let at = octets.indexOf(QUOTE, from); at !== -1; at = octets.indexOf(QUOTE, at + 1))
    if (backslashesBefore(octets, at, from) % 2 === 0) return at;
  return -1;
}

/** Octets of an escape at the end whose last ones have not come. */
function openEscape(octets: Buffer, from: number): number {
  const at = octets.lastIndexOf(BACKSLASH);
  if (at < from || octets.length - at >= 6 || backslashesBefore(octets, at, from) % 2 === 1) return 0;
  const isByNumber = octets[at + 1] === 0x75;
  return octets.length - at === 1 || isByNumber ? octets.length - at : 0;
}

function backslashesBefore(octets: Buffer, end: number, from: number): number {
  let at = end;
  while (at > from && octets[at - 1] === BACKSLASH) at -= 1;
  return end - at;
}
