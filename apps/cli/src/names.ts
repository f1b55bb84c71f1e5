import type { ProjectsQuery, ProjectWithEnvironments, Tenant, TenantsService } from '#access';
import { OperatorError, UsageError } from './failures.js';

const REFERENCE = /^(?:(?<tenant>[^/]+)\/)?(?<project>[^/]+)$/;

/** Finds a project by `ACME/APIT`, or by `APIT` when only one tenant has such a project. */
export async function findProject(query: ProjectsQuery, reference: string): Promise<ProjectWithEnvironments> {
  const projects = await query.list();
  const parts = REFERENCE.exec(reference)?.groups;
  if (parts === undefined) throw new UsageError('--project must be like ACME/APIT or APIT');
  const found = projects.filter(
    ({ tenantKey, projectKey }) =>
      projectKey === parts['project'] && (parts['tenant'] ?? tenantKey) === tenantKey,
  );
  if (found.length > 1) {
    const names = found.map(projectName).join(', ');
    throw new UsageError(`More than one tenant has a project ${reference}. Say which: ${names}`);
  }
  if (found[0] === undefined) throw unknown('project', reference, projects.map(projectName));
  return found[0];
}

/** Finds a tenant by its key. Throws an `OperatorError` that lists the existing keys. */
export async function findTenant(service: TenantsService, tenantKey: string): Promise<Tenant> {
  const tenants = await service.list();
  const found = tenants.find((candidate) => candidate.tenantKey === tenantKey);
  if (found !== undefined) return found;
  const keys = tenants.map((candidate) => candidate.tenantKey);
  throw unknown('tenant', tenantKey, keys);
}

/** `ACME/APIT` */
export function projectName({
  tenantKey,
  projectKey,
}: Pick<ProjectWithEnvironments, 'tenantKey' | 'projectKey'>): string {
  return `${tenantKey}/${projectKey}`;
}

/** Names separated by commas; null for `all`. Throws a `UsageError` that lists the known names. */
export function namesIn<Name extends string>(
  text: string,
  known: readonly Name[],
  words: { readonly option: string; readonly one: string; readonly many: string },
): readonly Name[] | null {
  if (text.trim() === 'all') return null;
  const names = text.split(',').map((name) => name.trim());
  return names
    .filter((name) => name !== '')
    .map((name) => {
      const found = known.find((candidate) => candidate === name);
      if (found !== undefined) return found;
      const { option, one, many } = words;
      throw new UsageError(
        `${option}: ${name} is not ${one}.${hint(name, known)} The ${many} are all, or some of:\n  ${known.join('\n  ')}`,
      );
    });
}

function unknown(kind: 'project' | 'tenant', wanted: string, known: readonly string[]): OperatorError {
  const message =
    known.length === 0
      ? `There is no ${kind} yet. Make one with \`mailwright ${kind}:create\`.`
      : `There is no ${kind} ${wanted}.${hint(wanted, known)} Existing: ${known.join(', ')}`;
  return new OperatorError(`unknown-${kind}`, message);
}

function hint(wanted: string, known: readonly string[]): string {
  const near = nearest(wanted, known);
  return near === null ? '' : ` Did you mean ${near}?`;
}

/** The candidate that is most similar to `word`; null when none is similar. */
export function nearest<Candidate extends string>(
  word: string,
  candidates: readonly Candidate[],
): Candidate | null {
  let best: { readonly candidate: Candidate; readonly typos: number } | null = null;
  for (const candidate of candidates) {
    const typos = editDistance(word, candidate);
    if (best === null || typos < best.typos) best = { candidate, typos };
  }
  return best !== null && best.typos <= Math.ceil(best.candidate.length / 2) ? best.candidate : null;
}

/** The Levenshtein distance. */
function editDistance(from: string, to: string): number {
  const wantedLetters = Array.from(to);
  let previous = Array.from({ length: wantedLetters.length + 1 }, (_, index) => index);
  for (const [row, letter] of Array.from(from).entries()) {
    const current = [row + 1];
    for (const [column, wanted] of wantedLetters.entries()) {
      const replaced = (previous[column] ?? 0) + (letter === wanted ? 0 : 1);
      current.push(Math.min(replaced, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous.at(-1) ?? 0;
}
