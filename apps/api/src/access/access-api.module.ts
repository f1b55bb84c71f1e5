import { Module } from '@nestjs/common';
import { AccessModule, KeyAuthenticator } from '#access';
import { DeliverabilityModule } from '#deliverability';
import { AuditLogService, RequestsQuery } from '#platform';
import { ApiKeyAuthenticator } from '#platform/http';
import { ApiKeysController } from './api-keys.controller.js';
import { AuditLogController, RequestsController } from './audit.controller.js';
import { ProjectController, ProjectTextsController } from './project.controller.js';

/** The access context over HTTP; it also authenticates API keys for the HTTP kit. */
@Module({
  imports: [AccessModule, DeliverabilityModule],
  controllers: [
    ApiKeysController,
    ProjectController,
    ProjectTextsController,
    AuditLogController,
    RequestsController,
  ],
  providers: [
    AuditLogService,
    RequestsQuery,
    { provide: ApiKeyAuthenticator, useExisting: KeyAuthenticator },
  ],
})
export class AccessApiModule {}
