import type { Command } from 'commander';
import type { SealedSecrets } from '#platform';
import { type CliContext, printResult } from '../cli-context.js';

/** Secrets encrypted again in one transaction: an interrupted command continues where it stopped. */
const BATCH = 100;

export function addMasterKeyRotate(program: Command, cli: CliContext): void {
  program
    .command('master-key:rotate')
    .description(
      'seal every secret anew with MASTER_KEY, opening it with MASTER_KEY_PREVIOUS; can be repeated',
    )
    .option('--json', 'print one line of JSON')
    .action(async ({ json }: { json?: true }) => {
      const sealedAnew = await rotate(cli);
      printResult(cli, json, { sealedAnew }, () => asText(sealedAnew));
    });
}

async function rotate(cli: CliContext): Promise<Record<string, number>> {
  const [
    { withServices },
    { DeliverabilityModule, RelaysModule, SealedDkimKeys, SealedRelaySecrets },
    { SealedWebhookSecrets, WebhooksModule },
    { AutomationSecretsModule, SealedAutomationSecrets },
  ] = await Promise.all([
    import('../operator-services.js'),
    import('#deliverability'),
    import('#webhooks'),
    import('#messaging'),
  ]);
  return withServices(
    cli.env,
    async ({ get }) => {
      const places: SealedSecrets[] = [
        get(SealedDkimKeys),
        get(SealedRelaySecrets),
        get(SealedWebhookSecrets),
        get(SealedAutomationSecrets),
      ];
      const counts: Record<string, number> = {};
      for (const place of places) counts[place.inWords] = await sealAll(place);
      return counts;
    },
    [DeliverabilityModule, RelaysModule, WebhooksModule, AutomationSecretsModule],
  );
}

async function sealAll(place: SealedSecrets): Promise<number> {
  let total = 0;
  for (;;) {
    const sealed = await place.sealAnew(BATCH);
    if (sealed === 0) return total;
    total += sealed;
  }
}

function asText(sealedAnew: Readonly<Record<string, number>>): string {
  const lines = Object.entries(sealedAnew).map(([inWords, count]) => `${inWords}: ${count} sealed anew.`);
  return [...lines, 'Every secret is sealed with MASTER_KEY: MASTER_KEY_PREVIOUS can go.'].join('\n');
}
