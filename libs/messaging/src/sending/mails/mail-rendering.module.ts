import { Module } from '@nestjs/common';
import { ReturnPathsModule } from '#deliverability';
import { ContentProcessesModule } from '../../content/processes/content-processes.service.js';
import { MailCompiler } from './mail-compiler.service.js';
import { MailLinkMaker } from '../../content/mail/mail-link-maker.service.js';
import { MailRendering } from './mail-rendering.service.js';

/** Makes mails of content, for campaigns and automations alike. */
@Module({
  imports: [ContentProcessesModule, ReturnPathsModule],
  providers: [MailCompiler, MailLinkMaker, MailRendering],
  exports: [ContentProcessesModule, MailCompiler, MailLinkMaker, MailRendering],
})
export class MailRenderingModule {}
