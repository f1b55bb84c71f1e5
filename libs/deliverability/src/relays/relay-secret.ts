import type { ProjectScope } from '#kernel';

/** What the sealed secrets of a relay are bound to. */
export function relaySecret({ projectId, environmentId }: Pick<ProjectScope, 'projectId' | 'environmentId'>) {
  return { purpose: 'relay', owner: { projectId, environmentId } };
}
