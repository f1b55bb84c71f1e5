import { hkdfSync } from 'node:crypto';

const KEY_BYTES = 32;

/**
 * What the webhooks of a project environment's automations are signed with, as Standard Webhooks writes secrets. It
 * follows from the master key: nothing is stored, and the same comes out again.
 */
export function automationWebhookSecret(masterKey: string, environmentId: number): string {
  const purpose = `mailwright.automation-webhooks.v1/${environmentId}`;
  return `whsec_${Buffer.from(hkdfSync('sha256', masterKey, '', purpose, KEY_BYTES)).toString('base64')}`;
}
