import { resolve } from 'node:path';
import { CommanderError } from 'commander';
import { DemoClient } from './demo-client.js';
import { runFlow, Story } from './flow.js';
import { DemoError, type DemoOptions, findTarget, maskedKey, parseOptions } from './options.js';
import { flow } from './steps.js';
import { Transcript } from './transcript.js';

async function demo(options: DemoOptions): Promise<0 | 1> {
  const target = await findTarget(options, resolve('.data', 'demo.json'));
  const transcript = new Transcript((text) => void process.stdout.write(text), {
    colour: process.stdout.isTTY && process.stdout.hasColors(),
    quiet: options.quiet,
  });
  const client = new DemoClient(target, (seconds) => transcript.waiting(seconds));
  const story = new Story(Date.now().toString());
  const started = performance.now();
  transcript.heading(`Mailwright on ${target.baseUrl}, with the test key ${maskedKey(target.key)}`);
  const patienceMs = options.patience * 1_000;
  const outcomes = await runFlow(flow, { client, story, transcript, patienceMs });
  transcript.summary(outcomes, client.requests, performance.now() - started);
  return outcomes.every(({ result }) => result === 'held') ? 0 : 1;
}

// A closed pipe (`npm run demo | head`) is no reason to fail.
process.stdout.on('error', () => undefined);
try {
  process.exitCode = await demo(parseOptions(process.argv.slice(2)));
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else if (error instanceof DemoError) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  } else throw error;
}
