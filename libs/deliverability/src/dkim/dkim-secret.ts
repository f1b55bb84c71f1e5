import type { ProjectScope } from '#kernel';

/** What a sealed DKIM key is bound to. */
export function dkimSecret({ projectId, environmentId }: Pick<ProjectScope, 'projectId' | 'environmentId'>) {
  return { purpose: 'dkim-key', owner: { projectId, environmentId } };
}
