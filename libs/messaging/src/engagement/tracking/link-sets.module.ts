import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { LinkSets } from './link-sets.service.js';

/** Where tracked links lead, for campaigns and automations alike. */
@Module({ imports: [AccessModule], providers: [LinkSets], exports: [LinkSets] })
export class LinkSetsModule {}
