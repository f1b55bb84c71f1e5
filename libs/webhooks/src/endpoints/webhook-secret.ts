import type { ProjectScope } from '#kernel';

/** What an endpoint's signing secret is sealed for. */
export function webhookSecret({
  projectId,
  environmentId,
}: Pick<ProjectScope, 'projectId' | 'environmentId'>) {
  return { purpose: 'webhook-secret', owner: { projectId, environmentId } };
}
