export { AccessModule } from './access.module.js';
export { accessEntities, type AccessTables } from './access-tables.js';
export type { ApiKeyStatus, NewApiKey } from './api-keys/api-key.js';
export { ApiKeysQuery, type ApiKeySummary } from './api-keys/api-keys.query.js';
export { ApiKeysService, type CreatedApiKey } from './api-keys/api-keys.service.js';
export { KeyAuthenticator } from './api-keys/key-authenticator.js';
export { environmentScopes, EnvironmentsQuery, scopeColumns } from './projects/environments.query.js';
export { ProjectAlreadyExistsError } from './projects/project.errors.js';
export type { NewProject, ProjectProfile as Project, ProjectWithEnvironments } from './projects/project.js';
export {
  defaultLocaleFault,
  webAddressFault,
  type ProjectChanges,
  timeZoneFault,
  trackingHostFault,
} from './projects/project-changes.js';
export { TrackingHostCheckRequested } from './projects/project.events.js';
export { ProjectSettings } from './projects/project-settings.service.js';
export { ProjectsQuery } from './projects/projects.query.js';
export { type CreatedProject, ProjectsService } from './projects/projects.service.js';
export { type ProjectTexts, ProjectTextsService, type TextChanges } from './texts/project-texts.service.js';
export { type ProjectWording, ProjectWordings } from './texts/project-wordings.query.js';
export { TenantAlreadyExistsError } from './tenants/tenant.errors.js';
export type { Tenant } from './tenants/tenant.js';
export { TenantsQuery } from './tenants/tenants.query.js';
export { TenantsService } from './tenants/tenants.service.js';
