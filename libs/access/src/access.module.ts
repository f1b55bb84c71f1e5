import { Module } from '@nestjs/common';
import { ApiKeyRepository } from './api-keys/api-key.repository.js';
import { ApiKeysQuery } from './api-keys/api-keys.query.js';
import { ApiKeysService } from './api-keys/api-keys.service.js';
import { KeyAuthenticator } from './api-keys/key-authenticator.js';
import { EnvironmentsQuery } from './projects/environments.query.js';
import { ProjectRules } from './projects/project-rules.service.js';
import { ProjectSettings } from './projects/project-settings.service.js';
import { ProjectRepository } from './projects/project.repository.js';
import { ProjectsQuery } from './projects/projects.query.js';
import { ProjectsService } from './projects/projects.service.js';
import { ProjectTextsService } from './texts/project-texts.service.js';
import { ProjectWordings } from './texts/project-wordings.query.js';
import { TenantRepository } from './tenants/tenant.repository.js';
import { TenantsQuery } from './tenants/tenants.query.js';
import { TenantsService } from './tenants/tenants.service.js';

const services = [
  ApiKeysQuery,
  ApiKeysService,
  EnvironmentsQuery,
  KeyAuthenticator,
  ProjectSettings,
  ProjectsQuery,
  ProjectsService,
  ProjectTextsService,
  ProjectWordings,
  TenantsQuery,
  TenantsService,
];

/** Tenants, projects with their environments, and API keys. */
@Module({
  providers: [...services, ApiKeyRepository, ProjectRules, ProjectRepository, TenantRepository],
  exports: services,
})
export class AccessModule {}
