import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';

const parsedOptions = z.object({
  smtp: z.boolean().default(false),
  demo: z.boolean(),
  port: z.number().optional(),
});

/** What `npm start -- …` was asked for. */
export type LauncherOptions = z.output<typeof parsedOptions>;

/**
 * Reads the arguments after `node main.js`. Help, and what is wrong with them, goes to the terminal; then a
 * `CommanderError` with its `exitCode` is thrown.
 */
export function parseOptions(args: readonly string[]): LauncherOptions {
  const command = new Command('npm start --')
    .description(
      'Starts Mailwright on this machine: PostgreSQL, the API and a worker. All data is kept in ./.data.',
    )
    .option(
      '--smtp',
      'hand live mail to SMTP_URL (default: smtp://localhost:1025), no verified domain needed',
    )
    .option('--port <number>', 'port of the API (default: PORT, else 3000, else a free one)', toPort)
    .option('--no-demo', 'make no demo project and print no walk-through')
    .addHelpText(
      'after',
      '\nDATABASE_URL, REDIS_URL and SMTP_URL in the environment switch to services of your own, one by one.',
    )
    .allowExcessArguments(false)
    .exitOverride()
    .parse(args, { from: 'user' });
  return parsedOptions.parse(command.opts());
}

function toPort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('A port is a number from 0 to 65535.');
  return port;
}
