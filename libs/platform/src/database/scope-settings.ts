import { type Clock, INSTALLATION, type ProjectScope } from '#kernel';
import type { AskedStatement } from './message.js';

/** Rows that a transaction sees: those of one environment, of all, or none (`unscoped`, before there is a scope). */
export type Sight = ProjectScope | 'system' | 'unscoped';

/** PostgreSQL's settings by their names. */
export type Settings = Readonly<Record<string, string>>;

/**
 * Settings by which a transaction sees these rows alone. They say the role, too, whatever happened to the connection since it
 * began, and `platform.now()` tells the time of a test's clock. Throws for an invalid scope.
 */
export function settingsOf(sight: Sight, clock?: Clock): Settings {
  const time: Settings = clock === undefined ? {} : { 'mailwright.now': clock.now().toISOString() };
  if (sight === 'system') return { role: 'mailwright_system', ...time };
  const ids = sight === 'unscoped' ? ['', '', ''] : [sight.environmentId, sight.projectId, sight.tenantId];
  const isId = (id: number | string) => id === '' || (Number.isSafeInteger(id) && Number(id) > 0);
  // The installation's own zeros are no mistake.
  if (sight !== INSTALLATION && !ids.every(isId)) throw new Error('The scope is not valid.');
  const [environment, project, tenant] = ids;
  return {
    role: 'mailwright_app',
    'mailwright.environment_id': `${environment}`,
    'mailwright.project_id': `${project}`,
    'mailwright.tenant_id': `${tenant}`,
    ...time,
  };
}

/** Makes settings for all that follow on a connection. */
export const setForGood = (settings: Settings): string => written('set', settings);

/** Makes settings for the rest of a transaction, on the nodes of Citus, too. */
export const setLocal = (settings: Settings): string => written('set local', settings);

/** Makes settings for the rest of a transaction by one statement that can be prepared. */
export function settingLocal(settings: Settings): AskedStatement {
  const calls = Object.keys(settings).map((name, index) => `set_config('${name}', $${index + 1}, true)`);
  return { name: 'settings', text: `select ${calls.join(', ')}`, values: Object.values(settings) };
}

function written(command: string, settings: Settings): string {
  return Object.entries(settings)
    .map(([name, value]) => `${command} ${name} = '${value}'`)
    .join('; ');
}
