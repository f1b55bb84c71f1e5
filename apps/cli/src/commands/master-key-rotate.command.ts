import type { Command } from 'commander';
import type { SealedSecrets } from '#platform';
import { type CliContext, printResult } from '../cli-context.js';

/** Secrets encrypted again in one transaction: an interrupted command continues where it stopped. */
const BATCH = 100;

export function addMasterKeyRotate(program: Command, cli: CliContext): void {
  program
    .command('master-key:rotate')
    .description(
      'encrypt every secret again with MASTER_KEY; MASTER_KEY_PREVIOUS decrypts it; can be repeated',
    )
    .option('--json', 'print one line of JSON')
    .action(async ({ json }: { json?: true }) => {
      const encryptedAgain = await rotate(cli);
      printResult(cli, json, { encryptedAgain }, () => asText(encryptedAgain));
    });
}

async function rotate(cli: CliContext): Promise<Record<string, number>> {
  const [
    { withServices },
    { DeliverabilityModule, SealedDkimKeys, SealedRelaySecrets },
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
    [DeliverabilityModule, WebhooksModule, AutomationSecretsModule],
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

function asText(encryptedAgain: Readonly<Record<string, number>>): string {
  const lines = Object.entries(encryptedAgain).map(
    ([inWords, count]) => `${inWords}: ${count} encrypted again.`,
  );
  return [...lines, 'MASTER_KEY encrypts every secret now: you can remove MASTER_KEY_PREVIOUS.'].join('\n');
}
