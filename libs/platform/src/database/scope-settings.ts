import type { Clock, ProjectScope } from '#kernel';

/**
 * Statements that let the rest of a transaction see the rows of `scope` alone, or of all projects. The role is among them, though each
 * connection has it from its beginning: this is what nothing that happened to the connection since can undo. Throws
 * for what is no scope.
 */
export function preambleOf(scope: ProjectScope | 'system'): string {
  if (scope === 'system') return 'set local role mailwright_system';
  const ids = [scope.environmentId, scope.projectId, scope.tenantId];
  if (!ids.every((id) => Number.isSafeInteger(id) && id > 0)) throw new Error('The scope is not valid.');
  return (
    'set local role mailwright_app; ' +
    `set local mailwright.environment_id = '${scope.environmentId}'; ` +
    `set local mailwright.project_id = '${scope.projectId}'; ` +
    `set local mailwright.tenant_id = '${scope.tenantId}'`
  );
}

/** Lets `platform.now()` tell the time of a test's clock; of the server's own without one. */
export function clockPreamble(clock: Clock | undefined): string {
  return clock === undefined ? '' : `; set local mailwright.now = '${clock.now().toISOString()}'`;
}

/** Settings of a transaction, for all that follow: what a connection is set to must set all that it was set to before. */
export function lasting(settings: string): string {
  return settings.replaceAll('set local', 'set');
}
