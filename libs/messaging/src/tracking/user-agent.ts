import { KNOWN_AGENTS } from './known-agents.js';
import type { AgentKind, Classification } from './tracked-event.js';

export interface JudgedAgent {
  readonly kind: AgentKind;
  /** Null where the program does not tell who uses it. */
  readonly classification: Classification | null;
}

const PEOPLE: readonly (readonly [pattern: RegExp, kind: AgentKind])[] = [
  [/\b(?:iPhone|iPad|iPod)\b/, 'apple'],
  [/\bAndroid\b/, 'android'],
  [/\b(?:Microsoft Outlook|MSOffice|ms-office)\b/i, 'outlook'],
  [/\b(?:Windows NT|Macintosh|X11|CrOS)\b/, 'desktop'],
];

/** Judges a program by its user agent. */
export function judgeAgent(userAgent: string | undefined): JudgedAgent {
  const text = userAgent ?? '';
  const known = KNOWN_AGENTS.find(({ pattern }) => pattern.test(text));
  if (known !== undefined) return { kind: known.classification, classification: known.classification };
  const kind = PEOPLE.find(([pattern]) => pattern.test(text))?.[1] ?? 'other';
  return { kind, classification: null };
}
