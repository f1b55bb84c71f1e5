import type { Command } from 'commander';
import type { SendingDomainView } from '#deliverability';
import { type CliContext, printResult } from '../cli-context.js';
import { withDomain } from '../domain-services.js';
import { type EnvironmentOptions, withEnvironmentOptions } from '../environment-options.js';
import { facts, table } from '../table.js';

interface Options extends EnvironmentOptions {
  readonly json?: true;
}

const HEADINGS = ['RECORD', 'TYPE', 'HOST', 'STATUS', 'REASON OR NOTE'];

export function addDomainShow(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('domain:show'))
    .description('show a sending domain and the last check of its DNS records')
    .option('--json', 'print one line of JSON')
    .action(async (options: Options) => {
      const domain = await withDomain(cli, options, ({ domains, scope }) => domains.ofScope(scope));
      printResult(cli, options.json, domain, () => asText(domain));
    });
}

function asText(domain: SendingDomainView): string {
  const about = facts({
    Domain: domain.domainName,
    Status: domain.status.toLowerCase(),
    Sending: domain.sendingAllowed ? 'allowed' : 'not allowed',
    Score: domain.healthScore === null ? 'not checked yet' : String(domain.healthScore),
    Suspended: domain.suspensionReason ?? 'no',
    Checked: moment(domain.lastCheckedAt),
    'Next check': moment(domain.nextCheckAt),
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

function moment(at: Date | null): string {
  return at?.toISOString() ?? 'never';
}
