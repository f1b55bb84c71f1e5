import { cpus, release, totalmem } from 'node:os';
import { execFileSync } from 'node:child_process';
import type { FoundFigure, Outcome } from './outcome.js';

const GIB = 1024 ** 3;

/** Time, machine and software of a measurement. */
export function machine(now: Date): string {
  const [first] = cpus();
  const postgres = 'PostgreSQL 18 with everything durable';
  return (
    `${now.toISOString().slice(0, 16).replace('T', ' ')} UTC, ${cpus().length} × ${first?.model.trim() ?? 'unknown'}, ` +
    `${Math.round(totalmem() / GIB)} GiB, ${process.platform} ${release()}, Node ${process.versions.node}, ${postgres}, ` +
    `version ${commit()}`
  );
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}

/** The table of all benchmarks, as Markdown. */
export function table(outcomes: readonly Outcome[], where: string, scale: number): string {
  const rows = outcomes.flatMap((outcome) => rowsOf(outcome));
  return [
    '## All benchmarks',
    '',
    `\`npm run bench\`, scale ${scale}. ${where}.`,
    '',
    '| benchmark | figure | median (least–greatest) | goal | load |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
    ...outcomes.map(
      ({ name, title, sizes, seconds }) => `- **${name}**: ${title}. ${sizes}; ${seconds.toFixed(0)} s.`,
    ),
  ].join('\n');
}

function rowsOf({ name, failure, figures, load }: Outcome): string[] {
  const loads = load.map((value) => value.toFixed(1)).join(' to ');
  const found = figures.map(
    (figure) => `| ${name} | ${figure.label} | ${shown(figure)} | ${goalOf(figure)} | ${loads} |`,
  );
  return failure === null ? found : [...found, `| ${name} | – | **${failure}** | | ${loads} |`];
}

function shown({ median, range }: FoundFigure): string {
  return range === null ? String(median) : `${median} (${range[0]}–${range[1]})`;
}

function goalOf({ goal, isMet }: FoundFigure): string {
  if (goal === null) return '';
  return isMet === true ? goal : `${goal} missed`;
}

/** Puts the table in the place of the one before, or above the first section; all else stays as it is. */
export function withTable(results: string, written: string): string {
  const marked = hasBlock(results, 'table') ? results : withEmptyBlock(results);
  return withBlock(marked, 'table', written);
}

/** Puts text between the two comments of this name; without them nothing is changed. */
export function withBlock(document: string, name: string, text: string): string {
  if (!hasBlock(document, name)) return document;
  const [before = '', rest = ''] = document.split(begin(name));
  const [, after = ''] = rest.split(end(name));
  return `${before}${begin(name)}\n\n${text}\n\n${end(name)}${after}`;
}

const begin = (name: string) => `<!-- bench ${name} begin -->`;
const end = (name: string) => `<!-- bench ${name} end -->`;

function hasBlock(document: string, name: string): boolean {
  return document.includes(begin(name)) && document.includes(end(name));
}

function withEmptyBlock(results: string): string {
  const block = `${begin('table')}\n${end('table')}\n`;
  const firstSection = results.indexOf('\n## ');
  if (firstSection === -1) return `${results.trimEnd()}\n\n${block}`;
  return `${results.slice(0, firstSection)}\n${block}${results.slice(firstSection)}`;
}
