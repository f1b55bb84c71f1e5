import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { projectRoot } from '#platform';
import { startProgram } from '#testing/programs/program';
import { type RunningSystem, startSystemOn } from '#testing/programs/system';
import { startBenchServer } from './support/bench-server.js';
import { spread } from './support/figures.js';
import { cpuSeconds, memoryMb } from './support/process-usage.js';
import { StatementCounts } from './support/statement-counts.js';

/** Costs of the programs at rest, and the time that they take to start. */
const REST_S = Number(process.env['REST_S'] ?? 20);
const TIMES = Number(process.env['TIMES'] ?? 5);
const SETTLED_AFTER_MS = 15_000;
const LAST_WORDS = 'Ctrl-C stops it';

const say = (line: string) => process.stdout.write(`${line}\n`);
const statements = new StatementCounts();
const server = await startBenchServer((line) => statements.add(line));
try {
  const system = await startSystemOn(server.database);
  try {
    await measureRest(system);
    await measureStatements(system);
    await measureApiStart(system);
  } finally {
    await system.stop();
  }
  await measureWholeStart();
} finally {
  await server.stop();
}

async function measureRest(programs: RunningSystem): Promise<void> {
  await pause(SETTLED_AFTER_MS);
  const names = ['api', 'worker'] as const;
  const before = names.map((name) => cpuSeconds(programs[name].pid));
  await pause(REST_S * 1_000);
  names.forEach((name, index) => {
    const { pid } = programs[name];
    const share = (cpuSeconds(pid) - (before[index] ?? 0)) / REST_S;
    say(`${name} at rest: ${memoryMb(pid).now} MB, ${(share * 100).toFixed(2)} % of a core over ${REST_S} s`);
  });
}

/** Counts each program's statements, those of its queue too, in PostgreSQL's log while nobody asks anything of it. */
async function measureStatements({ database }: RunningSystem): Promise<void> {
  await statements.during(database, () => pause(REST_S * 1_000));
  for (const [program, count] of statements.byProgram)
    say(`${program} at rest: ${(count / REST_S).toFixed(1)} statements/s`);
}

/** On a running database, until its first answer. */
async function measureApiStart({ variables }: RunningSystem): Promise<void> {
  const seconds: number[] = [];
  for (let time = 0; time < TIMES; time += 1) {
    const began = performance.now();
    const api = await startProgram('api', variables);
    await fetch(`http://127.0.0.1:${api.port}/health/ready`);
    seconds.push((performance.now() - began) / 1_000);
    await api.stop();
  }
  say(`api starts, s: ${spread(seconds)}`);
}

/** `npm start` without npm and the build: PostgreSQL, schema, api and worker, until it says how to go on. */
async function measureWholeStart(): Promise<void> {
  const seconds: number[] = [];
  for (let time = 0; time <= TIMES; time += 1) {
    const began = performance.now();
    const launcher = spawn(process.execPath, [join(projectRoot(), 'dist/apps/launcher/src/main.js')], {
      cwd: server.directory,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => launcher.once('close', resolve));
    await new Promise<void>((resolve, reject) => {
      let output = '';
      launcher.stdout.setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk;
        if (output.includes(LAST_WORDS)) resolve();
      });
      void ended.then(() => reject(new Error(output)));
    });
    // The first makes the database.
    if (time > 0) seconds.push((performance.now() - began) / 1_000);
    launcher.kill('SIGINT');
    await ended;
  }
  say(`npm start, warm, s: ${spread(seconds)}`);
}
