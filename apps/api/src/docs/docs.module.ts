import { Module } from '@nestjs/common';
import { DocsController } from './docs.controller.js';

/** The documentation, as pages. */
@Module({ controllers: [DocsController] })
export class DocsModule {}
