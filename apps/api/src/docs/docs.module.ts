import { Module } from '@nestjs/common';
import { ReferenceModule } from '../openapi/reference.module.js';
import { DocsController } from './docs.controller.js';

/** The documentation, as pages. */
@Module({ imports: [ReferenceModule], controllers: [DocsController] })
export class DocsModule {}
