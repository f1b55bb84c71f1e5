import { type Answer, valueAt } from './answer.js';

/** The answer did not meet the expectation of a step. */
export class Unmet extends Error {
  override readonly name = 'Unmet';

  constructor(
    readonly expected: string,
    readonly came: string,
    readonly hint?: string,
  ) {
    super(`Expected ${expected}; came ${came}.`);
  }
}

/** A condition with its description. */
export interface Condition {
  readonly words: string;
  readonly holds: (value: unknown) => boolean;
}

export type Wanted = string | number | boolean | null | Condition;

/** Checks the status and the values at dotted paths of the body. Throws `Unmet`, which lists all differences. */
export function expectAnswer(
  answer: Answer,
  status: number,
  wanted: Readonly<Record<string, Wanted>> = {},
): void {
  if (answer.status !== status) throw new Unmet(`status ${status}`, describeStatus(answer));
  expectValues(Object.entries(wanted).map(([path, value]) => [path, valueAt(answer, path), value]));
}

/** Each triple has a name, the actual value and the expected value. */
export function expectValues(values: readonly (readonly [string, unknown, Wanted])[]): void {
  const unmet = values.filter(([, came, wanted]) => !isMet(wanted, came));
  if (unmet.length === 0) return;
  throw new Unmet(
    unmet.map(([name, , wanted]) => `${name}: ${wordsFor(wanted)}`).join(', '),
    unmet.map(([name, came]) => `${name}: ${quoted(came)}`).join(', '),
  );
}

/** The text at a dotted path. Throws `Unmet` where there is none. */
export function textAt(answer: Answer, path: string): string {
  const value = valueAt(answer, path);
  if (typeof value === 'string' && value !== '') return value;
  throw new Unmet(`a text at ${path}`, quoted(value));
}

export const aTime: Condition = {
  words: 'a time',
  holds: (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)),
};

export const atLeast = (least: number): Condition => ({
  words: `at least ${least}`,
  holds: (value) => typeof value === 'number' && value >= least,
});

export const textWith = (part: string): Condition => ({
  words: `a text with ${quoted(part)}`,
  holds: (value) => typeof value === 'string' && value.includes(part),
});

const isCondition = (wanted: Wanted): wanted is Condition => typeof wanted === 'object' && wanted !== null;
const isMet = (wanted: Wanted, came: unknown) => (isCondition(wanted) ? wanted.holds(came) : wanted === came);
const wordsFor = (wanted: Wanted) => (isCondition(wanted) ? wanted.words : quoted(wanted));

/** The explanation in a problem (RFC 9457 §3.1). */
function describeStatus(answer: Answer): string {
  const words = ['title', 'detail'].map((name) => valueAt(answer, name));
  return [`status ${answer.status}`, ...words.filter((text) => typeof text === 'string')].join(', ');
}

const LONGEST = 200;

function quoted(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
