import { hash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { BounceClass } from '../../bounces/bounce-class.js';
import { classifyRefusal, refusalOf } from '../../bounces/refusal.js';
import { type FeedbackEvent, type FeedbackFact, UnreadableFeedbackError } from './kind.js';

const MAX_ID = 255;
/** Characters of a server's words that are read and kept, so that a body of 1 MB costs little CPU. */
const MAX_WORDS = 500;
/** Characters that the database refuses in text, and no id or address has. */
const CONTROL = /\p{Cc}/gu;
/** `smtp; 550 …`: the type of a diagnostic code (RFC 3464 §2.3.6). */
const DIAGNOSTIC_TYPE = /^[\w.-]{1,40}\s{0,9};\s{0,9}/;
const ENHANCED_CODE = /^[245]\.\d{1,3}\.\d{1,3}$/;

/** An id, an address or a word, not longer than any is. */
export const shortText = z
  .string()
  .min(1)
  .max(MAX_ID)
  .refine((text) => text.isWellFormed() && text.search(CONTROL) === -1);

/** The same; null if missing or malformed. */
export const shortField = shortText.nullable().catch(null);

/** Our own token (`MailForRelay.token`); null if missing or malformed. */
export const tokenField = z
  .string()
  .regex(/^[\w+.-]{1,64}$/)
  .nullable()
  .catch(null);

/** Any text; empty if missing. */
export const textField = z.string().catch('');

/** A list of at most so many elements; malformed ones are left out. */
export function listOf<Element>(element: z.ZodType<Element>, most: number): z.ZodType<Element[]> {
  return z
    .array(z.unknown())
    .max(most)
    .transform((items) =>
      items.flatMap((item) => {
        const { success, data } = element.safeParse(item);
        return success ? [data] : [];
      }),
    );
}

/** The same; empty if missing or too long. */
export function listField<Element>(element: z.ZodType<Element>, most: number): z.ZodType<Element[]> {
  return listOf(element, most).catch([]);
}

/** Parses a body of JSON. Throws `UnreadableFeedbackError` unless it has this shape, which `inWords` describes. */
export function readJson<Shape>(
  body: Buffer,
  shape: z.ZodType<Shape>,
  inWords = 'what the provider sends',
): Shape {
  const value = jsonOf(body.toString(), shape);
  if (value === null) throw new UnreadableFeedbackError(`must be ${inWords}`);
  return value;
}

/** Parses JSON; null unless it has this shape. */
export function jsonOf<Shape>(text: string, shape: z.ZodType<Shape>): Shape | null {
  try {
    return shape.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** The event of a fact, with its mail's token, id and address; none without a fact. */
export function eventsOf(
  fact: FeedbackFact | null,
  mail: Pick<FeedbackEvent, 'token' | 'providerMessageId' | 'address'>,
): FeedbackEvent[] {
  return fact === null ? [] : [{ ...fact, ...mail }];
}

/** A refusal as an event describes it. */
interface ToldRefusal {
  /** The server's words, perhaps with a diagnostic type in front. */
  readonly words: string;
  /** Basic code, if the event has it apart from the words. */
  readonly code?: number | undefined;
  readonly enhancedCode?: string | null;
}

/** A bounce; `decide` gets the class that the bounce table finds for the server's words, and says the final one. */
export function bounceOf(told: ToldRefusal, decide: (byWords: BounceClass) => BounceClass): FeedbackFact {
  const words = told.words.replace(DIAGNOSTIC_TYPE, '').slice(0, MAX_WORDS);
  const status =
    told.enhancedCode != null && ENHANCED_CODE.test(told.enhancedCode) ? told.enhancedCode : null;
  const refusal = refusalOf(words, status);
  const told45 = told.code !== undefined && told.code >= 400 && told.code < 600 ? told.code : 0;
  const code = refusal.code === 0 ? told45 : refusal.code;
  return {
    kind: 'bounce',
    class: decide(classifyRefusal({ ...refusal, code })),
    basicCode: code === 0 ? null : code,
    enhancedCode: refusal.enhancedCode,
    excerpt: excerptOf(words),
  };
}

function excerptOf(words: string): string | null {
  const text = words.replaceAll(CONTROL, ' ').trim().toWellFormed();
  return text === '' ? null : text;
}

/** Compares in a time that depends on neither the common prefix nor the length of the secret. */
export function sameSecret(given: string, secret: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', secret, 'buffer'));
}

const MAX_AHEAD_MS = 5 * 60_000;

/** True if a request was signed at most `maxAgeMs` ago, and not in the future but for clocks that differ. */
export function isRecent(signedAtSeconds: number, receivedAt: Date, maxAgeMs: number): boolean {
  const age = receivedAt.getTime() - signedAtSeconds * 1_000;
  return age <= maxAgeMs && age >= -MAX_AHEAD_MS;
}
