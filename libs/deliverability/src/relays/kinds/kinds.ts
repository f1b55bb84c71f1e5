import type { RelayKind } from '../relay-terms.js';
import type { RelayKindRules } from './kind.js';
import { smtpKind } from './smtp/smtp-kind.js';

// The folders of the other kinds come with the branches that build them.
const KINDS: Partial<Readonly<Record<RelayKind, RelayKindRules>>> = { SMTP: smtpKind };

export function kindRules(kind: RelayKind): RelayKindRules {
  const rules = KINDS[kind];
  if (rules === undefined) throw new RangeError(`There are no rules of ${kind}.`);
  return rules;
}
