import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { Command, CommanderError, Help } from 'commander';
import { addAutomationCommands } from './commands/automations.command.js';
import { addBillingCommands } from './commands/billing.command.js';
import { addCampaignCommands } from './commands/campaigns.command.js';
import { addCheckCommands } from './commands/checks.command.js';
import { addCompletionCommand, PROGRAMS } from './commands/completion.command.js';
import { addDatabaseCommands } from './commands/database.command.js';
import { addDemoCommands } from './commands/demo.command.js';
import { addDoctorCommand } from './commands/doctor.command.js';
import { addDomainCommands } from './commands/domains.command.js';
import { addKeyCommands, addOperatorKeyCommands } from './commands/keys.command.js';
import { addProjectCommands } from './commands/projects.command.js';
import { addSubscriberCommands } from './commands/subscribers.command.js';
import { addSubscriptionCommands } from './commands/subscriptions.command.js';
import { addTenantCommands } from './commands/tenants.command.js';
import { addWebhookCommands } from './commands/webhooks.command.js';
import { type Failure, failureOf } from './failures.js';
import type { CliContext } from './output.js';

/** Commands by what they are about, as the help shows them. */
const TOPICS: Readonly<Record<string, readonly ((program: Command, cli: CliContext) => void)[]>> = {
  'Tenants, projects and keys': [
    addTenantCommands,
    addProjectCommands,
    addKeyCommands,
    addOperatorKeyCommands,
  ],
  'Sending domains': [addDomainCommands],
  'Campaigns and automations': [addCampaignCommands, addAutomationCommands],
  People: [addSubscriberCommands],
  Webhooks: [addWebhookCommands],
  Billing: [addSubscriptionCommands, addBillingCommands],
  'Database and secrets': [addDatabaseCommands],
  Checks: [addDoctorCommand, addCheckCommands],
  'Trials and this program': [addDemoCommands, addCompletionCommand],
};

const PROGRAMS_HELP = `
Programs of the npm package (\`npx mailwright start\`):
${Object.entries(PROGRAMS)
  .map(([name, does]) => `  ${name.padEnd(8)}${does}`)
  .join('\n')}`;

/** Runs one command. Resolves to the exit code: 0 success, 1 failure, 2 wrong command line. */
export async function run(args: readonly string[], cli: CliContext): Promise<0 | 1 | 2> {
  const program = createProgram({ ...cli, command: args[0] });
  const [helpOf] = args[0] === 'help' ? args.slice(1) : [];
  if (helpOf !== undefined && Object.hasOwn(PROGRAMS, helpOf)) {
    cli.print(`mailwright ${helpOf}: ${PROGRAMS[helpOf]}\nSee: mailwright ${helpOf} --help\n`);
    return 0;
  }
  const isUnknown = helpOf !== undefined && !program.commands.some((known) => known.name() === helpOf);
  try {
    // Of an unknown command, Commander would show all there are.
    await program.parseAsync(isUnknown ? [helpOf] : args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const command = program.commands.find((known) => known.name() === args[0]);
    const failure =
      error instanceof CommanderError
        ? wrongCommandLine(error, command)
        : located(await failureOf(error), cli);
    cli.complain(`${args.includes('--json') ? asJson(failure) : asText(failure, command)}\n`);
    return failure.exitCode;
  }
}

function createProgram(cli: CliContext): Command {
  const program = new Command('mailwright')
    .description(
      'Operate Mailwright: its schema, tenants, projects, API keys, billing, sending domains, webhooks and subscribers’ data. DATABASE_URL says where; without it, the installation of `npm start` in this directory.',
    )
    .version(version(), '--version', 'print the version')
    .helpCommand('help [command]', 'show this, or the options of a command')
    .addHelpText('after', PROGRAMS_HELP)
    .configureHelp({
      optionDescription: (option) =>
        `${new Help().optionDescription(option)}${option.mandatory ? ' (required)' : ''}`,
    })
    .exitOverride()
    .configureOutput({ writeOut: cli.print, writeErr: cli.complain, outputError: () => undefined });
  for (const [topic, adds] of Object.entries(TOPICS)) {
    program.commandsGroup(`${topic}:`);
    for (const add of adds) add(program, cli);
  }
  for (const command of program.commands)
    if (command.options.every(({ long }) => long !== '--json'))
      command.option('--json', 'print one line of JSON');
  return program;
}

function version(): string {
  const file = findPackageJSON(import.meta.url) ?? '';
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }).version;
}

function wrongCommandLine({ code, message }: CommanderError, command: Command | undefined): Failure {
  // Commander shows the help when no command is named, and reports only the first missing option.
  const text =
    code === 'commander.help'
      ? 'No command was named.'
      : code === 'commander.missingMandatoryOptionValue' && command !== undefined
        ? missingOptions(command)
        : message.replace(/^error: /, '');
  return { code: 'usage', message: text, exitCode: 2 };
}

/** Explains which database does not answer, or why none is known, when DATABASE_URL is not set. */
function located(failure: Failure, { isLocalInstallation }: CliContext): Failure {
  if (/^ *- DATABASE_URL is required$/m.test(failure.message)) {
    const why =
      'Without it, commands work on the installation of `mailwright start` (in a clone: `npm start`) in this directory, and there is none.';
    return { ...failure, message: `${failure.message}\n${why}` };
  }
  if (isLocalInstallation !== true || failure.code !== 'unavailable') return failure;
  if (!/DATABASE_(?:OWNER_)?URL/.test(failure.message)) return failure;
  const where =
    'DATABASE_URL is not set: this is the database of `npm start` in this directory, which has to run.';
  return { ...failure, message: `${failure.message}\n${where}` };
}

function missingOptions(command: Command): string {
  const missing = command.options.filter(
    (option) => option.mandatory && command.getOptionValue(option.attributeName()) === undefined,
  );
  const names = missing.map(({ flags }) => `'${flags}'`).join(', ');
  return `required option${missing.length === 1 ? '' : 's'} ${names} not specified`;
}

function asJson({ code, message }: Failure): string {
  return JSON.stringify({ error: { code, message } });
}

function asText({ message, exitCode }: Failure, command: Command | undefined): string {
  const name = command === undefined ? '' : `${command.name()} `;
  return exitCode === 2 ? `${message}\nSee: mailwright ${name}--help` : message;
}
