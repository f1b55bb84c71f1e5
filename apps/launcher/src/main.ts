import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CommanderError } from 'commander';
import { inPlainWords } from './failure.js';
import { Launcher, Progress } from './launcher.js';
import { type LauncherOptions, parseOptions } from './options.js';
import { onStopRequest } from './stop-requests.js';

const APPS = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const KILL_GRACE_MS = 300;

function readOptions(): LauncherOptions {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (error) {
    if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2);
    throw error;
  }
}

const options = readOptions();
// A closed pipe (`npm start | head`) is no reason to end.
process.stdout.on('error', () => undefined);
const progress = new Progress(
  (text) => void process.stdout.write(text),
  () => performance.now(),
);
const launcher = new Launcher(
  {
    dataDirectory: resolve('.data'),
    programs: {
      cli: join(APPS, 'cli', 'src', 'main.js'),
      api: join(APPS, 'api', 'src', 'main.js'),
      worker: join(APPS, 'worker', 'src', 'main.js'),
    },
    env: process.env,
    options,
  },
  progress,
);

let stopping: Promise<void> | undefined;
const stop = (): Promise<void> => (stopping ??= launcher.stop());

onStopRequest(
  {
    stop: () => {
      progress.line('\nStopping …');
      void stop().finally(() => process.exit(0));
    },
    kill: () => {
      launcher.kill();
      setTimeout(() => process.exit(130), KILL_GRACE_MS);
    },
  },
  process.env['npm_lifecycle_event'] !== undefined,
  () => performance.now(),
);

try {
  progress.line('Mailwright');
  await launcher.start();
} catch (error) {
  if (stopping === undefined) {
    process.stderr.write(`\n${inPlainWords(error)}\n`);
    await stop();
    process.exit(1);
  }
}
