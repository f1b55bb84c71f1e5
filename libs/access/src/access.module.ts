import { Module } from '@nestjs/common';
import { ApiKeysService } from './api-keys.service.js';
import { KeyAuthenticator } from './key-authenticator.js';
import { OperatorKeysService } from './operator-keys.service.js';
import { ProjectTextsService, ProjectWordings } from './project-texts.service.js';
import { EnvironmentsQuery, ProjectRepository, ProjectsQuery } from './project.repository.js';
import { ProjectsService } from './projects.service.js';
import { TenantsService } from './tenants.service.js';

const SERVICES = [
  ApiKeysService,
  EnvironmentsQuery,
  KeyAuthenticator,
  OperatorKeysService,
  ProjectsQuery,
  ProjectsService,
  ProjectTextsService,
  ProjectWordings,
  TenantsService,
];

/** Tenants, projects with their environments, and API keys. */
@Module({ providers: [...SERVICES, ProjectRepository], exports: SERVICES })
export class AccessModule {}
