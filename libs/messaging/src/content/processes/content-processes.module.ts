import { Module } from '@nestjs/common';
import { ContentProcesses } from './content-processes.service.js';
import { ContentWarmUp } from './content-warm-up.service.js';

@Module({ providers: [ContentProcesses, ContentWarmUp], exports: [ContentProcesses] })
export class ContentProcessesModule {}
