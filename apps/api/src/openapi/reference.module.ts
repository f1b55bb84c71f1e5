import { Module } from '@nestjs/common';
import { ApiDocument } from './api-document.js';
import { ReferenceController } from './reference.controller.js';

/** The OpenAPI document and the pages made from it. */
@Module({ providers: [ApiDocument], controllers: [ReferenceController], exports: [ApiDocument] })
export class ReferenceModule {}
