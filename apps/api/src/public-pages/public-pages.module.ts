import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { AudienceModule } from '#audience';
import { BillingModule } from '#billing';
import { DeliverabilityModule } from '#deliverability';
import { MessagingModule } from '#messaging';
import { ConfirmController } from './confirm.controller.js';
import { CustomerHostsService, TlsCheckController } from './customer-hosts.service.js';
import { ExportFileController } from './export-file.controller.js';
import { InvoiceController } from './invoices/invoice.controller.js';
import { MailViewController } from './mail-view.controller.js';
import { MediaFileController } from './media-file.controller.js';
import { OpenPixelController, TrackedLinkController } from './tracking.controller.js';
import { PageLinksService } from './page-links.service.js';
import { PreferencesController } from './preferences.controller.js';
import { PreviewController } from './preview.controller.js';
import { ReportController } from './report.controller.js';
import { UnsubscribeController } from './unsubscribe.controller.js';

/** HTML pages for people, without a key: the links of mails, invoices, reports and exports, by our host or a customer's. */
@Module({
  imports: [AccessModule, AudienceModule, BillingModule, MessagingModule, DeliverabilityModule],
  controllers: [
    ConfirmController,
    ExportFileController,
    InvoiceController,
    MailViewController,
    MediaFileController,
    OpenPixelController,
    PreferencesController,
    PreviewController,
    ReportController,
    TlsCheckController,
    TrackedLinkController,
    UnsubscribeController,
  ],
  providers: [CustomerHostsService, PageLinksService],
})
export class PublicPagesModule {}
