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

const WIDTH = 800;
const LEFT = 280;
const RIGHT = 64;
const TOP = 52;
const ROW = 22;
const BAR = 12;
const DECADES = { from: -1, to: 2 };

/** Chart of our rates as multiples of the peer's, as SVG: median bars, lines from the least to the greatest, ticks at the goals. */
export function peerChart(peer: string, caption: string, comparisons: readonly Comparison[]): string {
  const charted = comparisons.filter(({ isCharted = true }) => isCharted);
  const rows = charted.map((comparison) => {
    const ratios = comparison.pairs.map(FIGURES.rate).sort((a, b) => a - b);
    const goal = comparison.goals.find(({ of }) => of === 'rate')?.least;
    return { ...comparison, ratios, middle: median(ratios), goal };
  });
  const bottom = TOP + rows.length * ROW;
  const line = (x: number, y1: number, y2: number, name: string) =>
    `<line class="${name}" x1="${x}" x2="${x}" y1="${y1}" y2="${y2}"/>`;
  const decades = Array.from({ length: DECADES.to - DECADES.from + 1 }, (_, n) => 10 ** (DECADES.from + n));
  const axis = decades.flatMap((value) => [
    line(placeOf(value), TOP - 6, bottom, value === 1 ? 'one' : 'grid'),
    `<text class="axis" x="${placeOf(value)}" y="${TOP - 12}" text-anchor="middle">${value} ×</text>`,
  ]);
  const bars = rows.flatMap(({ operation, ratios, middle, goal }, n) => {
    const y = TOP + n * ROW + (ROW - BAR) / 2;
    const [from, to] = [placeOf(Math.min(1, middle)), placeOf(Math.max(1, middle))];
    const [least, most] = [placeOf(ratios[0] ?? middle), placeOf(ratios.at(-1) ?? middle)];
    const across = y + BAR / 2;
    return [
      `<text x="${LEFT - 10}" y="${y + 10}" text-anchor="end">${escaped(operation)}</text>`,
      `<rect class="${middle < 1 ? 'loss' : 'gain'}" x="${from}" y="${y}" width="${round(to - from)}" height="${BAR}"/>`,
      `<line class="range" x1="${least}" x2="${most}" y1="${across}" y2="${across}"/>`,
      ...(goal === undefined ? [] : [line(placeOf(goal), y - 3, y + BAR + 3, 'goal')]),
      `<text x="${Math.max(to, most) + 8}" y="${y + 10}">${middle.toFixed(digitsOf(middle * 10))}</text>`,
    ];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + 30}" role="img" aria-label="${escaped(title(peer))}">`,
    `<style>${STYLE}</style>`,
    `<rect class="ground" width="${WIDTH}" height="${bottom + 30}"/>`,
    `<text class="title" x="12" y="20">${escaped(title(peer))}</text>`,
    ...axis,
    ...bars,
    `<text class="axis" x="12" y="${bottom + 20}">${escaped(caption)}</text>`,
    '</svg>',
    '',
  ].join('\n');
}

const title = (peer: string) => `Mailwright’s rate as a multiple of ${peer}’s (mark: goal)`;

const STYLE =
  'text{font:12px sans-serif;fill:#24292f}.title{font-weight:bold;font-size:13px}.axis{fill:#57606a;font-size:11px}' +
  '.ground{fill:#fff}.grid{stroke:#d0d7de}.one{stroke:#57606a}.gain{fill:#2da44e}.loss{fill:#cf222e}' +
  '.range{stroke:#24292f}.goal{stroke:#0969da;stroke-width:2}';

/** Abscissa of a ratio on the logarithmic axis; ratios beyond its ends stand there. */
function placeOf(ratio: number): number {
  const { from, to } = DECADES;
  const share = (Math.min(Math.max(Math.log10(ratio), from), to) - from) / (to - from);
  return round(LEFT + share * (WIDTH - LEFT - RIGHT));
}

const round = (value: number): number => Math.round(value * 10) / 10;

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
