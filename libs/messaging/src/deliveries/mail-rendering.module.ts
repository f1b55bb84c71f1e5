import { Module } from '@nestjs/common';
import { ReturnPathsModule } from '#deliverability';
import { ContentThreadsModule } from '../content-threads/content-threads.service.js';
import { MailCompiler } from './mail-compiler.service.js';
import { MailLinkMaker } from './mail-links.js';
import { MailRendering } from './mail-rendering.service.js';

/** Makes mails of content, for campaigns and automations alike. */
@Module({
  imports: [ContentThreadsModule, ReturnPathsModule],
  providers: [MailCompiler, MailLinkMaker, MailRendering],
  exports: [ContentThreadsModule, MailCompiler, MailLinkMaker, MailRendering],
})
export class MailRenderingModule {}
