import type { ProjectWithEnvironments } from '#access';
import { OperatorError, UsageError } from './failures.js';
import { nearest } from './nearest.js';

const REFERENCE = /^(?:(?<tenant>[^/]+)\/)?(?<project>[^/]+)$/;

/** Finds a project by `ACME/APIT`, or by `APIT` when only one tenant has such a project. */
export function findProject(
  projects: readonly ProjectWithEnvironments[],
  reference: string,
): ProjectWithEnvironments {
  const parts = REFERENCE.exec(reference)?.groups;
  if (parts === undefined) throw new UsageError('--project must be like ACME/APIT or APIT');
  const found = projects.filter(
    ({ tenantKey, projectKey }) =>
      projectKey === parts['project'] && (parts['tenant'] ?? tenantKey) === tenantKey,
  );
  if (found.length > 1) {
    throw new UsageError(
      `More than one tenant has a project ${reference}. Say which: ${namesOf(found).join(', ')}`,
    );
  }
  if (found[0] === undefined) throw unknown('project', reference, namesOf(projects));
  return found[0];
}

/** The error for an unknown key, with the existing keys and the most similar one. */
export function unknown(kind: 'project' | 'tenant', wanted: string, known: readonly string[]): OperatorError {
  if (known.length === 0) {
    return new OperatorError(
      `unknown-${kind}`,
      `There is no ${kind} yet. Make one with \`mailwright ${kind}:create\`.`,
    );
  }
  const near = nearest(wanted, known);
  const hint = near === null ? '' : ` Did you mean ${near}?`;
  return new OperatorError(
    `unknown-${kind}`,
    `There is no ${kind} ${wanted}.${hint} Existing: ${known.join(', ')}`,
  );
}

/** `ACME/APIT` */
export function projectName({
  tenantKey,
  projectKey,
}: Pick<ProjectWithEnvironments, 'tenantKey' | 'projectKey'>): string {
  return `${tenantKey}/${projectKey}`;
}

function namesOf(projects: readonly ProjectWithEnvironments[]): string[] {
  return projects.map(projectName);
}
