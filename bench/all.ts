import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '#platform';
import { type Outcome, readFigures, sizesAt } from './support/outcome.js';
import { BENCHMARKS, type PlannedBenchmark } from './support/plan.js';
import { machine, table, withTable } from './support/results.js';

/**
 * Runs all benchmarks one after the other, each in a process of its own, and writes one table into RESULTS.md. One
 * that fails stands in the table with its reason; the others go on. The process ends with 1 then, but not where one was
 * skipped for want of its parts.
 */
const SCALE = Number(process.env['BENCH_SCALE'] ?? 0.1);
const PAIRS = Number(process.env['BENCH_PAIRS'] ?? 5);
const ONLY = process.env['BENCH_ONLY']?.split(',');
const RESULTS = process.env['BENCH_RESULTS'] ?? join(projectRoot(), 'bench/RESULTS.md');
const SKIPPED = /^skipped: .*/m;

const say = (line: string) => process.stdout.write(`${line}\n`);
const outcomes: Outcome[] = [];
for (const planned of BENCHMARKS) {
  if (ONLY !== undefined && !ONLY.includes(planned.name)) continue;
  say(`\n== ${planned.name}: ${planned.title}`);
  outcomes.push(await run(planned));
}
const written = table(outcomes, machine(new Date()), SCALE);
await writeFile(RESULTS, withTable(await readFile(RESULTS, 'utf8').catch(() => '# Results\n'), written));
say(`\n${written}\n\nWritten to ${RESULTS}.`);
process.exitCode = outcomes.every(({ failure }) => failure === null || SKIPPED.test(failure)) ? 0 : 1;

async function run(planned: PlannedBenchmark): Promise<Outcome> {
  const sizes = sizesAt(planned, SCALE, PAIRS);
  const began = { at: performance.now(), load: loadavg()[0] ?? 0 };
  const child = spawn(process.execPath, [join(projectRoot(), 'dist/bench', `${planned.name}.js`)], {
    env: { ...process.env, ...planned.settings, ...sizes },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
    process.stdout.write(chunk);
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  const figures = readFigures(planned, output);
  return {
    name: planned.name,
    title: planned.title,
    sizes: Object.entries(sizes)
      .map(([name, value]) => `${name} ${value}`)
      .join(', '),
    failure: SKIPPED.exec(output)?.[0] ?? failureOf(code, signal, figures.length, planned),
    figures,
    seconds: (performance.now() - began.at) / 1_000,
    load: [began.load, loadavg()[0] ?? 0],
  };
}

function failureOf(
  code: number | null,
  signal: NodeJS.Signals | null,
  found: number,
  { figures }: PlannedBenchmark,
): string | null {
  if (signal !== null) return `ended by ${signal}`;
  if (code !== 0) return `ended with ${String(code)}`;
  return found < figures.length ? `${figures.length - found} figures were not printed` : null;
}
