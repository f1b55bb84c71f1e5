import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { AudienceModule } from '#audience';
import { BillingModule } from '#billing';
import { MessagingModule } from '#messaging';
import { ConfirmController } from './confirm.controller.js';
import { InvoiceController } from './invoice.controller.js';
import { MailViewController } from './mail-view.controller.js';
import { OpenPixelController } from './open-pixel.controller.js';
import { PageLinks } from './page-links.service.js';
import { PageViews } from './page-views.service.js';
import { PreferencesController } from './preferences.controller.js';
import { ReportController } from './report.controller.js';
import { TrackedLinkController } from './tracked-link.controller.js';
import { UnsubscribeController } from './unsubscribe.controller.js';

/** The HTML pages for people, without a key: those that mails link to, invoices and reports. */
@Module({
  imports: [AccessModule, AudienceModule, BillingModule, MessagingModule],
  controllers: [
    ConfirmController,
    InvoiceController,
    MailViewController,
    OpenPixelController,
    PreferencesController,
    ReportController,
    TrackedLinkController,
    UnsubscribeController,
  ],
  providers: [PageLinks, PageViews],
})
export class PublicPagesModule {}
