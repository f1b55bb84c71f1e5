import { Command, CommanderError, Help } from 'commander';
import type { CliContext } from './cli-context.js';
import { addAutomationInstall, addAutomationTemplates } from './commands/automation-install.command.js';
import { addAutomationSecret } from './commands/automation-secret.command.js';
import { addCampaignArchive } from './commands/campaign-archive.command.js';
import { addCheckCounters } from './commands/check-counters.command.js';
import {
  addCheckAutomations,
  addCheckCredits,
  addCheckStatistics,
  addCheckStripe,
} from './commands/check-discrepancies.command.js';
import { addCreditsAdjust, addCreditsGrant } from './commands/credits.command.js';
import { addDemoSeed } from './commands/demo-seed.command.js';
import { addDistribute } from './commands/distribute.command.js';
import { addIsolate } from './commands/isolate.command.js';
import { addDomainResume } from './commands/domain-resume.command.js';
import { addDomainRotateKey } from './commands/domain-rotate-key.command.js';
import { addDomainShow } from './commands/domain-show.command.js';
import { addDomainSuspend } from './commands/domain-suspend.command.js';
import { addInvoiceList } from './commands/invoice-list.command.js';
import { addInvoicePay, addInvoiceVoid } from './commands/invoice-settle.command.js';
import { addKeyCreate } from './commands/key-create.command.js';
import { addKeyList } from './commands/key-list.command.js';
import { addKeyRevoke } from './commands/key-revoke.command.js';
import { addMasterKeyRotate } from './commands/master-key-rotate.command.js';
import { addMigrate } from './commands/migrate.command.js';
import { addProjectResumeSending } from './commands/project-resume-sending.command.js';
import { addPlanList } from './commands/plan-list.command.js';
import { addProjectRetention } from './commands/project-retention.command.js';
import { addProjectSet } from './commands/project-set.command.js';
import { addProjectCreate, addProjectList } from './commands/projects.command.js';
import { addReportLink } from './commands/report-link.command.js';
import { addSubscriberErase } from './commands/subscriber-erase.command.js';
import { addSubscriberExport } from './commands/subscriber-export.command.js';
import { addSubscriptionSet } from './commands/subscription-set.command.js';
import { addSubscriptionShow } from './commands/subscription-show.command.js';
import { addTenantCreate, addTenantList } from './commands/tenants.command.js';
import { addWebhookCreate } from './commands/webhook-create.command.js';
import { addWebhookList } from './commands/webhook-list.command.js';
import { addWebhookLog, addWebhookReplay } from './commands/webhook-log.command.js';
import { addWebhookRotateSecret } from './commands/webhook-rotate-secret.command.js';
import { addWebhookDelete, addWebhookSet } from './commands/webhook-set.command.js';
import { type Failure, failureOf } from './failures.js';

const COMMANDS = [
  addMigrate,
  addDistribute,
  addIsolate,
  addTenantCreate,
  addTenantList,
  addProjectCreate,
  addProjectList,
  addProjectResumeSending,
  addProjectRetention,
  addDomainShow,
  addDomainSuspend,
  addDomainResume,
  addDomainRotateKey,
  addMasterKeyRotate,
  addProjectSet,
  addKeyCreate,
  addKeyList,
  addKeyRevoke,
  addPlanList,
  addSubscriptionSet,
  addSubscriptionShow,
  addInvoiceList,
  addInvoicePay,
  addInvoiceVoid,
  addCampaignArchive,
  addReportLink,
  addSubscriberExport,
  addSubscriberErase,
  addCreditsGrant,
  addCreditsAdjust,
  addCheckCounters,
  addCheckCredits,
  addCheckStatistics,
  addCheckStripe,
  addWebhookCreate,
  addWebhookList,
  addWebhookSet,
  addWebhookRotateSecret,
  addWebhookDelete,
  addWebhookLog,
  addWebhookReplay,
  addCheckAutomations,
  addAutomationSecret,
  addAutomationInstall,
  addAutomationTemplates,
  addDemoSeed,
];

/** Runs one command. Resolves to the exit code: 0 success, 1 failure, 2 wrong command line. */
export async function run(args: readonly string[], cli: CliContext): Promise<0 | 1 | 2> {
  const program = createProgram(cli);
  try {
    await program.parseAsync(args, { from: 'user' });
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
    .helpCommand('help [command]', 'show this, or the options of a command')
    .configureHelp({
      optionDescription: (option) =>
        `${new Help().optionDescription(option)}${option.mandatory ? ' (required)' : ''}`,
    })
    .exitOverride()
    .configureOutput({ writeOut: cli.print, writeErr: cli.complain, outputError: () => undefined });
  for (const add of COMMANDS) add(program, cli);
  return program;
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

/** Explains which database does not answer when DATABASE_URL is not set. */
function located(failure: Failure, { isLocalInstallation }: CliContext): Failure {
  if (isLocalInstallation !== true || failure.code !== 'unavailable') return failure;
  if (!failure.message.includes('DATABASE_URL')) return failure;
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
