import { readFile, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '#platform';
import { type Comparison, digitsOf, FIGURES, type Goal, type Measured } from './comparison.js';
import { median, spread } from './figures.js';
import { machine, withBlock } from './results.js';

/** A run beside a peer, from its first moment on. */
export class PeerRun {
  readonly #began = { load: loadavg()[0] ?? 0, at: performance.now() };

  constructor(
    private readonly peer: string,
    /** Name of the block in RESULTS.md that has its tables. */
    private readonly block: string,
    private readonly sizes: string,
  ) {
    process.stdout.write(`${sizes}\n`);
  }

  /** Says how much else the machine had to do. */
  get calm(): string {
    const load = `load ${this.#began.load.toFixed(1)} when it began`;
    return this.#began.load < 0.5
      ? `calm machine (${load})`
      : `beside other work, so only an indication (${load})`;
  }

  /** Prints the tables and, with `WRITE=1`, puts them into RESULTS.md. */
  async report(comparisons: readonly Comparison[]): Promise<void> {
    const seconds = Math.round((performance.now() - this.#began.at) / 1_000);
    const about = `${this.sizes}; ${seconds} s. ${machine(new Date())}; ${this.calm}.`;
    const tables = peerTables(this.peer, comparisons);
    process.stdout.write(`\n${tables}\n\n${about}\n`);
    if (process.env['WRITE'] !== '1') return;
    const path = join(projectRoot(), 'bench/RESULTS.md');
    const results = await readFile(path, 'utf8');
    await writeFile(path, withBlock(results, this.block, `${about}\n\n${tables}`));
  }
}

/** Markdown of all comparisons: rates, then CPU; without a column of goals where there are none. */
function peerTables(peer: string, comparisons: readonly Comparison[]): string {
  const rates = comparisons.map((comparison) => {
    const of = (side: 'ours' | 'theirs') => {
      const values = comparison.pairs.map((pair) => pair[side].perSecond);
      return spread(values, digitsOf(median(values)));
    };
    return [
      comparison.operation,
      of('theirs'),
      of('ours'),
      ratioOf(comparison, 'rate'),
      goalsOf(comparison, ['rate', 'own']),
    ];
  });
  const cpu = comparisons.map((comparison) => [
    comparison.operation,
    cpuText(comparison.pairs.map(({ theirs }) => theirs)),
    cpuText(comparison.pairs.map(({ ours }) => ours)),
    ratioOf(comparison, 'cpu'),
    goalsOf(comparison, ['cpu', 'app', 'postgres']),
  ]);
  return [
    ...table(['a second', peer, 'Mailwright', 'ratio', 'goal'], rates),
    '',
    ...table(['CPU, ms each: programs + PostgreSQL', peer, 'Mailwright', 'ratio', 'goal'], cpu),
  ].join('\n');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const hasGoals = rows.some((cells) => cells.at(-1) !== '');
  return [head, head.map(() => '---'), ...rows].map(
    (cells) => `| ${(hasGoals ? cells : cells.slice(0, -1)).join(' | ')} |`,
  );
}

function ratioOf({ pairs }: Comparison, of: 'rate' | 'cpu'): string {
  const values = pairs.map(FIGURES[of]);
  return spread(values, digitsOf(median(values)));
}

function cpuText(sides: readonly Measured[]): string {
  const middle = (of: (side: Measured) => number) => median(sides.map(of)).toFixed(3);
  return `${middle(({ app }) => app)} + ${middle(({ postgres }) => postgres)}`;
}

const NAMES = { rate: '', own: 'ours ', cpu: '', app: 'programs ', postgres: 'PostgreSQL ' };

function goalsOf({ goals, pairs }: Comparison, of: readonly Goal['of'][]): string {
  return goals
    .filter((goal) => of.includes(goal.of))
    .map((goal) => {
      const value = median(pairs.map(FIGURES[goal.of]));
      const isMet = value >= (goal.least ?? -Infinity) && value <= (goal.most ?? Infinity);
      const text = goal.least === undefined ? `≤ ${goal.most}` : `≥ ${goal.least}`;
      return `${NAMES[goal.of]}${text} ${isMet ? 'met' : '**missed**'}`;
    })
    .join(', ');
}

const WIDTH = 1000;
/** Beginning and end of the bars; names stand before, figures after them. */
const BARS = { from: 346, to: 610 };
const TOP = 92;
const ROW = 30;
const BAR = 14;
const DECADES = { from: -1, to: 2 };
/** Comparisons of a side with itself, which say nothing of the peer. */
const OF_ITSELF = /of the third’s rate|reference: without/;

interface Row {
  readonly operation: string;
  readonly theirs: string;
  readonly ours: string;
  readonly ratio: number;
  readonly least: number;
  readonly most: number;
  readonly goal: number | null;
}

/** Chart of our rates as multiples of the peer's, as SVG, from the first table of block `block` in RESULTS.md. */
export function peerChart(peer: string, block: string, results: string): string {
  const [, text = ''] =
    new RegExp(`<!-- bench ${block} begin -->([^]+?)<!-- bench ${block} end -->`).exec(results) ?? [];
  const [about = '', tables = ''] = text.trim().split(/\n\n([^]*)/);
  const rows = tables
    .split('\n\n')[0]!
    .split('\n')
    .slice(2)
    .map(rowOf)
    .filter(({ operation }) => !OF_ITSELF.test(operation))
    .sort((a, b) => b.ratio - a.ratio);
  const bottom = TOP + rows.length * ROW;
  const line = (x: number, y1: number, y2: number, name: string) =>
    `<line class="${name}" x1="${x}" x2="${x}" y1="${y1}" y2="${y2}"/>`;
  const write = (x: number, y: number, words: string, attributes = '') =>
    `<text x="${x}" y="${y}"${attributes}>${escaped(words)}</text>`;
  const decades = Array.from({ length: DECADES.to - DECADES.from + 1 }, (_, n) => 10 ** (DECADES.from + n));
  const axis = decades.flatMap((value) => [
    line(placeOf(value), TOP - 6, bottom, value === 1 ? 'one' : 'grid'),
    write(
      placeOf(value),
      TOP - 14,
      value === 1 ? 'equal' : `${value}×`,
      ' class="quiet" text-anchor="middle"',
    ),
  ]);
  const bars = rows.flatMap(({ operation, theirs, ours, ratio, least, most, goal }, n) => {
    const y = TOP + n * ROW + (ROW - BAR) / 2;
    const [from, to] = [placeOf(Math.min(1, ratio)), placeOf(Math.max(1, ratio))];
    const isMissed = goal !== null && ratio < goal;
    const base = y + 11.5;
    return [
      write(BARS.from - 12, base, operation, ' text-anchor="end"'),
      `<rect class="${ratio < 1 ? 'loss' : 'gain'}" x="${from}" y="${y}" width="${round(to - from)}" height="${BAR}" rx="2"/>`,
      `<line class="range" x1="${placeOf(least)}" x2="${placeOf(most)}" y1="${y + BAR / 2}" y2="${y + BAR / 2}"/>`,
      ...(goal === null ? [] : [line(placeOf(goal), y - 4, y + BAR + 4, 'goal')]),
      write(BARS.to + 22, base, `${short(ratio)}×`, ' class="ratio"'),
      write(BARS.to + 86, base, `${ours} against ${theirs}/s`, ' class="quiet"'),
      ...(isMissed
        ? [write(WIDTH - 16, base, `goal ${goal}× missed`, ' class="missed" text-anchor="end"')]
        : []),
    ];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + 50}" role="img" aria-label="${escaped(titleOf(peer))}">`,
    `<style>${STYLE}</style>`,
    `<rect class="ground" width="${WIDTH}" height="${bottom + 50}" rx="10"/>`,
    write(16, 28, titleOf(peer), ' class="title"'),
    write(
      16,
      48,
      `To the right of “equal” Mailwright is faster, to the left ${peer}. A tick is our goal; a missed one is written out.`,
      ' class="quiet"',
    ),
    ...axis,
    ...bars,
    ...captionOf(about).map((words, n) => write(16, bottom + 24 + n * 16, words, ' class="quiet"')),
    '</svg>',
    '',
  ].join('\n');
}

/** Caption for a reader, from the line above the tables: sizes, day, machine, load. */
function captionOf(about: string): readonly string[] {
  const [, sizes = ''] = /^(.*?); \d+ s\./.exec(about) ?? [];
  const [, day = ''] = /(\d{4}-\d\d-\d\d)/.exec(about) ?? [];
  const [, cores = ''] = /UTC, ([^,]+, [^,]+),/.exec(about) ?? [];
  const [, load = ''] = /(load [\d.]+ when it began)/.exec(about) ?? [];
  return [
    sizes.replaceAll(/\b(\d{2,3})(\d{3})\b/g, '$1 $2'),
    `${day}, ${cores}, ${load}. Medians; lines from the least to the greatest.`,
  ];
}

/** Reads `| import, rows | 4797 (4777–4933) | 19500 (…) | 4.05 (3.95–4.30) | ≥ 5 **missed** |`. */
function rowOf(text: string): Row {
  const [operation = '', theirs = '', ours = '', ratio = '', goal = ''] = text
    .split('|')
    .slice(1)
    .map((cell) => cell.trim());
  const [, middle, least, most] = /^([\d.]+) \(([\d.]+)–([\d.]+)\)$/.exec(ratio) ?? [];
  const [, bound] = /^≥ ([\d.]+)/.exec(goal) ?? [];
  if (middle === undefined) throw new Error(`A row of RESULTS.md has no ratio: ${text}`);
  return {
    operation,
    theirs: rounded(theirs),
    ours: rounded(ours),
    ratio: Number(middle),
    least: Number(least),
    most: Number(most),
    goal: bound === undefined ? null : Number(bound),
  };
}

/** `19500 (19338–20639)` as `19 500`. */
function rounded(cell: string): string {
  const [value = ''] = cell.split(' ');
  return value.replace(/^(\d+)(\d{3})$/, '$1 $2');
}

const short = (ratio: number): string =>
  ratio >= 10 ? ratio.toFixed(0) : ratio >= 1 ? ratio.toFixed(1) : ratio.toFixed(2);

const titleOf = (peer: string) => `Operations a second, as multiples of ${peer}’s on the same machine`;

const STYLE =
  'text{font:14px system-ui,-apple-system,"Segoe UI","Noto Sans",sans-serif;fill:#1f2937}.title{font-weight:650;font-size:18px}' +
  '.quiet{fill:#57606a;font-size:13px}.ratio{font-weight:650}.missed{fill:#9a3412;font-size:13px}' +
  '.ground{fill:#fff}.grid{stroke:#e2e7ef}.one{stroke:#8b95a5}.gain{fill:#2f6feb}.loss{fill:#e2824a}' +
  '.range{stroke:#0d131c;stroke-opacity:.75}.goal{stroke:#131c2b;stroke-width:2}' +
  '@media(prefers-color-scheme:dark){text{fill:#e6edf3}.quiet{fill:#9aa7b6}.missed{fill:#ffb38a}.ground{fill:#0d131c}.grid{stroke:#243044}' +
  '.one{stroke:#6b7788}.range,.goal{stroke:#e6edf3}}';

/** Abscissa of a ratio on the logarithmic axis; ratios beyond its ends stand there. */
function placeOf(ratio: number): number {
  const { from, to } = DECADES;
  const share = (Math.min(Math.max(Math.log10(ratio), from), to) - from) / (to - from);
  return round(BARS.from + share * (BARS.to - BARS.from));
}

const round = (value: number): number => Math.round(value * 10) / 10;

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
