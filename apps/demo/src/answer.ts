/** The answer to a request. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined when it is not JSON. */
  readonly json: unknown;
}

export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, headers: response.headers, text, json: isJson ? parse(text) : undefined };
}

/** The value at a dotted path of a JSON body, such as `data.0.links.confirm`; undefined where there is none. */
export function valueAt(answer: Answer, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => property(value, name), answer.json);
}

/** The array at a dotted path; empty where there is none. */
export function listAt(answer: Answer, path: string): readonly unknown[] {
  const value = valueAt(answer, path);
  return Array.isArray(value) ? value : [];
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

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
