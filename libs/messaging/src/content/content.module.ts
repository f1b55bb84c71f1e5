import { Module } from '@nestjs/common';
import { ReturnPathsModule } from '#deliverability';
import { MailLinksService } from './mail/mail-links.service.js';
import { ContentProcessesService } from './processes/content-processes.service.js';

const SERVICES = [ContentProcessesService, MailLinksService];

/** Content made into mails, and the links of mails. */
@Module({ imports: [ReturnPathsModule], providers: SERVICES, exports: SERVICES })
export class ContentModule {}
