import { hkdfSync } from 'node:crypto';
import type { ProjectScope } from '#kernel';

const KEY_BYTES = 32;

type Owner = Pick<ProjectScope, 'projectId' | 'environmentId'>;

/** The context in which the signing secret of an environment's automations is sealed. */
export function automationSecret({ projectId, environmentId }: Owner) {
  return { purpose: 'automation-webhook-secret', owner: { projectId, environmentId } };
}

/**
 * The first secret of an environment, in the format of Standard Webhooks. It is derived from the master key, as it was
 * before secrets were stored, so that receivers need not change it.
 */
export function firstSecret(masterKey: string, { environmentId }: Owner): string {
  const purpose = `mailwright.automation-webhooks.v1/${environmentId}`;
  return `whsec_${Buffer.from(hkdfSync('sha256', masterKey, '', purpose, KEY_BYTES)).toString('base64')}`;
}
