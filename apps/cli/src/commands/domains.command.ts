import type { Command } from 'commander';
import type { DomainControlService, SendingDomainsQuery, SendingDomainView } from '#deliverability';
import type { ProjectScope } from '#kernel';
import { type EnvironmentOptions, inEnvironment, withEnvironmentOptions } from '../command.js';
import { UsageError, whenNotFound } from '../failures.js';
import { type CliContext, facts, printing, table } from '../output.js';

interface DomainServices {
  readonly scope: ProjectScope;
  readonly domains: SendingDomainsQuery;
  readonly control: DomainControlService;
}

const HEADINGS = ['RECORD', 'TYPE', 'HOST', 'STATUS', 'REASON OR NOTE'];

export function addDomainCommands(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('domain:show'))
    .description('show a sending domain and the last check of its DNS records')
    .action(
      printing(
        cli,
        (options: EnvironmentOptions) =>
          withDomain(cli, options, ({ domains, scope }) => domains.ofScope(scope)),
        asText,
      ),
    );
  withEnvironmentOptions(program.command('domain:suspend'))
    .description('stop the mail of a sending domain; its owner cannot change or remove it meanwhile')
    .requiredOption('--reason <text>', 'the reason, shown to the customer')
    .action(
      printing(
        cli,
        async (options: EnvironmentOptions & { readonly reason: string }) => {
          const reason = options.reason.trim();
          if (reason === '') throw new UsageError('--reason must not be empty');
          await withDomain(cli, options, ({ control, scope }) => control.suspend(scope, reason));
          return { status: 'SUSPENDED' };
        },
        () => 'Suspended. Its mail is no longer sent.',
      ),
    );
  withEnvironmentOptions(program.command('domain:resume'))
    .description('resume a suspended sending domain; its status then follows from its DNS records')
    .action(
      printing(
        cli,
        (options: EnvironmentOptions) =>
          withDomain(cli, options, async ({ control, domains, scope }) => {
            await control.resume(scope);
            const { status } = await domains.ofScope(scope);
            return { status };
          }),
        ({ status }) => `Resumed: it is ${status.toLowerCase()} now.`,
      ),
    );
  withEnvironmentOptions(program.command('domain:rotate-key'))
    .description('create new DKIM keys; the old ones sign until the new records are found in DNS')
    .action(
      printing(
        cli,
        (options: EnvironmentOptions) =>
          withDomain(cli, options, async ({ control, domains, scope }) => {
            await control.rotateKeys(scope);
            const { dnsRecords } = await domains.ofScope(scope);
            const records = dnsRecords
              .filter(({ key }) => key?.state === 'NEXT')
              .map(({ recordType, host, expectedValue }) => ({
                type: recordType,
                host,
                value: expectedValue,
              }));
            return { records };
          }),
        ({ records }) => {
          const lines = records.map(({ host, value }) => `${host}  TXT\n  ${value}`).join('\n\n');
          return `Add these records to DNS; the new keys are used as soon as they are found:\n\n${lines}`;
        },
      ),
    );
}

/** Runs `work` for the environment in the options. Throws an `OperatorError` when it has no sending domain. */
async function withDomain<T>(
  cli: CliContext,
  options: EnvironmentOptions,
  work: (services: DomainServices) => Promise<T>,
): Promise<T> {
  const { DeliverabilityModule, DomainControlService, SendingDomainsQuery } = await import('#deliverability');
  return inEnvironment(
    cli,
    options,
    (scope, get) => work({ scope, domains: get(SendingDomainsQuery), control: get(DomainControlService) }),
    [DeliverabilityModule],
  ).catch(whenNotFound('unknown-domain', 'This environment has no sending domain.'));
}

function asText(domain: SendingDomainView): string {
  const about = facts({
    Domain: domain.domainName,
    Status: domain.status.toLowerCase(),
    Sending: domain.sendingAllowed ? 'allowed' : 'not allowed',
    Score: domain.healthScore === null ? 'not checked yet' : String(domain.healthScore),
    Suspended: domain.suspensionReason ?? 'no',
    Checked: domain.lastCheckedAt?.toISOString() ?? 'never',
    'Next check': domain.nextCheckAt?.toISOString() ?? 'never',
  });
  const rows = domain.dnsRecords.map(({ purpose, recordType, host, status, failureReason, note }) => [
    purpose.toLowerCase(),
    recordType,
    host,
    status.toLowerCase(),
    failureReason ?? note ?? '',
  ]);
  return `${about}\n\n${table(HEADINGS, rows)}`;
}
