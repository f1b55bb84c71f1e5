import type { Command } from 'commander';
import { NotFoundError } from '#kernel';
import { type CliContext, printResult } from '../cli-context.js';
import { OperatorError, UsageError } from '../failures.js';
import { scopeOf } from '../environment-options.js';
import { addressOf, type SubscriberOptions, withSubscriberOptions } from '../subscriber-options.js';

interface Options extends SubscriberOptions {
  readonly yes?: true;
  readonly json?: true;
}

export function addSubscriberErase(program: Command, cli: CliContext): void {
  withSubscriberOptions(program.command('subscriber:erase'))
    .description('erase a person for good; a keyed hash keeps a suppressed address suppressed')
    .option('--yes', 'confirm: erasing cannot be undone')
    .option('--json', 'print one line of JSON')
    .action(async (options: Options) => {
      const address = addressOf(options);
      if (options.yes !== true) throw new UsageError('Erasing cannot be undone. Confirm with --yes.');
      const [{ withServices }, { AudienceModule, consentProof, ErasureService }] = await Promise.all([
        import('../operator-services.js'),
        import('#audience'),
      ]);
      const by = consentProof('OPERATOR', null, { source: 'erasure' });
      await withServices(
        cli.env,
        async ({ get, projectList }) =>
          get(ErasureService).erase(await scopeOf(options, projectList), address, by),
        [AudienceModule],
      ).catch(sayUnknown);
      printResult(
        cli,
        options.json,
        { erased: true },
        () =>
          'Erased. The worker removes the person from deliveries, automations and webhook events, within seconds.',
      );
    });
}

function sayUnknown(error: unknown): never {
  if (!(error instanceof NotFoundError)) throw error;
  throw new OperatorError('unknown-subscriber', 'There is no subscriber with this address.');
}
