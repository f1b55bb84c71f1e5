import { spread } from './figures.js';

/** Rate of an operation, and the CPU that each took, in ms. */
export interface Measured {
  readonly perSecond: number;
  /** Sum of all programs of the side. */
  readonly app: number;
  readonly postgres: number;
}

/** A bound on the median of a figure: `rate` and `cpu` are ours as shares of theirs; of ours alone, `own` is the rate, `app` and `postgres` are ms. */
export interface Goal {
  readonly of: 'rate' | 'own' | 'cpu' | 'app' | 'postgres';
  readonly least?: number;
  readonly most?: number;
}

export interface Pair {
  readonly theirs: Measured;
  readonly ours: Measured;
}

/** An operation measured on both sides in turn. */
export interface Comparison {
  readonly operation: string;
  readonly goals: readonly Goal[];
  readonly pairs: readonly Pair[];
}

const cpuOf = ({ app, postgres }: Measured): number => app + postgres;

/** Figures of a comparison that goals are about. */
export const FIGURES: Readonly<Record<Goal['of'], (pair: Pair) => number>> = {
  rate: ({ ours, theirs }) => ours.perSecond / theirs.perSecond,
  cpu: ({ ours, theirs }) => cpuOf(ours) / cpuOf(theirs),
  own: ({ ours }) => ours.perSecond,
  app: ({ ours }) => ours.app,
  postgres: ({ ours }) => ours.postgres,
};

/** Digits that show three figures of a rate. */
export const digitsOf = (value: number): number => (value >= 100 ? 0 : value >= 10 ? 1 : 2);

/** Runs theirs and ours in turn, once to warm up and `pairs` times that count; `run` is 0 in the warm-up. */
export async function compare(
  operation: string,
  goals: readonly Goal[],
  pairs: number,
  sides: Readonly<Record<'theirs' | 'ours', (run: number) => Promise<Measured>>>,
): Promise<Comparison> {
  const measured: Pair[] = [];
  for (let run = 0; run <= pairs; run += 1) {
    const pair = { theirs: await sides.theirs(run), ours: await sides.ours(run) };
    if (run > 0) measured.push(pair);
  }
  return shown({ operation, goals, pairs: measured });
}

/** Prints the lines of a comparison, which `plan.ts` reads, and returns it. */
export function shown(comparison: Comparison): Comparison {
  const { operation, pairs } = comparison;
  const both = (of: (side: Measured) => number, digits: number) =>
    (['ours', 'theirs'] as const)
      .map((side) =>
        spread(
          pairs.map((pair) => of(pair[side])),
          digits,
        ),
      )
      .join(' against ');
  const rates = both(({ perSecond }) => perSecond, digitsOf(pairs[0]?.ours.perSecond ?? 0));
  const lines = [
    `${operation}, per second: ${rates}`,
    `${operation}, ratio: ${spread(pairs.map(FIGURES.rate))}`,
    `${operation}, CPU ms each: programs ${both(({ app }) => app, 3)}, PostgreSQL ${both(({ postgres }) => postgres, 3)}`,
    `${operation}, ratio of CPU: ${spread(pairs.map(FIGURES.cpu))}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  return comparison;
}
