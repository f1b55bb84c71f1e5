import type { PlannedBenchmark, PlannedFigure } from './plan.js';

/** A figure that a benchmark printed. */
export interface FoundFigure {
  readonly label: string;
  readonly median: number;
  /** Null where only one number is printed. */
  readonly range: readonly [number, number] | null;
  readonly goal: string | null;
  readonly isMet: boolean | null;
}

export interface Outcome {
  readonly name: string;
  readonly title: string;
  /** Its sizes, as `RECIPIENTS 500, PAIRS 1`. */
  readonly sizes: string;
  /** Why there is nothing, or not all; null when it ended well. */
  readonly failure: string | null;
  readonly figures: readonly FoundFigure[];
  readonly seconds: number;
  /** The machine's load average when it began and when it ended. */
  readonly load: readonly [number, number];
}

/** Planned figures that a benchmark's output holds; those that are not in it are left out. */
export function readFigures({ figures }: PlannedBenchmark, output: string): FoundFigure[] {
  return figures.flatMap((figure) => {
    const found = worst(figure, output);
    return found === null ? [] : [found];
  });
}

/** The only one, or of several (`g`) the greatest: they are ratios that must stay below something. */
function worst({ label, line, goal }: PlannedFigure, output: string): FoundFigure | null {
  const matches = line.global
    ? [...output.matchAll(line)]
    : [output.match(line)].filter((found) => found !== null);
  const [match] = matches.sort((a, b) => Number(b[1]) - Number(a[1]));
  if (match === undefined) return null;
  const [median = Number.NaN, least, greatest] = match.slice(1).map(Number);
  return {
    label,
    median,
    range: least === undefined || greatest === undefined ? null : [least, greatest],
    goal: goal?.text ?? null,
    isMet: goal?.isMet(median) ?? null,
  };
}

/** The sizes of a benchmark at a scale and with so many repeats, as its environment. */
export function sizesAt(
  { sizes, repeats }: PlannedBenchmark,
  scale: number,
  times: number,
): Record<string, string> {
  const scaled = Object.entries(sizes).map(([name, { full, least }]) => [
    name,
    String(Math.max(least, Math.round(full * scale))),
  ]);
  return Object.fromEntries(repeats === null ? scaled : [...scaled, [repeats, String(times)]]) as Record<
    string,
    string
  >;
}
