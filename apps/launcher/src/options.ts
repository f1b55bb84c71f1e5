import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';

const parsedOptions = z.object({
  smtp: z.boolean().default(false),
  demo: z.boolean(),
  port: z.number().optional(),
});

/** The options of `mailwright start …` and `npm start -- …`. */
export type LauncherOptions = z.output<typeof parsedOptions>;

/**
 * Parses the arguments after `node main.js`. Prints help and errors to the terminal, then throws a `CommanderError` with
 * its `exitCode`.
 */
export function parseOptions(args: readonly string[]): LauncherOptions {
  const command = new Command(
    process.env['npm_lifecycle_event'] === 'start' ? 'npm start --' : 'mailwright start',
  )
    .description(
      'Starts Mailwright on this machine: PostgreSQL, the API and a worker. All data is kept in ./.data.',
    )
    .option(
      '--smtp',
      'hand live mail to SMTP_URL (default: smtp://localhost:1025), no verified domain needed',
    )
    .option('--port <number>', 'port of the API (default: PORT, else 3000, else a free one)', toPort)
    .option('--no-demo', 'create no demo project and print no walkthrough')
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
    throw new InvalidArgumentError('It must be an integer from 0 to 65535.');
  return port;
}
