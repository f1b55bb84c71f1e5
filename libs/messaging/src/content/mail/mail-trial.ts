import { LRUCache } from 'lru-cache';
import { compileWithEngine } from '../merge/merge-engine.js';
import type { LogicSources } from '../merge/merge-review.js';
import { templatePieces } from '../merge/merge-tags.js';
import type { MergeValues } from '../merge/merge-values.js';
import { cpuMs, LONGEST_PART } from './mail-renderer.js';

/** The parts of a message; `key` names them. */
export interface TrialParts extends LogicSources {
  readonly key: string;
}

export interface TrialInput {
  readonly parts: TrialParts;
  /** Values of one message each. */
  readonly values: readonly MergeValues[];
  /** CPU time after which no further message's is begun. */
  readonly sliceMs: number;
}

/** Findings about a message of which a mail was made on trial. */
export interface MailTrial {
  /** Reasons why parts cannot be filled in, by part. */
  readonly faults: Readonly<Partial<Record<TrialPart, string>>>;
  /** The subject says nothing, whoever reads it. */
  readonly isBlank: boolean;
  /** Paths of values that are shown and missing, and of objects that are shown: see `PartTrial`. */
  readonly missing: readonly string[];
  readonly objects: readonly string[];
}

export const TRIAL_PARTS = ['subject', 'html', 'text'] as const;
export type TrialPart = (typeof TRIAL_PARTS)[number];

type Compiled = Readonly<Record<TrialPart, ReturnType<typeof compileWithEngine>>>;

const KEPT = 4;
const ESCAPING = { subject: 'header', html: 'html', text: 'none' } as const;
const OF_READER = /^(?:custom|subscriber(?!\.email$))\b/;

/** Fills in messages before they are accepted, to find what their own data makes impossible. */
export class MailTrials {
  readonly #compiled = new LRUCache<string, Compiled>({ max: KEPT });

  /** As many trials as there was time for, at least one. */
  tryOut({ parts, values, sliceMs }: TrialInput): MailTrial[] {
    const compiled = this.#compile(parts);
    const begun = cpuMs();
    const trials: MailTrial[] = [];
    for (const one of values) {
      trials.push(trialOf(compiled, one));
      if (cpuMs() - begun >= sliceMs) break;
    }
    return trials;
  }

  #compile({ key, ...parts }: TrialParts): Compiled {
    const known = this.#compiled.get(key);
    if (known !== undefined) return known;
    const compile = (part: TrialPart) => compileWithEngine(templatePieces(parts[part]), ESCAPING[part]);
    const compiled = { subject: compile('subject'), html: compile('html'), text: compile('text') };
    this.#compiled.set(key, compiled);
    return compiled;
  }
}

function trialOf(compiled: Compiled, values: MergeValues): MailTrial {
  const faults: Partial<Record<TrialPart, string>> = {};
  const missing = new Set<string>();
  const objects = new Set<string>();
  let isBlank = false;
  for (const part of TRIAL_PARTS) {
    const { variables, tryOut } = compiled[part];
    const { text, fault, ...shown } = tryOut(values);
    for (const path of shown.missing) missing.add(path);
    for (const path of shown.objects) objects.add(path);
    const isTooLong = (text?.length ?? 0) > LONGEST_PART;
    if (fault !== null || isTooLong) faults[part] = fault ?? 'output limit exceeded';
    if (part === 'subject' && !variables.some((name) => OF_READER.test(name))) isBlank = text?.trim() === '';
  }
  return { faults, isBlank, missing: [...missing], objects: [...objects] };
}
