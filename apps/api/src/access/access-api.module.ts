import { Module } from '@nestjs/common';
import { AccessModule, KeyAuthenticator } from '#access';
import { ApiKeyAuthenticator } from '#platform/http';
import { ProjectController } from './project.controller.js';

/** The access context over HTTP; it also tells the HTTP kit whom a key speaks for. */
@Module({
  imports: [AccessModule],
  controllers: [ProjectController],
  providers: [{ provide: ApiKeyAuthenticator, useExisting: KeyAuthenticator }],
})
export class AccessApiModule {}
