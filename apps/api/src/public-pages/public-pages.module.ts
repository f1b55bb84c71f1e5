import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { AudienceModule } from '#audience';
import { MessagingModule } from '#messaging';
import { ConfirmController } from './confirm.controller.js';
import { MailViewController } from './mail-view.controller.js';
import { PageLinks } from './page-links.service.js';
import { PreferencesController } from './preferences.controller.js';
import { UnsubscribeController } from './unsubscribe.controller.js';

/** The pages that links in mails lead to: for subscribers, without a key, in HTML. */
@Module({
  imports: [AccessModule, AudienceModule, MessagingModule],
  controllers: [ConfirmController, UnsubscribeController, PreferencesController, MailViewController],
  providers: [PageLinks],
})
export class PublicPagesModule {}
