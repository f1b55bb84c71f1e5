import { Module } from '@nestjs/common';
import { AccessModule, KeyAuthenticator } from '#access';
import { DeliverabilityModule } from '#deliverability';
import { ApiKeyAuthenticator } from '#platform/http';
import { ProjectController, ProjectTextsController } from './project.controller.js';

/** The access context over HTTP; it also authenticates API keys for the HTTP kit. */
@Module({
  imports: [AccessModule, DeliverabilityModule],
  controllers: [ProjectController, ProjectTextsController],
  providers: [{ provide: ApiKeyAuthenticator, useExisting: KeyAuthenticator }],
})
export class AccessApiModule {}
