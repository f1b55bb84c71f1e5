import type { Command } from 'commander';
import type { DnsRecordView } from '#deliverability';
import { type CliContext, printResult } from '../cli-context.js';
import { withDomain } from '../domain-services.js';
import { type EnvironmentOptions, withEnvironmentOptions } from '../environment-options.js';

interface Options extends EnvironmentOptions {
  readonly json?: true;
}

export function addDomainRotateKey(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('domain:rotate-key'))
    .description('create new DKIM keys; the old ones sign until the new records are found in DNS')
    .option('--json', 'print one line of JSON')
    .action(async (options: Options) => {
      const published = await withDomain(cli, options, async ({ control, domains, scope }) => {
        await control.rotateKeys(scope);
        const { dnsRecords } = await domains.ofScope(scope);
        return dnsRecords.filter(({ key }) => key?.state === 'NEXT');
      });
      const records = published.map(({ recordType, host, expectedValue }) => ({
        type: recordType,
        host,
        value: expectedValue,
      }));
      printResult(cli, options.json, { records }, () => asText(published));
    });
}

function asText(records: readonly DnsRecordView[]): string {
  const lines = records.map(({ host, expectedValue }) => `${host}  TXT\n  ${expectedValue}`);
  return `Add these records to DNS; the new keys are used as soon as they are found:\n\n${lines.join('\n\n')}`;
}
