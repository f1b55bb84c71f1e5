import { KNOWN_AGENTS } from './known-agents.js';
import type { AgentKind, Classification } from '../events/tracked-event.js';

const PEOPLE: readonly (readonly [pattern: RegExp, kind: AgentKind])[] = [
  [/\b(?:iPhone|iPad|iPod)\b/, 'apple'],
  [/\bAndroid\b/, 'android'],
  [/\b(?:Microsoft Outlook|MSOffice|ms-office)\b/i, 'outlook'],
  [/\b(?:Windows NT|Macintosh|X11|CrOS)\b/, 'desktop'],
];

/** What kind of program a user agent is. */
export function kindOfAgent(userAgent: string | undefined): AgentKind {
  const text = userAgent ?? '';
  const known = KNOWN_AGENTS.find(({ pattern }) => pattern.test(text));
  return known?.classification ?? PEOPLE.find(([pattern]) => pattern.test(text))?.[1] ?? 'other';
}

/** Who uses a program; null where it does not tell. */
export function classificationOf(kind: AgentKind): Classification | null {
  return kind === 'proxy' || kind === 'scanner' ? kind : null;
}
