import { styleText } from 'node:util';
import type { PolledAnswer, SentRequest } from './demo-client.js';
import type { Answer, Unmet } from './answer.js';
import { shortBody, shortJson, shortText } from './shorten.js';

type Style = Parameters<typeof styleText>[0];

/** The outcome of a step; `open`: not tried, because an earlier one failed. */
export interface Outcome {
  readonly name: string;
  readonly result: 'held' | 'failed' | 'open';
}

export interface TranscriptOptions {
  readonly colour: boolean;
  /** Print failed steps and the summary only. */
  readonly quiet: boolean;
}

const MARKS = { held: '✓', failed: '✗', open: '–' } as const;
const STYLES = { held: 'green', failed: 'red', open: 'dim' } as const;

/** Prints a run of the demo, step by step. */
export class Transcript {
  constructor(
    private readonly write: (text: string) => void,
    private readonly options: TranscriptOptions,
  ) {}

  line(text = ''): void {
    this.write(`${text}\n`);
  }

  heading(text: string): void {
    if (!this.options.quiet) this.line(this.#styled('bold', text));
  }

  step(number: number, name: string): void {
    this.#detail('');
    this.#detail(this.#styled('bold', `${String(number).padStart(2)}. ${name}`));
  }

  request({ method, url, json, form }: SentRequest): void {
    this.#detail(`    ${this.#styled('cyan', `${method} ${shortText(url)}`)}`);
    if (json !== undefined) this.#block('    ', shortJson(json));
    if (form !== undefined) this.#block('    ', [new URLSearchParams(form).toString()].filter(Boolean));
  }

  /** `shows`: the dotted paths to print of a successful answer; default: all of it. */
  answer({ answer, times, waitedMs }: PolledAnswer, shows?: readonly string[]): void {
    const asked = times === 1 ? '' : `  (asked ${times} times in ${seconds(waitedMs)})`;
    this.#detail(`    ${this.#styled(statusStyle(answer), String(answer.status))}${asked}`);
    this.#block('    ', shortBody(answer, answer.status < 300 ? shows : undefined));
  }

  /** Prints that the demo waits. */
  waiting(waitSeconds: number): void {
    this.line(
      this.#styled(
        'yellow',
        `    The key has used up its requests of this minute; waiting ${waitSeconds} s.`,
      ),
    );
  }

  held(words: string): void {
    this.#detail(`    ${this.#styled(STYLES.held, MARKS.held)} ${words}`);
  }

  failed(number: number, { expected, came, hint }: Pick<Unmet, 'expected' | 'came' | 'hint'>): void {
    this.line(`    ${this.#styled(STYLES.failed, `${MARKS.failed} Step ${number} did not hold`)}`);
    this.line(`      expected  ${expected}`);
    this.line(`      came      ${came}`);
    if (hint !== undefined) this.line(`      ${hint}`);
  }

  summary(outcomes: readonly Outcome[], requests: number, elapsedMs: number): void {
    this.line();
    this.line(this.#styled('bold', 'Summary'));
    outcomes.forEach(({ name, result }, index) => {
      const number = String(index + 1).padStart(2);
      this.line(`  ${this.#styled(STYLES[result], MARKS[result])} ${number}. ${name}`);
    });
    const took = `It took ${requests} requests and ${seconds(elapsedMs)}.`;
    this.line();
    this.line(`${verdict(outcomes)} ${took}`);
  }

  #detail(text: string): void {
    if (!this.options.quiet) this.line(text);
  }

  #block(indent: string, lines: readonly string[]): void {
    for (const line of lines) this.#detail(`${indent}${this.#styled('dim', line)}`);
  }

  #styled(style: Style, text: string): string {
    return this.options.colour ? styleText(style, text, { validateStream: false }) : text;
  }
}

function verdict(outcomes: readonly Outcome[]): string {
  const count = (wanted: Outcome['result']) => outcomes.filter(({ result }) => result === wanted).length;
  if (count('held') === outcomes.length) return `All ${outcomes.length} steps held.`;
  return `${count('held')} of ${outcomes.length} steps held, ${count('failed')} did not, ${count('open')} were not tried.`;
}

function statusStyle({ status }: Answer): Style {
  return status < 300 ? 'green' : 'red';
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
