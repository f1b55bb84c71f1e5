import { hkdfSync } from 'node:crypto';
import type { ProjectScope } from '#kernel';

const KEY_BYTES = 32;

type Owner = Pick<ProjectScope, 'projectId' | 'environmentId'>;

/** What the signing secret of an environment's automations is sealed for. */
export function automationSecret({ projectId, environmentId }: Owner) {
  return { purpose: 'automation-webhook-secret', owner: { projectId, environmentId } };
}

/**
 * The secret that an environment begins with, as Standard Webhooks writes secrets. It follows from the master key, as
 * it did before secrets were stored, so that whoever was told of it then still knows it.
 */
export function firstSecret(masterKey: string, { environmentId }: Owner): string {
  const purpose = `mailwright.automation-webhooks.v1/${environmentId}`;
  return `whsec_${Buffer.from(hkdfSync('sha256', masterKey, '', purpose, KEY_BYTES)).toString('base64')}`;
}
