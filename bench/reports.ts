import { readReport } from '../libs/deliverability/src/bounces/report.js';
import { COSTLY_REPORTS, damagedReports } from '#testing/random/damaged-reports';
import { sample } from '#testing/random/properties';
import { spread } from './support/figures.js';

/**
 * The CPU that a mail to a return path costs at most: those that are made to cost, and `REPORTS` damaged ones. What is
 * slow is read `TIMES` times again, and its least time counts: compilers and collectors of garbage use the thread too.
 */
const REPORTS = Number(process.env['REPORTS'] ?? 2_000);
const TIMES = Number(process.env['TIMES'] ?? 5);
const SLOW_MS = 20;

const slowest = async (mails: readonly Buffer[]) => {
  const took: number[] = [];
  for (const raw of mails) {
    let least = await cpuMsOf(raw);
    for (let time = 0; time < TIMES && least > SLOW_MS; time += 1)
      least = Math.min(least, await cpuMsOf(raw));
    took.push(least);
  }
  const sorted = took.sort((one, other) => other - one);
  process.stdout.write(`${mails.length} mails, ms of CPU: ${spread(sorted)}\n`);
  return sorted[0] ?? 0;
};

async function cpuMsOf(raw: Buffer): Promise<number> {
  const before = process.threadCpuUsage();
  await readReport(raw);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

const worst = Math.max(
  await slowest(COSTLY_REPORTS.map(([, text]) => Buffer.from(text))),
  await slowest(sample(damagedReports(), REPORTS)),
);
process.stdout.write(`the slowest: ${worst.toFixed(1)} ms\n`);
