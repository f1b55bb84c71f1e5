import { z } from 'zod';
import type { BounceClass } from '../../bounces/bounce-rule.js';
import { classifyRefusal } from '../../bounces/bounce-class.js';
import { refusalOf } from '../../bounces/refusal-text.js';
import { type FeedbackFact, UnreadableFeedbackError } from './feedback.js';

const MAX_ID = 255;
/** As much of a server's words as is looked at, and kept: a body of 1 MB would take 60 ms of CPU otherwise. */
const MAX_WORDS = 500;
/** What the database takes for no text, and no id or address has. */
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

/** The same; null when it is missing, or no such thing. */
export const shortField = shortText.nullable().catch(null);

/** Our own token (`MailForRelay.token`); null when it is missing, or what came is none. */
export const tokenField = z
  .string()
  .regex(/^[\w+.-]{1,64}$/)
  .nullable()
  .catch(null);

/** Any text; empty when it is missing. */
export const textField = z.string().catch('');

/** A list of at most so many elements, of which those that are none are left out. */
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

/** The same; empty when it is missing, or too long. */
export function listField<Element>(element: z.ZodType<Element>, most: number): z.ZodType<Element[]> {
  return listOf(element, most).catch([]);
}

/** The JSON of this form that a body holds. Throws `UnreadableFeedbackError` when it holds none: it must be what `inWords` says. */
export function readJson<Shape>(
  body: Buffer,
  shape: z.ZodType<Shape>,
  inWords = 'what the provider sends',
): Shape {
  const value = jsonOf(body.toString(), shape);
  if (value === null) throw new UnreadableFeedbackError(`must be ${inWords}`);
  return value;
}

/** The JSON of this form that a text holds, else null. */
export function jsonOf<Shape>(text: string, shape: z.ZodType<Shape>): Shape | null {
  try {
    return shape.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** What an event tells of a refusal. */
export interface ToldRefusal {
  /** The server's words, with a diagnostic type in front or not. */
  readonly words: string;
  /** Basic code, where the event has it beside the words. */
  readonly code?: number | undefined;
  readonly enhancedCode?: string | null;
}

/** A bounce, its class said by `decide`, which is given what the table of bounces makes of the server's words. */
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
