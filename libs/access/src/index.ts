export { AccessModule } from './access.module.js';
export { accessEntities, type AccessTables } from './access-tables.js';
export {
  API_KEY_STATUSES,
  type ApiKeyChanges,
  MAX_NETWORKS,
  MAX_OVERLAP_HOURS,
  type NewApiKey,
} from './api-key.js';
export {
  type ApiKeySummary,
  ApiKeysService,
  type ApiKeyView,
  type CreatedApiKey,
} from './api-keys.service.js';
export { KeyAuthenticator } from './key-authenticator.js';
export { OperatorKeysService, type OperatorKeyView } from './operator-keys.service.js';
export {
  defaultLocaleFault,
  type NewProject,
  ProjectAlreadyExistsError,
  type ProjectChanges,
  projectKeyFault,
  type ProjectProfile as Project,
  type ProjectWithEnvironments,
  timeZoneFault,
  trackingHostFault,
  webAddressFault,
} from './project.js';
export { environmentScopes, EnvironmentsQuery, ProjectsQuery, scopeColumns } from './project.repository.js';
export {
  type ProjectTexts,
  ProjectTextsService,
  type ProjectWording,
  ProjectWordings,
  readingWordedProject,
  type TextChanges,
  type WordedProject,
  wordingOf,
} from './project-texts.service.js';
export { type CreatedProject, ProjectsService, checkTrackingHost } from './projects.service.js';
export { type Tenant, TenantAlreadyExistsError, tenantKeyFault } from './tenant.js';
export { TenantsService } from './tenants.service.js';
